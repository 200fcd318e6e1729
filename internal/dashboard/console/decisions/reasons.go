package decisions

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	chooseClaimEnd          = problem.Define("console.choose_claim_end")
	chooseEnvironment       = problem.Define("console.choose_environment")
	choosePaymentEnd        = problem.Define("console.choose_payment_end")
	chooseVerificationEnd   = problem.Define("console.choose_verification_end")
	chooseWithdrawalEnd     = problem.Define("console.choose_withdrawal_end")
	amountNotReturned       = problem.Define2("console.returned_amount_unreadable", "amount", "currency")
	verificationNeedsReason = problem.Define("console.verification_needs_reason")
)
