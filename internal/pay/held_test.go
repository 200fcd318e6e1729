package pay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
)

// A dispute of the full amount proves that it was paid in full. A dispute of a part proves nothing,
// and waits.
func TestDisputeBeforeTheMoneyIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		status Outcome
		n      Notice
		want   Verdict
		proved bool
	}{
		"in full, processing":    {Outcome{Kind: Unknown}, Notice{DisputeID: "a", Outcome: Outcome{Local: usd(10000)}}, Applied, true},
		"in full, pending":       {Outcome{Kind: Awaiting}, Notice{DisputeID: "a", Outcome: Outcome{Local: usd(10000)}}, Applied, true},
		"a part":                 {Outcome{Kind: Unknown}, Notice{DisputeID: "a", Outcome: Outcome{Local: usd(1000)}}, Mismatched, false},
		"no amount":              {Outcome{Kind: Unknown}, Notice{DisputeID: "a"}, Mismatched, false},
		"another amount is paid": {Outcome{Kind: Approved, Local: usd(9000)}, Notice{DisputeID: "a", Outcome: Outcome{Local: usd(10000)}}, Mismatched, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := hundred(t)
			p, _ = p.ApplyAnswer(c.status, routes, noon)
			h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
			c.n.Reference = p.Reference(1)
			if _, ask := (Notice{Dispute: true, Reference: p.Reference(1), Outcome: c.n.Outcome}).Unproved(p, nil); ask == c.proved {
				t.Errorf("the provider is queried: %v", ask)
			}
			h.hear(c.n, c.want)
			if !c.proved {
				if !h.p.Status.Open() || len(h.p.Disputes.Held) != 1 || len(h.claims) != 0 || h.p.Work.DueAt.IsZero() {
					t.Fatalf("%s holds %d with %d claims", h.p, len(h.p.Disputes.Held), len(h.claims))
				}
				_, change := h.p.ApplyAnswer(Outcome{Kind: Approved, Local: usd(10000)}, routes, noon.Add(time.Hour))
				h.apply(change)
			}
			frozen := c.n.Outcome.Local.Minor
			if frozen == 0 {
				frozen = 10000
			}
			h.is(fmt.Sprintf("needs_evidence %d 2000", frozen), net-fee, 0)
			if got := strings.Join(h.told, ", "); got != "payment.completed, chargeback.created 1, claim.opened 1" || h.p.Status != Chargeback || len(h.p.Disputes.Held) != 0 {
				t.Errorf("events %s; the payment is %s and holds %d", got, h.p.Status, len(h.p.Disputes.Held))
			}
			h.hear(Notice{DisputeID: "a", Ruling: DisputeLost}, Applied)
			h.is("approved 0 2000", net-fee-frozen, frozen)
		})
	}
}

// Held news is applied in the order in which it came.
func TestHeldDisputeHasItsRulingToo(t *testing.T) {
	p := hundred(t)
	p, _ = p.ApplyAnswer(Outcome{Kind: Unknown}, routes, noon)
	h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
	h.hear(Notice{DisputeID: "a", Outcome: Outcome{Local: usd(1000)}}, Mismatched)
	h.hear(Notice{DisputeID: "a", Ruling: DisputeLost}, Mismatched)
	_, change := h.p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
	h.apply(change)
	h.is("approved 0 2000", net-fee-1000, 1000)
	for range 2 * maxHeld { // news that can never be applied is limited
		h.hear(Notice{Reference: "1-1", DisputeID: "a", Instance: 0, Ruling: DisputeLost}, Ignored)
	}
}

// lateMoney returns a payment that was paid after it had expired.
func lateMoney(t testing.TB) *hearing {
	p := sent(t, pixRail(), 10000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting, FormURL: "x"}, routes, noon)
	p, _ = p.Expire(Outcome{Kind: Lapsed}, noon.Add(25*time.Hour))
	p, change := p.ApplyNotice(Notice{ID: "evt_1", Account: "one", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved, Local: p.Price.Local}}, routes, "CLM-1", noon)
	h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
	h.apply(change)
	return h
}

// Once late money is disputed, the issuer decides who gets it.
func TestDisputeOfLateMoney(t *testing.T) {
	for ruling, c := range map[Ruling]struct {
		claims            string
		merchant, shopper int64
	}{
		"":          {"inquiry rejected, needs_evidence 10000 2000", 8000, 0},
		DisputeLost: {"inquiry rejected, approved 0 2000", -2000, 10000},
		DisputeWon:  {"inquiry rejected, rejected 0 2000", 8000, 0},
	} {
		h := lateMoney(t)
		h.hear(Notice{DisputeID: "a", Ruling: ruling}, Applied)
		h.is(c.claims, c.merchant, c.shopper)
		if h.p.Status != Expired || h.books[ledger.Suspense] != 0 {
			t.Errorf("the payment is %s, suspense %d", h.p.Status, h.books[ledger.Suspense])
		}
	}
	t.Run("a part, and then the rest", func(t *testing.T) {
		h := lateMoney(t)
		part := h.p.Price.Local
		part.Minor /= 4
		h.hear(Notice{DisputeID: "a", Ruling: DisputeLost, Outcome: Outcome{Local: part}}, Applied)
		h.hear(Notice{DisputeID: "b", Ruling: DisputeLost}, Applied)
		h.is("inquiry rejected, approved 0 2000, approved 0 2000", -4000, 10000)
	})
	t.Run("it was never reported", func(t *testing.T) {
		p := sent(t, pixRail(), 10000)
		p, _ = p.ApplyAnswer(Outcome{Kind: Declined}, routes, noon)
		h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
		h.hear(Notice{DisputeID: "a", Ruling: DisputeLost, Outcome: Outcome{Local: p.Price.Local}}, Applied)
		h.is("inquiry rejected, approved 0 2000", -2000, 10000)
	})
	t.Run("of another attempt than the one that completed the payment", func(t *testing.T) {
		p := hundred(t)
		p, _ = p.ApplyAnswer(Outcome{Kind: Unavailable}, routes, noon)
		p, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
		h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
		h.apply(change)
		h.hear(Notice{DisputeID: "a", Outcome: Outcome{Local: p.Price.Local}}, Applied) // the first attempt did charge
		h.is("inquiry rejected, needs_evidence 10000 2000", net+10000-fee, 0)
		if h.p.Status != Completed || h.p.Refundable() != h.p.Price.Local {
			t.Errorf("the payment is %s, %s can be refunded", h.p.Status, h.p.Refundable())
		}
		h.hear(Notice{DisputeID: "a", Ruling: DisputeLost}, Applied)
		h.is("inquiry rejected, approved 0 2000", net-fee, 10000)
		if h.p.Status != Completed {
			t.Errorf("the payment is %s", h.p.Status)
		}
	})
	for refund, c := range map[OutcomeKind]struct {
		claims            string
		merchant, shopper int64
	}{
		Approved: {"inquiry approved", 0, 10000}, // the operator knows that the issuer takes the money again
		Declined: {"inquiry rejected, needs_evidence 10000 2000", 8000, 0},
	} {
		t.Run("while it is being refunded, "+string(refund), func(t *testing.T) {
			h := lateMoney(t)
			calling, change, err := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", h.now)
			if err != nil {
				t.Fatal(err)
			}
			h.apply(change)
			h.hear(Notice{DisputeID: "a"}, Mismatched)
			if len(h.claims) != 1 || len(h.p.Disputes.Held) != 1 {
				t.Fatalf("%d claims, %d held", len(h.claims), len(h.p.Disputes.Held))
			}
			_, change = calling.ApplyRefundOutcome(h.p, Outcome{Kind: refund}, h.now)
			h.apply(change)
			h.is(c.claims, c.merchant, c.shopper)
			if len(h.p.Disputes.Held) != 0 {
				t.Errorf("%d are still held", len(h.p.Disputes.Held))
			}
		})
	}
	t.Run("after it was refunded", func(t *testing.T) {
		h := lateMoney(t)
		calling, change, _ := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", h.now)
		h.apply(change)
		_, change = calling.ApplyRefundOutcome(h.p, Outcome{Kind: Approved}, h.now)
		h.apply(change)
		h.hear(Notice{DisputeID: "a"}, Mismatched)
		h.is("inquiry approved", 0, 10000)
	})
}
