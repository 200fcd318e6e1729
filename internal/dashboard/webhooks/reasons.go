package webhooks

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var addressMissing = problem.Define("page.address_missing")
