package pay

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"pgregory.net/rapid"
)

// life is a payment with its books and the shopper's side of the story.
type life struct {
	p       Payment
	now     time.Time
	books   ledger.Balances
	written map[string]bool // transfers
	paid    map[int]bool    // attempts that took the shopper's money
	events  int64
	ids     int
}

func (l *life) id() string { l.ids++; return fmt.Sprintf("CLM-%d", l.ids) }

// apply books a change as the store would, and checks what it must keep.
func (l *life) apply(t *rapid.T, next Payment, c Change) {
	for _, tr := range c.Transfers {
		if err := tr.Check(); err != nil {
			t.Fatal(err)
		}
		if l.written[tr.ID] {
			t.Fatalf("transfer %s is written twice\n%s", tr.ID, next)
		}
		l.written[tr.ID] = true
		for _, line := range tr.Postings {
			l.books[line.Account] += line.Amount
		}
	}
	for _, e := range c.Events {
		if e.Object == next.ID {
			if l.events++; e.Sequence != l.events {
				t.Fatalf("event %s is number %d, want %d", e.ID, e.Sequence, l.events)
			}
		}
	}
	if len(c.Payments) == 0 {
		return
	}
	if len(c.Payments) != 1 || c.Payments[0].Version != l.p.Version+1 || c.Payments[0].Stored != l.p.Status {
		t.Fatalf("the change does not follow version %d (%s): %s", l.p.Version, l.p.Status, c.Payments[0])
	}
	l.p = c.Payments[0]
}

// Whatever providers answer and tell in whatever order, the books balance, the
// payment is captured at most once, all the shopper's money is accounted for,
// and an open payment is looked at again.
func TestBooksHoldThroughAnyLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rail := cardRail()
		if rapid.Bool().Draw(t, "local rail") {
			rail = pixRail()
		}
		p, err := Create(order(t, rail, rapid.Int64Range(100, 18_000_00).Draw(t, "cents")), noon)
		if err != nil {
			t.Fatal(err)
		}
		l := &life{now: noon, books: ledger.Balances{}, written: map[string]bool{}, paid: map[int]bool{}}
		p, _ = p.Try(routes[0], noon)
		l.p = p
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			l.now = l.now.Add(time.Minute)
			l.step(t)
			l.check(t)
		}
	})
}

func (l *life) step(t *rapid.T) {
	kinds := []OutcomeKind{Approved, Awaiting, Declined, Unavailable, Errored, Unknown, Missing, Lapsed}
	switch rapid.SampledFrom([]string{"answer", "notice", "expire", "refund", "dispute"}).Draw(t, "step") {
	case "answer":
		if l.p.Status.Open() {
			o := Outcome{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Soft: rapid.Bool().Draw(t, "soft")}
			l.paid[len(l.p.Attempts)] = l.paid[len(l.p.Attempts)] || o.Kind == Approved
			next, change := l.p.Resolve(o, routes, l.now)
			l.apply(t, next, change)
		}
	case "notice":
		order := rapid.IntRange(1, len(l.p.Attempts)).Draw(t, "attempt")
		o := Outcome{Kind: rapid.SampledFrom([]OutcomeKind{Approved, Declined, Lapsed}).Draw(t, "kind")}
		if o.Kind == Approved {
			o.Local = l.p.Local
			if rapid.IntRange(0, 4).Draw(t, "wrong amount") == 0 {
				o.Local.Minor++
			} else {
				l.paid[order] = true
			}
		}
		l.ids++
		n := Notice{ID: fmt.Sprint(l.ids), Account: "one", Reference: l.p.Reference(order), Outcome: o, Simulated: rapid.Bool().Draw(t, "simulated")}
		next, change := l.p.Confirm(n, routes, l.id(), l.now)
		l.apply(t, next, change)
	case "expire":
		if l.p.Status == Pending {
			next, change := l.p.Expire(l.now)
			l.apply(t, next, change)
		}
	case "refund":
		left := l.p.Refundable()
		if !left.IsPositive() {
			return
		}
		part := money.New(rapid.Int64Range(1, left.Minor).Draw(t, "part"), left.Currency)
		next, change, err := l.p.Refund(part, "", l.id(), l.books, l.now)
		if e, ok := err.(*Error); ok && e.Code == CodeBalanceInsufficient {
			return // a dispute took the balance
		}
		if err != nil {
			t.Fatal(err)
		}
		l.apply(t, next, change)
	case "dispute":
		l.ids++
		n := Notice{ID: fmt.Sprint(l.ids), Account: "one", Reference: l.p.Reference(1), Dispute: true, Simulated: rapid.Bool().Draw(t, "simulated")}
		next, change := l.p.Confirm(n, routes, l.id(), l.now)
		l.apply(t, next, change)
	}
}

func (l *life) check(t *rapid.T) {
	p := l.p
	if p.Status.Open() == p.DueAt.IsZero() {
		t.Fatalf("due at %v:\n%s", p.DueAt, p)
	}
	if captured := l.written["tr_"+p.Suffix()+"-capture"]; captured != !p.Times.Completed.IsZero() {
		t.Fatalf("captured %v:\n%s", captured, p)
	}
	if p.Refunded < 0 || p.Refunded > p.Local.Minor {
		t.Fatalf("refunded %d of %d:\n%s", p.Refunded, p.Local.Minor, p)
	}
	// Every attempt that took money is booked: one on the payment, the others
	// in suspense.
	if want := -p.Amount.Minor * int64(len(l.paidAttempts())); l.books[ledger.Receivable] != want {
		t.Fatalf("receivable %d, want %d for attempts %v:\n%s", l.books[ledger.Receivable], want, l.paidAttempts(), p)
	}
	if !p.Status.Open() && p.Answered == "" {
		t.Fatalf("ended without an answer to the create call:\n%s", p)
	}
}

func (l *life) paidAttempts() (paid []int) {
	for order, ok := range l.paid {
		if ok {
			paid = append(paid, order)
		}
	}
	return paid
}
