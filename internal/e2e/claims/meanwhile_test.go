package claims

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator resolves a payment of unknown outcome. While the query for that hangs, another node
// learns that the shopper has a voucher to pay. The operator's resolution must not end the payment
// for good.
func TestOperatorEndsNothingThatBecamePendingMeanwhile(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	clock.Freeze()
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
	first, second := harness.Node(t, database, clock, p, log), harness.Node(t, database, clock, p, log)
	who := harness.Acme(t, first)
	made, _, err := first.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	harness.Must(t, err)
	clock.Advance(time.Minute)
	mu.Lock()
	operator = true
	mu.Unlock()
	var all sync.WaitGroup
	var ruled error
	all.Go(func() {
		_, _, ruled = first.Payments.Resolve(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, base.Resolution{ID: made.ID, Word: pay.WordNotCharged, Note: "not in their books"})
	})
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
	for range 200 {
		clock.Advance(6 * time.Hour)
		_, err := second.Cascade.Sweep(ctx)
		harness.Must(t, err)
	}
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if got.Status != pay.Completed && len(got.Strays) == 0 {
		t.Errorf("the shopper has paid, but the payment is %s (%+v) with the strays %+v; the operator resolved it (%v) while it was pending", got.Status, got.End.Failure, got.Strays, ruled)
	}
}

// Of two calls with one reference the provider accepts the second. A notification that it refused
// the first one does not end the payment.
func TestToldRefusalOfTheOtherCallEndsNoPendingPayment(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	clock.Freeze()
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
	first, second := harness.Node(t, database, clock, p, log), harness.Node(t, database, clock, p, log)
	who := harness.Acme(t, first)
	var all sync.WaitGroup
	all.Go(func() {
		_, _, _ = first.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	})
	harness.Soon(t, "the call that the test holds to begin", reached)
	clock.Advance(10 * time.Second)
	harness.Must(t, second.Cascade.TakeOver(ctx))
	_, err := second.Cascade.Sweep(ctx)
	harness.Must(t, err)
	scope, err := second.Narrow(ctx, who, "", "")
	harness.Must(t, err)
	list, _, err := second.Payments.List(ctx, scope, lists.PaymentFilter{Page: lists.Page{Limit: 10}})
	harness.Must(t, err)
	clock.Advance(2 * time.Second)
	for _, n := range p.Provider.Send(sandbox.Notification{ID: "ntf_b", Reference: list[0].Reference(1), Status: "declined", Reason: "duplicate_transaction"}) {
		harness.Must(t, second.Notices.Notify(ctx, "sandbox-1", n))
	}
	close(answers)
	all.Wait()
	got, err := second.Cascade.Payment(ctx, scope, list[0].ID)
	harness.Must(t, err)
	if got.Status != pay.Pending {
		t.Errorf("after two calls, of which one was accepted, the payment is %s (%+v), want pending", got.Status, got.End.Failure)
	}
}

// A notification says that the provider refunded another amount than requested, and a query does not
// find the refund. The service must not call again: the operator decides.
func TestRefundOfWhichAnotherAmountWasToldIsNotToldAgain(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	clock.Freeze()
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
	a := harness.Node(t, database, clock, speaks, log)
	scope, payment := harness.PaidCard(t, a)
	r, _, err := a.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
	harness.Must(t, err)
	c, err := a.Claims.Get(ctx, scope, r.ID)
	harness.Must(t, err)
	clock.Advance(time.Second)
	speaks.Tells = pay.Notice{ID: "n1", Refund: c.Reference(), Outcome: pay.Outcome{Kind: pay.Approved, Local: money.New(2550, c.Local.Currency)}, Body: []byte("x")}
	harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", provider.Notification{}))
	for range 20 {
		clock.Advance(2 * time.Hour)
		_, err := a.Claims.SweepClaims(ctx)
		harness.Must(t, err)
	}
	got, err := a.Claims.Get(ctx, scope, r.ID)
	harness.Must(t, err)
	told, err := a.Notices.Notifications(ctx, payment, 10)
	harness.Must(t, err)
	if given > 2550 {
		t.Errorf("the shopper got %d cents back, want 2550 at most; the claim is %s, %d notifications", given, got.Status, len(told))
	}
}

// The provider accepted a refund, and then does not answer the query that the operator causes. His
// rejection is refused unless he forces it.
func TestSilenceDoesNotUndoThatARefundWasTaken(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	clock.Freeze()
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
	b.OnQuery = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Awaiting} }
	a := harness.Node(t, database, clock, b, log)
	scope, payment := harness.PaidCard(t, a)
	r, _, err := a.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
	harness.Must(t, err)
	clock.Advance(time.Minute)
	c, err := harness.DecideClaim(a, r.ID, pay.Reject, "no")
	if err == nil {
		sum, _, _ := b.Total()
		t.Errorf("the provider accepted the refund (it paid %d), but the claim is %s without force", sum, c.Status)
	}
}
