// Package accounts has the operator's accounts at providers: it adds, changes and removes them, opens their clients, and knows
// their health. It plans a payment's cascade and makes no payment.
package accounts

import (
	"cmp"
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
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/work"
)

// Every is how soon a node reads changes of provider accounts.
const Every = time.Second

// ProvidersConfig is the configuration of Providers.
type ProvidersConfig struct {
	// StandIns take the sandbox's payments that no account serves: clients by account, and the
	// accounts in the cascade's order. The operator's accounts are in the database.
	StandIns     map[string]provider.Provider
	StandInOrder []string
	// Adapters are the providers at which the operator may open accounts; Client calls them.
	Adapters []provider.Adapter
	Client   *http.Client
	// Routing is the order of accounts if the operator applied no rules; "" means routing.Priority.
	Routing routing.Order
}

// Providers is the providers' side: accounts with their clients and health, and the routing rules.
// It is safe for use by many goroutines.
type Providers struct {
	*base.Base
	ProvidersConfig
	Catalog    *Catalog
	connectors atomic.Pointer[connectors]
	// Rules are the routing rules of this node.
	Rules  atomic.Pointer[routing.Rules]
	health *health
	tally  *tally
	// renewing is held while accounts are reloaded.
	renewing work.Latch
}

// NewProviders returns a Providers that has read no account yet.
func NewProviders(b *base.Base, c ProvidersConfig, catalog *Catalog) *Providers {
	ps := &Providers{Base: b, ProvidersConfig: c, Catalog: catalog, health: newHealth(), tally: newTally(), renewing: work.NewLatch()}
	b.Ended = ps.ended
	return ps
}

// Accounts adds, changes and removes the operator's provider accounts.
type Accounts struct {
	*base.Base
	providers *Providers
}

// New returns the Accounts of a service. providers learns of changes.
func New(providers *Providers) *Accounts { return &Accounts{providers.Base, providers} }

// Connector is a provider account with its client on this node.
type Connector struct {
	Account accounts.Account
	client  provider.Provider // nil if it cannot be opened, or pays out
	Payouts payouts.Provider  // nil if it cannot be opened, or takes payments
	paysOut bool
	Needs   map[string][]pay.HolderField // required fields of beneficiaries, by rail
	before  []former                     // clients with rotated credentials
	Broken  error                        // why there is no client
}

// former is a client with rotated credentials. It only reads notifications, until then.
type former struct {
	client  provider.Provider
	payouts payouts.Provider
	until   time.Time
}

// pastCredentials are rotated credentials, before encryption.
type pastCredentials struct {
	Credentials map[string]string `json:"credentials"`
	Until       time.Time         `json:"until"`
}

// connectors is what this node knows of all provider accounts. It is never changed: a new value replaces
// it, and calls under way finish with their client.
type connectors struct {
	mark    int64
	byID    map[string]Connector
	serving accounts.Accounts // that take payments and can be called, with their rails
	paying  accounts.Accounts // that pay out and can be called
}

// Connector returns an account with its client, as this node knows it; false if there is no such account.
func (ps *Providers) Connector(account string) (Connector, bool) {
	d, known := ps.connectors.Load().byID[account]
	return d, known
}

// Paying lists the accounts that pay a shop's withdrawals over a rail and can be called.
func (ps *Providers) Paying(scope merchants.Scope, rail accounts.Rail) (list []Connector) {
	known := ps.connectors.Load()
	for _, account := range known.paying.Serving(scope, rail) {
		list = append(list, known.byID[account.ID])
	}
	return list
}

// Filers lists the accounts whose payouts leave in files, in order.
func (ps *Providers) Filers() (list []string) {
	for id, d := range ps.connectors.Load().byID {
		if _, ok := d.Payouts.(payouts.Filer); ok {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// ByHand is the account of payouts that the operator makes by hand in an environment: the first of the adapter manual, or
// HandPayouts.
func (ps *Providers) ByHand(live bool) string {
	first := ""
	for id, d := range ps.connectors.Load().byID {
		if d.Account.Adapter == handAdapter && d.Account.Live == live && (first == "" || id < first) {
			first = id
		}
	}
	return cmp.Or(first, HandPayouts)
}

// Upstream returns the client of an account: a stand-in, or one that the operator opened.
func (ps *Providers) Upstream(account string) (provider.Provider, bool) {
	if p, ok := ps.StandIns[account]; ok {
		return p, true
	}
	d := ps.connectors.Load().byID[account]
	return d.client, d.client != nil
}

// Notices reads a notification with an account's client. For a while after a rotation,
// notifications signed with the previous credentials are valid too.
func (ps *Providers) Notices(ctx context.Context, account string, upstream provider.Provider, n Notification) ([]pay.Notice, error) {
	list, err := upstream.Notices(ctx, n)
	if !errors.Is(err, provider.ErrUnsigned) {
		return list, err
	}
	now := ps.Now()
	for _, f := range ps.connectors.Load().byID[account].before {
		if f.client == nil || !now.Before(f.until) {
			continue
		}
		if list, err := f.client.Notices(ctx, n); !errors.Is(err, provider.ErrUnsigned) {
			return list, err
		}
	}
	return list, err
}

// ReadAccounts reads the provider accounts from the database if any was changed.
func (ps *Providers) ReadAccounts(ctx context.Context) error {
	ps.renewing.Lock() // a slow read must not undo a later one
	defer ps.renewing.Unlock()
	mark, err := ps.Store.Accounts().Mark(ctx)
	known := ps.connectors.Load()
	if err != nil || known != nil && known.mark == mark {
		return err
	}
	list, err := ps.Store.Accounts().List(ctx)
	if err != nil {
		return err
	}
	next := &connectors{mark: mark, byID: map[string]Connector{}}
	for _, account := range list {
		if account.Status == accounts.Removed {
			continue
		}
		var d Connector
		if known != nil {
			d = known.byID[account.ID]
		}
		if d.Account.Version != account.Version {
			d = ps.openConnector(account)
			if d.Broken != nil {
				ps.Log.ErrorContext(ctx, "a provider account cannot be opened: it takes no payments", "account", account.ID, "error", d.Broken)
			}
		}
		next.byID[account.ID] = d
		switch {
		case d.client != nil:
			next.serving = append(next.serving, d.Account)
		case d.Payouts != nil:
			next.paying = append(next.paying, d.Account)
		}
	}
	ps.connectors.Store(next)
	return nil
}

// openConnector makes the clients of an account. It makes no call.
func (ps *Providers) openConnector(account accounts.Account) Connector {
	d := Connector{Account: account}
	adapter, err := ps.Adapter(account.Adapter)
	if err != nil {
		d.Broken = err
		return d
	}
	d.paysOut, d.Needs = adapter.OpenPayouts != nil, adapter.Needs
	if len(account.Rails) == 0 {
		d.Account.Rails = adapter.Rails
	}
	credentials, err := ps.decryptCredentials(account.ID, account.Credentials)
	if err == nil {
		d.client, d.Payouts, err = ps.openClient(adapter, account, credentials)
	}
	if err != nil {
		d.client, d.Payouts, d.Broken = nil, nil, err
		return d
	}
	if d.before, err = ps.openFormer(adapter, account); err != nil {
		// The account works without them, except for notifications signed before.
		ps.Log.Warn("the previous credentials of an account cannot be used", "account", account.ID, "error", err)
	}
	return d
}

func (ps *Providers) openFormer(adapter provider.Adapter, account accounts.Account) (list []former, err error) {
	past, err := ps.decryptPast(account)
	for _, p := range past {
		client, payouts, openErr := ps.openClient(adapter, account, p.Credentials)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		list = append(list, former{client, payouts, p.Until})
	}
	return list, err
}

// openClient makes a client with credentials: for payments or for payouts.
//
// It returns an error if a credential is missing, unknown or malformed.
func (ps *Providers) openClient(adapter provider.Adapter, account accounts.Account, credentials map[string]string) (charges provider.Provider, payouts payouts.Provider, err error) {
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
		NotificationURL: ps.NotificationURL(account.ID), Client: ps.Client, Now: ps.Now,
		Unmapped: func(word string) {
			word = strings.ToValidUTF8(word[:min(len(word), maxWord)], "?")
			if ps.tally.strange(account.ID, word) {
				ps.Log.Warn("a provider sent an unknown status: its object stays open", "account", account.ID, "adapter", adapter.Name, "status", word)
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

// maxWord is how much of a provider's status is logged.
const maxWord = 64

func fieldNames(adapter provider.Adapter) string {
	var names []string
	for _, f := range adapter.Fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// NotificationURL is where an account's provider must send notifications.
func (ps *Providers) NotificationURL(account string) string {
	return ps.CheckoutURL + "/api/v1/providers/" + account + "/notifications"
}

// Adapter finds an adapter by name.
func (ps *Providers) Adapter(name string) (provider.Adapter, error) {
	var names []string
	for _, adapter := range ps.Adapters {
		if adapter.Name == name {
			return adapter, nil
		}
		names = append(names, adapter.Name)
	}
	return provider.Adapter{}, fmt.Errorf("there is no adapter %q: use one of %s", name, strings.Join(names, ", "))
}

// CredentialsOf is the name under which an account's credentials are encrypted.
func CredentialsOf(account string) string { return "provider account " + account }

func (ps *Providers) encryptCredentials(account string, credentials map[string]string) ([]byte, error) {
	text, err := json.Marshal(credentials)
	if err != nil {
		return nil, err
	}
	return ps.Vault.Encrypt(CredentialsOf(account), text), nil
}

func (ps *Providers) decryptCredentials(account string, encrypted []byte) (credentials map[string]string, err error) {
	text, err := ps.Vault.Decrypt(CredentialsOf(account), encrypted)
	if err != nil {
		return nil, err
	}
	return credentials, json.Unmarshal(text, &credentials)
}

// PastOf is the name under which an account's previous credentials are encrypted.
func PastOf(account string) string { return "provider account " + account + " before" }

// maxPast is how many rotations within the grace period are kept.
const maxPast = 8

func (ps *Providers) decryptPast(account accounts.Account) (past []pastCredentials, err error) {
	if len(account.Before) == 0 {
		return nil, nil
	}
	text, err := ps.Vault.Decrypt(PastOf(account.ID), account.Before)
	if err != nil {
		return nil, err
	}
	return past, json.Unmarshal(text, &past)
}

// encryptPast encrypts the credentials that a rotation replaces, with the earlier ones that are still
// valid.
func (ps *Providers) encryptPast(account accounts.Account, present map[string]string, now time.Time) ([]byte, error) {
	past, err := ps.decryptPast(account)
	if err != nil {
		return nil, err
	}
	past = slices.DeleteFunc(past, func(p pastCredentials) bool { return !now.Before(p.Until) })
	past = append(past, pastCredentials{present, now.Add(accounts.Grace)})
	text, err := json.Marshal(past[max(0, len(past)-maxPast):])
	if err != nil {
		return nil, err
	}
	return ps.Vault.Encrypt(PastOf(account.ID), text), nil
}

// Serving selects the operator's accounts that may take a shop's payments over a rail.
func (ps *Providers) Serving(scope merchants.Scope, rail accounts.Rail) accounts.Accounts {
	return ps.Rules.Load().Possible(scope.Merchant, scope.Shop, rail.Key, ps.connectors.Load().serving.Serving(scope, rail))
}

// Routes returns the cascade of a payment. Stand-ins take payments that no account of a sandbox
// serves, and simulated actions.
func (ps *Providers) Routes(p pay.Payment) pay.Cascade {
	rail, rules := ps.Catalog.ByID[p.Way.RailID], *ps.Rules.Load()
	serving := ps.connectors.Load().serving.Serving(p.Scope, rail)
	if p.Live || len(serving) > 0 && p.Script.Action == "" {
		able, passed := InInstallments(ps, serving, p, rail)
		cascade := ps.health.plan(rules, able, p, rail, ps.Now())
		for i, r := range cascade.Routes {
			if len(passed) > 0 {
				cascade.Routes[i].Passed = slices.Concat(r.Passed, passed)
			}
		}
		return cascade
	}
	cascade := pay.Cascade{Budget: rules.Bounds(), Retry: rules.Retries()}
	for _, account := range ps.StandInOrder {
		cascade.Routes = append(cascade.Routes, pay.Route{Provider: account})
	}
	return cascade
}

// StoodIn reports whether a payment is with a stand-in.
func (ps *Providers) StoodIn(p pay.Payment) bool {
	attempt, ok := p.Attempts.Current()
	return !p.Live && (!ok || slices.Contains(ps.StandInOrder, attempt.Provider))
}

// Notification is a provider's HTTP request, as it came.
type Notification = provider.Notification
