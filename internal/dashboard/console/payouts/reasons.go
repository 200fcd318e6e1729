package payouts

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	chooseAnswer         = problem.Define("console.choose_answer")
	floatAccountMissing  = problem.Define("console.float_account_missing")
	floatAmountMissing   = problem.Define("console.float_amount_missing")
	floatCurrencyMissing = problem.Define("console.float_currency_missing")
	floatWayMissing      = problem.Define("console.float_way_missing")
	limitUnreadable      = problem.Define("console.limit_unreadable")
	limitsChanged        = problem.Define("console.limits_changed")
	noBatch              = problem.Define("console.no_batch")
	stopChanged          = problem.Define("console.stop_changed")
	stopReasonMissing    = problem.Define("console.stop_reason_missing")
)
