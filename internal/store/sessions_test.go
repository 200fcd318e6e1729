package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// opened writes a session of 137.70 BRL and returns it.
func opened(t *testing.T, s *store.Store, id string, at time.Time) pay.Session {
	t.Helper()
	session, change, err := pay.Session{
		ID: "ses_" + id, Scope: acme, Hash: "hash-" + id, Asked: money.New(13770, money.BRL), Rate: rate(t), Country: "BRA",
		Customer: pay.Customer{FirstName: "Ana \"ü\"", LastName: "S", Email: "a@b.example", Phone: "+55"}, OrderID: "order-" + id, ReturnURL: "https://x/y?a=b",
	}.Open(at)
	must(t, err)
	must(t, s.Commit(ctx, change))
	return session
}

func TestSessionComesBackAsItWasWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		want, change, _ := opened(t, s, "A", noon).Visit("203.0.113.7", noon.Add(time.Second))
		must(t, s.Commit(ctx, change))
		want.Reached = nil // of the change alone
		byHash, err := s.Sessions().ByHash(ctx, "hash-A")
		must(t, err)
		byID, err := s.Sessions().Get(ctx, acme, "ses_A")
		must(t, err)
		for _, got := range []pay.Session{byHash, byID} {
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("read\n%+v\nwrote\n%+v", got, want)
			}
		}
		for _, scope := range []merchants.Scope{{Merchant: "mer_other", Shop: "shp_other"}, {Merchant: acme.Merchant, Shop: acme.Shop, Live: true}} {
			if _, err := s.Sessions().Get(ctx, scope, "ses_A"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v reads the session: %v, want ErrNotFound", scope, err)
			}
		}
	})
}

// There is never a locked session without its payment, or the other way round: a
// process that dies in between has written both, or neither.
func TestSessionAndItsPaymentAreOneCommit(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		session := opened(t, s, "A", noon)
		answers := make([]error, 20)
		var all sync.WaitGroup
		for i := range answers {
			p, change := create(t, fmt.Sprintf("%02d", i))
			_, change = session.Lock(p, change, noon)
			all.Go(func() { answers[i] = s.Commit(ctx, change) })
		}
		all.Wait()
		locked, err := s.Sessions().ByHash(ctx, session.Hash)
		must(t, err)
		won := 0
		for i, answer := range answers {
			id := fmt.Sprintf("TXN-%02d", i)
			_, err := s.Payments().Get(ctx, acme, id)
			switch {
			case answer == nil && err == nil && locked.Payment == id:
				won++
			case !errors.Is(answer, store.ErrStale) || !errors.Is(err, store.ErrNotFound):
				t.Errorf("%s: Commit is %v, the payment %v, the session locked to %s", id, answer, err, locked.Payment)
			}
		}
		if won != 1 {
			t.Errorf("%d choices won, want 1", won)
		}
	})
}

func TestPurgeTakesTheOldSessionsOnly(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		for _, id := range []string{"A1", "A2", "A3", "B1", "B2"} {
			opened(t, s, id, noon)
		}
		for _, want := range []int{2, 1, 0} {
			if n, err := s.Sessions().Purge(ctx, "ses_B", 2); err != nil || n != want {
				t.Errorf("PurgeSessions deleted %d, %v, want %d", n, err, want)
			}
		}
		if _, err := s.Sessions().ByHash(ctx, "hash-B1"); err != nil {
			t.Errorf("a young session: %v", err)
		}
	})
}

func TestCheckFindsSessionsThatDoNotFit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		must(t, s.Commit(ctx, pay.Change{
			Shops: []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Name: "Acme", Slug: "acme", CreatedAt: noon}},
		}))
		ghost, change := opened(t, s, "GHOST", noon).Lock(pay.Payment{ID: "TXN-GHOST"}, pay.Change{}, noon)
		must(t, s.Commit(ctx, change))
		dear, change, err := pay.Session{ID: "ses_DEAR", Scope: acme, Hash: "hash-DEAR", Asked: money.New(20000, money.BRL), Rate: rate(t)}.Open(noon)
		must(t, err)
		must(t, s.Commit(ctx, change))
		dear, change = dear.Lock(stored(t, s, "A"), pay.Change{}, noon) // of another amount
		must(t, s.Commit(ctx, change))
		broken := found(t, s)
		found := map[string]bool{}
		for _, b := range broken {
			found[b.ID] = true
		}
		if len(broken) != 2 || !found[ghost.ID] || !found[dear.ID] {
			t.Errorf("broken: %v, want the session without its payment and the one of another amount", broken)
		}
	})
}
