package webhooks

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	knownEvents               = problem.Define1("event.known", "events")
	eventMeant                = problem.Define2("event.meant", "event", "events")
	eventMissing              = problem.Define("event.none")
	noEventToContinue         = problem.Define1("event.none_to_continue", "parameter")
	notEvent                  = problem.Define2("event.unknown", "event", "hint")
	notEventUnnamed           = problem.Define1("event.unknown_unnamed", "hint")
	noReplay                  = problem.Define("replay.none")
	replayRuns                = problem.Define2("replay.runs", "replay", "webhook")
	endpointDisabledForReplay = problem.Define("replay.webhook_disabled")
	challengeNotAnswered      = problem.Define1("webhook.challenge_not_answered", "challenge")
	credentialsOfInbox        = problem.Define("webhook.credentials_of_inbox")
	deliveryNotJSON           = problem.Define("webhook.delivery_not_json")
	deliveryUnsigned          = problem.Define("webhook.delivery_unsigned")
	endpointDisabled          = problem.Define("webhook.disabled")
	noDelivery                = problem.Define1("webhook.no_delivery", "webhook")
	noEvents                  = problem.Define("webhook.no_events")
	notEventNorAll            = problem.Define1("webhook.unknown_event", "event")
	unknownEventsVersion      = problem.Define1("webhook.unknown_version", "versions")
	eventsVersionBackwards    = problem.Define1("webhook.version_backwards", "version")
)
