package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Each duty of a noun is in the list that gauges, loops and the check read: rows of one that is missing would wait unseen.
func TestEachDutyIsListed(t *testing.T) {
	kinds := store.WorkKinds()
	for _, text := range engine.Statements {
		if _, made, is := strings.Cut(text, "INSERT INTO quarantined (work, id, reason, since, due_at)\nSELECT '"); is {
			if kind, _, _ := strings.Cut(made, "'"); !slices.Contains(kinds, kind) {
				t.Errorf("due.Duties lacks %q", kind)
			}
			kinds = slices.DeleteFunc(kinds, func(listed string) bool { return strings.HasPrefix(made, listed+"'") })
		}
	}
	if !slices.Equal(kinds, []string{store.SealWork, store.FactsWork}) { // these two are no duties
		t.Errorf("no duty makes %q", kinds)
	}
}

// Loops sleep until the next due row: a row that NextDue misses would be processed late.
func TestTheNextDueRowIsKnown(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		next := func() map[string]time.Time {
			t.Helper()
			due, err := s.NextDue(ctx)
			must(t, err)
			delete(due, "seals") // those of the merchant
			return due
		}
		if due := next(); len(due) > 0 {
			t.Errorf("nothing waits, and NextDue says %v", due)
		}
		first, change := create(t, "first")
		must(t, s.Commit(ctx, change))
		second, change := create(t, "second")
		second.Work.DueAt = first.Work.DueAt.Add(time.Minute)
		change.Payments[0] = second
		must(t, s.Commit(ctx, change))
		if due := next(); len(due) != 1 || !due["processing payments"].Equal(first.Work.DueAt) {
			t.Errorf("NextDue says %v, want the first payment's %s", due, first.Work.DueAt)
		}
		// Moving a test clock makes its rows due earlier.
		must(t, s.Commit(ctx, pay.Change{Clocks: []merchants.Clock{{Merchant: acme.Merchant, Version: 1, Advance: time.Hour}}}))
		s.Clocks().Respect(true)
		if due := next(); !due["processing payments"].Equal(first.Work.DueAt.Add(-time.Hour)) {
			t.Errorf("with a clock an hour ahead NextDue says %v, want %s", due, first.Work.DueAt.Add(-time.Hour))
		}
		until := first.Work.DueAt.Add(2 * time.Hour)
		leased, err := s.Payments().Lease(ctx, first.Work.DueAt.Add(-time.Hour), until, 10)
		must(t, err)
		if due := next(); len(leased) != 1 || !due["processing payments"].Equal(second.Work.DueAt.Add(-time.Hour)) {
			t.Errorf("after %d were leased NextDue says %v, want %s", len(leased), due, second.Work.DueAt.Add(-time.Hour))
		}
	})
}

// Stores that share a database hear of each other's commits. A failure between one store and the database
// concerns only that store.
func TestStoresShareADatabase(t *testing.T) {
	shared, err := store.OpenShared(ctx, nil, time.Now)
	must(t, err)
	defer shared.Close()
	broken := errors.New("the line is cut")
	var down bool
	told := map[string]int{}
	open := func(name string, through store.Through) *store.Store {
		s, err := store.Open(ctx, "", store.Options{Shared: shared, Through: through, Written: func(*pay.Change) { told[name]++ }})
		must(t, err)
		return s
	}
	one := open("one", nil)
	two := open("two", func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
		if down && trip.Kind == store.TripCommit {
			_ = run(ctx) // it arrives, but the reply is lost
			return broken
		}
		return run(ctx)
	})
	merchant := func(id string) pay.Change {
		return pay.Change{Merchants: []merchants.Merchant{{ID: id, Version: 1, Name: id, Tier: merchants.Standard, CreatedAt: noon}}}
	}
	must(t, one.Commit(ctx, merchant("mer_a")))
	if told["one"] != 1 || told["two"] != 1 {
		t.Errorf("after one commit the stores heard of %v", told)
	}
	down = true
	if err := two.Commit(ctx, merchant("mer_b")); err != nil {
		t.Errorf("a commit that arrived returns %v", err)
	}
	if _, err := one.Merchants().Get(ctx, "mer_b"); err != nil {
		t.Errorf("the commit that arrived is missing: %v", err)
	}
	two.Close()
	must(t, one.Commit(ctx, merchant("mer_c")))
	one.Close()
	if told["two"] != 2 {
		t.Errorf("a closed store heard of %d changes, want 2", told["two"])
	}
}
