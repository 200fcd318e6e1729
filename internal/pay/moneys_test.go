package pay

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
)

func named(ref string, local int64) Outcome {
	return Outcome{Kind: Approved, ProviderRef: "ch_1", MoneyRef: ref, Local: usd(local)}
}

func gone(ref string, local int64) Outcome {
	return Outcome{Kind: Reversed, ProviderRef: "ch_1", MoneyRef: ref, Local: usd(local), Back: &Reversal{Total: usd(local), Refunds: []ProviderRefund{theirs("rr"+ref, local)}}}
}

// Stray money of another amount goes back whole.
func TestStrayOfAnotherAmountGoesBack(t *testing.T) {
	for _, ended := range []bool{false, true} {
		h := heard(t)
		if ended {
			_, change := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
			h.apply(change)
		}
		h.confirm(named("A", 110_00), Late)
		v := h.say(gone("A", 110_00))
		open := !h.claims[0].Status.Terminal()
		if open && v != Mismatched {
			t.Errorf("ended %v: notice %s, inquiry %s, suspense %d, payment %s", ended, v, h.claims[0].Status, h.books[ledger.Suspense], h.p.Status)
			_, change, err := h.claims[0].Resolve(h.p, Reject, PartyOperator, "", noon)
			if err == nil {
				h.apply(change)
				t.Errorf("  the merchant has %d of money that went back", h.books[ledger.Available])
			}
		}
	}
	// by a query
	h := heard(t)
	h.confirm(named("A", 110_00), Late)
	_, change := h.p.ApplyAnswer(gone("A", 110_00), routes, noon)
	h.apply(change)
	if len(change.Notices) == 0 && !h.claims[0].Status.Terminal() {
		t.Errorf("by a query: no notice, inquiry %s, suspense %d, payment %s", h.claims[0].Status, h.books[ledger.Suspense], h.p.Status)
	}
}

// The payment is completed with a part of a stray; then that money is disputed, or refunded.
func TestDisputeOfMoneyWhosePartCompleted(t *testing.T) {
	begin := func() *hearing {
		h := heard(t)
		h.confirm(named("A", 110_00), Late)
		_, _, change, err := Disposition{"", noon}.Keep(h.claims[0], h.p, usd(100_00), true)
		if err != nil {
			t.Fatal(err)
		}
		h.apply(change)
		return h
	}
	h := begin()
	n := Notice{ID: "d", Account: "one", Reference: h.p.Reference(1), DisputeID: "dp", Ruling: DisputeLost, Outcome: Outcome{MoneyRef: "A", Local: usd(110_00)}}
	_, change := n.ApplyDispute(h.p, h.claims, [2]string{"CLM-X", "CLM-Y"}, noon)
	h.apply(change)
	left := h.p.Refundable()
	if h.wentBack() > 0 && left.Minor+h.wentBack() > 110_00 {
		t.Errorf("the dispute took %d of 110.00, and %s can be refunded besides; %s", h.wentBack(), left, h.p.Status)
		_, c, change, err := h.p.Refund(NewRefund{ID: "CLM-R"}, ledger.Balances{ledger.Available: 1_000_00, ledger.Reserve: 10_00}, noon)
		if err == nil {
			h.apply(change)
			_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r"}, noon)
			h.apply(change)
			t.Errorf("  %d went back of %d", h.wentBack(), -h.books[ledger.Receivable])
		}
	}
	// the capture is refunded, then the money is disputed
	h = begin()
	h.books[ledger.Available] += 500_00
	h.ours(100_00, "r1")
	n.ID = "d2"
	_, change = n.ApplyDispute(h.p, h.claims, [2]string{"CLM-X", "CLM-Y"}, noon)
	h.apply(change)
	if h.wentBack() > 110_00 {
		t.Errorf("%d went back of 110.00: %s", h.wentBack(), change.Notices[0].Verdict)
	}
	// our refund of the capture, told as a total
	h = begin()
	h.books[ledger.Available] += 500_00
	h.ours(10_00, "r1")
	o := gone("A", 110_00)
	o.Back = &Reversal{Total: usd(10_00)}
	v := h.say(o)
	if h.wentBack() != 10_00 {
		t.Errorf("10.00 went back, the books have %d: %s, claims %v", h.wentBack(), v, h.claims)
	}
	// the provider's own refund of the capture's part, equal to the rest... or all of it
	h = begin()
	v = h.say(gone("A", 110_00))
	if h.wentBack() != 110_00 && v != Mismatched {
		t.Errorf("all went back, the books have %d: %s", h.wentBack(), v)
	}
}

// One of two moneys goes back.
func TestOneOfTwoMoneysGoesBack(t *testing.T) {
	for _, ref := range []string{"A", "B"} {
		for _, list := range []bool{true, false} {
			h := heard(t)
			h.confirm(named("A", 100_00), Applied)
			h.confirm(named("B", 100_00), Late)
			o := gone(ref, 100_00)
			if !list {
				o.Back.Refunds = nil
			}
			h.confirm(o, Applied)
			h.confirm(o, Ignored)
			if h.wentBack() != 100_00 || (h.books[ledger.Suspense] == 0) != (ref == "B") {
				t.Errorf("%s %v: %d, suspense %d", ref, list, h.wentBack(), h.books[ledger.Suspense])
			}
			other := map[string]string{"A": "B", "B": "A"}[ref]
			o = gone(other, 100_00)
			if !list {
				o.Back.Refunds = nil
			}
			h.confirm(o, Applied)
			if h.wentBack() != 200_00 {
				t.Errorf("%s %v: both, %d", ref, list, h.wentBack())
			}
		}
	}
}

// Refunds of the first stray (without an id) and of the second; claims in any order.
func TestStrayWithoutAnID(t *testing.T) {
	h := heard(t)
	_, change := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
	h.apply(change)
	h.confirm(Outcome{Kind: Approved, ProviderRef: "ch_1", Local: usd(100_00)}, Late)
	h.confirm(named("A", 100_00), Ignored) // its id
	h.confirm(named("B", 100_00), Late)
	h.claims[0], h.claims[1] = h.claims[1], h.claims[0]
	h.confirm(gone("A", 100_00), Applied)
	for _, c := range h.claims {
		s := h.p.Strays[0]
		if (c.ID == s.Claim) != c.Status.Pays() {
			t.Errorf("A went back, and the claim %s is %s (A's is %s)", c.ID, c.Status, s.Claim)
		}
	}
}

// The 17th stray whose refund is returned.
func TestReturnOfOneOfManyStrays(t *testing.T) {
	h := heard(t)
	h.confirm(named("cap", 100_00), Applied)
	for i := range 17 {
		h.confirm(named(fmt.Sprint("m", i), 50_00+int64(i)), Late)
	}
	c, change, _ := h.claims[3].Resolve(h.p, Approve, PartyOperator, "", noon)
	h.apply(change)
	c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r1"}, noon)
	h.apply(change)
	h.fails(c)
	last := h.claims[len(h.claims)-1]
	if taker, _ := last.PaidAttempt(h.p); taker.MoneyRef != "m3" {
		t.Errorf("the refund of %s (%s) goes to %q; claim in strays: %v", last.ID, last.Local, taker.MoneyRef, h.p.Strays)
	}
}

// Old news of money that went back books nothing.
func TestOldNewsOfMoneyThatWentBack(t *testing.T) {
	h := heard(t)
	h.confirm(gone("A", 100_00), Applied)
	h.confirm(named("B", 100_00), Late)
	if v := h.say(named("A", 100_00)); v != Mismatched && v != Ignored {
		t.Errorf("A, which went back, is %s: suspense %d", v, h.books[ledger.Suspense])
	}
	h = heard(t)
	h.confirm(named("B", 100_00), Applied)
	v1 := h.say(gone("A", 100_00))
	if v := h.say(named("A", 100_00)); v != Mismatched && v != Ignored {
		t.Errorf("second money A: reversal is %s, then paid is %s: suspense %d", v1, v, h.books[ledger.Suspense])
	}
	h = heard(t) // expired and only A
	h.confirm(named("A", 110_00), Late)
}
