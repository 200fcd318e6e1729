package pay

import (
	"testing"

	"github.com/cascadapay/cascada/internal/ledger"
)

// The provider made a refund of ours twice, under one reference.
func TestOursMadeTwice(t *testing.T) {
	h := kept(t)
	c := h.ours(30_00, "id1")
	one, two := theirs("id1", 30_00), theirs("id2", 30_00)
	one.Reference, two.Reference = c.Reference(), c.Reference()
	if v := h.say(back(60_00, one, two)); v == Ignored {
		t.Errorf("60.00 went back by two refunds with our reference, the books have %d: %s", h.wentBack(), v)
	}
	// Of late money: the first round, which was refused, was made after all.
	h = expiredPaid(t)
	c, change, _ := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", noon)
	h.apply(change)
	first := c.Reference()
	_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Declined}, noon)
	h.apply(change)
	c, change, err := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "id2"}, noon)
	h.apply(change)
	one.Reference, two.Reference = first, c.Reference()
	one.Local, two.Local = usd(100_00), usd(100_00)
	if v := h.say(back(200_00, one, two)); v == Ignored {
		t.Errorf("late money went back by both rounds: %s", v)
	}
}

// The newest first: the refund that replaces one that failed.
func TestNewestRefundFirst(t *testing.T) {
	h := kept(t)
	h.say(back(100_00, theirs("r1", 100_00)))
	failed := theirs("r1", 100_00)
	failed.Kind = Declined
	v := h.say(back(100_00, theirs("r2", 100_00), failed))
	if h.wentBack() != 100_00 {
		t.Errorf("r1 failed and r2 was made: the books have %d, %s", h.wentBack(), v)
	}
}

// Two moneys of one charge, one of which is told only by a total; then the other: the ids of totals are those of a money.
func TestTotalsOfTwoMoneys(t *testing.T) {
	h := heard(t)
	h.confirm(named("A", 100_00), Applied)
	h.confirm(named("B", 100_00), Late)
	for _, ref := range []string{"B", "A"} {
		o := gone(ref, 100_00)
		o.Back.Refunds = nil
		h.say(o)
	}
	if h.wentBack() != 200_00 {
		t.Errorf("both went back, the books have %d", h.wentBack())
	}
}

// Our own refund of the capture counts in the total of its money only.
func TestOursAndTheStraysTotal(t *testing.T) {
	h := heard(t)
	h.confirm(named("A", 100_00), Applied)
	h.confirm(named("B", 100_00), Late)
	h.books[ledger.Available] += 500_00
	h.ours(100_00, "o1")
	o := gone("B", 100_00)
	o.Back.Refunds = nil
	h.confirm(o, Applied)
	o = gone("A", 100_00)
	o.Back.Refunds = nil
	h.confirm(o, Ignored)
	if h.wentBack() != 200_00 {
		t.Errorf("the books have %d", h.wentBack())
	}
}

// Unfounded, then the provider says again that it is paid.
func TestUnfoundedThenPaidAgain(t *testing.T) {
	h := heard(t)
	h.confirm(named("A", 110_00), Late)
	_, change, err := Disposition{At: noon}.Unfounded(h.claims[0], h.p)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	if v := h.say(named("A", 110_00)); v == Ignored {
		t.Errorf("the provider insists on 110.00, which the operator called unfounded: %s", v)
	}
	// A part was kept first.
	h = heard(t)
	h.confirm(named("A", 110_00), Late)
	c, _, change, _ := Disposition{At: noon}.Keep(h.claims[0], h.p, usd(60_00), false)
	h.apply(change)
	_, change, err = Disposition{At: noon}.Unfounded(c, h.p)
	if err == nil {
		h.apply(change)
	}
}
