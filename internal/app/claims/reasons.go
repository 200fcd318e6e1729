package claims

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	claimMissing           = problem.Define("claim.none")
	partOnlyIfApproved     = problem.Define("claim.part_only_if_approved")
	partRequired           = problem.Define("claim.part_required")
	keptPartUnreadable     = problem.Define1("claim.part_unreadable", "currency")
	noFile                 = problem.Define("evidence.no_file")
	refundMayBeThis        = problem.Define("notification.refund_under_way")
	noPaymentNamed         = problem.Define1("payment.none_named", "payment")
	refundAmountUnreadable = problem.Define1("refund.amount_unreadable", "currency")
	refundBeyondRefundable = problem.Define("refund.beyond_refundable")
	methodNotRefundable    = problem.Define("refund.method_not_refundable")
	refundInOtherCurrency  = problem.Define1("refund.other_currency", "currency")
	refundTooManyDecimals  = problem.Define2("refund.too_many_decimals", "currency", "decimals")
)
