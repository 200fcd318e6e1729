package webhooks

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	replayBackwards       = problem.Define("replay.backwards")
	replayDone            = problem.Define("replay.done")
	replayTooLong         = problem.Define1("replay.too_long", "days")
	replayTooLarge        = problem.Define2("replay.too_many_events", "events", "most")
	deliveryNotReplayable = problem.Define1("webhook.delivery_not_replayable", "status")
	sameEndpoint          = problem.Define1("webhook.same_endpoint", "webhook")
	tooManyEndpoints      = problem.Define2("webhook.too_many", "have", "most")
)
