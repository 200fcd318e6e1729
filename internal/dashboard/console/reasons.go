package console

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	chooseTier     = problem.Define("console.choose_tier")
	noOperator     = problem.Define("console.no_operator")
	noShopToLookAt = problem.Define("console.no_shop_to_look_at")
	operatorIsYou  = problem.Define("console.operator_is_you")
)
