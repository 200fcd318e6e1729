package payments

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	noPageOfList          = problem.Define("page.no_page_of_list")
	testPaymentsInSandbox = problem.Define("page.test_payments_in_sandbox")
)
