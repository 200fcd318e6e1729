package receipt

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	noReceiptAddress = problem.Define("receipt.no_address")
	noReceiptUnpaid  = problem.Define("receipt.not_paid")
)
