// Package payouts has the endpoints of a merchant's wallets and withdrawals; limits and approvals are the operators'.
package payouts

import (
	"github.com/cascadapay/cascada/internal/api/call"
	apppayouts "github.com/cascadapay/cascada/internal/app/payouts"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	Wallets *apppayouts.Wallets
	Payouts *apppayouts.Payouts
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of wallets and withdrawals.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.walletRoutes()
	a.withdrawalRoutes()
	a.Tighten(publish)
}
