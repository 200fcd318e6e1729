package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
)

// lateBank is a provider of vouchers. A shopper pays one late. The test decides how it answers
// refunds, and queries about them.
type lateBank struct {
	*harness.Till
	refund, ask func(r provider.RefundRequest) pay.Outcome
}

func (b *lateBank) Refund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	return b.refund(r)
}

func (b *lateBank) QueryRefund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	return b.ask(r)
}

func newLateBank() *lateBank {
	b := &lateBank{Till: &harness.Till{Provider: sandbox.New("sandbox-1", nil)}}
	b.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		return pay.Outcome{Kind: pay.Awaiting, FormURL: "https://bank.example/v"}
	}
	b.ask = func(provider.RefundRequest) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	return b
}

// late makes a payment that is paid after it has ended. It returns the inquiry about the money.
func (b *lateBank) late(t *testing.T, a *app.App, c *harness.Clock) pay.Claim {
	t.Helper()
	b.OnQuery = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Lapsed} }
	p, _, err := a.Payments.Create(ctx, harness.Acme(t, a), payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	harness.Must(t, err)
	c.Advance(30 * 24 * time.Hour)
	_, err = a.Cascade.Sweep(ctx)
	harness.Must(t, err)
	b.OnQuery = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Approved} }
	c.Advance(2 * time.Hour)
	_, err = a.Cascade.Sweep(ctx)
	harness.Must(t, err)
	list, _, err := a.Claims.List(ctx, p.Scope, harness.ClaimsOf(p.ID))
	harness.Must(t, err)
	if len(list) != 1 {
		t.Fatalf("there are %d claims about the late money, want 1", len(list))
	}
	return list[0]
}

// A charge ended unpaid, and other money came for it: it is late money, in its own amount.
func TestOtherMoneyOfAnUnpaidChargeIsLate(t *testing.T) {
	s := newStage(t)
	b := newLateBank()
	a := s.node(t, b)
	half := pay.Money{Ref: "half", ProviderRef: "v1"}
	b.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1", Also: []pay.Money{half}}
	}
	p, _, err := a.Payments.Create(ctx, harness.Acme(t, a), payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	harness.Must(t, err)
	half.Local = money.New(p.Price.Local.Minor/2, p.Price.Local.Currency)
	s.clock.Advance(30 * 24 * time.Hour)
	s.sweep(t, a.Cascade.Sweep, 5, 2*time.Hour)
	list, _, err := a.Claims.List(ctx, p.Scope, harness.ClaimsOf(p.ID))
	harness.Must(t, err)
	if len(list) != 1 || list[0].Kind != pay.Inquiry || list[0].Local != half.Local || list[0].Status.Terminal() {
		t.Errorf("the claims are %+v, want an inquiry of %s", list, half.Local)
	}
}

// The operator approves that late money goes back. The call hangs, so he approves again. The second
// approval does not mean that the refund was made.
func TestApprovalOfLateMoneyRepeatedIsNoOther(t *testing.T) {
	for _, wait := range []time.Duration{2 * time.Second, time.Minute} {
		s := newStage(t)
		b, calls := newLateBank(), atomic.Int32{}
		reached, goOn := make(chan struct{}), make(chan struct{})
		b.refund = func(provider.RefundRequest) pay.Outcome { // no call arrives
			if calls.Add(1) == 1 {
				close(reached)
				<-goOn
			}
			return pay.Outcome{Kind: pay.Unknown}
		}
		b.ask = func(provider.RefundRequest) pay.Outcome { return pay.Outcome{Kind: pay.Missing} } // proof that no call arrived
		a := s.node(t, b)
		late := b.late(t, a, s.clock)
		var all sync.WaitGroup
		all.Go(func() { _, _ = harness.DecideClaim(a, late.ID, pay.Approve, "give it back") })
		harness.Soon(t, "the call that the test holds to begin", reached)
		s.clock.Advance(wait)
		if wait > 30*time.Second { // the first call is over by then
			close(goOn)
			all.Wait()
		}
		if _, err := harness.DecideClaim(a, late.ID, pay.Approve, "give it back"); err == nil {
			t.Errorf("after %s: the second approval succeeds, want an error", wait)
		}
		if wait < 30*time.Second {
			close(goOn)
			all.Wait()
		}
		s.sweep(t, a.Claims.Sweep, 50, 6*time.Hour)
		got, err := a.Claims.Get(ctx, late.Scope, late.ID)
		harness.Must(t, err)
		if got.Status.Pays() {
			t.Errorf("after %s: the claim is %s, but the provider never had the refund", wait, got.Status)
		}
	}
}

// The operator approves again while a refund of late money is on its way, because he saw that the
// shopper has the money. The query before that says that the provider refused our refund. No second
// refund is sent.
func TestApprovalOfARefundUnderWaySendsNoOther(t *testing.T) {
	s := newStage(t)
	var calls []string
	b := newLateBank()
	b.refund = func(r provider.RefundRequest) pay.Outcome {
		if calls = append(calls, r.Reference); len(calls) == 1 {
			return pay.Outcome{Kind: pay.Unknown}
		}
		return pay.Outcome{Kind: pay.Approved}
	}
	a := s.node(t, b)
	late := b.late(t, a, s.clock)
	c, err := harness.DecideClaim(a, late.ID, pay.Approve, "give it back")
	harness.Must(t, err)
	if !c.Calling() {
		t.Fatalf("the claim's refund is not on its way: %s", c)
	}
	s.clock.Advance(10 * time.Minute)
	b.ask = func(provider.RefundRequest) pay.Outcome {
		return pay.Outcome{Kind: pay.Declined, Message: "given back by hand before"}
	}
	if c, err = harness.DecideClaim(a, late.ID, pay.Approve, "the shopper has it, line 7 of their report"); err == nil || len(calls) > 1 {
		t.Errorf("the provider refused %s; the operator's approval (%v) sent %v, want nothing and an error; the claim is %s", calls[0], err, calls[1:], c.Status)
	}
}

// Late money that was given back comes back, twice: the shopper's account was closed. Each time it is in suspense again, with an inquiry.
func TestLateMoneyMayComeBackTwice(t *testing.T) {
	s := newStage(t)
	b := newLateBank()
	b.refund = func(provider.RefundRequest) pay.Outcome { return pay.Outcome{Kind: pay.Approved} }
	a := s.node(t, b)
	c := b.late(t, a, s.clock)
	for i := range 2 {
		given, err := harness.DecideClaim(a, c.ID, pay.Approve, "give it back")
		harness.Must(t, err)
		for _, n := range b.Provider.Send(sandbox.Notification{ID: fmt.Sprint("ntf_", i), Reference: given.Reference(), Status: "refund_failed", Reason: "account_closed"}) {
			harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", n))
		}
		list, _, err := a.Claims.List(ctx, c.Scope, harness.ClaimsOf(c.Payment))
		harness.Must(t, err)
		next := slices.IndexFunc(list, func(other pay.Claim) bool { return other.Previous == c.ID })
		if len(list) != i+2 || next < 0 || list[next].Status != pay.ClaimPending {
			t.Fatalf("it came back, and the claims are %v", list)
		}
		c = list[next]
		harness.Sound(t, a, s.log)
	}
}

// The merchant gives late money back, and the database goes down while the provider does it. The
// error must not say that nothing was done.
func TestMerchantIsNotToldThatNothingWasGivenBack(t *testing.T) {
	s := newStage(t)
	var away atomic.Bool
	b := newLateBank()
	b.refund = func(provider.RefundRequest) pay.Outcome { // the refund is made, and then the database goes down
		away.Store(true)
		return pay.Outcome{Kind: pay.Approved}
	}
	a := harness.NodeOf(t, s.database, s.clock, s.log, func(config *app.Config) {
		config.Providers, config.Sandbox = map[string]provider.Provider{"sandbox-1": b}, []string{"sandbox-1"}
		config.Commits = func(_ context.Context, _ *pay.Change, commit func() error) error {
			if away.Load() {
				return store.ErrDown
			}
			return commit()
		}
	})
	late := b.late(t, a, s.clock)
	_, err := harness.DecideClaim(a, late.ID, pay.AskEvidence, "yours?")
	harness.Must(t, err)
	_, err = a.Claims.Accept(ctx, late.Scope, late.ID, audit.Actor{})
	got, readErr := a.Claims.Get(ctx, late.Scope, late.ID)
	harness.Must(t, readErr)
	var shown *problem.Error
	if !away.Load() || !got.Calling() {
		t.Fatalf("the refund was not made: %s", got)
	}
	if errors.As(err, &shown) && shown.Details.Reason == "" {
		t.Errorf("the refund is made, but the merchant gets the error %q", err)
	}
}

// Two operators approve at once that late money goes back. The second approval does not mean that
// the first one's refund was made.
func TestTwoApprovalsOfLateMoneyAreNoWordOfItsEnd(t *testing.T) {
	s := newStage(t)
	b := newLateBank()
	b.refund = func(provider.RefundRequest) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} } // the call never arrives
	second := s.node(t, b)
	var armed atomic.Bool
	var late pay.Claim
	first := harness.NodeOf(t, s.database, s.clock, s.log, func(config *app.Config) {
		config.Providers, config.Sandbox = map[string]provider.Provider{"sandbox-1": b}, []string{"sandbox-1"}
		config.Commits = func(_ context.Context, _ *pay.Change, commit func() error) error {
			if armed.CompareAndSwap(true, false) {
				_, err := harness.DecideClaim(second, late.ID, pay.Approve, "give it back")
				harness.Must(t, err)
			}
			return commit()
		}
	})
	late = b.late(t, first, s.clock)
	armed.Store(true)
	c, err := harness.DecideClaim(first, late.ID, pay.Approve, "give it back")
	if err == nil || armed.Load() {
		t.Errorf("the second approval succeeds, and the claim is %s; want an error", c.Status)
	}
}
