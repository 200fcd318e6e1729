package settlements

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	aboutUnknown        = problem.Define("adjustment.about_unknown")
	accountNotAvailable = problem.Define("adjustment.account_not_available")
	AdjustmentNotUSD    = problem.Define("adjustment.amount_unreadable")
	beyondAvailable     = problem.Define("adjustment.beyond_available")
	noteRequired        = problem.Define("adjustment.decision_note_required")
	noAdjustment        = problem.Define("adjustment.none")
	adjustmentNotInUSD  = problem.Define("adjustment.not_in_usd")
	referenceOfRejected = problem.Define2("adjustment.reference_of_rejected", "reference", "adjustment")
	referenceTaken      = problem.Define2("adjustment.reference_taken", "reference", "adjustment")
	noMerchant          = problem.Define("merchant.none")
	receiptOfAllShops   = problem.Define("settlement.receipt_of_all_shops")
	receiptWhenClosed   = problem.Define("settlement.receipt_when_closed")
)
