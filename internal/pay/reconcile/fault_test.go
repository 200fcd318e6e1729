package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const head = "reference,provider_reference,refund_provider_reference,type,amount,currency,date,fee\n"

// A difference is named for what it is, with what a person needs to act on it.
func TestEachDifferenceIsNamed(t *testing.T) {
	brl := money.New(5400, money.BRL)
	ref := func(n, order int) string { return fmt.Sprintf("%s-%d", suffix(n), order) }
	twice := func(t *testing.T, b *books) *Sale {
		s := b.sell(t, 1, 2, brl)
		s.Payment.Attempts[0].Status = pay.Approved
		s.Claims = append(s.Claims, pay.Claim{ID: "CLM-" + suffix(9), Kind: pay.Inquiry, Status: pay.ClaimPending, Attempt: 1, Local: brl, Payment: s.Payment.ID})
		b.bookings = append(b.bookings, Booking{Payment: s.Payment.ID, Claim: s.Claims[0].ID, At: noon})
		return s
	}
	charge := func(n, order int) string { return ref(n, order) + ",,,charge,54,BRL,," }
	part := func(theirs, amount string) string { return ref(1, 1) + "," + theirs + ",,charge," + amount + ",BRL,," }
	for name, c := range map[string]struct {
		books func(t *testing.T, b *books)
		lines []string
		want  []string // fault, and what else the finding tells
	}{
		"clean":              {func(t *testing.T, b *books) { b.sell(t, 1, 2, brl) }, []string{charge(1, 2)}, nil},
		"unknown charge":     {func(t *testing.T, b *books) {}, []string{charge(1, 1)}, []string{"missing_here r.csv:2 there 54.00 BRL nothing is known"}},
		"attempt that never": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{charge(1, 1), charge(1, 4)}, []string{"missing_here r.csv:3 no attempt 4"}},
		"failed here": {func(t *testing.T, b *books) {
			s := b.sell(t, 1, 1, brl)
			s.Payment.Attempts[0].Status, s.Payment.Status, s.Payment.Times.Completed, s.Payment.End.Captured = pay.Unknown, pay.Expired, time.Time{}, 0
			b.bookings = nil
		}, []string{charge(1, 1)}, []string{"missing_here r.csv:2 TXN- attempt is unknown and the payment expired"}},
		"another account's": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl).Payment.Attempts[0].Provider = "other" }, []string{charge(1, 1)},
			[]string{"missing_here r.csv:2 TXN- account other"}},
		"not there": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, nil, []string{"missing_there TXN- here 54.00 BRL of 2026-11-21 12:00:00"}},
		"not there, of another time": {func(t *testing.T, b *books) {
			b.sell(t, 1, 1, brl)
			b.sell(t, 2, 1, brl)
			b.bookings[0].At, b.bookings[1].At = noon.Add(-time.Microsecond), noon.Add(time.Hour)
		}, nil, nil},
		"amount":           {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{ref(1, 1) + ",,,charge,59.40,BRL,,"}, []string{"amount here 54.00 BRL there 59.40 BRL $1"}},
		"currency":         {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{ref(1, 1) + ",,,charge,54,USD,,"}, []string{"currency here 54.00 BRL there 54.00 USD"}},
		"listed twice":     {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{charge(1, 1), charge(1, 1)}, []string{"charged_twice r.csv:3 the charge is also in r.csv:2"}},
		"two attempts":     {func(t *testing.T, b *books) { twice(t, b) }, []string{charge(1, 1), charge(1, 2)}, []string{"charged_twice r.csv:2 attempt 2 at bank is also charged"}},
		"the other one's":  {func(t *testing.T, b *books) { twice(t, b).Payment.Attempts[0].Provider = "other" }, []string{charge(1, 2)}, []string{"charged_twice r.csv:2 attempt 1 at other"}},
		"given back since": {func(t *testing.T, b *books) { twice(t, b).Claims[0].Status = pay.ClaimApproved }, []string{charge(1, 1), charge(1, 2)}, nil},
		"twice in the report alone": {func(t *testing.T, b *books) { b.sell(t, 1, 2, brl) }, []string{charge(1, 1), charge(1, 2)},
			[]string{"charged_twice r.csv:2 attempt 2 at bank is also charged"}},
		"late money alone": {func(t *testing.T, b *books) {
			s := twice(t, b)
			s.Payment.Status, s.Payment.End.Captured, s.Payment.Times.Completed, s.Payment.Attempts[1].Status = pay.Failed, 0, time.Time{}, pay.Declined
			b.bookings = b.bookings[1:]
		}, []string{charge(1, 1)}, nil},
		"refund of nothing":  {func(t *testing.T, b *books) {}, []string{ref(5, 1) + ",,,refund,1,BRL,,"}, []string{"refund_missing_here r.csv:2 there 1.00 BRL nothing is known"}},
		"refund never asked": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{charge(1, 1), ref(1, 1) + ",,,refund,1,BRL,,"}, []string{"refund_missing_here TXN- no such refund was requested"}},
		"refund rejected":    {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimRejected) }, []string{charge(1, 1), ref(5, 1) + ",,,refund,1,BRL,,"}, []string{"refund_missing_here CLM- the refund is rejected here"}},
		"refund of a try": {func(t *testing.T, b *books) {
			b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimPending).Call.Round = 2
		}, []string{charge(1, 1), ref(5, 1) + ",,,refund,1,BRL,,"}, []string{"refund_missing_here CLM- the provider had refused try 1"}},
		"refund under way": {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimPending) }, []string{charge(1, 1), ref(5, 1) + ",,,refund,1,BRL,,"}, nil},
		"refund not there": {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimApproved) }, []string{charge(1, 1)}, []string{"refund_missing_there CLM- re_5 here 1.00 BRL"}},
		"refund of more":   {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimApproved) }, []string{charge(1, 1), ref(5, 1) + ",,,refund,2,BRL,,"}, []string{"refund_amount CLM- here 1.00 BRL there 2.00 BRL"}},
		"refund of more, by charge": {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimApproved) }, []string{charge(1, 1), ref(1, 1) + ",,,refund,2,BRL,,"},
			[]string{"refund_amount CLM- here 1.00 BRL there 2.00 BRL"}},
		"refund by the provider's id": {func(t *testing.T, b *books) {
			s := b.sell(t, 1, 1, brl)
			b.giveBack(s, 5, 100, pay.ClaimApproved)
			b.giveBack(s, 6, 100, pay.ClaimApproved)
		}, []string{charge(1, 1), ref(1, 1) + ",,re_6,refund,1,BRL,,", ref(1, 1) + ",,re_5,refund,1,BRL,,"}, nil},
		"refunded twice":     {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 100, pay.ClaimApproved) }, []string{charge(1, 1), ref(5, 1) + ",,,refund,1,BRL,,", ref(5, 1) + ",,,refund,1,BRL,,"}, []string{"refunded_twice r.csv:4 the refund is also in r.csv:3"}},
		"two cards":          {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{part("mp_1", "34"), part("mp_2", "20")}, nil},
		"one card of two":    {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{part("mp_1", "34")}, []string{"amount r.csv:2 here 54.00 BRL there 34.00 BRL"}},
		"one card, twice":    {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{part("mp_1", "27"), part("mp_1", "27")}, []string{"amount r.csv:2 there 27.00 BRL", "charged_twice r.csv:3 r.csv:2"}},
		"too much by two":    {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{part("mp_1", "34"), part("mp_2", "21")}, []string{"amount r.csv:2 there 34.00 BRL", "charged_twice r.csv:3 r.csv:2"}},
		"two cards, and one": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{part("mp_1", "34"), part("mp_2", "20"), part("mp_3", "54")}, []string{"charged_twice r.csv:4 r.csv:3"}},
		"refund of two cards": {func(t *testing.T, b *books) {
			s := b.sell(t, 1, 1, brl)
			b.giveBack(s, 5, 3000, pay.ClaimApproved)
			b.giveBack(s, 6, 900, pay.ClaimApproved)
		}, []string{charge(1, 1), ref(1, 1) + ",mp_1,,refund,20,BRL,,", ref(1, 1) + ",mp_2,,refund,10,BRL,,", ref(1, 1) + ",mp_2,,refund,9,BRL,,"}, nil},
		"refund of one card": {func(t *testing.T, b *books) { b.giveBack(b.sell(t, 1, 1, brl), 5, 3000, pay.ClaimApproved) }, []string{charge(1, 1), ref(1, 1) + ",mp_1,,refund,20,BRL,,"},
			[]string{"refund_amount CLM- here 30.00 BRL there 20.00 BRL"}},
		"unknown chargeback": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{charge(1, 1), ref(1, 1) + ",,,chargeback,54,BRL,,"}, []string{"chargeback_missing_here TXN- no dispute"}},
		"known chargeback":   {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl).Payment.Disputes.Any = true }, []string{charge(1, 1), ",ch_1_1,,chargeback,54,BRL,,"}, nil},
		"chargeback long after another": {func(t *testing.T, b *books) {
			b.sell(t, 1, 1, brl)
			b.contest(1, noon.Add(-40*24*time.Hour))
		}, []string{charge(1, 1), ref(1, 1) + ",,,chargeback,54,BRL,,"}, []string{"chargeback_missing_here TXN- each dispute of it"}},
		"chargeback soon after its end": {func(t *testing.T, b *books) {
			b.sell(t, 1, 1, brl)
			b.contest(1, noon.Add(-40*24*time.Hour), noon.Add(-20*24*time.Hour))
		}, []string{charge(1, 1), ref(1, 1) + ",,,chargeback,54,BRL,,"}, nil},
		"chargeback that is open": {func(t *testing.T, b *books) {
			b.sell(t, 1, 1, brl)
			b.contest(1, noon.Add(-40*24*time.Hour), time.Time{})
		}, []string{charge(1, 1), ref(1, 1) + ",,,chargeback,54,BRL,,"}, nil},
		"unreadable": {func(t *testing.T, b *books) { b.sell(t, 1, 1, brl) }, []string{charge(1, 1), "x,,,charge,y,BRL,,"}, []string{`unreadable r.csv:3 the amount "y"`}},
	} {
		b := &books{}
		c.books(t, b)
		found, totals := b.compare(t, head+strings.Join(c.lines, "\n"), Generic())
		if len(found) != len(c.want) || totals.Differences() != len(found) {
			t.Errorf("%s: found %v, want %v", name, found, c.want)
			continue
		}
		for i, f := range found {
			told := fmt.Sprintf("%s $%d", f, f.USD/100)
			for _, word := range strings.SplitAfter(c.want[i], " ") {
				if !strings.Contains(told, strings.TrimSpace(word)) {
					t.Errorf("%s: %s does not tell %q of %q", name, told, word, c.want[i])
				}
			}
			if f.Payment != "" && totals.Merchants[f.Merchant].Count == 0 {
				t.Errorf("%s: nobody's books differ: %+v", name, totals)
			}
		}
	}
}

// The sales of each piece of a report are read anew: parts of a refund on both sides of an edge are one.
func TestPartsOfARefundInTwoPieces(t *testing.T) {
	b := &books{}
	b.giveBack(b.sell(t, 1, 1, money.New(5400, money.BRL)), 5, 3000, pay.ClaimApproved)
	again := Sales{}
	for id, s := range b.all() {
		read := *s
		again[id] = &read
	}
	var found []Finding
	m := &Matcher{Account: "bank", From: noon, To: noon.Add(time.Hour), Tell: func(f Finding) { found = append(found, f) }}
	for i, sales := range []Sales{b.all(), again} {
		m.Line(Line{File: "r.csv", Number: i + 2, Kind: Refund, Reference: suffix(1) + "-1", ProviderRef: fmt.Sprint("mp_", i), Amount: money.New([]int64{2000, 1000}[i], money.BRL)}, sales)
	}
	if m.Lines(); len(found) > 0 || m.Totals.Refunds != 1 {
		t.Errorf("found %v, %d refunds", found, m.Totals.Refunds)
	}
}

// Lines that wait for others cost the same in a long report as in a short one, and are told in the report's order.
func TestLonePartsAreToldInOrder(t *testing.T) {
	lone := func(n int) (found []Finding, perLine float64) {
		b := &books{}
		for i := range n {
			b.sell(t, i, 1, money.New(5400, money.BRL))
		}
		sales := b.all()
		allocs := testing.AllocsPerRun(1, func() {
			found = make([]Finding, 0, n)
			m := &Matcher{Account: "bank", From: noon, To: noon.Add(time.Hour), Tell: func(f Finding) { found = append(found, f) }}
			for i := range n {
				m.Line(Line{File: "r.csv", Number: i + 2, Kind: Charge, Reference: suffix(i) + "-1", ProviderRef: "mp", Amount: money.New(2000, money.BRL)}, sales)
			}
			m.Lines()
		})
		return found, allocs / float64(n)
	}
	_, short := lone(50)
	found, long := lone(1000)
	if long > 2*short {
		t.Errorf("%.0f allocations for a line of 1000, %.0f for one of 50", long, short)
	}
	if len(found) != 1000 || !slices.IsSortedFunc(found, func(a, b Finding) int { return a.Line - b.Line }) {
		t.Errorf("%d were told, or in another order", len(found))
	}
}

// A system that shares the account takes charges of its own; one with a reference
// as ours are is ours to explain.
func TestOthersLinesAreCountedWhereTheAccountIsShared(t *testing.T) {
	b := &books{}
	b.sell(t, 1, 1, money.New(5400, money.BRL))
	report := head + suffix(1) + "-1,,,charge,54,BRL,,\nORDER-7,ch_7,,charge,5,BRL,,\n,ch_8,,refund,5,BRL,,\n" + suffix(2) + "-1,ch_9,,charge,5,BRL,,\n"
	found, totals := b.compare(t, report, Generic(), func(m *Matcher) { m.Shared = true })
	if len(found) != 1 || found[0].Line != 5 || totals.Foreign != 2 {
		t.Errorf("found %v, %d of others", found, totals.Foreign)
	}
	if found, _ := b.compare(t, report, Generic(), func(m *Matcher) { m.Owner = "mer_9" }); len(found) != 3 || found[0].Merchant != "mer_9" {
		t.Errorf("found %v of an account for one merchant", found)
	}
}

// What a provider took is put beside what the account's terms say.
func TestFeesAreComparedWithTheTerms(t *testing.T) {
	b := &books{cost: func(p pay.Payment) (money.Amount, bool) {
		return p.Price.Amount.Share(100, money.HalfEven), p.Price.Local.Minor != 5401
	}}
	for n, minor := range []int64{5400, 5401, 10800} {
		b.sell(t, n+1, 1, money.New(minor, money.BRL)) // of 10.81 and 21.61 USD
	}
	_, totals := b.compare(t, head+suffix(1)+"-1,mp_1,,charge,34,BRL,2026-11-21,-0.40\n"+suffix(1)+"-1,mp_2,,charge,20,BRL,2026-11-21,-0.20\n"+suffix(2)+"-1,,,charge,54.01,BRL,2026-11-22,0.60\n"+
		suffix(3)+"-1,,,charge,108,BRL,,1.234567\n", Generic())
	if got := fmt.Sprint(totals.Fees, totals.Told, totals.Expected, totals.Unpriced, totals.First, totals.Last); got !=
		"map[BRL:120] map[BRL:60] map[BRL:59] 1 2026-11-21 00:00:00 +0000 UTC 2026-11-22 23:59:59.999999 +0000 UTC" {
		t.Errorf("%s", got)
	}
}

// A report claims what it likes: sums stop, and do not wrap.
func TestSumsDoNotWrap(t *testing.T) {
	s := Sums{}
	for range 3 {
		s.add(money.New(1<<62, money.BRL))
	}
	if s[money.BRL] != 1<<63-1 {
		t.Errorf("the sum is %d", s[money.BRL])
	}
}
