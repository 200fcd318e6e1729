package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/store"
)

func TestAccountIsReadAsItWasWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		account := accounts.Account{
			ID: "bank", Version: 1, Adapter: "plain", Live: true, Merchant: acme.Merchant, Status: accounts.Enabled, BaseURL: "https://bank.example",
			Rails: []string{"pix.BRA"}, Priority: 7, Credentials: []byte{0, 1, 255}, CreatedAt: noon, UpdatedAt: noon,
			Terms: []accounts.RailTerms{{Rail: "pix.BRA", Fee: &money.Fee{Bps: 99, Flat: 10}, Limits: []accounts.Limit{{Currency: money.BRL, Min: 1, Max: 500}}}},
		}
		change := func(a accounts.Account) error {
			return s.Commit(ctx, pay.Change{Accounts: []accounts.Account{a}})
		}
		mark := func() int64 {
			t.Helper()
			n, err := s.Accounts().Mark(ctx)
			must(t, err)
			return n
		}
		if _, err := s.Accounts().Get(ctx, "bank"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown account: %v", err)
		}
		before := mark()
		must(t, change(account))
		account.Before = []byte{} // as a database stores no bytes
		read, err := s.Accounts().Get(ctx, "bank")
		must(t, err)
		if !reflect.DeepEqual(read, account) {
			t.Errorf("read %+v, want %+v", read, account)
		}
		if mark() == before {
			t.Error("a new account did not advance the mark")
		}
		// An id is used once, even if two operators use it at the same time.
		if err := change(account); !errors.Is(err, store.ErrStale) {
			t.Errorf("the same id again: %v, want ErrStale", err)
		}
		before = mark()
		next := account
		next.Version, next.Status, next.Before, next.RotatedAt = 2, accounts.Disabled, []byte{9}, noon.Add(time.Hour)
		must(t, change(next))
		if err := change(next); !errors.Is(err, store.ErrStale) {
			t.Errorf("the same version again: %v, want ErrStale", err)
		}
		list, err := s.Accounts().List(ctx)
		must(t, err)
		if len(list) != 1 || !reflect.DeepEqual(list[0], next) || mark() == before {
			t.Errorf("listed %+v, want %+v; the mark is %d", list, next, mark())
		}
		next.Version, next.Status, next.Credentials = 3, accounts.Removed, nil
		must(t, change(next))
		broken, err := s.Check(ctx)
		must(t, err)
		if len(broken) != 1 || broken[0].ID != "bank" {
			t.Errorf("a removed account kept credentials, and Check says %v", broken)
		}
		next.Version, next.Before = 4, nil
		must(t, change(next))
	})
}

func TestOpenPaymentsOfAnAccountAreCounted(t *testing.T) { // one waits, one is in progress, one has failed
	each(t, func(t *testing.T, s *store.Store) {
		stored(t, s, "A")
		_, change := stored(t, s, "B").ApplyAnswer(pay.Outcome{Kind: pay.Awaiting}, routes, noon)
		must(t, s.Commit(ctx, change))
		_, change = stored(t, s, "C").ApplyAnswer(pay.Outcome{Kind: pay.Declined}, routes, noon)
		must(t, s.Commit(ctx, payload(change)))
		for account, want := range map[string]int{"one": 2, "two": 0, "on": 0, "on_": 0, "o%": 0} {
			n, err := s.Accounts().OpenAt(ctx, account)
			must(t, err)
			if n != want {
				t.Errorf("%d open payments at %s, want %d", n, account, want)
			}
		}
	})
}
