package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/routing"
)

// accountsEvery is how soon a node learns of a provider account that was changed.
const accountsEvery = time.Second

// ProvidersConfig is what Providers is made of.
type ProvidersConfig struct {
	// Simulated are the simulated providers, by account; Sandbox lists them in the
	// cascade's order. The operator's accounts are in the database.
	Simulated map[string]provider.Provider
	Sandbox   []string
	// Adapters are the providers that he may open accounts at; Client calls them.
	Adapters []provider.Adapter
	Client   *http.Client
	// Routing is what his accounts are ordered by where he applied no rules; "" means
	// routing.Priority.
	Routing routing.Order
}

// Providers is the providers' side: accounts with their clients, how they do, and the rules by
// which payments go through them. It is safe for use by many goroutines.
type Providers struct {
	*base.Base
	ProvidersConfig
	catalog *Catalog
	desks   atomic.Pointer[desks]
	rules   atomic.Pointer[ruling]
	health  *health
	tally   *tally
	// renewing is held while accounts, or the rules, are read anew.
	renewing base.Latch
}

// NewProviders returns one that has read no account yet.
func NewProviders(b *base.Base, c ProvidersConfig, catalog *Catalog) *Providers {
	return &Providers{Base: b, ProvidersConfig: c, catalog: catalog, health: newHealth(), tally: newTally(), renewing: base.NewLatch()}
}

// desk is a provider account as this node calls it.
type desk struct {
	account pay.ProviderAccount
	client  provider.Provider // nil where it cannot be opened, or pays out
	payouts payout.Provider   // nil where it cannot be opened, or takes payments
	paysOut bool
	needs   map[string][]pay.HolderField // of beneficiaries, by rail
	before  []former                     // with credentials that were rotated out
	broken  error                        // why there is no client
}

// former is a client with credentials that count for notifications alone, and
// until when.
type former struct {
	client  provider.Provider
	payouts payout.Provider
	until   time.Time
}

// pastCredentials is credentials that were rotated out, as they are sealed.
type pastCredentials struct {
	Credentials map[string]string `json:"credentials"`
	Until       time.Time         `json:"until"`
}

// desks is what this node knows of all provider accounts. It is never changed:
// a new one takes its place, and calls under way end with the client they have.
type desks struct {
	mark    int64
	byID    map[string]desk
	serving pay.Accounts // that take payments and can be called, with their rails
	paying  pay.Accounts // that pay out and can be called
}

// upstream returns the client of an account: a simulated provider, or one that
// the operator opened.
func (a *Providers) upstream(account string) (provider.Provider, bool) {
	if p, ok := a.Simulated[account]; ok {
		return p, true
	}
	d := a.desks.Load().byID[account]
	return d.client, d.client != nil
}

// notices reads a notification with an account's client. For a while after a
// rotation those signed with the credentials before it count too.
func (a *Providers) notices(ctx context.Context, account string, upstream provider.Provider, n Notification) ([]pay.Notice, error) {
	list, err := upstream.Notices(ctx, n)
	if !errors.Is(err, provider.ErrUnsigned) {
		return list, err
	}
	now := a.Now()
	for _, f := range a.desks.Load().byID[account].before {
		if f.client == nil || !now.Before(f.until) {
			continue
		}
		if list, err := f.client.Notices(ctx, n); !errors.Is(err, provider.ErrUnsigned) {
			return list, err
		}
	}
	return list, err
}

// readAccounts learns of the provider accounts in the database, where any was
// changed.
func (a *Providers) readAccounts(ctx context.Context) error {
	a.renewing.Lock() // a slow read must not undo what a later one found
	defer a.renewing.Unlock()
	mark, err := a.Store.AccountsMark(ctx)
	known := a.desks.Load()
	if err != nil || known != nil && known.mark == mark {
		return err
	}
	list, err := a.Store.Accounts(ctx)
	if err != nil {
		return err
	}
	next := &desks{mark: mark, byID: map[string]desk{}}
	for _, account := range list {
		if account.Status == pay.AccountRemoved {
			continue
		}
		var d desk
		if known != nil {
			d = known.byID[account.ID]
		}
		if d.account.Version != account.Version {
			d = a.openDesk(account)
			if d.broken != nil {
				a.Log.ErrorContext(ctx, "a provider account cannot be opened and takes no payments", "account", account.ID, "error", d.broken)
			}
		}
		next.byID[account.ID] = d
		switch {
		case d.client != nil:
			next.serving = append(next.serving, d.account)
		case d.payouts != nil:
			next.paying = append(next.paying, d.account)
		}
	}
	a.desks.Store(next)
	return nil
}

// openDesk makes the clients of an account; it calls nobody.
func (a *Providers) openDesk(account pay.ProviderAccount) desk {
	d := desk{account: account}
	adapter, err := a.adapter(account.Adapter)
	if err != nil {
		d.broken = err
		return d
	}
	d.paysOut, d.needs = adapter.OpenPayouts != nil, adapter.Needs
	if len(account.Rails) == 0 {
		d.account.Rails = adapter.Rails
	}
	credentials, err := a.unsealCredentials(account.ID, account.Credentials)
	if err == nil {
		d.client, d.payouts, err = a.openClient(adapter, account, credentials)
	}
	if err != nil {
		d.client, d.payouts, d.broken = nil, nil, err
		return d
	}
	if d.before, err = a.openFormer(adapter, account); err != nil {
		// Without them the account works, except for what was signed before.
		a.Log.Warn("the credentials before a rotation cannot be used", "account", account.ID, "error", err)
	}
	return d
}

func (a *Providers) openFormer(adapter provider.Adapter, account pay.ProviderAccount) (list []former, err error) {
	past, err := a.unsealPast(account)
	for _, p := range past {
		client, payouts, openErr := a.openClient(adapter, account, p.Credentials)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		list = append(list, former{client, payouts, p.Until})
	}
	return list, err
}

// openClient makes a client with credentials: one that takes payments, or one that pays out.
//
// Errors: which credential is missing, unknown or cannot be one.
func (a *Providers) openClient(adapter provider.Adapter, account pay.ProviderAccount, credentials map[string]string) (charges provider.Provider, payouts payout.Provider, err error) {
	for _, f := range adapter.Fields {
		if credentials[f.Name] == "" && !f.Optional {
			return nil, nil, &provider.FieldError{Field: f.Name, Reason: "is required: " + f.Doc}
		}
	}
	for name := range credentials {
		if !slices.ContainsFunc(adapter.Fields, func(f provider.Field) bool { return f.Name == name }) {
			return nil, nil, &provider.FieldError{Field: name, Reason: fmt.Sprintf("is no credential of %s, which has %s", adapter.Name, fieldNames(adapter))}
		}
	}
	opened := provider.Account{
		ID: account.ID, Live: account.Live, BaseURL: account.BaseURL, Credentials: credentials,
		NotificationURL: a.NotificationURL(account.ID), Client: a.Client, Now: a.Now,
		Unmapped: func(word string) {
			word = strings.ToValidUTF8(word[:min(len(word), maxWord)], "?")
			if a.tally.strange(account.ID, word) {
				a.Log.Warn("a provider told a status that has no meaning here: what it tells of stays open", "account", account.ID, "adapter", adapter.Name, "status", word)
			}
		},
	}
	if adapter.OpenPayouts != nil {
		payouts, err = adapter.OpenPayouts(opened)
		return nil, payouts, err
	}
	charges, err = adapter.Open(opened)
	return charges, nil, err
}

// maxWord bounds what the log is told of a provider's word.
const maxWord = 64

func fieldNames(adapter provider.Adapter) string {
	var names []string
	for _, f := range adapter.Fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// NotificationURL is where an account's provider is to send notifications.
func (a *Providers) NotificationURL(account string) string {
	return a.CheckoutURL + "/api/v1/providers/" + account + "/notifications"
}

// adapter finds an adapter by name.
func (a *Providers) adapter(name string) (provider.Adapter, error) {
	var names []string
	for _, adapter := range a.Adapters {
		if adapter.Name == name {
			return adapter, nil
		}
		names = append(names, adapter.Name)
	}
	return provider.Adapter{}, fmt.Errorf("there is no adapter %q; want one of %s", name, strings.Join(names, ", "))
}

// credentialsOf is what an account's credentials are sealed as.
func credentialsOf(account string) string { return "provider account " + account }

func (a *Providers) sealCredentials(account string, credentials map[string]string) ([]byte, error) {
	text, err := json.Marshal(credentials)
	if err != nil {
		return nil, err
	}
	return a.Vault.Seal(credentialsOf(account), text), nil
}

func (a *Providers) unsealCredentials(account string, sealed []byte) (credentials map[string]string, err error) {
	text, err := a.Vault.Open(credentialsOf(account), sealed)
	if err != nil {
		return nil, err
	}
	return credentials, json.Unmarshal(text, &credentials)
}

// pastOf is what an account's credentials of before are sealed as.
func pastOf(account string) string { return "provider account " + account + " before" }

// maxPast is how many rotations within the grace are remembered.
const maxPast = 8

func (a *Providers) unsealPast(account pay.ProviderAccount) (past []pastCredentials, err error) {
	if len(account.Before) == 0 {
		return nil, nil
	}
	text, err := a.Vault.Open(pastOf(account.ID), account.Before)
	if err != nil {
		return nil, err
	}
	return past, json.Unmarshal(text, &past)
}

// sealPast seals the credentials that a rotation puts out with those that were put
// out before and still count.
func (a *Providers) sealPast(account pay.ProviderAccount, present map[string]string, now time.Time) ([]byte, error) {
	past, err := a.unsealPast(account)
	if err != nil {
		return nil, err
	}
	past = slices.DeleteFunc(past, func(p pastCredentials) bool { return !now.Before(p.Until) })
	past = append(past, pastCredentials{present, now.Add(pay.AccountGrace)})
	text, err := json.Marshal(past[max(0, len(past)-maxPast):])
	if err != nil {
		return nil, err
	}
	return a.Vault.Seal(pastOf(account.ID), text), nil
}

// served selects the operator's accounts that a shop's payments over a rail may
// go to.
func (a *Providers) served(scope pay.Scope, rail pay.Rail) pay.Accounts {
	_, chosen, _ := a.rules.Load().Choose(rail.Key, a.desks.Load().serving.Serving(scope, rail))
	return chosen
}

// routes returns the cascade of a payment. The simulated providers stand in on
// every rail that no sandbox account serves, and take what the shop plays.
func (a *Providers) routes(p pay.Payment) pay.Cascade {
	rail, rules := a.catalog.byID[p.RailID], a.rules.Load().Rules
	serving := a.desks.Load().serving.Serving(p.Scope, rail)
	if p.Live || len(serving) > 0 && p.Simulate == "" {
		return a.health.plan(rules, serving, p, rail, a.Now())
	}
	cascade := pay.Cascade{Budget: rules.Bounds()}
	for _, account := range a.Sandbox {
		cascade.Routes = append(cascade.Routes, pay.Route{Provider: account})
	}
	return cascade
}

// simulated reports whether a payment is with a simulated provider.
func (a *Providers) simulated(p pay.Payment) bool {
	attempt, ok := p.Current()
	return !p.Live && (!ok || slices.Contains(a.Sandbox, attempt.Provider))
}

// Notification is a provider's, as it came.
type Notification = provider.Notification
