package claims

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator resolves a payment of unknown outcome. While the query for that hangs, another node
// learns that the shopper has a voucher to pay. The operator's resolution must not end the payment
// for good.
func TestOperatorEndsNothingThatBecamePendingMeanwhile(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	paid, operator := false, false
	asked, slow := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		mu.Lock()
		his := operator
		operator = false
		done := paid
		mu.Unlock()
		switch {
		case his:
			close(asked)
			<-slow
			return pay.Outcome{Kind: pay.Unknown}
		case done:
			return pay.Outcome{Kind: pay.Approved}
		}
		return pay.Outcome{Kind: pay.Awaiting, FormURL: "https://bank.example/voucher"}
	}
	first, second := s.node(t, p), s.node(t, p)
	who := harness.Acme(t, first)
	made, _, err := first.Payments.Create(ctx, who, order("sbx_cash"))
	harness.Must(t, err)
	s.clock.Advance(time.Minute)
	mu.Lock()
	operator = true
	mu.Unlock()
	var all sync.WaitGroup
	var ruled error
	all.Go(func() { ruled = notCharged(first, made.ID) })
	harness.Soon(t, "the call that the test holds to begin", asked)
	_, err = second.Cascade.Sweep(ctx)
	harness.Must(t, err)
	between, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if between.Status != pay.Pending {
		t.Fatalf("after the other node's query the payment is %s, want pending", between.Status)
	}
	close(slow)
	all.Wait()
	mu.Lock()
	paid = true
	mu.Unlock()
	s.sweep(t, second.Cascade.Sweep, 200, 6*time.Hour)
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if got.Status != pay.Completed && len(got.Strays) == 0 {
		t.Errorf("the shopper has paid, but the payment is %s (%+v) with the strays %+v; the operator resolved it (%v) while it was pending", got.Status, got.End.Failure, got.Strays, ruled)
	}
}

// Of two calls with one reference the provider accepts the second. A notification that it refused
// the first one does not end the payment.
func TestToldRefusalOfTheOtherCallEndsNoPendingPayment(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	charges := 0
	reached, answers := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	taken := false
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		mu.Lock()
		charges++
		n := charges
		mu.Unlock()
		if n == 1 {
			close(reached)
			<-answers
			return pay.Outcome{Kind: pay.Unknown}
		}
		mu.Lock()
		taken = true
		mu.Unlock()
		return pay.Outcome{Kind: pay.Awaiting, FormURL: "https://bank.example/voucher"}
	}
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if taken {
			return pay.Outcome{Kind: pay.Awaiting, FormURL: "https://bank.example/voucher"}
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	first, second := s.node(t, p), s.node(t, p)
	who, answered := underway(t, first, "sbx_cash", reached)
	s.takeOver(t, second)
	made := only(t, second, who)
	s.clock.Advance(2 * time.Second)
	for _, n := range p.Provider.Send(sandbox.Notification{ID: "ntf_b", Reference: made.Reference(1), Status: "declined", Reason: "duplicate_transaction"}) {
		harness.Must(t, second.Notices.Notify(ctx, "sandbox-1", n))
	}
	close(answers)
	answered()
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if got.Status != pay.Pending {
		t.Errorf("after two calls, of which one was accepted, the payment is %s (%+v), want pending", got.Status, got.End.Failure)
	}
}

// A notification says that the provider refunded another amount than requested, and a query does not
// find the refund. The service must not call again: the operator decides.
func TestRefundOfWhichAnotherAmountWasToldIsNotToldAgain(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
	speaks := &harness.Teller{Provider: b}
	given := int64(0)
	b.OnQuery = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Missing} }
	b.Answer = func(r provider.RefundRequest, _ bool) (bool, pay.Outcome) {
		if _, _, n := b.Total(); n == 1 { // it refunds another amount, so a query does not find the refund
			given += 2550
			return false, pay.Outcome{Kind: pay.Unknown}
		}
		given += r.Local.Minor
		return true, pay.Outcome{Kind: pay.Approved}
	}
	a := s.node(t, speaks)
	r := refunded(t, a)
	c, err := a.Claims.Get(ctx, r.Scope, r.ID)
	harness.Must(t, err)
	s.clock.Advance(time.Second)
	speaks.Tells = pay.Notice{ID: "n1", Refund: c.Reference(), Outcome: pay.Outcome{Kind: pay.Approved, Local: money.New(2550, c.Local.Currency)}, Body: []byte("x")}
	harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", provider.Notification{}))
	s.sweep(t, a.Claims.Sweep, 20, 2*time.Hour)
	got, err := a.Claims.Get(ctx, r.Scope, r.ID)
	harness.Must(t, err)
	told, err := a.Notices.Notifications(ctx, r.Payment, 10)
	harness.Must(t, err)
	if given > 2550 {
		t.Errorf("the shopper got %d cents back, want 2550 at most; the claim is %s, %d notifications", given, got.Status, len(told))
	}
}

// The provider accepted a refund, and then does not answer the query that the operator causes. His
// rejection is refused unless he forces it.
func TestSilenceDoesNotUndoThatARefundWasTaken(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
	b.OnQuery = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Awaiting} }
	a := s.node(t, b)
	r := refunded(t, a)
	s.clock.Advance(time.Minute)
	c, err := harness.DecideClaim(a, r.ID, pay.Reject, "no")
	if err == nil {
		sum, _, _ := b.Total()
		t.Errorf("the provider accepted the refund (it paid %d), but the claim is %s without force", sum, c.Status)
	}
}
