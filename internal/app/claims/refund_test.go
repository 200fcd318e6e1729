package claims_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
)

// A refund's status follows the provider's answer. Without an answer it stays pending, and its money is frozen. There is one event
// of its end (REF-9).
func TestRefundGoesByTheProvidersWord(t *testing.T) {
	for fault, then := range map[sandbox.Fault]pay.ClaimStatus{
		sandbox.NoFault: pay.ClaimApproved, sandbox.RefundTimeout: pay.ClaimPending, sandbox.RefundSlow: pay.ClaimPending,
		sandbox.RefundError: pay.ClaimPending, sandbox.Down: pay.ClaimPending, sandbox.RefundDecline: pay.ClaimRejected,
	} {
		t.Run(string(fault), func(t *testing.T) {
			s := open(t)
			p := s.card(t, 25_50)
			before, events := s.funds(t), s.events()
			must(t, s.Till.SetFault(fault))
			r := s.refund(t, p.ID, "20")
			if r.Status != pay.ClaimPending {
				t.Errorf("the reply says %s, want pending", r.Status)
			}
			c := s.claim(t, r.ID)
			if c.Status != then || (then == pay.ClaimPending) != (c.Frozen > 0) {
				t.Fatalf("the claim is %s with %d cents frozen, want %s", c.Status, c.Frozen, then)
			}
			if then == pay.ClaimPending {
				s.sweep(t, 1, 5*time.Minute+time.Second) // a query during the fault, and later ones without it
				must(t, s.Till.SetFault(sandbox.NoFault))
				s.sweep(t, 2, time.Hour)
			}
			c, p = s.claim(t, r.ID), s.Read(t, p.ID)
			if rejected := then == pay.ClaimRejected; rejected != (c.Status == pay.ClaimRejected) || !c.Status.Terminal() || c.Frozen != 0 ||
				p.Refundable().Minor != map[bool]int64{true: 25_50, false: 5_50}[rejected] || rejected != (s.funds(t) == before) {
				t.Errorf("in the end the claim is %s, and %s can be refunded; the balance was %s and is %s", c, p.Refundable(), before, s.funds(t))
			}
			if got := events(p.ID); strings.Count(got, "claim.resolved") != 1 {
				t.Errorf("the events are %s, want one end of the claim", got)
			}
			if then == pay.ClaimRejected {
				must(t, s.Till.SetFault(sandbox.NoFault))
				if again := s.claim(t, s.refund(t, p.ID, "").ID); again.Status != pay.ClaimApproved {
					t.Errorf("a new refund is %s", again.Status)
				}
			}
			if refs := s.Till.Refunds(); then == pay.ClaimPending && len(slices.Compact(slices.Sorted(slices.Values(refs)))) != 1 {
				t.Errorf("the refund was sent as %v, want one reference", refs)
			}
		})
	}
}

// The parts of a payment's refunds give the balance back what the payment brought, to the cent (REF-6, REF-10).
func TestPartialRefundsAddUpExactly(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		method string
		parts  []string
	}{
		{"sbx_cash", []string{"0.01", "0.01", "61.16", "33.33", "0.99", "88"}}, // 183.5 MXN
		{"sbx_card", []string{"3.33", "3.33", "3.33", "0.01"}},
		{"sbx_pix", []string{"0.07", "17.93", "18", "18"}}, // 54 BRL
	} {
		n := s.New(t, "10.00")
		n.PaymentMethodID, n.PaymentMethod, n.Country = c.method, "", ""
		p, _, err := s.Payments.Create(t.Context(), s.By, n)
		must(t, err)
		if p.Status == pay.Pending {
			s.notify(t, sandbox.Notification{Reference: p.Reference(1), Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)})
		}
		cents := int64(0)
		for _, part := range c.parts {
			cents += s.claim(t, s.refund(t, p.ID, part).ID).USD
		}
		if p = s.Read(t, p.ID); cents != 1000 || !p.Refundable().IsZero() {
			t.Errorf("the parts of %s gave %d cents back, want 1000; %s can be refunded", c.method, cents, p.Refundable())
		}
		if got := s.funds(t); got != "0.00 to spend, 0.00 frozen, 0.00 in reserve" {
			t.Errorf("after the refunds of %s the balance has %s", c.method, got)
		}
	}
}

// Two nodes refund the same payment at once. The second one finds at its commit that the first was faster, decides again, and
// refuses (REF-5).
func TestRefundsOfTwoNodesNeverExceedCapture(t *testing.T) {
	s := open(t)
	p := s.card(t, 25_50)
	s.card(t, 500_00) // so that the balance is not the limit
	other := s.beside(t)
	raced := false
	s.around(func(_ context.Context, change *pay.Change, commit func() error) error {
		if !raced && len(change.Claims) > 0 {
			raced = true
			other.refund(t, p.ID, "20")
		}
		return commit()
	})
	_, _, err := s.claims.Refund(t.Context(), s.Scope, claims.NewRefund{Payment: p.ID, Amount: "20"})
	if refused, ok := errors.AsType[*problem.Error](err); !raced || !ok || refused.Code != problem.AmountAboveMaximum {
		t.Errorf("the slower refund gets %v", err)
	}
	if list := s.of(t, p.ID, ""); len(list) != 1 || len(s.Till.Refunds()) != 1 || s.Read(t, p.ID).Refundable().Minor != 5_50 {
		t.Errorf("the claims are %v, and the provider got %v", list, s.Till.Refunds())
	}
}

// Whatever happens to a call and the queries after it, the shopper gets the money exactly once.
func TestShopperIsRefundedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		calls     []bool // for each call, whether the provider pays; it answers only the last call
		unhelpful int    // the number of first queries that it does not answer
	}{
		"answered":                             {[]bool{true}, 0},
		"done and not answered":                {[]bool{true, true}, 0},
		"done and not answered, nor the query": {[]bool{true, true}, 3},
		"never arrived":                        {[]bool{false, true}, 0},
		"never arrived, twice":                 {[]bool{false, false, true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			queries := 0
			b := s.bank(func(call int, _ provider.RefundRequest) (bool, pay.Outcome) {
				if call == len(c.calls) {
					return c.calls[call-1], pay.Outcome{Kind: pay.Approved}
				}
				return c.calls[call-1], unknown
			}, func(known bool) pay.Outcome {
				if queries++; queries <= c.unhelpful {
					return unknown
				}
				return honest(known)
			})
			r := s.refunded(t)
			s.sweep(t, 20, 2*time.Hour)
			if got := s.claim(t, r.ID); got.Status != pay.ClaimApproved || got.Frozen != 0 {
				t.Errorf("the claim is %s", got)
			}
			if sum, n, _ := b.total(); sum != 2000 || n != 1 {
				t.Errorf("the bank paid %d in %d refunds, want 2000 in one", sum, n)
			}
		})
	}
}

// Nobody knows whether the intent of a refund was written. It is not decided again, the caller gets store.ErrUnknown, and no call
// is made. The intent was written, so the sweep asks the provider first, and makes the refund once.
func TestRefundWhoseIntentIsInDoubtIsMadeOnce(t *testing.T) {
	s := open(t)
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Approved} }, honest)
	p := s.card(t, 25_50)
	commits := 0
	s.around(func(_ context.Context, _ *pay.Change, commit func() error) error {
		if commits++; commits == 1 {
			return errors.Join(commit(), store.ErrUnknown)
		}
		return commit()
	})
	_, _, err := s.claims.Refund(t.Context(), s.Scope, claims.NewRefund{Payment: p.ID, Amount: "20"})
	if _, _, calls := b.total(); !errors.Is(err, store.ErrUnknown) || commits != 1 || calls != 0 {
		t.Errorf("the caller gets %v after %d commits and %d calls", err, commits, calls)
	}
	c := s.one(t, p.ID, pay.UserDispute)
	if s.sweep(t, 1, 5*time.Second); b.queries != 0 {
		t.Error("the provider was queried while the call could still be made")
	}
	s.sweep(t, 3, time.Hour)
	if sum, n, calls := b.total(); sum != 20_00 || n != 1 || calls != 1 || s.claim(t, c.ID).Status != pay.ClaimApproved {
		t.Errorf("the bank paid %d in %d refunds and %d calls, and the claim is %s", sum, n, calls, s.claim(t, c.ID))
	}
}

// The refund is made, and its outcome cannot be written. The reply is that it is pending, and a query ends it.
func TestRefundWhoseOutcomeIsNotWrittenIsQueried(t *testing.T) {
	s := open(t)
	s.Log.Expect("a refund's outcome was not written; it is queried again")
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Approved} }, honest)
	p := s.card(t, 25_50)
	commits := 0
	s.around(func(_ context.Context, _ *pay.Change, commit func() error) error {
		if commits++; commits == 2 {
			return store.ErrDown
		}
		return commit()
	})
	r := s.refund(t, p.ID, "20")
	if c := s.claim(t, r.ID); r.Status != pay.ClaimPending || c.Status != pay.ClaimPending {
		t.Errorf("the reply says %s, and the claim is %s", r.Status, c)
	}
	s.sweep(t, 2, time.Hour)
	if sum, _, calls := b.total(); sum != 20_00 || calls != 1 || s.claim(t, r.ID).Status != pay.ClaimApproved {
		t.Errorf("the bank paid %d in %d calls, and the claim is %s", sum, calls, s.claim(t, r.ID))
	}
}

// A provider answers queries but no calls. New refunds come all the time. Their failed calls must not stop the queries.
func TestCallsKeepNoQuestionFromBeingAsked(t *testing.T) {
	s := open(t)
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, unknown }, honest)
	p := s.card(t, 25_50)
	for range 10 { // a burst
		s.refund(t, p.ID, "0.01")
	}
	for range 15 * 6 { // six hours, with a refund every four minutes
		s.Clock.Advance(4 * time.Minute)
		s.refund(t, p.ID, "0.01")
		s.sweep(t, 1, 0)
	}
	if b.queries == 0 {
		t.Error("in six hours the provider got no query")
	}
}

// teller is a provider that reads every notification as its notice.
type teller struct {
	provider.Provider
	notice pay.Notice
}

func (p *teller) Notices(context.Context, provider.Notification) ([]pay.Notice, error) {
	return []pay.Notice{p.notice}, nil
}

// A refund that the provider made by itself is a refund of the payment, once, even if it takes the balance below zero; if it fails
// later, the money is the merchant's again (REF-14, REF-15).
func TestProvidersOwnRefundIsARefund(t *testing.T) {
	s := open(t)
	p := s.card(t, 100_00)
	back := func(id, refund, amount, reason string) {
		t.Helper()
		s.Clock.Advance(time.Second)
		s.notify(t, sandbox.Notification{ID: id, Reference: p.Reference(1), Status: "reversed", Refund: refund, Amount: amount, Currency: "USD", Reason: reason})
	}
	refunds := func() (list []string) {
		for _, c := range s.of(t, p.ID, pay.UserDispute) {
			list = append(list, string(c.Status)+" "+string(c.Origin))
		}
		return list
	}
	back("b1", "re_1", "30.00", "")
	back("b2", "re_1", "30.00", "")
	if got := strings.Join(refunds(), ", "); got != "approved provider" || s.Read(t, p.ID).Refundable().Minor != 70_00 || s.balances(t)[ledger.Available] >= 0 {
		t.Errorf("the refunds are %q, %s can be refunded, and %s", got, s.Read(t, p.ID).Refundable(), s.funds(t))
	}
	back("b3", "re_1", "30.00", "failed")
	if got := strings.Join(refunds(), ", "); got != "approved provider, rejected provider" || s.Read(t, p.ID).Refundable().Minor != 100_00 {
		t.Errorf("after it failed the refunds are %q, and %s can be refunded", got, s.Read(t, p.ID).Refundable())
	}
	if list := s.of(t, p.ID, pay.UserDispute); list[1].Previous != list[0].ID {
		t.Errorf("the claim names %s, want %s", list[1].Previous, list[0].ID)
	}
	back("b4", "re_2", "999.00", "") // more than was paid
	if s.waiting(t, p.ID) != 1 {
		t.Errorf("more than was paid went back, and %d notifications wait for the operator", s.waiting(t, p.ID))
	}
}

// Somebody made a refund at the provider, under a reference of their own: the notice names the charge beside it (REF-14). It may
// fail, and be made after all: then the operator decides.
func TestRefundByHandNamesItsCharge(t *testing.T) {
	s := open(t)
	speaks := &teller{Provider: s.Till}
	s.Providers.StandIns["sandbox-1"] = speaks
	p := s.card(t, 25_50)
	for i, c := range []struct {
		kind       pay.OutcomeKind
		refundable int64
		waiting    int
	}{{pay.Approved, 0, 0}, {pay.Declined, 25_50, 0}, {pay.Approved, 25_50, 1}} {
		speaks.notice = pay.Notice{ID: fmt.Sprint("n", i), Refund: "for ana-1", Reference: p.Reference(1), Body: []byte("x"),
			Outcome: pay.Outcome{Kind: c.kind, ProviderRef: "by hand", MoneyRef: p.Attempts[0].MoneyRef, Local: p.Price.Local}}
		must(t, s.notices.Notify(t.Context(), "sandbox-1", provider.Notification{}))
		if got := s.Read(t, p.ID).Refundable().Minor; got != c.refundable || s.waiting(t, p.ID) != c.waiting {
			t.Errorf("after notice %d %d can be refunded, want %d; %d notifications wait, want %d", i, got, c.refundable, s.waiting(t, p.ID), c.waiting)
		}
	}
}
