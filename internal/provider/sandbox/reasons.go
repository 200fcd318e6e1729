package sandbox

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	documentNotAccepted = problem.Define3("shopper.document_not_accepted", "field", "document", "example")
	emailNotAccepted    = problem.Define1("shopper.email_not_accepted", "field")
	phoneNotAccepted    = problem.Define1("shopper.phone_not_accepted", "field")
)
