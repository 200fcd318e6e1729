// Package simulated is the payout provider behind test keys. It moves no money and keeps no
// state: its answer follows from the request alone, so that Send and Query agree, even
// after a restart.
package simulated

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// Arrival is how long a payout takes.
const Arrival = 5 * time.Second

// Outage is how long the provider is unavailable for an amount that ends in .91.
const Outage = time.Minute

// Provider is the simulated provider. Its zero value is ready.
type Provider struct{}

// Send acts by the cents of the amount: .05, .54 and .59 are rejected, .91 finds the
// provider unavailable, .96 pays without an answer; everything else is accepted and arrives
// after Arrival.
func (Provider) Send(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	if away(r) {
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	if o, rejected := refusal(r); rejected {
		return o
	}
	if r.Amount.Minor%100 == 96 {
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	return accepted(r)
}

// Query returns the result of Send.
func (Provider) Query(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	if away(r) {
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	if o, rejected := refusal(r); rejected {
		return o
	}
	if r.Now.Before(r.Sent.Add(Arrival)) {
		return accepted(r)
	}
	return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "simulated:" + r.Reference}
}

func accepted(r payouts.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "simulated:" + r.Reference, CheckAt: r.Sent.Add(Arrival)}
}

func away(r payouts.Request) bool {
	return r.Amount.Minor%100 == 91 && r.Now.Before(r.Sent.Add(Outage))
}

// refusal is the reason for which the cents of the amount reject a payout.
func refusal(r payouts.Request) (pay.PayoutOutcome, bool) {
	rejected := func(code, message string) (pay.PayoutOutcome, bool) {
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: code, Message: message}, true
	}
	switch r.Amount.Minor % 100 {
	case 5:
		return rejected("invalid_account", "the bank knows no such account")
	case 54:
		return rejected("account_closed", "the account is closed")
	case 59:
		return rejected("compliance_rejected", "the payout provider's compliance rejected the payout")
	}
	return pay.PayoutOutcome{}, false
}
