package rates

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	ratesJump         = problem.Define2("rate.jumps", "rates", "most")
	limitsContradict  = problem.Define("rate.limits_contradict")
	noRateForPayments = problem.Define2("rate.none_for_payments", "currency", "why")
	rateNotSet        = problem.Define1("rate.not_set", "currency")
	rateTooOld        = problem.Define1("rate.too_old", "currency")
	rateUnknown       = problem.Define2("rate.unknown", "currency", "currencies")
)
