package payments

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	daysTooMany          = problem.Define("list.days_too_many")
	nothingChargeable    = problem.Define("method.none_chargeable")
	nothingChargeableIn  = problem.Define1("method.none_chargeable_in", "country")
	closedLinkHasNoEnd   = problem.Define("link.closed")
	wrongExpiry          = problem.Define1("link.wrong_expiry", "days")
	cancelUnknown        = problem.Define("payment.cancel_unknown")
	moneyArrivedForOrder = problem.Define("payment.money_arrived_for_order")
	noOtherWay           = problem.Define("payment.no_other_way")
	noReliableRate       = problem.Define("rate.none_reliable")
)
