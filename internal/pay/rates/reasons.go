package rates

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	rateFromFuture = problem.Define2("rate.from_future", "currency", "at")
	rateImpossible = problem.Define3("rate.impossible", "rate", "currency", "most")
	rateOfUSD      = problem.Define("rate.of_usd")
)
