package planfile

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why a field of a file cannot be read. The sentences for people are in package message, by these keys.
var (
	amountUnreadable       = problem.Define1("plan.amount_unreadable", "currency")
	delayUnreadable        = problem.Define("plan.delay_unreadable")
	monthdayUnreadable     = problem.Define("plan.monthday_unreadable")
	payoutScheduleRequired = problem.Define("plan.payout_schedule_required")
	percentUnreadable      = problem.Define("plan.percent_unreadable")
	providerCostUnreadable = problem.Define("plan.provider_cost_unreadable")
	weekdayUnreadable      = problem.Define("plan.weekday_unreadable")
)
