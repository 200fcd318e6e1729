// Package webhooks proves that shops are told: events, deliveries, retries, circuits, replays, inboxes, and the e-mails
// to merchants. What an event is about is proved in the room of that.
package webhooks
