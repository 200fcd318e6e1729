package reconcile

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// books are sales with what was booked of them.
type books struct {
	sales    []*Sale
	bookings []Booking
	cost     func(pay.Payment) (money.Amount, bool)
}

// suffix is the n-th id's, as ours are written.
func suffix(n int) string { return fmt.Sprintf("01M7%022d", n) }

// sell adds a payment at the account bank that was paid with its last attempt.
func (b *books) sell(t rapid.TB, n, attempts int, local money.Amount) *Sale {
	rate, err := money.ParseRate("5.4")
	if err != nil {
		t.Fatal(err)
	}
	p := pay.Payment{
		ID: pay.PaymentPrefix + suffix(n), Scope: merchants.Scope{Merchant: fmt.Sprintf("mer_%d", n%3), Live: true}, Status: pay.Completed, Price: pay.Price{Rate: rate,
			Local: local, Amount: money.New(local.Minor/5+1, money.USD)}, End: pay.PaymentEnd{Captured: attempts}, Times: pay.Times{Completed: noon},
	}
	for i := range attempts {
		a := pay.Attempt{Order: i + 1, Provider: "bank", Status: pay.Declined, ProviderRef: fmt.Sprintf("ch_%d_%d", n, i+1)}
		if i == attempts-1 {
			a.Status = pay.Approved
		}
		p.Attempts = append(p.Attempts, a)
	}
	s := &Sale{Payment: p}
	b.sales = append(b.sales, s)
	b.bookings = append(b.bookings, Booking{Payment: p.ID, At: noon})
	return s
}

// giveBack adds a refund.
func (b *books) giveBack(s *Sale, n int, minor int64, status pay.ClaimStatus) *pay.Claim {
	s.Payment.Status = pay.Refunded
	s.Claims = append(s.Claims, pay.Claim{
		ID: pay.ClaimPrefix + suffix(n), Scope: s.Payment.Scope, Kind: pay.UserDispute, Status: status, Payment: s.Payment.ID,
		Local: money.New(minor, s.Payment.Price.Local.Currency), USD: minor / 5, Attempt: s.Payment.End.Captured,
		Call: pay.RefundCall{State: pay.Approved, Round: 1, Ref: fmt.Sprintf("re_%d", n)},
	})
	c := &s.Claims[len(s.Claims)-1]
	if status.Pays() {
		b.bookings = append(b.bookings, Booking{Payment: s.Payment.ID, Claim: c.ID, Back: true, At: noon})
	}
	return c
}

// contest adds disputes of the n-th sale that ended at some time; the zero time: one that is open.
func (b *books) contest(n int, ends ...time.Time) {
	s := b.sales[n-1]
	s.Payment.Disputes.Any = true
	for i, end := range ends {
		c := pay.Claim{ID: pay.ClaimPrefix + suffix(900+i), Kind: pay.ChargebackClaim, Status: pay.ClaimRejected, Payment: s.Payment.ID, Local: s.Payment.Price.Local, Attempt: 1, Resolved: end}
		if end.IsZero() {
			c.Status = pay.ClaimUnderReview
		}
		s.Claims = append(s.Claims, c)
	}
}

func (b *books) all() Sales {
	sales := Sales{}
	for _, s := range b.sales {
		sales[s.Payment.ID] = s
		for _, c := range s.Claims {
			sales[c.ID] = s
		}
	}
	return sales
}

// compare reads a report as the use case does.
func (b *books) compare(t rapid.TB, report string, f Format, change ...func(*Matcher)) (found []Finding, totals Totals) {
	m := &Matcher{Account: "bank", From: noon, To: noon.Add(time.Hour), Cost: b.cost, Tell: func(f Finding) { found = append(found, f) }}
	for _, c := range change {
		c(m)
	}
	r, err := NewReader("r.csv", strings.NewReader(report), f)
	if err != nil {
		t.Fatal(err)
	}
	sales := b.all()
	for {
		l, err := r.Next()
		if bad, ok := err.(*Unreadable); ok {
			m.Bad("r.csv", bad)
			continue
		}
		if err != nil {
			break
		}
		m.Line(l, sales)
	}
	m.Lines()
	for _, booking := range b.bookings {
		m.Booked(booking, sales[booking.Payment])
	}
	m.End()
	return found, m.Totals
}

// naming says by which references a report names charges and refunds.
type naming int

const (
	byOurs      naming = iota // each by its own reference of ours
	byCharge                  // refunds by the charge's reference
	byProviders               // by the provider's references alone
	namings
)

// report writes the books as a provider's: reference, provider's, type, amount,
// currency.
func (b *books) report(by naming) [][]string {
	rows := [][]string{{"reference", "provider_reference", "type", "amount", "currency"}}
	for _, s := range b.sales {
		p := s.Payment
		charge, theirs := p.Reference(p.End.Captured), p.Attempts[p.End.Captured-1].ProviderRef
		if by == byProviders {
			charge = ""
		}
		rows = append(rows, []string{charge, theirs, "charge", p.Price.Local.Decimal(), string(p.Price.Local.Currency)})
		for _, c := range s.Claims {
			if !c.Status.Pays() {
				continue
			}
			ours, ref := c.Reference(), c.Call.Ref
			switch by {
			case byCharge:
				ours, ref = charge, theirs
			case byProviders:
				ours = ""
			}
			rows = append(rows, []string{ours, ref, "refund", c.Local.Decimal(), string(c.Local.Currency)})
		}
	}
	return rows
}

func text(rows [][]string) string {
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

// randomBooks draws sales, some of them with refunds.
func randomBooks(t *rapid.T) *books {
	b := &books{}
	claims := 1000
	for n := range rapid.IntRange(1, 12).Draw(t, "sales") {
		currency := rapid.SampledFrom([]money.Currency{money.BRL, money.MXN, money.CLP}).Draw(t, "currency")
		s := b.sell(t, n+1, rapid.IntRange(1, 3).Draw(t, "attempts"), money.New(rapid.Int64Range(10, 1_000_000).Draw(t, "minor"), currency))
		for left, i := s.Payment.Price.Local.Minor, rapid.IntRange(0, 2).Draw(t, "refunds"); i > 0 && left > 1; i-- {
			minor := rapid.Int64Range(1, left-1).Draw(t, "refund")
			left -= minor
			claims++
			b.giveBack(s, claims, minor, rapid.SampledFrom([]pay.ClaimStatus{pay.ClaimApproved, pay.ClaimApproved, pay.ClaimRejected}).Draw(t, "status"))
		}
	}
	return b
}

// Books that a provider writes down as they are agree, in whatever order, and
// whichever references it tells.
func TestBooksAgreeWithThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := randomBooks(t)
		rows := b.report(naming(rapid.IntRange(0, int(namings)-1).Draw(t, "naming")))
		copy(rows[1:], rapid.Permutation(rows[1:]).Draw(t, "order"))
		found, totals := b.compare(t, text(rows), Generic())
		if len(found) > 0 || totals.Charges+totals.Refunds != len(rows)-1 {
			t.Fatalf("%v, %+v\n%s", found, totals, text(rows))
		}
	})
}

// Of a charge in installments whose interest the shopper bears, a report may have what the card was charged (PAY-45).
func TestInterestOfInstallmentsIsNoDifference(t *testing.T) {
	for total, differs := range map[int64]bool{100_00: false, 112_00: false, 113_00: true} {
		b := &books{}
		b.sell(t, 1, 2, money.New(100_00, money.MXN)).Payment.End.Plan = installment.Plan{Count: 6, Total: money.New(112_00, money.MXN), By: installment.Shopper}
		rows := b.report(byOurs)
		rows[1][3] = money.New(total, money.MXN).Decimal()
		if found, _ := b.compare(t, text(rows), Generic()); (len(found) > 0) != differs {
			t.Errorf("%d reported for a payment of 10000 with 1200 of interest: %v", total, found)
		}
	}
}

// Whatever is changed in a report is found.
func TestAnyChangeOfAReportIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := randomBooks(t)
		rows := b.report(naming(rapid.IntRange(0, int(namings)-1).Draw(t, "naming")))
		at := rapid.IntRange(1, len(rows)-1).Draw(t, "row")
		row := slices.Clone(rows[at])
		change := rapid.SampledFrom([]string{"dropped", "doubled", "amount", "currency", "type", "reference", "alien"}).Draw(t, "change")
		switch change {
		case "dropped":
			rows = slices.Delete(rows, at, at+1)
		case "doubled":
			rows = append(rows, row)
		case "amount":
			// Less than the smallest refund apart might be another refund's amount.
			row[3] = "7" + row[3]
		case "currency":
			row[4] = map[string]string{"BRL": "MXN", "MXN": "BRL", "CLP": "COP"}[row[4]]
		case "type":
			row[2] = map[string]string{"charge": "refund", "refund": "charge"}[row[2]]
		case "reference":
			row[0], row[1] = suffix(999_999)+"-1", "ch_nobody"
		case "alien":
			rows = append(rows, []string{"ORDER-7", "ch_alien", "charge", "5", "BRL"})
		}
		if change != "dropped" {
			rows[at] = row
		}
		found, totals := b.compare(t, text(rows), Generic())
		if len(found) == 0 || totals.Clean() {
			t.Fatalf("%s in row %d, and nothing was found:\n%s", change, at, text(rows))
		}
		for _, f := range found {
			if f.Discrepancy.Meaning() == "" || f.String() == "" || !slices.Contains(Discrepancies(), f.Discrepancy) {
				t.Fatalf("%+v has no meaning", f)
			}
		}
	})
}
