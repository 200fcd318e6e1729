package base

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	storeOutcomeUnknown = problem.Define("store.outcome_unknown")
)
