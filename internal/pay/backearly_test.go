package pay

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// following is a hearing of a payment that its first attempt completed, while the second one is followed.
func following(t *testing.T) *hearing {
	h := &hearing{t: t, p: sent(t, cardRail(), 10000), books: ledger.Balances{}, now: noon}
	h.p, _ = h.p.ApplyAnswer(Outcome{Kind: Unknown}, routes, noon)
	h.p, _ = h.p.ApplyAnswer(Outcome{Kind: Missing}, routes, noon.Add(5*time.Second))
	_, change := h.p.ApplyNotice(paidAs(h.p, 1, "1", h.p.Price.Local), routes, "CLM-1", noon.Add(6*time.Second))
	h.apply(change)
	return h
}

// What went back in part before it was booked is for the operator: older news of it books nothing.
func TestOlderNewsOfMoneyThatWentBackInPart(t *testing.T) {
	for name, o := range map[string]Outcome{"a part": back(40_00, theirs("r1", 40_00)), "an unknown part": back(0)} {
		o.MoneyRef = "A"
		for way, apply := range map[string]func(*hearing){
			"open, a query":  func(h *hearing) { _, c := h.p.ApplyAnswer(o, routes, noon); h.apply(c) },
			"open, a notice": func(h *hearing) { h.confirm(o, Mismatched) },
			"ended": func(h *hearing) {
				_, c := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
				h.apply(c)
				_, c = h.p.ApplyLook(o, "CLM-L", noon.Add(26*time.Hour))
				h.apply(c)
			},
		} {
			h := heard(t)
			apply(h)
			if v := h.say(named("A", 100_00)); v != Mismatched || len(h.claims) > 0 || h.p.Status == Completed {
				t.Errorf("%s, %s: older news is %s, the payment is %s with %d claims", name, way, v, h.p.Status, len(h.claims))
			}
		}
		h := following(t)
		o.Local = h.p.Price.Local
		if o.Back.Total.IsPositive() {
			o.Back = &Reversal{Total: money.New(40_00, o.Local.Currency)}
		}
		_, change := h.p.ApplyLook(o, "CLM-2", noon.Add(time.Minute))
		h.apply(change)
		n := Notice{ID: "old", Account: "two", Reference: h.p.Reference(2), Outcome: Outcome{Kind: Approved, MoneyRef: "A", Local: o.Local}}
		_, change = h.p.ApplyNotice(n, routes, "CLM-3", noon.Add(2*time.Minute))
		if h.apply(change); len(h.claims) > 0 || change.Notices[0].Verdict != Mismatched {
			t.Errorf("%s, followed: %+v opens %v", name, change.Notices, h.claims)
		}
	}
}

// A followed attempt whose money a query finds to have come and gone books nothing.
func TestFollowedMoneyThatWentBackBooksNothing(t *testing.T) {
	h := following(t)
	o := Outcome{Kind: Reversed, Local: h.p.Price.Local, Back: &Reversal{Total: h.p.Price.Local}}
	o.MoneyRef = "A"
	_, change := h.p.ApplyLook(o, "CLM-2", noon.Add(time.Minute))
	if h.apply(change); len(h.claims) > 0 || h.p.Following() || h.books[ledger.Suspense] != 0 {
		t.Errorf("claims %v, followed %v, suspense %d", h.claims, h.p.Following(), h.books[ledger.Suspense])
	}
	n := Notice{ID: "old", Account: "two", Reference: h.p.Reference(2), Outcome: Outcome{Kind: Approved, MoneyRef: "A", Local: h.p.Price.Local}}
	if _, change, v := h.p.applyNotice(n, routes, "CLM-3", noon.Add(2*time.Minute)); v != Mismatched || len(change.Claims) > 0 {
		t.Errorf("older news is %s, %v", v, change.Claims)
	}
}

// A query that finds booked money of another amount gone tells the operator so.
func TestQueryFindsBookedMoneyGone(t *testing.T) {
	for name, ask := range map[string]func(*hearing) Change{
		"open": func(h *hearing) Change { _, c := h.p.ApplyAnswer(gone("A", 110_00), routes, noon); return c },
		"ended": func(h *hearing) Change {
			_, c := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
			h.apply(c)
			_, c = h.p.ApplyLook(gone("A", 110_00), "CLM-L", noon.Add(26*time.Hour))
			return c
		},
	} {
		h := heard(t)
		h.confirm(named("A", 110_00), Late)
		change := ask(h)
		h.apply(change)
		if len(change.Notices) != 1 || change.Notices[0].Verdict != Mismatched || !strings.Contains(string(change.Notices[0].Body), "110.00 USD of money A went back") {
			t.Errorf("%s: the notices are %+v", name, change.Notices)
		}
		if len(h.claims) != 1 || len(h.p.Strays) != 1 {
			t.Errorf("%s: %d claims, %+v", name, len(h.claims), h.p.Strays)
		}
	}
}

// A query that finds a part of booked money of another amount gone is told, too.
func TestQueryFindsAPartOfBookedMoneyGone(t *testing.T) {
	h := heard(t)
	h.confirm(named("A", 110_00), Late)
	o := gone("A", 110_00)
	o.Back = &Reversal{Total: usd(40_00)}
	_, change := h.p.ApplyAnswer(o, routes, noon)
	h.apply(change)
	if len(change.Notices) != 1 || change.Notices[0].Verdict != Mismatched || !strings.Contains(string(change.Notices[0].Body), "40.00 USD of the 110.00 USD of money A went back") {
		t.Errorf("the notices are %+v", change.Notices)
	}
}

// Two small moneys of one answer that cannot be booked are two tasks; the same news again is none.
func TestTwoMoneysThatCannotBeBookedAreTwoTasks(t *testing.T) {
	h := heard(t)
	eur := money.New(5_00, "EUR")
	o := named("A", 100_00)
	o.Also = []Money{{Ref: "S1", Local: eur, Claim: "CLM-S1"}, {Ref: "S2", Local: eur, Claim: "CLM-S2"}}
	for again, want := range []int{2, 0} {
		n := Notice{ID: "n" + string(rune('0'+again)), Account: "one", Reference: h.p.Reference(1), Outcome: o}
		_, change := h.p.ApplyNotice(n, routes, "CLM-1", noon)
		h.apply(change)
		tasks := 0
		for _, k := range change.Notices {
			if k.Verdict == Mismatched {
				tasks++
			}
		}
		if tasks != want {
			t.Errorf("time %d: %d tasks, want %d: %+v", again+1, tasks, want, change.Notices)
		}
	}
	if taker, _ := (Claim{Kind: UserDispute, Attempt: 1}).PaidAttempt(h.p); taker.MoneyRef != "A" {
		t.Errorf("a refund of the capture goes to %s", taker.MoneyRef)
	}
}
