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

// Bank is a provider of payouts that answers as a test says, and pays each reference once. A nil function leaves its own answer: it
// pays, and says so when it is queried. Set them while no call is under way.
type Bank struct {
	OnSend  func(r payouts.Request) pay.PayoutOutcome
	OnQuery func(r payouts.Request) pay.PayoutOutcome
	// OnBalance answers how much of the operator's money it has.
	OnBalance func() (money.Amount, error)

	mu    sync.Mutex                 // owns what follows
	sends map[string]int             // calls of Send, by reference
	paid  map[string]payouts.Request // by reference
}

// NewBank returns a bank that has paid nothing yet.
func NewBank() *Bank { return &Bank{sends: map[string]int{}, paid: map[string]payouts.Request{}} }

// Adapter returns the adapter "bank", whose accounts pay out through the bank.
func (b *Bank) Adapter() provider.Adapter {
	return provider.Adapter{Name: "bank", Rails: []string{"spei.*", "bitcoin.*"}, OpenPayouts: func(provider.Account) (payouts.Provider, error) { return b, nil }}
}

// Pay pays a request. A call of OnSend that returns something else has an answer that was lost.
func (b *Bank) Pay(r payouts.Request) pay.PayoutOutcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid[r.Reference] = r
	return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-" + r.Reference}
}

// Sent returns how often the bank was called to pay a withdrawal, under any reference, and what it paid last. ok is false if it did
// not pay.
func (b *Bank) Sent(withdrawal string) (sends int, paid payouts.Request, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := strings.TrimPrefix(withdrawal, pay.WithdrawalPrefix)
	for reference, n := range b.sends {
		if !strings.HasPrefix(reference, first) {
			continue
		}
		sends += n
		if r, done := b.paid[reference]; done {
			paid, ok = r, true
		}
	}
	return sends, paid, ok
}

// Send answers with OnSend.
func (b *Bank) Send(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	b.mu.Lock()
	b.sends[r.Reference]++
	b.mu.Unlock()
	if b.OnSend != nil {
		return b.OnSend(r)
	}
	return b.Pay(r)
}

// Query answers with OnQuery. Without it, what was not paid is missing.
func (b *Bank) Query(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	if b.OnQuery != nil {
		return b.OnQuery(r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, paid := b.paid[r.Reference]; paid {
		return pay.PayoutOutcome{Kind: pay.PayoutPaid}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutMissing}
}

// Balance answers with OnBalance. Without it, the balance is not known.
func (b *Bank) Balance(context.Context) (money.Amount, error) {
	if b.OnBalance == nil {
		return money.Amount{}, errors.New("the bank does not say")
	}
	return b.OnBalance()
}

// Signature is the header of a notification that the bank sent. Its body is the notices as JSON.
const Signature = "Signature"

// Notices reads a notification, whose header Signature is "bank".
func (b *Bank) Notices(_ context.Context, n provider.Notification) (list []pay.PayoutNotice, err error) {
	if n.Header.Get(Signature) != "bank" {
		return nil, provider.ErrUnsigned
	}
	err = json.Unmarshal(n.Body, &list)
	for i := range list {
		list[i].Body = n.Body
	}
	return list, err
}
