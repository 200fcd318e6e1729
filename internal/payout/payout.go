// Package payout says what a provider of payouts has to be able to do: take
// money to a merchant's bank account or crypto wallet, and tell what became of
// it. Each provider is a package below this one; all speak in the core's words.
package payout

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Request is one payout: what Send asks for and what Query asks about.
type Request struct {
	Reference   string       // ours; the provider's idempotency key
	ProviderRef string       // the provider's, once it is known
	Calls       int          // how often Send was begun under the reference, this time counted
	Amount      money.Amount // USD that leaves the merchant's balance, our fee included
	Net         money.Amount // USD to pay out
	Local       money.Amount // what is to arrive, in Currency; zero of a token: as much as Net is worth
	Type        pay.WalletType
	Network     string
	Currency    string // what arrives: ISO 4217, or a token
	Destination string // secret; not to be logged
	pay.Beneficiary
	Sent time.Time
	Now  time.Time // in the merchant's clock
}

// Provider pays out. Its methods are safe for use by many goroutines, keep to
// the context's deadline, and never return an error: what they do not know is
// pay.PayoutUnknown.
type Provider interface {
	// Send starts a payout. Called twice with one reference it pays once; that
	// is what a crash between the call and its answer relies on.
	// pay.PayoutRejected and pay.PayoutUnavailable are proof that it did not pay and
	// never will under this reference; they differ in who has to change something.
	Send(ctx context.Context, r Request) pay.PayoutOutcome
	// Query asks what became of a payout, under our reference; it moves no money.
	// pay.PayoutMissing is proof that the provider never had it, and pay.PayoutUnsent
	// that it waits there for another Send; no answer, and a question that was refused,
	// are pay.PayoutUnknown.
	Query(ctx context.Context, r Request) pay.PayoutOutcome
}
