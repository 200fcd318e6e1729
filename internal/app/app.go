// Package app assembles the packages of the use cases, the loops over due work, and the operations
// on the whole service. Each use case reads, lets the core decide, and commits. Calls to other
// systems are made between two commits, never inside one.
//
// It knows no HTTP of our own API: internal/api translates.
package app

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/app/recovery"
	"github.com/cascadapay/cascada/internal/app/requests"
	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/identity"
	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/work"
)

// Config is the configuration of an App.
type Config struct {
	base.Config
	// Providers are the simulated ones, by account; Sandbox lists them in the cascade's order. The
	// operator's accounts are in the database.
	Providers map[string]provider.Provider
	Sandbox   []string
	// Adapters are the providers at which the operator may open accounts; Client calls them.
	Adapters []provider.Adapter
	Client   *http.Client
	// Routing is the order of accounts if the operator applied no rules; "" means routing.Priority.
	Routing routing.Order
	// SandboxPayout and LivePayout pay the withdrawals of each environment that no account of the
	// operator pays; nil: those withdrawals are refused.
	SandboxPayout providerpayouts.Provider
	LivePayout    providerpayouts.Provider
	// WalletCoolDown is how long a new production wallet cannot be paid to; 0
	// means pay.WalletCoolDown.
	WalletCoolDown time.Duration
	// InboxURL is the address of managed webhook inboxes, without a trailing slash.
	InboxURL string
	// AccessTTL is the lifetime of an access token; 0 means auth.AccessTTL.
	AccessTTL time.Duration
	// AllowPrivate lets sandbox webhooks reach loopback addresses.
	AllowPrivate bool
	// MaxWebhooks is the most endpoints of a shop in an environment; 0 means
	// webhooks.MostSubscriptions. ProveWebhooks makes production endpoints prove their ownership.
	MaxWebhooks   int
	ProveWebhooks bool
	Sender        *sender.Sender
	Mailer        *mail.Sender // nil: no e-mails are sent
	// Identity is the company's identity provider, nil for none; IdentityName is what the button to it says.
	Identity     *identity.Provider
	IdentityName string
	FX           rates.FX
	// Retention is how long personal data is kept.
	Retention privacy.Retention
	// Version is that of the program, for people.
	Version string
	// LeaseClock replaces the database's clock for the leases of nodes, in tests that move it.
	LeaseClock func() time.Time
	// WideFrom is the number of endpoints from which an event's deliveries are made in steps; 0
	// means 17. For tests.
	WideFrom int
	// Jitter returns a number from 0 up to 1 that spreads the tries of deliveries; nil means
	// random.
	Jitter func() float64
	// Commits is called around every commit, for the simulation; nil: nothing is called.
	Commits func(ctx context.Context, change *pay.Change, commit func() error) error
	// Shared and Through are a database that other nodes of this process use too, and the
	// connection to it. They are for the simulation.
	Shared  *store.Shared
	Through store.Through
	// Schema is what Open may do to the database's schema. Migrations are those of the next version
	// of the program, for tests; nil: none.
	Schema     schema.Mode
	Migrations fs.FS
}

// App is the service. It is safe for use by many goroutines.
type App struct {
	*base.Base
	// The use cases.
	Access         *auth.Access
	Keys           *auth.Keys
	Operators      *auth.Operators
	Secrets        *auth.Secrets
	Onboarding     *merchants.Onboarding
	Rates          *rates.Rates
	Providers      *accounts.Providers
	Accounts       *accounts.Accounts
	Rules          *approuting.Rules
	Rehearsals     *approuting.Rehearsals
	Methods        *methods.Methods
	Plans          *plans.Plans
	Analytics      *payments.Analytics
	Cascade        *cascade.Cascade
	Payments       *payments.Payments
	Sessions       *payments.Sessions
	PaymentLinks   *payments.PaymentLinks
	Claims         *claims.Claims
	ClaimLists     *claims.Lists
	Notices        *notices.Notices
	Webhooks       *webhooks.Webhooks
	Events         *webhooks.Events
	Replays        *webhooks.Replays
	Settlements    *settlements.Settlements
	Adjustments    *settlements.Adjustments
	Wallets        *payouts.Wallets
	Payouts        *payouts.Payouts
	Floats         *payouts.Floats
	Batches        *payouts.Batches
	Verifications  *verification.Verifications
	Reconciliation *reconciliation.Reconciliation
	Recovery       *recovery.Recovery
	Privacy        *privacy.Privacy
	Leaving        *leaving.Leaving
	Mails          *mails.Mails
	People         *people.People
	Factors        *people.Factors
	Links          *people.Links
	Team           *people.Team
	Passkeys       *people.Passkeys
	Company        *people.CompanySignIn
	Sandbox        *sandbox.Sandbox
	Requests       *requests.Log
	Checks         *books.Checks

	Config  Config
	catalog *accounts.Catalog
	counts  *counts
}

// CheckAddress returns an error for an invalid address of a database.
func CheckAddress(database string) error { return engine.CheckAddress(database) }

// Away reports whether an error means that the database cannot be reached at present.
func Away(err error) bool { return errors.Is(err, store.ErrDown) && !engine.Refused(err) }

// Keyed reports whether a database has texts that are encrypted under a master key. It changes
// nothing, and fails if the database cannot be opened. more is as Config.Migrations.
func Keyed(ctx context.Context, database string, more fs.FS) (bool, error) {
	return schema.Keyed(ctx, database, more)
}

// What Open may do to a database's schema: bring it up to date; create one if there is none; leave
// it as it is. An older schema that may not be brought up to date is an error.
const (
	MigrateSchema = schema.Migrate
	MakeSchema    = schema.Make
	KeepSchema    = schema.Keep
)

// Migration is a version of the schema, for people.
type Migration = schema.Migration

// Migrations lists the migrations that a database has and those that are left. It changes nothing.
// more is as Config.Migrations.
func Migrations(ctx context.Context, database string, more fs.FS) ([]Migration, error) {
	return schema.List(ctx, database, more)
}

// RepairCounters recounts the totals of lists, and returns what it fixed.
func (a *App) RepairCounters(ctx context.Context) ([]string, error) {
	return a.Store.RepairCounters(ctx)
}

// Contract runs the contract migrations that are left. It waits up to patience for older programs
// to stop; waits is why the rest has to wait, nil if none is left.
func (a *App) Contract(ctx context.Context, patience time.Duration) (waits, err error) {
	return a.Store.Contract(ctx, patience)
}

// Open returns the service for a database. Run its loops with Run and end it with Close.
func Open(ctx context.Context, address string, c Config) (*App, error) {
	a := &App{
		Base: base.New(c.Config), Config: c,
		counts: newCounts(),
	}
	var err error
	if a.Mails, err = mails.New(a.Base, c.Mailer); err != nil {
		return nil, err
	}
	a.Secrets, a.Keys, a.Operators = auth.NewSecrets(a.Base, c.AccessTTL), auth.NewKeys(a.Base, a.Mails), auth.NewOperators(a.Base)
	a.Requests = requests.New(a.Now())
	a.Checks = books.NewChecks(a.Base, address, c.Migrations)
	a.Access = auth.NewAccess(a.Base, a.Secrets, a.Keys)
	a.Webhooks = webhooks.New(a.Base, webhooks.Config{
		InboxURL: c.InboxURL, AllowPrivate: c.AllowPrivate, MaxWebhooks: c.MaxWebhooks, ProveWebhooks: c.ProveWebhooks, Sender: c.Sender, Jitter: c.Jitter,
	})
	a.Events, a.Replays = webhooks.NewEvents(a.Base), webhooks.NewReplays(a.Webhooks)
	if err := a.Config.FX.Check(); err != nil {
		return nil, err
	}
	a.People = people.New(a.Base, a.Mails)
	a.Factors, a.Links, a.Team = people.NewFactors(a.People), people.NewLinks(a.People, a.Mails), people.NewTeam(a.People)
	if a.Passkeys, err = people.NewPasskeys(a.People); err != nil {
		return nil, err
	}
	a.Company = people.NewCompany(a.People, a.Links, c.Identity, c.IdentityName)
	a.Store.Around = c.Commits
	if a.Store.Store, err = store.Open(ctx, address, store.Options{
		Log: c.Log, Delivered: a.Webhooks.Written, Widened: func() { a.Alarms[base.FanOutsLoop].Set(base.AtOnce) }, Written: func(c *pay.Change) { a.counts.passed(c); a.SetAlarms(c) }, WideFrom: c.WideFrom,
		Version: c.Version, Clock: c.LeaseClock, Name: func(prefix string) string { return c.NewID(prefix, c.Now()) },
		Shared: c.Shared, Through: c.Through, Schema: c.Schema, Migrations: c.Migrations,
		Meter: c.Meter.Commits, Tracer: c.Tracer,
	}); err != nil {
		return nil, err
	}
	if err := a.load(ctx); err != nil {
		a.Store.Close()
		return nil, err
	}
	return a, nil
}

// load reads what the service needs before its first request.
func (a *App) load(ctx context.Context) error {
	var err error
	if err = a.Secrets.Unlock(ctx); err != nil {
		return err
	}
	if a.catalog, err = accounts.LoadCatalog(ctx, a.Store.Store, a.Config.Adapters); err != nil {
		return err
	}
	a.Rates = rates.New(a.Base, a.Config.FX, a.catalog)
	a.Providers = accounts.NewProviders(a.Base, accounts.ProvidersConfig{
		StandIns: a.Config.Providers, StandInOrder: a.Config.Sandbox, Adapters: a.Config.Adapters, Client: a.Config.Client, Routing: a.Config.Routing,
	}, a.catalog)
	a.Accounts, a.Rules = accounts.New(a.Providers), approuting.NewRules(a.Providers)
	a.Rehearsals = approuting.NewRehearsals(a.Rules)
	a.Cascade = cascade.New(a.Base, a.Providers, a.catalog)
	a.Claims, a.ClaimLists = claims.New(a.Base, a.Providers, a.Cascade), claims.NewLists(a.Base)
	a.Methods = methods.New(a.Base, a.Rates, a.Providers, a.catalog)
	a.Plans = plans.New(a.Base, a.Rates, a.catalog)
	a.Onboarding = merchants.NewOnboarding(a.Base, a.Keys, a.Mails, a.Plans)
	a.Payments = payments.New(a.Base, a.Rates, a.Providers, a.Methods, a.Plans, a.Cascade)
	a.Analytics = &payments.Analytics{Base: a.Base}
	a.Sessions = payments.NewSessions(a.Base, a.Rates, a.Providers, a.Methods, a.Plans, a.Cascade, a.catalog)
	a.PaymentLinks = payments.NewPaymentLinks(a.Base, a.Sessions)
	a.Privacy = privacy.New(a.Base, a.Config.Retention)
	a.Verifications = verification.New(a.Base)
	a.Wallets = payouts.NewWallets(a.Base, a.Mails, a.Config.WalletCoolDown)
	a.Floats = payouts.NewFloats(a.Base, a.Providers)
	a.Payouts = payouts.New(a.Base, a.Rates, a.Providers, a.Plans, a.Wallets, a.Floats, payouts.Config{Sandbox: a.Config.SandboxPayout, Live: a.Config.LivePayout})
	a.Batches = payouts.NewBatches(a.Payouts)
	a.Settlements = settlements.New(a.Base, a.Plans, a.Payouts)
	a.Leaving = leaving.New(a.Base, leaving.Parts{
		Onboarding: a.Onboarding, Links: a.Links, Team: a.Team, Plans: a.Plans, Payouts: a.Payouts, Wallets: a.Wallets, Webhooks: a.Webhooks, Privacy: a.Privacy, Mails: a.Mails, Keys: a.Keys, Access: a.Access,
	}, a.Config.Retention.Shoppers)
	a.Adjustments = settlements.NewAdjustments(a.Base)
	a.Reconciliation = reconciliation.New(a.Base, a.Providers, a.catalog, a.Config.Adapters)
	a.Recovery = recovery.New(a.Base, a.Claims, a.Payouts)
	a.Notices = notices.New(a.Base, a.Providers, a.Cascade, a.Claims, a.Payouts)
	a.Sandbox = sandbox.New(a.Base, a.Providers, a.Cascade, a.Claims, a.Notices, a.Config.Providers)
	a.Cascade.Play = a.Sandbox.Play
	if err = a.Rates.LoadRates(ctx); err != nil {
		return err
	}
	if err = a.Providers.ReadAccounts(ctx); err != nil {
		return err
	}
	if err = a.Rules.Read(ctx); err != nil {
		return err
	}
	if err = a.Plans.Read(ctx); err != nil {
		return err
	}
	if err = a.Access.ReadRevoked(ctx); err != nil {
		return err
	}
	if err = a.ReadRecovery(ctx); err != nil {
		return err
	}
	a.Store.Clocks().Remembered(a.ReadClocks)
	return a.ReadClocks(ctx)
}

// Close writes what is queued and disconnects. The caller must have stopped the requests and the
// loops.
func (a *App) Close() {
	a.Links.Drain()
	a.Checks.Close()
	a.Rehearsals.Close()
	a.Cascade.Close()
	a.Claims.Drain()
	a.Payouts.Drain()
	a.Webhooks.Drain()
	if err := a.Access.WriteKeyUses(context.Background()); err != nil {
		a.Log.Warn("the recent uses of keys were not written", "error", err)
	}
	a.Config.Sender.Close()
	a.Store.Close()
}

// Ready reports whether the service can take payments: it can read, and a change was written within
// the last second, or a small one can be written now in the same way as payments.
//
// Errors: ErrForeignKey; others if nothing can be written.
func (a *App) Ready(ctx context.Context) error {
	if a.Secrets.ForeignKey() {
		return auth.ErrForeignKey
	}
	if err := a.Store.Ping(ctx); err != nil {
		return err
	}
	return a.Store.Writes(ctx)
}

// Stats returns the counters of the write path.
func (a *App) Stats() store.Stats { return a.Store.Stats() }

// OldestDue returns the earliest due time of each kind of work.
func (a *App) OldestDue(ctx context.Context) (map[string]time.Time, error) {
	return a.Store.OldestDue(ctx)
}

// OldestOpen returns, for each kind, since when the oldest open object has been open.
func (a *App) OldestOpen(ctx context.Context) (map[string]time.Time, error) {
	return a.Store.OldestOpen(ctx)
}

// Machine is what serves the database: processes, leases of nodes, the schema. For the operator.
func (a *App) Machine(ctx context.Context) (store.Machine, error) { return a.Store.Machine(ctx) }

// WaitsOf returns since when the oldest due row of each loop has waited; loops without waiting work are
// missing.
func (a *App) WaitsOf(ctx context.Context) (map[string]time.Time, error) {
	due, err := a.OldestDue(ctx)
	now, waits := a.Now(), map[string]time.Time{}
	for kind, at := range due {
		loop := base.LoopOf(kind)
		if !at.IsZero() && !at.After(now) && (waits[loop].IsZero() || at.Before(waits[loop])) {
			waits[loop] = at
		}
	}
	return waits, err
}

// Quarantine lists rows of due work that cannot be read and were set aside.
func (a *App) Quarantine(ctx context.Context) ([]store.Quarantined, error) {
	return a.Store.Quarantine(ctx)
}

// Check checks the invariants of the database.
func (a *App) Check(ctx context.Context) ([]store.Broken, error) { return a.Store.Check(ctx) }

// Story describes the whole life of a payment or a withdrawal for people.
func (a *App) Story(ctx context.Context, id string) (string, error) {
	return a.Store.Story(ctx, id)
}

// Loops returns the service's loops over due work. Most of them sleep until something comes due:
// this node's commits wake them (SetAlarms), and the loop "due work" wakes them for what other
// processes wrote.
func (a *App) Loops() []work.Loop {
	loops := []work.Loop{
		a.Webhooks.Loop(),
		a.Woken(base.FanOutsLoop, a.Webhooks.FanOut),
		a.Swept(base.PaymentsLoop, a.Cascade.HandOut),
		a.Swept(base.ClaimsLoop, a.Claims.HandOut),
		a.Woken(base.WalletsLoop, a.Wallets.Activate),
		a.Swept(base.WithdrawalsLoop, a.Payouts.HandOut),
		a.Woken(base.VerificationsLoop, a.Verifications.ExpireVerifications),
		a.Woken(base.CheckoutsLoop, a.Sessions.ExpireSessions),
		a.Woken(base.LinksLoop, a.PaymentLinks.Step),
		a.Woken(base.ReplaysLoop, a.Replays.Step),
		a.Woken(base.SettlementsLoop, base.UnlessShut(a.Base, a.Settlements.CloseSettlements)),
		a.Woken(base.ReceiptsLoop, a.Settlements.Receipts),
		a.Woken(base.ReservesLoop, base.UnlessShut(a.Base, a.Settlements.ReleaseReserves)),
		a.Mails.SendingMails(),
		a.Woken(base.SealsLoop, a.Seal),
		a.Woken(base.FactsLoop, a.Analytics.AddUp),
		{Name: base.OpeningLoop, Every: max(base.OpeningPause, a.Look), Do: base.UnlessShut(a.Base, a.Settlements.OpenSettlements), Alarm: a.Alarms[base.OpeningLoop], Now: a.Now},
		a.Polled("due work", 0, a.LookAround),
		a.Polled("nodes that are gone", 0, a.Cascade.ReleaseOrphans),
		a.Polled("clocks", 0, a.ReadClocks),
		base.TableByTable(a.Polled("sandboxes that are emptied", sandbox.ResetsEvery, a.Sandbox.EmptySandboxes)),
		a.Polled("revocations", 0, a.Access.ReadRevoked),
		base.RowByRow(a.Polled("merchants that leave", leaving.Every, a.Leaving.Step)),
		a.Polled("recovery", recovery.Every, a.ReadRecovery),
		a.Polled("secrets", auth.SecretsEvery, a.Secrets.ReadSecrets),
		a.Polled("uses of keys", auth.UsesEvery, a.Access.WriteKeyUses),
		a.Polled("signing keys", auth.SigningKeysEvery, a.Secrets.RotateSigningKey),
		base.TableByTable(a.Polled("texts under another master key", auth.ReencryptEvery, a.Secrets.ReencryptTexts)),
		a.Polled("provider accounts", accounts.Every, a.Providers.ReadAccounts),
		a.Polled("routing rules", accounts.Every, a.Rules.Read),
		a.Polled("price plans", accounts.Every, a.Plans.Read),
		base.RowByRow(a.Polled("balances at payout accounts", payouts.FloatsEvery, a.Floats.Compare)),
		a.Polled("rates", rates.Every, a.Rates.ReadRates),
		base.TableByTable(a.Polled("counters", store.RollUpEvery, func(ctx context.Context) error { return a.Store.RollUp(ctx, a.Now()) })),
		base.RowByRow(a.Polled("tidy", store.TidyEvery, func(ctx context.Context) error { return a.Store.Tidy(ctx, a.Now()) })),
		base.TableByTable(a.Polled("idempotency keys", base.PurgeKeysEvery, a.PurgeKeys)),
		base.RowByRow(a.Polled("credentials rotated out", accounts.ForgetCredentialsEvery, a.Accounts.ForgetCredentials)),
		base.TableByTable(work.Loop{Name: "inboxes", Every: max(webhooks.TrimEvery, a.Look), Do: a.Webhooks.TrimInboxes}),
		base.TableByTable(work.Loop{Name: "sessions", Every: max(payments.PurgeEvery, a.Look), Do: a.Sessions.PurgeSessions}),
		base.TableByTable(work.Loop{Name: "sign-ins", Every: max(people.PurgeEvery, a.Look), Do: a.People.Purge}),
		base.TableByTable(work.Loop{Name: "personal data that is kept no longer", Every: max(privacy.ForgetEvery, a.Look), Do: a.Privacy.Forget}),
	}
	if a.Config.FX.Feed != nil {
		loops = append(loops, work.Loop{Name: "feed of rates", Every: rates.Every, Do: func(ctx context.Context) (int, error) { return 0, a.Rates.ReadFeed(ctx) }})
	}
	return loops
}

// Serve makes this process a node that takes payments. A database file can be served by only one
// process.
func (a *App) Serve(ctx context.Context) error { return a.Store.Serve(ctx) }
