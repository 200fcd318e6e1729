package payouts

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var unknownNetwork = problem.Define("page.unknown_network")
