// Package webhooks tests that shops learn what happened: events, deliveries, retries, circuits,
// replays, inboxes, and e-mails to merchants. The content of an event is tested in the room of its
// object.
package webhooks
