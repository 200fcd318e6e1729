package accounts

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	accountChanged     = problem.Define3("account.changed", "account", "version", "seen")
	idMalformed        = problem.Define1("account.id_malformed", "account")
	limitsInvalid      = problem.Define2("account.limits_invalid", "rail", "limits")
	limitsTwice        = problem.Define2("account.limits_twice", "rail", "currency")
	accountBusy        = problem.Define2("account.open_payments", "account", "payments")
	priceInvalid       = problem.Define2("account.price_invalid", "rail", "price")
	priorityOutOfRange = problem.Define1("account.priority_out_of_range", "priority")
	accountRemoved     = problem.Define1("account.removed", "account")
	termsOfRailOff     = problem.Define1("account.terms_of_rail_off", "rail")
	termsTwice         = problem.Define1("account.terms_twice", "rail")
	AboveMaximum       = problem.Define1("payment.above_maximum", "most")
	noAccountTakes     = problem.Define1("payment.amount_not_accepted", "amount")
	outsideLimits      = problem.Define3("payment.outside_method_limits", "amount", "least", "most")
	payoutTooLarge     = problem.Define1("payout.above_account_maximum", "most")
	payoutTooSmall     = problem.Define1("payout.below_account_minimum", "least")
)
