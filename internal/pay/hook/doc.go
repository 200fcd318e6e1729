// Package hook is how merchants learn what happened: the types of events, the endpoints that want them, an event's way to each of them, and replays. It does not know what an event tells of.
package hook
