package pay

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// say applies a notice without checking its verdict.
func (h *hearing) say(o Outcome) Verdict {
	h.t.Helper()
	h.ids++
	n := Notice{ID: fmt.Sprint("n", h.ids), Account: "one", Reference: h.p.Reference(1), Outcome: o}
	var change Change
	if n.OfRefunds(h.p) {
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = fmt.Sprintf("CLM-%d%c", h.ids, 'A'+i)
		}
		_, change = n.ApplyRefundList(h.p, h.claims, ids, h.now)
	} else {
		_, change = h.p.ApplyNotice(n, routes, fmt.Sprintf("CLM-%d", h.ids), h.now)
	}
	h.apply(change)
	return change.Notices[len(change.Notices)-1].Verdict
}

func (h *hearing) wentBack() int64 { return h.books[ledger.Chargebacks] + h.books[ledger.Refunds] }

func kept(t *testing.T) *hearing {
	h := completed(t)
	h.p.Terms.RefundFees = merchants.FeesKept
	return h
}

// ours makes a refund of ours, with the provider's id.
func (h *hearing) ours(minor int64, ref string) Claim {
	h.t.Helper()
	h.ids++
	_, c, change, err := h.p.Refund(NewRefund{ID: fmt.Sprintf("CLM-U%d", h.ids), Amount: usd(minor)}, h.balances(), h.now)
	if err != nil {
		h.t.Fatal(err)
	}
	h.apply(change)
	c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: ref, Local: c.Local}, h.now)
	h.apply(change)
	return c
}

func (h *hearing) fails(c Claim) Verdict {
	h.ids++
	n := Notice{ID: fmt.Sprint("f", h.ids), Account: "one", Refund: c.Reference(), Outcome: Outcome{Kind: Declined, ProviderRef: c.Call.Ref}}
	_, change := h.claim(c.ID).ApplyRefundNotice(h.p, n, fmt.Sprintf("CLM-F%d", h.ids), h.now)
	h.apply(change)
	return change.Notices[len(change.Notices)-1].Verdict
}

func (h *hearing) claim(id string) Claim {
	for _, c := range h.claims {
		if c.ID == id {
			return c
		}
	}
	return Claim{}
}

// Total first, then the list of the same refund.
func TestTotalThenList(t *testing.T) {
	h := kept(t)
	h.say(back(40_00))
	v := h.say(back(40_00, theirs("r1", 40_00)))
	if h.wentBack() != 40_00 {
		t.Errorf("one refund of 40.00, told as a total and then as a list, is booked as %d (%s)", h.wentBack(), v)
	}
}

// A list that lags behind the total.
func TestListLagsBehindTotal(t *testing.T) {
	h := kept(t)
	h.say(back(40_00, theirs("r1", 20_00)))
	v := h.say(back(40_00, theirs("r1", 20_00), theirs("r2", 20_00)))
	if h.wentBack() != 40_00 {
		t.Errorf("refunds of 40.00 are booked as %d (%s)", h.wentBack(), v)
	}
}

// The same total twice with a failure of ours in between.
func TestSameTotalAgain(t *testing.T) {
	h := kept(t)
	h.say(back(10_00))
	c := h.ours(30_00, "o1")
	h.say(back(50_00)) // 10 + 30 + 10
	h.fails(c)         // 20 stand
	v := h.say(back(50_00))
	if h.wentBack() != 50_00 && v != Mismatched {
		t.Errorf("50.00 went back in all, the books have %d, and the notice is %s", h.wentBack(), v)
	}
}

// The operator's own bank transfer is no part of the provider's total.
func TestByHandIsNotInTheTotal(t *testing.T) {
	h := kept(t)
	_, _, change, err := NewBooking{ID: "CLM-B", Ref: "TED 1", Origin: ByOperator, Local: usd(40_00)}.Book(h.p, h.claims, noon)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	if v := h.say(back(40_00)); h.wentBack() != 80_00 && v != Mismatched {
		t.Errorf("the provider gave 40.00 back beside the operator's 40.00: the books have %d, %s", h.wentBack(), v)
	}
}

// Late money given back by hand, then by the provider too.
func TestLateByHandThenTheProvidersTotal(t *testing.T) {
	h := expiredPaid(t)
	_, change, err := (Disposition{"sent", noon}).GiveByHand(h.claims[0], h.p, "TED 1")
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	if v := h.say(back(100_00)); v != Mismatched {
		t.Errorf("it went back twice, and the notice is %s", v)
	}
}

func expiredPaid(t *testing.T) *hearing {
	h := heard(t)
	_, change := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
	h.apply(change)
	h.confirm(Outcome{Kind: Approved, ProviderRef: "ch_1", Local: usd(100_00)}, Late)
	return h
}

// Late money whose refund was returned; then the provider gives it back by itself.
func TestLateReturnedThenTheProvidersTotal(t *testing.T) {
	for _, o := range []Outcome{back(100_00), back(100_00, theirs("r2", 100_00))} {
		h := expiredPaid(t)
		c, change, _ := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", noon)
		h.apply(change)
		c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r1"}, noon)
		h.apply(change)
		h.fails(c)
		h.gave(0, 100_00)
		if v := h.say(o); h.wentBack() != 100_00 && v != Mismatched {
			t.Errorf("%+v: books %d, notice %s", o.Back, h.wentBack(), v)
		}
	}
}

// A dispute of late money whose refund was returned.
func TestLateReturnedThenDisputed(t *testing.T) {
	h := expiredPaid(t)
	c, change, _ := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", noon)
	h.apply(change)
	c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r1"}, noon)
	h.apply(change)
	h.fails(c)
	n := Notice{ID: "d", Account: "one", Reference: h.p.Reference(1), DisputeID: "dp", Ruling: DisputeLost, Outcome: Outcome{Local: usd(100_00)}}
	_, change = n.ApplyDispute(h.p, h.claims, [2]string{"CLM-X", "CLM-Y"}, noon)
	h.apply(change)
	if h.wentBack() != 100_00 {
		t.Errorf("the dispute of money in suspense is not applied: %d went back, %s; claims %v", h.wentBack(), change.Notices[0].Verdict, h.claims)
	}
}

// Our refund that the operator approved without an id, then the list names it.
func TestOursApprovedWithoutAnID(t *testing.T) {
	h := kept(t)
	_, c, change, err := h.p.Refund(NewRefund{ID: "CLM-O", Amount: usd(30_00)}, h.balances(), noon)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Unknown}, noon)
	h.apply(change)
	_, change, err = c.Resolve(h.p, Approve, PartyOperator, "seen in its books", noon)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	if v := h.say(back(30_00, theirs("r1", 30_00))); h.wentBack() != 30_00 {
		t.Errorf("one refund of 30.00 is booked as %d, %s", h.wentBack(), v)
	}
}

// The refund by which a nameless dispute ended fails.
func TestRefundOfADisputeFails(t *testing.T) {
	h := kept(t)
	h.hear(Notice{}, Applied)
	h.say(back(100_00, theirs("r1", 100_00)))
	r := theirs("r1", 100_00)
	r.Kind = Declined
	o := back(0, r)
	o.Kind = Approved
	if v := h.say(o); v == Ignored {
		t.Errorf("the refund failed: %s, %d went back by the books", v, h.wentBack())
	}
}

// The list contradicts the end of a refund of ours.
func TestListContradictsOurs(t *testing.T) {
	h := kept(t)
	_, c, change, _ := h.p.Refund(NewRefund{ID: "CLM-O", Amount: usd(30_00)}, h.balances(), noon)
	h.apply(change)
	c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Declined, ProviderRef: "r1", Local: c.Local}, noon)
	h.apply(change)
	r := theirs("r1", 30_00)
	r.Reference = c.Reference()
	if v := h.say(back(30_00, r)); v == Ignored {
		t.Errorf("refused by the books, made by the list: %s", v)
	}
	h = kept(t)
	h.ours(30_00, "r1")
	r = theirs("r1", 30_00)
	r.Kind = Declined
	o := back(0, r)
	o.Kind = Approved
	if v := h.say(o); v == Ignored {
		t.Errorf("made by the books, failed by the list: %s", v)
	}
}

// A known refund with another amount.
func TestKnownRefundOfAnotherAmount(t *testing.T) {
	h := kept(t)
	h.say(back(40_00, theirs("r1", 40_00)))
	if v := h.say(back(60_00, theirs("r1", 60_00))); v == Ignored {
		t.Errorf("r1 is 60.00 now: %s, %d", v, h.wentBack())
	}
}

// A refund of the panel whose maker gave it a name in the form of ours: once it is booked, its list says nothing new.
func TestKnownRefundWithANameLikeOurs(t *testing.T) {
	h := kept(t)
	h.say(back(40_00, theirs("r1", 40_00)))
	r := theirs("r1", 40_00)
	r.Reference = "pedido-17"
	if v := h.say(back(40_00, r)); v != Ignored {
		t.Errorf("the same again: %s", v)
	}
	r.Kind = Declined
	if v := h.say(back(0, r)); v != Applied || h.wentBack() != 0 {
		t.Errorf("it failed: %s, %d", v, h.wentBack())
	}
}
