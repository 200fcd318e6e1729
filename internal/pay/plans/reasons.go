package plans

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why a plan is refused. The sentences for people are in package message, by these keys.
var (
	lastPriceFitsAll      = problem.Define("plan.last_price_conditions")
	planAmountOutOfRange  = problem.Define1("plan.amount_out_of_range", "most")
	payoutDaysOfTwoKinds  = problem.Define("plan.payout_days_of_two_kinds")
	payoutScheduleUnknown = problem.Define("plan.payout_schedule_unknown")
	payoutsOnRequest      = problem.Define("plan.payouts_on_request")
	planChannelUnknown    = problem.Define("plan.channel_unknown")
	planCurrencyUnknown   = problem.Define1("plan.currency_unknown", "currency")
	planDelayOutOfRange   = problem.Define2("plan.delay_out_of_range", "least", "most")
	planNameMalformed     = problem.Define1("plan.name_form", "most")
	planPercentOutOfRange = problem.Define1("plan.percent_out_of_range", "most")
	priceNeverFits        = problem.Define("plan.price_never_fits")
	providerCostMalformed = problem.Define("plan.provider_cost_form")
	reserveDaysOutOfRange = problem.Define1("plan.reserve_days_out_of_range", "most")
	taxNameLength         = problem.Define1("plan.tax_name_length", "most")
	tooManyPrices         = problem.Define1("plan.too_many_prices", "most")
)
