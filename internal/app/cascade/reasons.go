package cascade

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	stillRuns      = problem.Define("idempotency.still_runs")
	outcomeUnknown = problem.Define("payment.outcome_unknown")
)
