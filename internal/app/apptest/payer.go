package apptest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// Payer is a provider of payouts that answers as a test says, and pays each reference once. A nil function leaves its own answer: it
// pays, and says so when it is queried. Set them while no call is under way.
type Payer struct {
	OnSend  func(r payouts.Request) pay.PayoutOutcome
	OnQuery func(r payouts.Request) pay.PayoutOutcome
	// OnBalance answers how much of the operator's money it has.
	OnBalance func() (money.Amount, error)

	mu    sync.Mutex                 // owns what follows
	sends map[string]int             // calls of Send, by reference
	paid  map[string]payouts.Request // by reference
}

// NewPayer returns a payer that has paid nothing yet.
func NewPayer() *Payer { return &Payer{sends: map[string]int{}, paid: map[string]payouts.Request{}} }

// Adapter returns the adapter "bank", whose accounts pay out through the payer.
func (p *Payer) Adapter() provider.Adapter {
	return provider.Adapter{Name: "bank", Rails: []string{"spei.*", "bitcoin.*"}, OpenPayouts: func(provider.Account) (payouts.Provider, error) { return p, nil }}
}

// Pay pays a request. A call of OnSend that returns something else has an answer that was lost.
func (p *Payer) Pay(r payouts.Request) pay.PayoutOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paid[r.Reference] = r
	return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-" + r.Reference}
}

// Sent returns how often the payer was called to pay a withdrawal, under any reference, and what it paid last. ok is false if it did
// not pay.
func (p *Payer) Sent(withdrawal string) (sends int, paid payouts.Request, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := strings.TrimPrefix(withdrawal, pay.WithdrawalPrefix)
	for reference, n := range p.sends {
		if !strings.HasPrefix(reference, first) {
			continue
		}
		sends += n
		if r, done := p.paid[reference]; done {
			paid, ok = r, true
		}
	}
	return sends, paid, ok
}

// Send answers with OnSend.
func (p *Payer) Send(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	p.mu.Lock()
	p.sends[r.Reference]++
	p.mu.Unlock()
	if p.OnSend != nil {
		return p.OnSend(r)
	}
	return p.Pay(r)
}

// Query answers with OnQuery. Without it, what was not paid is missing.
func (p *Payer) Query(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	if p.OnQuery != nil {
		return p.OnQuery(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, paid := p.paid[r.Reference]; paid {
		return pay.PayoutOutcome{Kind: pay.PayoutPaid}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutMissing}
}

// Balance answers with OnBalance. Without it, the balance is not known.
func (p *Payer) Balance(context.Context) (money.Amount, error) {
	if p.OnBalance == nil {
		return money.Amount{}, errors.New("the payer does not say")
	}
	return p.OnBalance()
}

// Signature is the header of a notification that the payer sent. Its body is the notices as JSON.
const Signature = "Signature"

// Notices reads a notification, whose header Signature is "bank".
func (p *Payer) Notices(_ context.Context, n provider.Notification) (list []pay.PayoutNotice, err error) {
	if n.Header.Get(Signature) != "bank" {
		return nil, provider.ErrUnsigned
	}
	err = json.Unmarshal(n.Body, &list)
	for i := range list {
		list[i].Body = n.Body
	}
	return list, err
}
