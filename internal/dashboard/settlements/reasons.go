package settlements

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	noListPage      = problem.Define("page.none_in_list")
	unknownMovement = problem.Define("page.unknown_movement")
)
