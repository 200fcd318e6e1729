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
func (p *Till) Pay(reference string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paid == nil {
		p.paid = map[string]struct{}{}
	}
	p.paid[reference] = struct{}{}
}

// Charges lists the references of all calls of Charge, oldest first.
func (p *Till) Charges() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.charges...)
}

// Refunds lists the references of all calls of Refund, oldest first.
func (p *Till) Refunds() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.refunds...)
}

// Charge answers with OnCharge.
func (p *Till) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	p.mu.Lock()
	p.charges = append(p.charges, r.Reference)
	p.mu.Unlock()
	if p.OnCharge != nil {
		return p.OnCharge(r)
	}
	return p.Provider.Charge(ctx, r)
}

// Query answers with OnQuery. Without it, a charge that was paid is approved.
func (p *Till) Query(ctx context.Context, r provider.Request) pay.Outcome {
	if p.OnQuery != nil {
		return p.OnQuery(r)
	}
	o := p.Provider.Query(ctx, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, paid := p.paid[r.Reference]; paid {
		o.Kind = pay.Approved
	}
	return o
}

// Cancel answers with OnCancel. Without it, it ends nothing, and answers with Query.
func (p *Till) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if p.OnCancel != nil {
		return p.OnCancel(r)
	}
	return p.Query(ctx, r)
}

// Refund answers with OnRefund.
func (p *Till) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	p.mu.Lock()
	p.refunds = append(p.refunds, r.Reference)
	p.mu.Unlock()
	if p.OnRefund != nil {
		return p.OnRefund(r)
	}
	return p.Provider.Refund(ctx, r)
}

// QueryRefund answers with OnQueryRefund.
func (p *Till) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if p.OnQueryRefund != nil {
		return p.OnQueryRefund(r)
	}
	return p.Provider.QueryRefund(ctx, r)
}
