package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
)

var books = merchants.Scope{Merchant: acme.Merchant}

// captured writes a completed payment and returns its capture.
func captured(t *testing.T, s *store.Store, id string) pay.Unsettled {
	t.Helper()
	p := stored(t, s, id)
	_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
	must(t, s.Commit(ctx, payload(change)))
	return pay.Unsettled{Transfer: change.Transfers[0], Day: pay.DayOf(noon)}
}

// firstBatch writes the merchant's first settlement and returns it, as it is when it begins to close: it collects what was paid
// at noon.
func firstBatch(t *testing.T, s *store.Store) pay.Settlement {
	t.Helper()
	must(t, s.Commit(ctx, pay.OpenSettlement(merchants.Scope{Merchant: acme.Merchant}, noon, noon)))
	batch, err := s.Settlements().Open(ctx, books)
	must(t, err)
	batch.PeriodEnd, batch.Matured = noon, noon.AddDate(0, 0, 7)
	return batch
}

var done = pay.Cursor{Kind: len(pay.SettledKinds())}

func TestSettlementComesBackAsItWasWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		capture := captured(t, s, "A")
		batch := firstBatch(t, s)
		half, lines := batch.Gather([]pay.Unsettled{capture}, pay.Cursor{Kind: 1, At: noon})
		half, change := half.Continue(lines, nil, noon.Add(time.Minute), noon.Add(time.Second))
		must(t, s.Commit(ctx, change))
		got, err := s.Settlements().Any(ctx, batch.ID)
		must(t, err)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", half) {
			t.Errorf("read\n%+v\nwrote\n%+v", got, half)
		}
		// After a crash, the next process finds what is left: here nothing.
		left, err := s.Settlements().Unsettled(ctx, books, pay.Cursor{}, noon, 10)
		if err != nil || len(left) != 0 {
			t.Errorf("left to collect %v (%v), want nothing", left, err)
		}
		balances, err := s.Books().Balances(ctx, books)
		must(t, err)
		full, more := got.Gather(nil, done)
		full, change = full.Close(more, nil, balances, pay.Audience{Shops: []merchants.Shop{{ID: acme.Shop}}}, noon.Add(time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		if got, err = s.Settlements().Get(ctx, books, batch.ID); err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", full) {
			t.Errorf("read\n%+v\nwrote\n%+v (%v)", got, full, err)
		}
		read, err := s.Settlements().Lines(ctx, batch.ID, 0, 10)
		must(t, err)
		lines[0].OrderID = "order-A"
		if len(read) != 1 || fmt.Sprintf("%+v", read[0]) != fmt.Sprintf("%+v", lines[0]) {
			t.Errorf("read\n%+v\nwrote\n%+v", read, lines)
		}
		day := pay.DayOf(noon)
		held, err := s.Reserves().ByID(ctx, []string{pay.ReserveID(books, day), "rsv_nobody"})
		must(t, err)
		if v := held[pay.ReserveID(books, day)]; len(held) != 1 || v.Remaining() != lines[0].Reserve || !v.ReleaseAt.Equal(day.AddDate(0, 0, 91)) {
			t.Errorf("the day's reserve is %+v, want %d", held, lines[0].Reserve)
		}
		must(t, s.Commit(ctx, payload(full.Receipt([]byte("%PDF-\x00\xff"), false, pay.Audience{Shops: []merchants.Shop{{ID: acme.Shop}}}, noon.Add(time.Hour)))))
		if d, err := s.Settlements().Receipt(ctx, books, batch.ID); err != nil || string(d.Body) != "%PDF-\x00\xff" {
			t.Errorf("the receipt reads as %q (%v)", d.Body, err)
		}
		for _, other := range []merchants.Scope{{Merchant: "mer_other"}, {Merchant: acme.Merchant, Live: true}} {
			if _, err := s.Settlements().Receipt(ctx, other, batch.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v reads the receipt: %v", other, err)
			}
			if _, err := s.Settlements().Get(ctx, other, batch.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v reads the settlement: %v", other, err)
			}
			list, total, err := s.Settlements().List(ctx, other, lists.SettlementFilter{Page: lists.Page{Limit: 10}}, 0)
			if err != nil || len(list) != 0 || total != 0 {
				t.Errorf("%+v lists %v", other, list)
			}
		}
	})
}

// Of two nodes that close the same settlement one succeeds, and the other writes
// nothing: no line, no transfer.
func TestSettlementIsClosedByOneNode(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		capture := captured(t, s, "A")
		batch := firstBatch(t, s)
		balances, err := s.Books().Balances(ctx, books)
		must(t, err)
		gathered, lines := batch.Gather([]pay.Unsettled{capture}, done)
		answers := make(chan error, 8)
		for range 8 {
			_, change := gathered.Close(lines, nil, balances, pay.Audience{Shops: []merchants.Shop{{ID: acme.Shop}}}, noon)
			go func() { answers <- s.Commit(ctx, payload(change)) }()
		}
		won := 0
		for range 8 {
			switch err := <-answers; {
			case err == nil:
				won++
			case !errors.Is(err, store.ErrStale):
				t.Errorf("the second node gets %v", err)
			}
		}
		if got := balance(t, s, ledger.Available); won != 1 || got != lines[0].Net {
			t.Errorf("%d nodes closed it and available is %d, want one and %d", won, got, lines[0].Net)
		}
		must(t, s.Commit(ctx, pay.Change{})) // the store still works
		if err := s.Commit(ctx, pay.OpenSettlement(merchants.Scope{Merchant: acme.Merchant}, noon, noon)); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("opened again: %v, want ErrDuplicate", err)
		}
	})
}

// A closing that a refund overtook is decided again, and moves no more than there
// is.
func TestSettlementNeverTakesPendingBelowZero(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		capture := captured(t, s, "A")
		batch := firstBatch(t, s)
		before, err := s.Books().Balances(ctx, books)
		must(t, err)
		gathered, lines := batch.Gather([]pay.Unsettled{capture}, done)
		_, change := gathered.Close(lines, nil, before, pay.Audience{Shops: []merchants.Shop{{ID: acme.Shop}}}, noon)

		p, err := s.Payments().Any(ctx, capture.Payment)
		must(t, err)
		_, _, refund, err := p.Refund(pay.NewRefund{ID: "CLM-R", Amount: money.New(1000, money.BRL)}, before, noon)
		must(t, err)
		must(t, s.Commit(ctx, payload(refund)))
		if err := s.Commit(ctx, payload(change)); !errors.Is(err, store.ErrInsufficient) {
			t.Fatalf("closed with old balances: %v, want ErrInsufficient", err)
		}
		after, err := s.Books().Balances(ctx, books)
		must(t, err)
		closed, change := gathered.Close(lines, nil, after, pay.Audience{Shops: []merchants.Shop{{ID: acme.Shop}}}, noon)
		must(t, s.Commit(ctx, payload(change)))
		if got := balance(t, s, ledger.Pending); got != 0 || closed.Moved != after[ledger.Pending] {
			t.Errorf("moved %d of %d, pending is %d", closed.Moved, after[ledger.Pending], got)
		}
		next, err := s.Settlements().Open(ctx, books)
		must(t, err)
		if want := before[ledger.Pending] - after[ledger.Pending]; next.Carry != want {
			t.Errorf("the next settlement carries %d, want %d until it collects the refund", next.Carry, want)
		}
	})
}

func TestTransferIsSettledOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		capture := captured(t, s, "A")
		batch := firstBatch(t, s)
		gathered, lines := batch.Gather([]pay.Unsettled{capture}, pay.Cursor{Kind: 1})
		gathered, change := gathered.Continue(lines, nil, noon, noon)
		must(t, s.Commit(ctx, change))
		twice, again := gathered.Gather([]pay.Unsettled{capture}, pay.Cursor{Kind: 2})
		held, err := s.Reserves().ByID(ctx, []string{pay.ReserveID(books, pay.DayOf(noon))})
		must(t, err)
		_, change = twice.Continue(again, held, noon, noon)
		if err := s.Commit(ctx, change); err == nil {
			t.Error("a transfer was settled twice")
		}
	})
}

// Check finds settlements that were changed without the service.
func TestCheckFindsWrongSettlements(t *testing.T) {
	base := pay.Settlement{ID: "STL-X", Scope: books, Version: 1, Number: 1, Status: pay.BatchClosed, PeriodStart: noon, CreatedAt: noon, UpdatedAt: noon}
	with := func(change func(*pay.Settlement)) pay.Settlement { s := base; change(&s); return s }
	day := pay.DayOf(noon)
	for name, c := range map[string]struct {
		change pay.Change
		want   []string
	}{
		"a line too few": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.Lines, s.Net, s.Gross = 1, 5, 5 })}},
			[]string{"a settlement is the sum of its lines"}},
		"a net that is not the sum": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.Net = 5 })}},
			[]string{"a settlement's net is what its totals say", "a settlement is the sum of its lines"}},
		"money that did not move": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.Moved = 5 })}},
			[]string{"a settlement moves its money once, when it closes"}},
		"money out of nowhere": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.Carry = 5 })}},
			[]string{"settlements follow each other and lose nothing of pending"}},
		"a gap": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.Number = 2 })}},
			[]string{"settlements follow each other and lose nothing of pending"}},
		"a receipt that is gone": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.PDFAt = noon })}, Documents: []pay.Document{{ID: "STL-Y", Merchant: books.Merchant}}},
			[]string{"a settlement has the receipt that was made of it"}},
		"a receipt of another merchant": {pay.Change{Settlements: []pay.Settlement{with(func(s *pay.Settlement) { s.PDFAt = noon })}, Documents: []pay.Document{{ID: "STL-X", Merchant: "mer_other"}}},
			[]string{"a settlement has the receipt that was made of it"}},
		"a line of no transfer": {pay.Change{Lines: []pay.SettlementLine{{Transfer: "tr_X", Settlement: "STL-X", Scope: books, At: noon}}},
			[]string{"a settlement's line is its transfer"}},
		"a reserve of no payment": {pay.Change{Reserves: []pay.Reserve{{ID: "rsv_X", Scope: books, Version: 1, Day: day, Held: 5, DueAt: noon, CreatedAt: noon}}},
			[]string{"a day's reserve is what its payments hold"}},
		"a release of nothing": {pay.Change{Reserves: []pay.Reserve{{ID: "rsv_X", Scope: books, Version: 1, Day: day, Released: 5, CreatedAt: noon}}},
			[]string{"a day's reserve is released once", "a day's reserve is not released and given back too"}},
		"nobody was told": {pay.Change{
			Shops: []merchants.Shop{{ID: "shp_old", Version: 1, Merchant: acme.Merchant, Name: "Old", Slug: "old", CreatedAt: noon.Add(-time.Hour)}},
			Settlements: []pay.Settlement{
				with(func(s *pay.Settlement) { s.PeriodEnd = noon }),
				with(func(s *pay.Settlement) { s.ID, s.Number, s.Status, s.DueAt = "STL-Y", 2, pay.BatchOpen, noon }),
			}}, []string{"a closed settlement has told so"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				s, err := store.Open(ctx, database, store.Options{})
				must(t, err)
				defer s.Close()
				must(t, s.Commit(ctx, c.change))
				broken := found(t, s)
				var found []string
				for _, b := range broken {
					found = append(found, b.Invariant)
				}
				if !slices.Equal(found, c.want) {
					t.Errorf("%s: broken %v, want %v", name, broken, c.want)
				}
			})
		})
	}
}

func TestCheckFindsMovementsThatAreNotCounted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{{
			ID: "tr_X", Merchant: acme.Merchant, Kind: ledger.ReserveRelease, At: noon,
			Postings: []ledger.Posting{{Account: ledger.Reserve, Amount: -5}, {Account: ledger.Available, Amount: 5}},
		}}}))
		list, total, err := s.Books().Movements(ctx, books, lists.Page{Limit: 10})
		if err != nil || total != 2 || len(list) != 2 || list[0].BalanceAfter != -5 || list[1].BalanceAfter != 5 {
			t.Errorf("the movements are %+v of %d (%v)", list, total, err)
		}
		newVandal(t, database).exec("UPDATE balances SET movements = 3")
		broken := found(t, s)
		if !slices.ContainsFunc(broken, func(b check.Broken) bool { return b.Invariant == "movements are counted" }) {
			t.Errorf("broken: %v, want the count of movements", broken)
		}
	})
}

// What the shopper paid, in his currency, stands in three places: the payment and a settlement's line say
// what the sealed transfer says.
func TestCheckFindsAnotherLocalAmount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		withShop(t, s)
		capture := captured(t, s, "A")
		batch := firstBatch(t, s)
		half, lines := batch.Gather([]pay.Unsettled{capture}, pay.Cursor{Kind: 1, At: noon})
		_, change := half.Continue(lines, nil, noon.Add(time.Minute), noon.Add(time.Second))
		must(t, s.Commit(ctx, change))
		clean(t, s)
		v, transfer := newVandal(t, database), capture.Transfer.ID
		for _, c := range []struct{ harm, mend, rule, id string }{
			{"UPDATE payments SET amount_local = amount_local + 1", "UPDATE payments SET amount_local = amount_local - 1", "is captured once, with its amount", "TXN-A"},
			{"UPDATE payments SET currency_local = 'MXN'", "UPDATE payments SET currency_local = 'BRL'", "is captured once, with its amount", "TXN-A"},
			{"UPDATE settlement_lines SET amount_local = amount_local + 1", "UPDATE settlement_lines SET amount_local = amount_local - 1", "line is its transfer", transfer},
			{"UPDATE settlement_lines SET currency_local = 'MXN'", "UPDATE settlement_lines SET currency_local = 'BRL'", "line is its transfer", transfer},
			{"UPDATE settlement_lines SET claim = 'CLM-1'", "UPDATE settlement_lines SET claim = ''", "line is its transfer", transfer},
		} {
			v.exec(c.harm)
			v.broken(s, c.rule, c.id, "")
			v.exec(c.mend)
		}
		clean(t, s)
	})
}

// A payment settles by its own terms, whatever the merchant's are now. What belongs to a payment comes with it (SVC-18).
func TestPaymentSettlesByItsOwnTerms(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		due := map[string]time.Time{}
		for id, delay := range map[string]time.Duration{"A": 48 * time.Hour, "B": 24 * time.Hour, "C": 48 * time.Hour, "D": 24 * time.Hour} {
			p := stored(t, s, id)
			p.Terms.Delay = delay
			_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
			due[change.Transfers[0].ID] = change.Transfers[0].Settles
			must(t, s.Commit(ctx, payload(change)))
		}
		_, err := s.Settlements().FirstDue(ctx, books, time.Time{}, 48*time.Hour)
		must(t, err)
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{24*time.Hour - time.Second, 0}, {24 * time.Hour, 2}, {48*time.Hour - time.Second, 2}, {48 * time.Hour, 4}} {
			matured := noon.Add(c.after)
			list, err := s.Settlements().Unsettled(ctx, books, pay.Cursor{}, matured, 10)
			must(t, err)
			for _, u := range list {
				if due[u.ID].After(matured) {
					t.Errorf("%s is collected %s after its capture; it is due at %s", u.ID, c.after, due[u.ID])
				}
			}
			if len(list) != c.want {
				t.Errorf("%s after the captures %d are collected, want %d", c.after, len(list), c.want)
			}
		}
		for _, delay := range []time.Duration{24 * time.Hour, 48 * time.Hour} { // of the merchant now
			if first, err := s.Settlements().FirstDue(ctx, books, time.Time{}, delay); err != nil || !first.Equal(noon.Add(24*time.Hour)) {
				t.Errorf("the first is due at %s (%v), want a day after the captures", first, err)
			}
		}
	})
}
