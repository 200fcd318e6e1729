package notices

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	notKnownYet = problem.Define("notification.not_known_yet")
)
