// Package apptest opens, for the tests of use cases, what lies below them: a database with one merchant, a clock that
// stands still, and a provider that answers as the test says. So those tests need no HTTP, no server and no second process, and
// a change in a use case is tried without compiling what is above it.
package apptest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	paymerchants "github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// Service is what a use case is built on, with a merchant's sandbox. Nothing runs in the background.
type Service struct {
	*base.Base
	Clock *Clock
	Till  *Till // the first account of the sandbox
	Tills map[string]*Till
	// Scope is the merchant's shop in the sandbox; By is its secret key, Operator somebody who may do everything.
	Scope    paymerchants.Scope
	By       base.Principal
	Operator audit.Actor
	// Delivered gets every delivery that a commit made; nil leaves them to their leases.
	Delivered func([]store.Dispatch)

	Mails      *mails.Mails
	Secrets    *auth.Secrets
	Keys       *auth.Keys
	Catalog    *accounts.Catalog
	Providers  *accounts.Providers
	Rates      *rates.Rates
	Methods    *methods.Methods
	Plans      *plans.Plans
	Onboarding *merchants.Onboarding
	Cascade    *cascade.Cascade
	Payments   *payments.Payments

	// Log has what all nodes logged as an error. A test fails by what it does not expect there.
	Log *Faults

	database string
	accounts []string
}

// Main runs a package's tests. Each gets a copy of a database that was migrated once: on SQLite, or on PostgreSQL if
// APPTEST_ENGINE is postgres.
func Main(m *testing.M) {
	dbtest.Keep = true
	dbtest.Prepare = func(ctx context.Context, database string) error {
		s, err := store.Open(ctx, database, store.Options{})
		if err == nil {
			s.Close()
		}
		return err
	}
	dbtest.Main(m)
}

// database is the address of a test's own database.
func database(t testing.TB) string {
	t.Helper()
	switch engine := os.Getenv("APPTEST_ENGINE"); engine {
	case "", "sqlite":
		return dbtest.SQLite(t)
	case "postgres":
		return dbtest.Postgres(t)
	default:
		t.Fatalf("APPTEST_ENGINE is %s: want sqlite or postgres", engine)
		return ""
	}
}

// Open opens a Service with one account. When the test ends, the invariants of its database are proved, and that no fault was
// logged.
func Open(t testing.TB) *Service {
	t.Helper()
	return OpenWith(t, account)
}

// OpenWith is Open with several accounts of the sandbox, in the order in which they are tried.
func OpenWith(t testing.TB, accounts ...string) *Service {
	t.Helper()
	s := &Service{Clock: &Clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, Operator: audit.Actor{Kind: audit.BySystem}}
	s.database, s.accounts, s.Tills, s.Log = database(t), accounts, map[string]*Till{}, &Faults{}
	for _, id := range accounts {
		s.Tills[id] = &Till{Provider: sandbox.New(id, func() []byte { return []byte("apptest") })}
	}
	s.Till = s.Tills[accounts[0]]
	s.open(t)
	made, err := s.Onboarding.CreateMerchant(t.Context(), s.Operator, merchants.NewMerchant{Name: "Acme", Email: "acme@example.com"})
	must(t, err)
	s.Scope = paymerchants.Scope{Merchant: made.Merchant.ID, Shop: made.Shop.ID}
	s.By = base.Principal{Scope: s.Scope, KeyID: "key_1", Kind: paymerchants.Secret, Rights: paymerchants.Rights()}
	return s
}

// Beside opens another node on the same database, with the same clock, merchant and accounts.
func (s *Service) Beside(t testing.TB) *Service {
	t.Helper()
	other := &Service{Clock: s.Clock, Till: s.Till, Tills: s.Tills, Scope: s.Scope, By: s.By, Operator: s.Operator, database: s.database, accounts: s.accounts, Log: s.Log}
	other.open(t)
	return other
}

// open opens the database and what stands on it.
func (s *Service) open(t testing.TB) {
	t.Helper()
	box, err := vault.New(bytes.Repeat([]byte{7}, vault.KeySize))
	must(t, err)
	log := slog.New(s.Log)
	s.Base = base.New(base.Config{Log: log, Vault: box, Now: s.Clock.Now, NewID: id.New, HashMemory: 64})
	s.Store.Store, err = store.Open(t.Context(), s.database, store.Options{
		Log: log, Widened: func() {}, Written: s.SetAlarms, Clock: s.Clock.Now,
		Name: func(prefix string) string { return id.New(prefix, s.Clock.Now()) },
		Delivered: func(list []store.Dispatch) {
			if s.Delivered != nil {
				s.Delivered(list)
			}
		},
	})
	must(t, err)
	t.Cleanup(func() { s.end(t) })
	s.assemble(t)
}

// account is the account that Open opens.
const account = "sandbox-1"

func (s *Service) assemble(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	var err error
	s.Mails, err = mails.New(s.Base, nil)
	must(t, err)
	s.Secrets, s.Keys = auth.NewSecrets(s.Base, 0), auth.NewKeys(s.Base, s.Mails)
	must(t, s.Secrets.Unlock(ctx))
	s.Catalog, err = accounts.LoadCatalog(ctx, s.Store.Store, nil)
	must(t, err)
	s.Rates = rates.New(s.Base, rates.DefaultFX(), s.Catalog)
	clients := map[string]provider.Provider{}
	for id, till := range s.Tills {
		clients[id] = till
	}
	s.Providers = accounts.NewProviders(s.Base, accounts.ProvidersConfig{StandIns: clients, StandInOrder: s.accounts}, s.Catalog)
	s.Cascade = cascade.New(s.Base, s.Providers, s.Catalog)
	s.Methods = methods.New(s.Base, s.Rates, s.Providers, s.Catalog)
	s.Plans = plans.New(s.Base, s.Rates, s.Catalog)
	s.Onboarding = merchants.NewOnboarding(s.Base, s.Keys, s.Mails, s.Plans)
	s.Payments = payments.New(s.Base, s.Rates, s.Providers, s.Methods, s.Plans, s.Cascade)
	for _, read := range []func(context.Context) error{s.Rates.LoadRates, s.Providers.ReadAccounts, routing.NewRules(s.Providers).Read, s.Plans.Read, s.ReadRecovery, s.ReadClocks} {
		must(t, read(ctx))
	}
	s.Store.Clocks().Remembered(s.ReadClocks)
}

// end proves the invariants and closes the database.
func (s *Service) end(t testing.TB) {
	t.Helper()
	ctx := context.Background() // the test's own has ended
	s.Cascade.Close()
	broken, err := s.Store.Check(ctx)
	if err != nil || len(broken) > 0 {
		t.Errorf("the invariants that do not hold are %v, %v", broken, err)
	}
	s.Store.Close()
	s.Log.Report(t)
}

// New is a request for a payment by PIX of an amount in USD: "50.03".
func (s *Service) New(t testing.TB, usd string) payments.NewPayment {
	t.Helper()
	amount, err := money.Parse(usd, money.USD)
	must(t, err)
	return payments.NewPayment{
		Amount: amount, Country: "BRA", PaymentMethod: "pix",
		Buyer: pay.Buyer{Name: "Ana Silva", Email: "ana@example.com", Document: "11144477735"},
	}
}

// Pending creates a payment that waits for its shopper.
func (s *Service) Pending(t testing.TB, usd string) pay.Payment {
	t.Helper()
	p, _, err := s.Payments.Create(t.Context(), s.By, s.New(t, usd))
	must(t, err)
	if p.Status != pay.Pending {
		t.Fatalf("the payment is %s, want it to wait", p.Status)
	}
	return p
}

// Paid creates a payment whose shopper has paid.
func (s *Service) Paid(t testing.TB, usd string) pay.Payment {
	t.Helper()
	p := s.Pending(t, usd)
	s.Till.Pay(p.Reference(len(p.Attempts)))
	s.Clock.Advance(p.Work.DueAt.Sub(s.Clock.Now()))
	s.Swept(t)
	if p = s.Read(t, p.ID); p.Status != pay.Completed {
		t.Fatalf("the payment is %s, want it paid", p.Status)
	}
	return p
}

// Swept lets the loop of payments do all that is due.
func (s *Service) Swept(t testing.TB) {
	t.Helper()
	for {
		n, err := s.Cascade.Sweep(t.Context())
		must(t, err)
		if n == 0 {
			return
		}
	}
}

// Read reads a payment.
func (s *Service) Read(t testing.TB, id string) pay.Payment {
	t.Helper()
	p, err := s.Cascade.Payment(t.Context(), s.Scope, id)
	must(t, err)
	return p
}

// Patience is how long a test waits for what another goroutine does.
const Patience = time.Minute

// Eventually waits until something is so. what says what it is.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	over := time.NewTimer(Patience)
	defer over.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !so() {
		select {
		case <-poll.C:
		case <-over.C:
			t.Fatalf("waited %s until %s", Patience, what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Clock stands still until a test moves it. It is safe for use by many goroutines.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
