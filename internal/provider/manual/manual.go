// Package manual is for payouts that an operator makes by hand: in the bank's own program,
// or from a crypto wallet. It calls no provider. The operator records the result of each
// payout, with the bank's reference.
package manual

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// Adapter is the adapter for accounts from which an operator pays by hand.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:        "manual",
		Rails:       []string{"account.*", "bitcoin.*", "cbu.*", "ethereum.*", "iban.*", "pix.*", "spei.*", "ted.*", "tron.*"},
		OpenPayouts: func(provider.Account) (payouts.Provider, error) { return client{}, nil },
	}
}

type client struct{}

// Send leaves the payout to the operator.
func (client) Send(context.Context, payouts.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutHeld}
}

// Query reports the payout as held: only the operator knows its state.
func (client) Query(context.Context, payouts.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutHeld}
}
