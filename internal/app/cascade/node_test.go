package cascade_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
)

// first returns a charge whose first call hangs until answers is closed and then has the late answer; the others have the answer
// next. reached is closed by the first call.
func first(late, next pay.Outcome) (charge func(provider.Request) pay.Outcome, calls *atomic.Int32, reached, answers chan struct{}) {
	calls, reached, answers = &atomic.Int32{}, make(chan struct{}), make(chan struct{})
	return func(provider.Request) pay.Outcome {
		if calls.Add(1) > 1 {
			return next
		}
		close(reached)
		<-answers
		return late
	}, calls, reached, answers
}

var voucher = pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/voucher"}

// A node dies during its call. Another one adopts the payment: it queries first. A charge that was made is the payment's, and one
// that is not there is made again, under the same reference, and at no other account.
func TestPaymentOfADeadNodeIsAdopted(t *testing.T) {
	for _, made := range []bool{true, false} {
		s := open(t)
		charge, calls, reached, answers := first(pay.Outcome{Kind: pay.Unknown}, pay.Outcome{Kind: pay.Approved})
		s.one.OnCharge = charge
		s.one.OnQuery = answer(map[bool]pay.OutcomeKind{true: pay.Approved, false: pay.Missing}[made])
		p, answered := s.underway(t, "sbx_card", reached)
		other := s.beside(t)
		if other.Swept(t); other.Read(t, p.ID).Status != pay.Processing || calls.Load() != 1 {
			t.Errorf("while its node may live, the payment is %s after %d calls", other.Read(t, p.ID), calls.Load())
		}
		other.takeOver(t)
		if got := other.Read(t, p.ID); got.Status != pay.Completed || got.Work.Answered == "" || int(calls.Load()) != map[bool]int{true: 1, false: 2}[made] {
			t.Errorf("made: %v; after %d calls the payment is %s", made, calls.Load(), got)
		}
		close(answers)
		answered()
		for _, reference := range s.one.Charges() {
			if reference != p.Reference(1) {
				t.Errorf("the account was called with %s, want %s", reference, p.Reference(1))
			}
		}
		if len(s.two.Charges()) != 0 {
			t.Errorf("the second account has %v", s.two.Charges())
		}
	}
}

// Of two calls with one reference the provider accepts the second, and the shopper has the voucher. Then the first call is refused
// as a duplicate, in its answer or in a notification. That does not end the payment.
func TestRefusalOfTheOtherCallEndsNoPendingPayment(t *testing.T) {
	for _, notified := range []bool{false, true} {
		s := open(t)
		late := pay.Outcome{Kind: pay.Declined, Decline: "duplicate_transaction"}
		if notified {
			late = pay.Outcome{Kind: pay.Unknown}
		}
		charge, calls, reached, answers := first(late, voucher)
		var paid atomic.Bool
		s.one.OnCharge = charge
		s.one.OnQuery = func(provider.Request) pay.Outcome {
			switch {
			case paid.Load():
				return pay.Outcome{Kind: pay.Approved, ProviderRef: "v1"}
			case calls.Load() > 1:
				return voucher
			}
			return pay.Outcome{Kind: pay.Missing}
		}
		p, answered := s.underway(t, "sbx_cash", reached)
		other := s.beside(t)
		other.takeOver(t) // the query finds no charge, so the node calls again and is accepted
		if p = other.Read(t, p.ID); p.Status != pay.Pending || p.Attempts[0].Calls != 2 {
			t.Fatalf("before the first call's answer the payment is %s, want pending after two calls", p)
		}
		other.Clock.Advance(5 * time.Second)
		if notified {
			other.notify(t, sandbox.Notification{Reference: p.Reference(1), Status: "declined", Reason: "duplicate_transaction"})
		}
		close(answers)
		answered()
		if got := other.Read(t, p.ID); got.Status != pay.Pending {
			t.Errorf("the shopper has a valid voucher, but the payment is %s", got)
		}
		paid.Store(true) // the notification is lost
		other.pass(t, 20, 6*time.Hour)
		if got := other.Read(t, p.ID); got.Status != pay.Completed {
			t.Errorf("five days after the shopper paid, the payment is %s", got)
		}
	}
}

// The provider accepts the first call, and refuses the second one, of the node that took over, as a duplicate. That does not end
// the payment.
func TestDuplicateOfATakenCallEndsNoPendingPayment(t *testing.T) {
	s := open(t)
	other := s.beside(t)
	var calls, accepted atomic.Int32
	reached, answers, second, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.one.OnCharge = func(provider.Request) pay.Outcome {
		if calls.Add(1) == 1 {
			close(reached)
			<-answers
			accepted.Store(1)
			return voucher
		}
		close(second)
		<-done
		return pay.Outcome{Kind: pay.Declined, Decline: "duplicate_transaction"}
	}
	s.one.OnQuery = func(provider.Request) pay.Outcome {
		if accepted.Load() > 0 {
			return voucher
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	p, answered := s.underway(t, "sbx_cash", reached)
	var sweep sync.WaitGroup
	s.Clock.Advance(10 * time.Second)
	must(t, other.Cascade.ReleaseOrphans(t.Context()))
	sweep.Go(func() { _, _ = other.Cascade.Sweep(t.Context()) })
	<-second
	close(answers)
	answered()
	before := s.Read(t, p.ID).Status
	close(done)
	sweep.Wait()
	if got := s.Read(t, p.ID); got.Status != pay.Pending {
		t.Errorf("after the second call was refused as a duplicate the payment went from %s to %s", before, got)
	}
}

// The operator resolves a payment as paid while its only call is on its way, and the query for that has no answer. Then the call is
// declined. The contradiction is kept for the operator, once.
func TestDeclineAfterTheOperatorsPaidIsKept(t *testing.T) {
	s := open(t)
	charge, _, reached, answers := first(pay.Outcome{Kind: pay.Declined, Decline: "do_not_honor"}, pay.Outcome{})
	s.one.OnCharge, s.one.OnQuery = charge, answer(pay.Unknown)
	p, answered := s.underway(t, "sbx_card", reached)
	s.Clock.Advance(2 * time.Second)
	_, _, err := s.Payments.Resolve(t.Context(), s.Operator, base.Resolution{ID: p.ID, Word: pay.WordPaid, Note: "it is in their list"})
	must(t, err)
	close(answers)
	answered()
	if got := s.Read(t, p.ID); got.Status != pay.Completed || len(s.waiting(t, p.ID)) != 1 || len(s.two.Charges()) != 0 {
		t.Errorf("the provider declined after the operator's decision: the payment is %s, want completed, and one notification that waits: %+v", got, s.waiting(t, p.ID))
	}
}

// The first account says that it never had the charge, although it has, and notifies that it is paid while the second account's call
// is under way. That call is followed to its end: its money is found by its answer, or by the sweep of another node, and is late
// money (LATE-10).
func TestCallUnderWayIsFollowedOnceAnEarlierOneWasPaid(t *testing.T) {
	for name, c := range map[string]struct {
		answer, query pay.OutcomeKind
		claims        int
	}{
		"its answer is paid":        {pay.Approved, pay.Approved, 1},
		"the answer is lost, paid":  {pay.Unknown, pay.Approved, 1},
		"the answer is lost, never": {pay.Unknown, pay.Missing, 0},
		"declined":                  {pay.Declined, pay.Declined, 0},
		"a page that can be paid":   {pay.Awaiting, pay.Awaiting, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			other := s.beside(t)
			outcome := func(kind pay.OutcomeKind) pay.Outcome {
				return pay.Outcome{Kind: kind, MoneyRef: "money-2", ProviderRef: "charge-2", FormURL: "https://bank.example/2"}
			}
			charge, _, reached, answers := first(outcome(c.answer), pay.Outcome{})
			s.one.OnCharge, s.one.OnQuery = answer(pay.Unavailable), answer(pay.Approved)
			s.two.OnCharge, s.two.OnQuery = charge, func(provider.Request) pay.Outcome { return outcome(c.query) }
			p, answered := s.underway(t, "sbx_card", reached)
			other.notify(t, sandbox.Notification{Reference: p.Reference(1), Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)})
			if p = other.Read(t, p.ID); p.Status != pay.Completed || !p.Following() {
				t.Fatalf("once the first account was paid: %s", p)
			}
			if c.answer == pay.Unknown { // its node dies
				other.pass(t, 6, time.Minute)
			}
			close(answers)
			answered()
			other.pass(t, 60, 24*time.Hour)
			got := other.Read(t, p.ID)
			if got.Status != pay.Completed || got.Following() || len(other.of(t, p.ID)) != c.claims || other.suspense(t) != int64(c.claims)*10_00 {
				t.Errorf("the payment is followed: %v, with %v, want %d claims: %s", got.Following(), other.of(t, p.ID), c.claims, got)
			}
			if stray, open := got.Strays.Attention(); open != (c.claims == 1) || open && (stray.Code != pay.PaidTwice || stray.Order != 2) {
				t.Errorf("the second account's money is %+v", stray)
			}
		})
	}
}

// The charge is made, and nobody knows whether its outcome was written, or it was not. The caller is answered with the payment's
// id. The payment is paid once the database answers, by a query, and no other call is made.
func TestOutcomeThatIsNotWrittenIsQueried(t *testing.T) {
	for _, written := range []bool{false, true} {
		s := open(t)
		s.one.OnCharge, s.one.OnQuery = answer(pay.Approved), answer(pay.Approved)
		var commits atomic.Int32
		s.Base.Store.Around = func(_ context.Context, _ *pay.Change, commit func() error) error {
			switch {
			case commits.Add(1) != 2:
				return commit()
			case written:
				return errors.Join(commit(), store.ErrUnknown)
			}
			return store.ErrDown
		}
		_, err := s.create(t, "sbx_card")
		refused, ok := errors.AsType[*problem.Error](err)
		if !ok || refused.Details.Reason != store.OutcomeUnknown || refused.Details.TransactionID == "" {
			t.Fatalf("the caller gets %v, want %s and the payment's id", err, store.OutcomeUnknown)
		}
		s.pass(t, 3, time.Hour)
		if got := s.Read(t, refused.Details.TransactionID); got.Status != pay.Completed || len(s.one.Charges()) != 1 || len(s.two.Charges()) != 0 {
			t.Errorf("written: %v; the payment is %s after the calls %v and %v", written, got, s.one.Charges(), s.two.Charges())
		}
	}
}
