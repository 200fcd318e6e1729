package store_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/store"
)

// openedWallet returns a wallet of the test's shop, and the change that writes it.
func openedWallet(id, fingerprint string, coolDown time.Duration, before *pay.Wallet) (pay.Wallet, pay.Change) {
	return pay.Wallet{
		ID: "wal_" + id, Scope: acme, Label: "Main", Type: pay.BankAccount, Currency: "MXN", Network: "spei",
		Encrypted: []byte{1, 2, 3}, Masked: "032****9719", Fingerprint: fingerprint,
	}.Open(coolDown, before, nil, noon)
}

// funded gives the test's merchant an available balance.
func funded(t *testing.T, s *store.Store, cents int64) {
	t.Helper()
	must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{{
		ID: "tr_fund", Merchant: acme.Merchant, Kind: "funding", Local: money.New(cents, money.USD), At: noon,
		Postings: []ledger.Posting{{Account: ledger.Receivable, Amount: -cents}, {Account: ledger.Available, Amount: cents}},
	}}}))
}

func TestPayoutRowsComeBackAsTheyWereWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		w, change := openedWallet("A", "one", time.Hour, nil)
		must(t, s.Commit(ctx, change))
		if got, err := s.Wallets().Get(ctx, acme, w.ID); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("the wallet reads as %+v (%v), want %+v", got, err, w)
		}
		if got, err := s.Wallets().Default(ctx, acme); err != nil || got.ID != w.ID {
			t.Errorf("the default is %+v (%v), want %s", got, err, w.ID)
		}
		funded(t, s, 100_00)
		have, err := s.Books().Balances(ctx, acme)
		must(t, err)
		out, change, err := w.Withdraw("wdr_A", money.New(50_00, money.USD), merchants.Terms{WithdrawalFee: 300}, rates.Conversion{}, have, noon.Add(time.Hour))
		must(t, err)
		must(t, s.Commit(ctx, change))
		out, change = out.Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{Node: "node_a", At: noon}, noon.Add(2*time.Hour))
		must(t, s.Commit(ctx, change))
		out, change, _ = out.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutRejected, ProviderRef: "ref", Code: "account_closed", Message: "closed"}, noon.Add(3*time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		if got, err := s.Withdrawals().Get(ctx, acme, out.ID); err != nil || !reflect.DeepEqual(got, out) {
			t.Errorf("the withdrawal reads as %+v (%v), want %+v", got, err, out)
		}
		v := merchants.Verification{ID: "kyc_A", Scope: acme, Level: merchants.KYCBasic, Subject: merchants.Company, ReturnURL: "https://a"}.Start(noon)
		must(t, s.Commit(ctx, pay.Change{Verifications: []merchants.Verification{v}}))
		if got, err := s.Verifications().Open(ctx, acme); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("the verification reads as %+v (%v), want %+v", got, err, v)
		}
		if levels, err := s.Verifications().Levels(ctx, acme); err != nil || len(levels) != 0 {
			t.Errorf("with an open verification the levels are %v (%v)", levels, err)
		}
		v, err = v.Move(merchants.KYCVerified, "", "", noon)
		must(t, err)
		must(t, s.Commit(ctx, pay.Change{Verifications: []merchants.Verification{v}}))
		if levels, err := s.Verifications().Levels(ctx, acme); err != nil || !slices.Equal(levels, []merchants.KYCLevel{merchants.KYCBasic}) {
			t.Errorf("with a finished verification the levels are %v (%v)", levels, err)
		}
	})
}

func TestUniqueThingsAreTakenOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		first, change := openedWallet("A", "one", 0, nil)
		must(t, s.Commit(ctx, change))
		_, change = openedWallet("B", "one", 0, &first)
		if err := s.Commit(ctx, change); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("a second wallet with the destination: %v, want ErrDuplicate", err)
		}
		_, change = openedWallet("C", "two", 0, nil) // it was decided while the shop had no default
		if err := s.Commit(ctx, change); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("a second default wallet: %v, want ErrDuplicate", err)
		}
		usual, change := pay.Wallet{ID: "wal_D", Scope: acme, Fingerprint: "three", Default: true}.Open(0, &first, nil, noon)
		must(t, s.Commit(ctx, change))
		if got, err := s.Wallets().Default(ctx, acme); err != nil || got.ID != usual.ID {
			t.Errorf("the default is %+v (%v), want %s", got, err, usual.ID)
		}
		started := func(id string) pay.Change {
			return pay.Change{Verifications: []merchants.Verification{merchants.Verification{ID: id, Scope: acme}.Start(noon)}}
		}
		must(t, s.Commit(ctx, started("kyc_A")))
		if err := s.Commit(ctx, started("kyc_B")); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("a second open verification: %v, want ErrDuplicate", err)
		}
	})
}

func TestDueWithdrawalsAreLeasedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		w, change := openedWallet("A", "one", 0, nil)
		must(t, s.Commit(ctx, change))
		funded(t, s, 100_00)
		have, err := s.Books().Balances(ctx, acme)
		must(t, err)
		_, change, err = w.Withdraw("wdr_A", money.New(50_00, money.USD), merchants.Terms{}, rates.Conversion{}, have, noon)
		must(t, err)
		must(t, s.Commit(ctx, change))
		lease := func(at time.Time) int {
			t.Helper()
			list, err := s.Withdrawals().Lease(ctx, at, at.Add(time.Minute), 10)
			must(t, err)
			return len(list)
		}
		due := noon.Add(pay.WithdrawalHold(false))
		for _, c := range []struct {
			at   time.Time
			want int
		}{{due.Add(-time.Microsecond), 0}, {due, 1}, {due, 0}, {due.Add(59 * time.Second), 0}, {due.Add(time.Minute), 1}} {
			if got := lease(c.at); got != c.want {
				t.Errorf("at %s %d are leased, want %d", c.at, got, c.want)
			}
		}
	})
}

// Each invariant of withdrawals finds the error that it is for.
func TestCheckFindsBrokenWithdrawals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		must(t, s.Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{{ID: acme.Merchant, Version: 1, CreatedAt: noon}},
			Shops:     []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Slug: "acme", CreatedAt: noon}},
		}))
		w, change := openedWallet("A", "one", 0, nil)
		must(t, s.Commit(ctx, change))
		row := func(id string, status pay.WithdrawalStatus, due time.Time) pay.Withdrawal {
			return pay.Withdrawal{ID: "wdr_" + id, Scope: acme, Version: 1, Wallet: w.ID, Status: status, Amount: 500, Fee: 100, DueAt: due, CreatedAt: noon}
		}
		lost := row("LOST", pay.WithdrawalProcessing, noon)
		lost.Wallet = "wal_NOBODY"
		must(t, s.Commit(ctx, pay.Change{
			Withdrawals: []pay.Withdrawal{
				row("OPEN", pay.WithdrawalPending, time.Time{}), row("DONE", pay.WithdrawalDone, time.Time{}), row("BACK", pay.WithdrawalCanceled, time.Time{}), lost,
			},
			Transfers: []ledger.Transfer{{ID: "tr_GONE-paid", Merchant: acme.Merchant, Kind: ledger.WithdrawalPaid, Local: money.New(1, money.USD), At: noon,
				Postings: []ledger.Posting{{Account: ledger.InTransit, Amount: -1}, {Account: ledger.PaidOut, Amount: 1}}}},
		}))
		broken := found(t, s)
		found := map[string]bool{}
		for _, b := range broken {
			found[b.Invariant+": "+b.ID] = true
		}
		for _, want := range []string{
			"a withdrawal took its amount from available once: wdr_OPEN",
			"a withdrawal was paid out once if it is completed or came back, and never otherwise: wdr_DONE",
			"a withdrawal that failed or was cancelled gave everything back, and no other did: wdr_BACK",
			"a transfer of a withdrawal has its withdrawal: tr_GONE-paid",
			"in transit is the sum of the open withdrawals: mer_acme",
			"an open withdrawal is looked at again: wdr_OPEN",
			"a withdrawal stays with its wallet's shop and environment: wdr_LOST",
			"a withdrawal that completed or failed has told so, and no other has: wdr_DONE",
		} {
			if !found[want] {
				t.Errorf("not found: %s; found %v", want, broken)
			}
		}
	})
}
