package pay

import (
	"math"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// paidAs is a notice that an attempt was paid, with the provider's id of the money.
func paidAs(p Payment, order int, ref string, local money.Amount) Notice {
	return Notice{ID: ref + "/approved/" + local.String(), Account: p.Attempts[order-1].Provider, Reference: p.Reference(order),
		Outcome: Outcome{Kind: Approved, ProviderRef: ref, MoneyRef: ref, Local: local}}
}

// waiting is a payment whose shopper holds a code.
func waiting(t *testing.T) Payment {
	t.Helper()
	p := sent(t, pixRail(), 10000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting, ProviderRef: "page-1", FormURL: "https://x"}, routes, noon)
	return p
}

// LATE-9: a page or an account number that is paid several times.
func TestEachMoneyOfOneReferenceIsBookedOnce(t *testing.T) {
	for _, state := range []string{"completed", "expired", "refunded"} {
		p := waiting(t)
		switch state {
		case "expired":
			p, _ = p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
		case "refunded":
			p, _ = p.ApplyNotice(paidAs(p, 1, "1001", p.Price.Local), routes, "CLM-0", noon)
			p, _, _, _ = p.Refund(NewRefund{ID: "CLM-9"}, ledger.Balances{ledger.Available: 1_000_00, ledger.Reserve: 10_00}, noon)
		}
		now, suspense, transfers := noon.Add(26*time.Hour), int64(0), map[string]bool{}
		first := map[string]Verdict{"completed": Applied, "expired": Late, "refunded": Ignored}[state]
		for i, told := range []struct {
			ref  string
			want Verdict
		}{{"1001", first}, {"1001", Ignored}, {"1002", Late}, {"1001", Ignored}, {"1002", Ignored}, {"1003", Late}} {
			next, change := p.ApplyNotice(paidAs(p, 1, told.ref, p.Price.Local), routes, "CLM-"+string(rune('1'+i)), now)
			if got := change.Notices[0].Verdict; got != told.want {
				t.Errorf("%s: report %d, of %s, is %s, want %s", state, i+1, told.ref, got, told.want)
			}
			for _, tr := range change.Transfers {
				suspense += tr.Amount(ledger.Suspense)
				if transfers[tr.ID] {
					t.Errorf("%s: transfer %s is made twice", state, tr.ID)
				}
				transfers[tr.ID] = true
			}
			if p = next; told.want != Late {
				continue
			}
			if len(change.Claims) != 1 || len(change.Events) != 1 || change.Claims[0].USD != p.Price.Amount.Minor {
				t.Errorf("%s: late money has the claims %v and the events %v", state, change.Claims, change.Events)
				continue
			}
			if taker, ok := change.Claims[0].PaidAttempt(p); !ok || taker.ProviderRef != told.ref || taker.MoneyRef != told.ref {
				t.Errorf("%s: the refund of %s goes to %s", state, told.ref, taker.ProviderRef)
			}
		}
		late := map[string]int64{"completed": 2, "expired": 3, "refunded": 2}[state]
		if suspense != late*p.Price.Amount.Minor {
			t.Errorf("%s: %d cents are in suspense, want %d payments of %s", state, suspense, late, p.Price.Amount)
		}
		if capture, ok := p.Attempts.Get(p.End.Captured); ok != (state != "expired") || ok && capture.ProviderRef != "1001" {
			t.Errorf("%s: the capture's refunds go to %s", state, capture.ProviderRef)
		}
		if last := p.Strays[len(p.Strays)-1]; last.Code != PaidTwice || last.MoneyRef != "1003" {
			t.Errorf("%s: the last money is %+v", state, last)
		}
	}
}

// A row from before ids of money were kept, and one that the operator resolved, accept the id of the money that is reported again.
func TestMoneyWithoutAnIdIsTheFirstThatIsReported(t *testing.T) {
	for name, before := range map[string]func(Payment) Payment{
		"an old row": func(p Payment) Payment {
			p, _ = p.ApplyNotice(Notice{ID: "1", Account: "one", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved, ProviderRef: "1001", Local: p.Price.Local}}, routes, "CLM-1", noon)
			return p
		},
		"resolved": func(p Payment) Payment {
			p, _, err := WordPaid.Resolve(p, Outcome{Kind: Unknown}, "CLM-1", noon)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	} {
		p := before(waiting(t))
		p, change := p.ApplyNotice(paidAs(p, 1, "1001", p.Price.Local), routes, "CLM-2", noon)
		if got := change.Notices[0].Verdict; got != Ignored || len(change.Transfers) != 0 || p.Attempts[0].MoneyRef != "1001" {
			t.Errorf("%s: its money is %s, with %d transfers; the attempt has %q", name, got, len(change.Transfers), p.Attempts[0].MoneyRef)
		}
		if _, change = p.ApplyNotice(paidAs(p, 1, "1002", p.Price.Local), routes, "CLM-3", noon); change.Notices[0].Verdict != Late {
			t.Errorf("%s: another money is %s", name, change.Notices[0].Verdict)
		}
	}
	p := waiting(t) // of a row whose provider's id is known, another one is another money
	p, _ = p.ApplyNotice(Notice{ID: "1", Account: "one", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved, ProviderRef: "1001", Local: p.Price.Local}}, routes, "CLM-1", noon)
	if _, change := p.ApplyNotice(paidAs(p, 1, "1002", p.Price.Local), routes, "CLM-2", noon); change.Notices[0].Verdict != Late {
		t.Errorf("another money than the old row's is %s", change.Notices[0].Verdict)
	}
}

// A query may list several payments of one charge.
func TestQueryFindsAllMoneyOfACharge(t *testing.T) {
	local := waiting(t).Price.Local
	half := money.New(local.Minor/2, local.Currency)
	o := Outcome{Kind: Approved, ProviderRef: "1001", MoneyRef: "1001", Local: local,
		Also: []Money{{Ref: "1002", ProviderRef: "1002", Local: local, Claim: "CLM-2"}, {Ref: "1003", ProviderRef: "1003", Local: half, Claim: "CLM-3"}}}
	open := waiting(t)
	ended, _ := open.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
	for name, ask := range map[string]func() (Payment, Change){
		"open":  func() (Payment, Change) { return open.ApplyAnswer(o, routes, noon) },
		"ended": func() (Payment, Change) { return ended.ApplyLook(o, "CLM-1", noon.Add(26*time.Hour)) },
	} {
		p, change := ask()
		suspense, inquiries := int64(0), map[string]int64{}
		for _, tr := range change.Transfers {
			suspense += tr.Amount(ledger.Suspense)
		}
		for _, c := range change.Claims {
			inquiries[c.ID] = c.USD
		}
		want := p.Price.Amount.Minor * 3 / 2
		if name == "ended" {
			want += p.Price.Amount.Minor
		}
		if suspense != want || inquiries["CLM-2"] != 10000 || inquiries["CLM-3"] != 5000 || len(change.Payments) != 1 {
			t.Errorf("%s: %d cents in suspense, want %d; inquiries %v", name, suspense, want, inquiries)
		}
	}
}

// The dispute of one of two moneys is about that one.
func TestDisputeOfTheSecondMoneyIsNotAboutTheCapture(t *testing.T) {
	p := waiting(t)
	p, _ = p.ApplyNotice(paidAs(p, 1, "1001", p.Price.Local), routes, "CLM-1", noon)
	p, change := p.ApplyNotice(paidAs(p, 1, "1002", p.Price.Local), routes, "CLM-2", noon)
	inquiry := change.Claims[0]
	for ref, late := range map[string]bool{"1001": false, "1002": true} {
		n := Notice{ID: "d" + ref, Account: "one", Reference: p.Reference(1), Dispute: true, DisputeID: "dp_" + ref, Outcome: Outcome{MoneyRef: ref, Local: p.Price.Local}}
		next, change := n.ApplyDispute(p, []Claim{inquiry}, [2]string{"CLM-3", "CLM-4"}, noon)
		for _, c := range change.Claims {
			if c.Kind == ChargebackClaim && ((c.Case.Inquiry != "") != late || c.Frozen != p.Price.Amount.Minor) {
				t.Errorf("the dispute of %s is about the inquiry %q, and holds %d", ref, c.Case.Inquiry, c.Frozen)
			}
		}
		if moved := next.Status == Chargeback; moved == late {
			t.Errorf("the dispute of %s leaves the payment %s", ref, next.Status)
		}
	}
	n := Notice{ID: "d3", Account: "one", Reference: p.Reference(1), Dispute: true, DisputeID: "dp_3", Outcome: Outcome{MoneyRef: "1003", Local: p.Price.Local}}
	next, change := n.ApplyDispute(p, []Claim{inquiry}, [2]string{"CLM-5", "CLM-6"}, noon)
	if len(next.Strays) != 2 || len(change.Claims) != 2 {
		t.Errorf("the dispute of money that was not reported yet: %+v, claims %v", next.Strays, change.Claims)
	}
}

// LATE-10: a call that is under way when an earlier attempt turns out to be paid.
func TestLastAttemptIsFollowedOnceAnEarlierOneIsPaid(t *testing.T) {
	begin := func(t *testing.T) Payment {
		p := sent(t, cardRail(), 10000)
		p, _ = p.ApplyAnswer(Outcome{Kind: Unknown}, routes, noon)
		p, _ = p.ApplyAnswer(Outcome{Kind: Missing}, routes, noon.Add(5*time.Second))
		if p, _ = p.ApplyNotice(paidAs(p, 1, "1", p.Price.Local), routes, "CLM-1", noon.Add(6*time.Second)); p.Status != Completed || !p.Following() {
			t.Fatalf("following %v: %s", p.Following(), p)
		}
		return p
	}
	now := noon.Add(time.Minute)
	for kind, want := range map[OutcomeKind]string{Approved: "late", Declined: "over", Missing: "over", Lapsed: "over", Awaiting: "followed", Unknown: "followed"} {
		p := begin(t)
		next, change := p.ApplyLook(Outcome{Kind: kind, MoneyRef: "2", Local: p.Price.Local}, "CLM-2", now)
		got := "over"
		switch {
		case len(change.Claims) == 1 && change.Claims[0].Attempt == 2 && next.Strays[0].Code == PaidTwice && !next.Following():
			got = "late"
		case next.Following() && next.Work.DueAt.After(now):
			got = "followed"
		}
		if got != want || next.Status != Completed {
			t.Errorf("%s: it is %s, want %s: %s", kind, got, want, next)
		}
		if want == "followed" { // a refund does not end it
			refunded, _, _, err := next.Refund(NewRefund{ID: "CLM-3"}, ledger.Balances{ledger.Available: 1_000_00, ledger.Reserve: 10_00}, now)
			if err != nil || !refunded.Following() {
				t.Errorf("%s: after a refund it is followed: %v, %v", kind, refunded.Following(), err)
			}
		}
	}
	for kind, task := range map[OutcomeKind]bool{Unknown: true, Awaiting: false} { // it ends, and silence is a task for the operator
		p, looks, kept := begin(t), 0, []KeptNotice{}
		for ; p.Following() && looks < 1000; looks++ {
			var change Change
			p, change = p.ApplyLook(Outcome{Kind: kind}, "CLM-2", p.Work.DueAt)
			kept = append(kept, change.Notices...)
		}
		if told := len(kept) == 1 && kept[0].Verdict == Mismatched; p.Following() || told != task {
			t.Errorf("%s: after %d looks it is followed: %v; told %v", kind, looks, p.Following(), kept)
		}
	}
}

// LATE-4: money of another amount is booked, and the operator decides about it.
func TestMoneyOfAnotherAmountIsDecided(t *testing.T) {
	begin := func(t *testing.T, percent int64) (Payment, Claim) {
		p := waiting(t)
		next, change := p.ApplyNotice(paidAs(p, 1, "1", money.New(p.Price.Local.Minor*percent/100, p.Price.Local.Currency)), routes, "CLM-1", noon)
		if next.Status != Pending || len(change.Claims) != 1 || len(change.Transfers) != 1 || len(change.Events) != 2 || change.Notices[0].Verdict != Late {
			t.Fatalf("%s: %+v", next, change)
		}
		claim := change.Claims[0]
		if c := claim; c.USD != p.Price.Amount.Minor*percent/100 || change.Transfers[0].Amount(ledger.Suspense) != c.USD {
			t.Errorf("%d%% of %s are worth %d cents", percent, p.Price.Amount, c.USD)
		}
		if s, open := next.Strays.Attention(); !open || s.Code != AmountMismatch || s.Claim != "CLM-1" {
			t.Errorf("attention: %+v", s)
		}
		again, change := next.ApplyNotice(paidAs(p, 1, "1", money.New(p.Price.Local.Minor*percent/100, p.Price.Local.Currency)), routes, "CLM-2", noon)
		if len(change.Claims)+len(change.Transfers)+len(change.Events) != 0 || len(again.Strays) != 1 {
			t.Errorf("the same money again: %+v", change)
		}
		return next, claim
	}
	for _, minor := range []int64{mostCame*100 + 1, math.MaxInt64 / 2, math.MaxInt64} {
		p := waiting(t)
		absurd := money.New(minor, p.Price.Local.Currency)
		if _, change := p.ApplyNotice(paidAs(p, 1, "1", absurd), routes, "CLM-1", noon); len(change.Transfers)+len(change.Claims) > 0 || change.Notices[0].Verdict != Mismatched {
			t.Errorf("%s is booked: %+v", absurd, change)
		}
	}
	p, c := begin(t, 90)
	if _, change, err := c.Resolve(p, Reject, PartyOperator, "ok", noon); err != nil || change.Transfers[0].Amount(ledger.Available) != 9000 || change.Payments[0].Status != Pending {
		t.Errorf("accepted: %v, %+v", err, change)
	}
	if _, _, err := (Disposition{"sent", noon}).GiveByHand(c, p, ""); err == nil {
		t.Error("it is given back by hand without a reference")
	}
	if done, change, err := (Disposition{"sent", noon}).GiveByHand(c, p, "TED 0091"); err != nil || done.Status != ClaimApproved || change.Transfers[0].Amount(ledger.Refunds) != 9000 || done.Call.ByHand != "TED 0091" {
		t.Errorf("given back by hand: %v, %s", err, done)
	}
	if _, _, _, err := (Disposition{"", noon}).Keep(c, p, c.Local, false); err == nil {
		t.Error("all of it is kept as a part")
	}
	p, c = begin(t, 110)
	rest, done, change, err := Disposition{"", noon}.Keep(c, p, p.Price.Local, true)
	if err != nil || done.Status != Completed || rest.USD != 1000 || rest.Local != c.Local.Sub(p.Price.Local) || len(change.Transfers) != 2 {
		t.Fatalf("%v: %s, %s", err, done, rest)
	}
	sum := ledger.Balances{}
	for _, tr := range change.Transfers {
		for _, line := range tr.Postings {
			sum[line.Account] += line.Amount
		}
	}
	if sum[ledger.Suspense] != -10000 || sum[ledger.Receivable] != 0 {
		t.Errorf("it moves %v", sum)
	}
	sending, _, err := rest.Resolve(done, Approve, PartyOperator, "the rest", noon)
	taker, _ := sending.PaidAttempt(done)
	if err != nil || !sending.Calling() || taker.ProviderRef != "1" || sending.Local.Minor*10 != p.Price.Local.Minor {
		t.Errorf("the rest goes back: %v, %s to %s", err, sending, taker.ProviderRef)
	}
	ended, _ := p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
	if _, _, _, err := (Disposition{"", noon}).Keep(c, ended, p.Price.Local, true); err == nil {
		t.Error("a payment that ended is completed")
	}
	if part, _, change, err := (Disposition{"", noon}).Keep(c, ended, p.Price.Local, false); err != nil || part.USD != 1000 || change.Transfers[0].Amount(ledger.Available) != 10000 {
		t.Errorf("the merchant keeps the right amount: %v, %s", err, part)
	}
}

// LATE-4: another amount is worth what it is at the payment's rate, not the same part of its rounded worth.
func TestAnotherAmountIsWorthItsRate(t *testing.T) {
	rate, err := money.ParseRate("5.4")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ asked, came, worth, owed int64 }{
		{1_00, 1000_00, 185_18, 185_19}, {100_00, 110_00, 20_37, 20_37}, {100_00, 90_00, 16_66, 16_67}, {100_00, 1_00, 18, 19},
	} {
		o := order(t, pixRail(), 10000)
		local := func(minor int64) money.Amount { return money.New(minor, o.Local.Currency) }
		o.Local, o.Asked, o.Rate = local(c.asked), local(c.asked), rate
		if o.Amount, err = Worth(o.Local, rate); err != nil {
			t.Fatal(err)
		}
		p, err := Create(o, noon)
		if err != nil {
			t.Fatal(err)
		}
		p, _ = p.Begin(routes, noon)
		p, change := p.ApplyAnswer(Outcome{Kind: Awaiting, FormURL: "https://x", ProviderRef: "ch_1"}, routes, noon)
		h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
		h.apply(change)
		h.confirm(Outcome{Kind: Approved, ProviderRef: "ch_1", MoneyRef: "A", Local: local(c.came)}, Late)
		if h.books[ledger.Suspense] != c.worth || h.books[ledger.Receivable] != -c.owed || h.p.worth(h.claims[0].ID) != c.worth {
			t.Errorf("%d for %d: the merchant %d, the provider owes %d, want %d and %d", c.came, c.asked, h.books[ledger.Suspense], -h.books[ledger.Receivable], c.worth, c.owed)
		}
		_, change, err = Disposition{"", noon}.Unfounded(h.claims[0], h.p)
		left := ledger.Balances{}
		for _, tr := range change.Transfers {
			for _, line := range tr.Postings {
				left[line.Account] = h.books[line.Account] + line.Amount
			}
		}
		if err != nil || left[ledger.Suspense] != 0 || left[ledger.Receivable] != 0 || left[ledger.Rounding] != 0 {
			t.Errorf("%d for %d never came, and %v are left, %v", c.came, c.asked, left, err)
		}
		if c.came <= c.asked {
			continue
		}
		_, _, change, err = Disposition{"", noon}.Keep(h.claims[0], h.p, local(c.asked), true)
		if err != nil {
			t.Fatal(err)
		}
		h.apply(change)
		if have := h.books[ledger.Suspense] + h.p.Price.Amount.Minor; have != c.worth || h.books[ledger.Receivable] != -c.owed {
			t.Errorf("%d completed %d: suspense and capture are %d, the provider owes %d, want %d and %d", c.came, c.asked, have, -h.books[ledger.Receivable], c.worth, c.owed)
		}
	}
}

// A dispute of late money, and a refund of it by its provider, are about the inquiry: the attempt that took it has the same money, but
// completed nothing.
func TestNewsOfLateMoneyIsAboutItsInquiry(t *testing.T) {
	p := waiting(t)
	p, _ = p.AskCancel(noon)
	p, _ = p.Cancel(Outcome{Kind: Awaiting}, noon)
	p, change := p.ApplyNotice(paidAs(p, 1, "1001", p.Price.Local), routes, "CLM-1", noon)
	if len(change.Claims) != 1 {
		t.Fatalf("late money of a %s payment has the claims %v", p.Status, change.Claims)
	}
	n := Notice{ID: "d", Account: "one", Reference: p.Reference(1), Dispute: true, DisputeID: "dp_1", Outcome: Outcome{MoneyRef: "1001", Local: p.Price.Local}}
	_, change = n.ApplyDispute(p, change.Claims, [2]string{"CLM-2", "CLM-3"}, noon)
	disputed := false
	for _, c := range change.Claims {
		disputed = disputed || c.Kind == ChargebackClaim && c.Case.Inquiry != ""
	}
	if !disputed || change.Notices[0].Verdict != Applied {
		t.Errorf("the dispute of late money is %s, with the claims %v", change.Notices[0].Verdict, change.Claims)
	}
}
