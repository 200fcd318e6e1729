package desk

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	noteMissing     = problem.Define("console.note_missing")
	secondFactorOld = problem.Define1("console.second_factor_old", "page")
)
