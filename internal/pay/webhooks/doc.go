// Package webhooks tells merchants what happened: event types, the endpoints that subscribe to them,
// deliveries and replays. It does not know the objects of the events.
package webhooks
