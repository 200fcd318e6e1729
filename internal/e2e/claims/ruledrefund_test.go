package claims

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator approves a refund as made, but a query proves that the provider never had it. The
// claim must not end as paid.
func TestOperatorApprovesNoRefundThatTheProviderNeverHad(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return false, pay.Outcome{Kind: pay.Unknown} }
	a := s.node(t, b)
	r := refunded(t, a)
	s.clock.Advance(time.Minute)
	_, err := harness.DecideClaim(a, r.ID, pay.Approve, "I think I saw it")
	s.sweep(t, a.Claims.Sweep, 100, 6*time.Hour)
	got, readErr := a.Claims.Get(ctx, r.Scope, r.ID)
	harness.Must(t, readErr)
	var refused *problem.Error
	if !errors.As(err, &refused) || refused.Code != problem.ConflictState || got.Status != pay.ClaimPending {
		t.Errorf("the operator's word gets %v and the claim is %s, want conflict_state and pending", err, got.Status)
	}
	if sum, _, calls := b.Total(); sum != 0 || calls < 2 {
		t.Errorf("the bank paid %d after %d calls, want nothing after more than one", sum, calls)
	}
}

// The operator approves a refund that the provider has made in the meantime. The provider is asked first and says so: that is the
// answer, and no error, for a refund that the shop asked for and for late money alike.
func TestProviderConfirmsWhatTheOperatorApproves(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	var asked provider.RefundRequest
	b.Answer = func(r provider.RefundRequest, _ bool) (bool, pay.Outcome) {
		asked = r
		return false, pay.Outcome{Kind: pay.Awaiting, ProviderRef: "their-8"}
	}
	a := s.node(t, b)
	r := refunded(t, a)
	s.clock.Advance(time.Minute)
	b.Pay(asked)
	c, err := harness.DecideClaim(a, r.ID, pay.Approve, "it is in their list")
	harness.Must(t, err)
	if last := c.Timeline[len(c.Timeline)-1]; c.Status != pay.ClaimApproved || last.Actor != pay.PartyProvider {
		t.Errorf("the claim is %s, want approved by the provider", c)
	}
	if _, err := harness.DecideClaim(a, r.ID, pay.Approve, "again"); err == nil {
		t.Error("an ended claim is decided again")
	}
	harness.Sound(t, a, s.log)
}

// The operator approves a refund as made while its last call is on its way. With two calls, the
// provider did not accept the first one. Then the provider notifies that the refund failed. The
// contradiction must wait for the operator.
func TestFailureToldAfterTheOperatorsApprovalIsKept(t *testing.T) {
	for _, calls := range []int{1, 2} {
		s := newStage(t)
		b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
		b.OnQuery = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
		b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) {
			if _, _, n := b.Total(); n < calls {
				return false, pay.Outcome{Kind: pay.Unavailable}
			}
			return false, pay.Outcome{Kind: pay.Unknown}
		}
		a := s.node(t, b)
		r := refunded(t, a)
		if calls == 2 {
			s.clock.Advance(time.Minute)
			_, err := a.Claims.Sweep(ctx)
			harness.Must(t, err)
		}
		s.clock.Advance(time.Second)
		c, err := harness.DecideClaim(a, r.ID, pay.Approve, "it is in their list")
		harness.Must(t, err)
		s.clock.Advance(time.Second)
		for _, n := range b.Provider.Send(sandbox.Notification{ID: "ntf_other", Reference: c.Reference(), Status: "refund_failed", Reason: "account_closed"}) {
			harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", n))
		}
		s.sweep(t, a.Claims.Sweep, 50, 6*time.Hour)
		got, err := a.Claims.Get(ctx, r.Scope, r.ID)
		harness.Must(t, err)
		told, err := a.Notices.Notifications(ctx, r.Payment, 10)
		harness.Must(t, err)
		waiting := 0
		for _, n := range told {
			if n.Verdict == pay.Mismatched {
				waiting++
			}
		}
		if got.Status != c.Status || !c.Status.Pays() || waiting != 1 {
			t.Errorf("%d calls: after the failure at the provider the approved claim is %s, and %d notifications wait for the operator, want 1: %+v", calls, got.Status, waiting, told)
		}
		harness.Sound(t, a, s.log)
	}
}

// Another node's query confirms a refund. Then the call's own answer says that another amount went
// back. The contradiction must wait for the operator.
func TestAnswerOfAnotherAmountAfterTheEndIsKept(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	called, goOn := make(chan struct{}), make(chan struct{})
	b.Answer = func(r provider.RefundRequest, _ bool) (bool, pay.Outcome) {
		r.Local.Minor = 2550
		b.Pay(r) // the whole payment, not 20
		close(called)
		<-goOn
		return false, pay.Outcome{Kind: pay.Approved, Local: money.New(2550, r.Local.Currency)}
	}
	first, second := s.node(t, b), s.node(t, b)
	scope, payment := harness.PaidCard(t, first)
	var all sync.WaitGroup
	var refused error
	all.Go(func() {
		_, _, refused = first.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
	})
	harness.Soon(t, "the call that the test holds to begin", called)
	s.clock.Advance(46 * time.Second)
	_, err := second.Claims.Sweep(ctx) // the answer is that the refund was made, without an amount
	harness.Must(t, err)
	close(goOn)
	all.Wait()
	harness.Must(t, refused)
	list, _, err := second.Claims.List(ctx, scope, harness.ClaimsOf(payment))
	harness.Must(t, err)
	told, err := second.Notices.Notifications(ctx, payment, 10)
	harness.Must(t, err)
	sum, _, _ := b.Total()
	if len(list) != 1 || !list[0].Status.Pays() || list[0].Local.Minor != 20_00 || sum != 25_50 {
		t.Fatalf("the bank paid %d, want 25.50; the claims are %v, want one that pays 20.00", sum, list)
	}
	if len(told) != 1 || told[0].Verdict != pay.Mismatched {
		t.Errorf("want one notification that waits for the operator, got %+v", told)
	}
	harness.Sound(t, second, s.log)
}

// Of two requests with one Idempotency-Key at once, the second gets the first one's refund, and not
// the error that nothing is left to refund.
func TestRepeatOfARefundThatIsBeingWrittenIsAnsweredAsTheFirst(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Approved} }
	var armed atomic.Bool
	held, hold := make(chan struct{}), make(chan struct{})
	a := harness.NodeOf(t, database, clock, log, func(config *app.Config) {
		config.Providers, config.Sandbox = map[string]provider.Provider{"sandbox-1": b}, []string{"sandbox-1"}
		config.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
			if change.Once != nil && armed.CompareAndSwap(true, false) { // the database is slow
				close(held)
				<-hold
			}
			return commit()
		}
	})
	scope, payment := harness.PaidCard(t, a)
	n := claims.NewRefund{Payment: payment, Idempotency: base.Idempotency{Route: "POST /payments/" + payment + "/refund", Key: "k1", Hash: "h"}}
	armed.Store(true)
	var all sync.WaitGroup
	var one, two pay.Refund
	var oneErr, twoErr error
	all.Go(func() { one, _, oneErr = a.Claims.Refund(ctx, scope, n) })
	harness.Soon(t, "the first refund to be written", held)
	all.Go(func() { two, _, twoErr = a.Claims.Refund(ctx, scope, n) })
	time.Sleep(200 * time.Millisecond) // by then the second request has found no key, and waits
	close(hold)
	all.Wait()
	harness.Must(t, oneErr)
	if twoErr != nil || two.ID != one.ID {
		t.Errorf("the first request made %s, but the second one gets %q with the error %v", one.ID, two.ID, twoErr)
	}
}
