package apptest

import (
	"context"
	"sync"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// Till is the sandbox's provider, but it answers as a test says. A nil function leaves the sandbox's answer.
type Till struct {
	*sandbox.Provider
	OnCharge      func(r provider.Request) pay.Outcome
	OnQuery       func(r provider.Request) pay.Outcome
	OnRefund      func(r provider.RefundRequest) pay.Outcome
	OnQueryRefund func(r provider.RefundRequest) pay.Outcome
	OnCancel      func(r provider.Request) pay.Outcome

	mu   sync.Mutex          // owns what follows
	paid map[string]struct{} // references of charges that were paid
	// references of all calls, in their order
	charges, refunds []string
}

// Pay makes the shopper pay a charge, named by our reference. The provider says so when it is asked.
func (t *Till) Pay(reference string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paid == nil {
		t.paid = map[string]struct{}{}
	}
	t.paid[reference] = struct{}{}
}

// Charges lists the references of all calls of Charge, oldest first.
func (t *Till) Charges() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.charges...)
}

// Refunds lists the references of all calls of Refund, oldest first.
func (t *Till) Refunds() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.refunds...)
}

// Charge answers with OnCharge.
func (t *Till) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	t.mu.Lock()
	t.charges = append(t.charges, r.Reference)
	t.mu.Unlock()
	if t.OnCharge != nil {
		return t.OnCharge(r)
	}
	return t.Provider.Charge(ctx, r)
}

// Query answers with OnQuery. Without it, a charge that was paid is approved.
func (t *Till) Query(ctx context.Context, r provider.Request) pay.Outcome {
	if t.OnQuery != nil {
		return t.OnQuery(r)
	}
	o := t.Provider.Query(ctx, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, paid := t.paid[r.Reference]; paid {
		o.Kind = pay.Approved
	}
	return o
}

// Cancel answers with OnCancel. Without it, it ends nothing, and answers with Query.
func (t *Till) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if t.OnCancel != nil {
		return t.OnCancel(r)
	}
	return t.Query(ctx, r)
}

// Refund answers with OnRefund.
func (t *Till) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	t.mu.Lock()
	t.refunds = append(t.refunds, r.Reference)
	t.mu.Unlock()
	if t.OnRefund != nil {
		return t.OnRefund(r)
	}
	return t.Provider.Refund(ctx, r)
}

// QueryRefund answers with OnQueryRefund.
func (t *Till) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if t.OnQueryRefund != nil {
		return t.OnQueryRefund(r)
	}
	return t.Provider.QueryRefund(ctx, r)
}
