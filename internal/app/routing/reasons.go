package routing

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	noRail       = problem.Define1("rule.no_rail", "rail")
	rulesChanged = problem.Define2("rule.version_changed", "now", "seen")
)
