package reconcile

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// paidOut is a withdrawal of 100 USD and a fee that arrived as 1835 MXN at the account bank.
func paidOut(t *testing.T, n int) pay.Withdrawal {
	t.Helper()
	rate, err := money.ParseRate("18.35")
	if err != nil {
		t.Fatal(err)
	}
	return pay.Withdrawal{
		ID: pay.WithdrawalPrefix + suffix(n), Scope: merchants.Scope{Merchant: "mer_1", Live: true}, Status: pay.WithdrawalDone, Amount: 103_00, Fee: 3_00,
		Conversion: rates.Conversion{Local: money.New(1835_00, "MXN"), Rate: rate}, Payout: pay.Payout{Provider: "bank", ProviderRef: "B" + suffix(n)[20:], BankRef: "E2E" + suffix(n)[20:], SentAt: noon.Add(-time.Hour)},
		CompletedAt: noon,
	}
}

// Every way in which a report of payouts and the books differ has its name, and nothing else is told of.
func TestPayoutsAreCompared(t *testing.T) {
	plain := paidOut(t, 1)
	ours, theirs, banks := suffix(1), plain.Payout.ProviderRef, plain.Payout.BankRef
	returned, early, processing, elsewhere, second, token := plain, plain, plain, plain, plain, plain
	allBack := func(w *pay.Withdrawal) {
		w.Status, w.FailedAt, w.FailureCode = pay.WithdrawalRefused, noon, "account_closed"
		w.Returned, w.ReturnedLocal, w.ReturnedParts, w.Returns = w.Net(), w.Local.Minor, []int64{w.Local.Minor}, 1
	}
	allBack(&returned)
	early.Status, early.CompletedAt, early.FailureCode = pay.WithdrawalRefused, time.Time{}, "account_closed"
	processing.Status, processing.CompletedAt = pay.WithdrawalProcessing, time.Time{}
	elsewhere.Payout.Provider = "other"
	second.Round, second.Tried = 1, []pay.PayoutAttempt{{Account: "bank", Reference: suffix(1), ProviderRef: "OLD"}}
	token.Local = money.Amount{}
	unsent, sandbox, again := early, plain, second
	unsent.Payout.Provider, unsent.Payout.ProviderRef, unsent.Payout.SentAt = "", "", time.Time{}
	sandbox.Live, sandbox.CompletedAt, sandbox.FailedAt = false, time.Time{}, time.Time{}
	allBack(&again)
	part, two, halves, whole := plain, plain, plain, plain
	part.Returned, part.ReturnedLocal, part.ReturnedParts, part.Returns = 54_49, 1000_00, []int64{1000_00}, 1
	two.Returned, two.ReturnedLocal, two.ReturnedParts, two.Returns = 81_74, 1500_00, []int64{1000_00, 500_00}, 2
	halves.Returned, halves.ReturnedLocal, halves.ReturnedParts, halves.Returns = 54_49, 1000_00, []int64{500_00, 500_00}, 2
	whole.Returned, whole.ReturnedLocal, whole.ReturnedParts, whole.Returns = 100_00, 1835_00, []int64{1000_00, 835_00}, 2
	whole.Status, whole.FailedAt, whole.FailureCode = pay.WithdrawalRefused, noon, "returned"
	const paid, back = ",payout,1835,MXN,2026-11-21\n", ",return,1835,MXN,2026-11-22\n"
	for _, c := range []struct {
		name   string
		books  pay.Withdrawal
		report string
		want   []Discrepancy
		usd    int64
	}{
		{"agrees", plain, ours + paid, nil, 0},
		{"agrees by the account's reference", plain, theirs + paid, nil, 0},
		{"agrees by the bank's reference", plain, banks + paid, nil, 0},
		{"agrees under a later reference", second, ours + "-2" + paid, nil, 0},
		{"a token's amount is its own", token, ours + ",payout,0.0021,MXN,2026-11-21\n", []Discrepancy{BadLine, PayoutMissingThere}, 10000},
		{"other lines", plain, ours + paid + "x,fee,4.50,MXN,2026-11-21\ny,charge,9,MXN,2026-11-21\n", nil, 0},
		{"returned", returned, ours + paid + ours + back, nil, 0},
		{"returned before it arrived", early, ours + paid + ours + back, nil, 0},
		{"a return stands first", early, ours + back + ours + paid, nil, 0},
		{"failed, and paid", early, ours + paid, []Discrepancy{PayoutMissingHere}, 10000},
		{"missing there", plain, "", []Discrepancy{PayoutMissingThere}, 10000},
		{"return missing there", returned, ours + paid, []Discrepancy{ReturnMissingThere}, 10000},
		{"return missing here", plain, ours + paid + ours + back, []Discrepancy{ReturnMissingHere}, 10000},
		{"not known to have arrived", processing, ours + paid, []Discrepancy{PayoutMissingHere}, 10000},
		{"at another account", elsewhere, ours + paid, []Discrepancy{PayoutMissingHere}, 10000},
		{"paid by the first try alone, and arrived by the second", second, ours + paid, []Discrepancy{PaidOutTwice, PayoutMissingThere}, 20000},
		{"paid there and then here", second, ours + paid + ours + "-2" + paid, []Discrepancy{PaidOutTwice}, 10000},
		{"the same, by the account's references", second, "OLD" + paid + theirs + paid, []Discrepancy{PaidOutTwice}, 10000},
		{"twice", plain, ours + paid + theirs + paid, []Discrepancy{PaidOutTwice}, 10000},
		{"twice by the bank's reference", plain, ours + paid + banks + paid, []Discrepancy{PaidOutTwice}, 10000},
		{"another amount", plain, ours + ",payout,1936.75,MXN,2026-11-21\n", []Discrepancy{PayoutAmount}, 555},
		{"another currency", plain, ours + ",payout,1835,USD,2026-11-21\n", []Discrepancy{PayoutAmount}, 10000},
		{"a part came back", returned, ours + paid + ours + ",return,1000,MXN,2026-11-22\n", []Discrepancy{PayoutAmount}, 4551},
		{"a part came back here too", part, ours + paid + ours + ",return,1000,MXN,2026-11-22\n", nil, 0},
		{"by the bank's reference", part, banks + paid + banks + ",return,1000,MXN,2026-11-22\n", nil, 0},
		{"another part there", part, ours + paid + ours + ",return,900,MXN,2026-11-22\n", []Discrepancy{PayoutAmount}, 545},
		{"all of it there", part, ours + paid + ours + back, []Discrepancy{PayoutAmount}, 4551},
		{"the part is missing there", part, ours + paid, []Discrepancy{ReturnMissingThere}, 5450},
		{"another part more there", part, ours + paid + ours + ",return,500,MXN,2026-11-22\n" + ours + ",return,1000,MXN,2026-11-22\n", []Discrepancy{ReturnMissingHere}, 2725},
		{"the part twice there", part, ours + paid + ours + ",return,1000,MXN,2026-11-22\n" + ours + ",return,1000,MXN,2026-11-23\n", []Discrepancy{ReturnMissingHere}, 5450},
		{"a part in another currency", part, ours + paid + ours + ",return,1000,USD,2026-11-22\n", []Discrepancy{PayoutAmount}, 5450},
		{"two parts", two, ours + paid + ours + ",return,500,MXN,2026-11-22\n" + theirs + ",return,1000,MXN,2026-11-23\n", nil, 0},
		{"two parts by the bank's reference", two, ours + paid + banks + ",return,500,MXN,2026-11-22\n" + banks + ",return,1000,MXN,2026-11-23\n", nil, 0},
		{"two equal parts", halves, ours + paid + ours + ",return,500,MXN,2026-11-22\n" + ours + ",return,500,MXN,2026-11-23\n", nil, 0},
		{"one of two parts there", two, ours + paid + ours + ",return,1000,MXN,2026-11-22\n", []Discrepancy{ReturnMissingThere}, 2725},
		{"one of two parts differs", two, ours + paid + ours + ",return,400,MXN,2026-11-22\n" + ours + ",return,1000,MXN,2026-11-23\n", []Discrepancy{PayoutAmount}, 545},
		{"all in two parts", whole, ours + paid + ours + ",return,835,MXN,2026-11-22\n" + ours + ",return,1000,MXN,2026-11-23\n", nil, 0},
		{"two parts as one line there", whole, ours + paid + ours + back, nil, 0},
		{"failed, another amount paid, and returned", early, ours + ",payout,18350,MXN,2026-11-21\n" + ours + back, []Discrepancy{PayoutAmount}, 90000},
		{"a return of what never left", unsent, ours + back, []Discrepancy{ReturnMissingHere}, 10000},
		{"a return of another environment", sandbox, ours + back, []Discrepancy{ReturnMissingHere}, 0},
		{"a return of an earlier try stands for no other", again, ours + "-2" + paid + ours + back, []Discrepancy{ReturnMissingHere, ReturnMissingThere}, 20000},
		{"a credit stands for no payout", plain, ours + ",payout,-1835,MXN,2026-11-21\nother,payout,7,MXN,2026-11-21\n", []Discrepancy{BadLine}, 0},
		{"nothing of ours", plain, ours + paid + "stranger" + paid, []Discrepancy{PayoutMissingHere}, 0},
		{"unreadable", plain, ours + paid + "z,payout,much,MXN,2026-11-21\n", []Discrepancy{BadLine}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []Discrepancy
			usd := int64(0)
			m := &PayoutMatcher{Account: "bank", Live: true, From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Tell: func(f Finding) {
				told, usd = append(told, f.Discrepancy), usd+f.USD
				if f.Withdrawal == "" && f.Discrepancy != BadLine && !strings.Contains(f.String(), "nothing is known about it") {
					t.Errorf("a finding names no withdrawal: %s", f)
				}
			}}
			compare(t, m, c.books, "reference,type,amount,currency,date\n"+c.report)
			if !slices.Equal(told, c.want) || usd != c.usd {
				t.Errorf("it finds %v worth %d, want %v worth %d", told, usd, c.want, c.usd)
			}
			for _, f := range told {
				if f.Meaning() == "" || !slices.Contains(Discrepancies(), f) {
					t.Errorf("%s means nothing", f)
				}
			}
		})
	}
}

// compare reads a report to the end, and then the books.
func compare(t *testing.T, m *PayoutMatcher, w pay.Withdrawal, report string) {
	t.Helper()
	r, err := NewReader("report.csv", strings.NewReader(report), GenericPayouts())
	if err != nil {
		t.Fatal(err)
	}
	for {
		l, err := r.Next()
		var bad *Unreadable
		switch {
		case errors.Is(err, io.EOF):
			m.Lines()
			if !w.CompletedAt.IsZero() {
				m.Booked(w, 0, w.CompletedAt)
			}
			for part := range w.Returns {
				m.Booked(w, part+1, noon)
			}
			m.End()
			return
		case errors.As(err, &bad):
			m.Bad("report.csv", bad)
		case err != nil:
			t.Fatal(err)
		default:
			var may []pay.Withdrawal // as the store finds them
			ids, references := l.PayoutNames()
			if slices.Contains(ids, w.ID) || slices.Contains(references, w.Payout.ProviderRef) && w.Payout.Provider == m.Account {
				may = append(may, w)
			}
			m.Line(l, may)
		}
	}
}

// A report without a column of types says by the sign, or by the column, what left and what came back.
func TestSignOfAPayout(t *testing.T) {
	for _, c := range []struct {
		name, report string
		columns      Columns
		want         []Kind
	}{
		{"a list of payouts", "ref,sum\na,10\nb,-10\n", Columns{Reference: "ref", Amount: "sum"}, []Kind{Payout, Return}},
		{"an account's statement", "ref,out,in\na,10,\nb,,10\n", Columns{Reference: "ref", Debit: "out", Credit: "in"}, []Kind{Payout, Return}},
	} {
		r, err := NewReader(c.name, strings.NewReader(c.report), Format{Payouts: true, Kinds: PayoutWords(), Columns: c.columns, Currency: "MXN"})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if l, err := r.Next(); err != nil || l.Kind != want {
				t.Errorf("%s: a line is %q (%v), want %q", c.name, l.Kind, err, want)
			}
		}
	}
}

// A report of a later time has the later part alone, although an earlier part was as large.
func TestPartsThatCameBackAtDifferentTimes(t *testing.T) {
	w := paidOut(t, 1)
	w.CompletedAt = noon.Add(-72 * time.Hour)
	w.Returned, w.ReturnedLocal, w.ReturnedParts, w.Returns = 54_49, 1000_00, []int64{500_00, 500_00}, 2
	var told []string
	m := &PayoutMatcher{Account: "bank", Live: true, From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Tell: func(f Finding) { told = append(told, f.String()) }}
	m.Line(Line{Kind: Return, Reference: suffix(1), Amount: money.New(500_00, money.MXN)}, []pay.Withdrawal{w})
	m.Lines()
	m.Booked(w, 0, w.CompletedAt)
	m.Booked(w, 1, noon.Add(-48*time.Hour))
	m.Booked(w, 2, noon)
	m.End()
	if len(told) > 0 || m.Totals.Refunds != 1 {
		t.Errorf("it finds %v and counts %d returns", told, m.Totals.Refunds)
	}
}
