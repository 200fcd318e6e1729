package installment

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	tooManyInstallments   = problem.Define1("installments.above_maximum", "most")
	tooManyInterestFree   = problem.Define1("installments.interest_free_above_maximum", "most")
	noInterestFreeGranted = problem.Define("installments.no_interest_free_granted")
	noInstallmentsGranted = problem.Define("installments.none_granted")
	noInstallmentsOffered = problem.Define("installments.none_offered")
	grantTwice            = problem.Define1("installments.term_twice", "rail")
	grantUnreadable       = problem.Define2("installments.term_unreadable", "text", "most")
	tooManyGrants         = problem.Define1("installments.too_many_terms", "most")
)
