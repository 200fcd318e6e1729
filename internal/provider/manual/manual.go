// Package manual is for payouts that an operator makes by hand: in his bank's own
// program, or from his own crypto wallet. Nobody is called. The operator says what
// became of each, with the bank's reference.
package manual

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
)

// Adapter is the adapter of accounts that an operator pays from by hand.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:        "manual",
		Rails:       []string{"account.*", "bitcoin.*", "cbu.*", "ethereum.*", "iban.*", "pix.*", "spei.*", "tron.*"},
		OpenPayouts: func(provider.Account) (payout.Provider, error) { return client{}, nil },
	}
}

type client struct{}

// Send leaves the payout to the operator.
func (client) Send(context.Context, payout.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutHeld}
}

// Query tells that nobody but the operator knows.
func (client) Query(context.Context, payout.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutHeld}
}
