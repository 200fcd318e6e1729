// Package accounts has the commands about accounts at providers and their notifications. It decides nothing: use cases do.
package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/shape"
	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
)

// credentialFlags say where credentials are read from. Secret ones are never on the command line
// itself, because every list of processes shows it.
type credentialFlags struct {
	Credential  []string `sep:"none" placeholder:"NAME=SOURCE" help:"A credential from a file (NAME=@FILE), the standard input (NAME=-) or an environment variable (NAME=env:VARIABLE). If it is not secret, NAME=VALUE works too. Repeat the flag for more."`
	Credentials string   `placeholder:"FILE" help:"File with a JSON object of credentials by name, or - for the standard input."`
}

// read returns the credentials that the flags give.
func (f credentialFlags) read(fields []provider.Field) (map[string]string, error) {
	credentials := map[string]string{}
	if f.Credentials != "" {
		text, err := cli.Content(f.Credentials)
		if err != nil {
			return nil, err
		}
		if json.Unmarshal(text, &credentials) != nil { // its error is left out: it may quote a secret
			return nil, fmt.Errorf("%s: want a JSON object of strings, such as {\"secretKey\":\"…\"}", f.Credentials)
		}
	}
	piped := f.Credentials == "-"
	for _, flag := range f.Credential {
		name, source, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, errors.New("--credential: want NAME=@FILE, NAME=- or NAME=env:VARIABLE")
		}
		if source == "-" && piped {
			return nil, errors.New("only one flag can read the standard input: give the others by file or environment variable")
		}
		piped = piped || source == "-"
		value, err := credential(fields, name, source)
		if err != nil {
			return nil, err
		}
		credentials[name] = value
	}
	return credentials, nil
}

// credential reads a credential from its source.
func credential(fields []provider.Field, name, source string) (string, error) {
	if variable, ok := strings.CutPrefix(source, "env:"); ok {
		value, found := os.LookupEnv(variable)
		if !found {
			return "", fmt.Errorf("%s: there is no environment variable %s", name, variable)
		}
		return value, nil
	}
	if path, ok := strings.CutPrefix(source, "@"); ok || source == "-" {
		text, err := cli.Content(cmp.Or(path, "-"))
		return strings.TrimRight(string(text), "\r\n"), err
	}
	public := func(f provider.Field) bool { return f.Name == name && f.Public }
	if source != "" && !slices.ContainsFunc(fields, public) {
		return "", fmt.Errorf("%s is secret, or not a credential of this adapter: give it as @FILE, - or env:VARIABLE, because every list of processes shows the arguments", name)
	}
	return source, nil
}

// TermFlags are an account's settings.
type TermFlags struct {
	Rail     []string `placeholder:"KEY" help:"Rail of the account, such as pix.BRA. Repeat the flag for more. A new account has all rails of its adapter; the word all restores that."`
	Price    []string `sep:"none" placeholder:"[KEY=]PRICE" help:"The provider's price, such as 2.9%+0.30 (percent and USD), or pix.BRA=0.99% for one rail. The word none removes it."`
	Limit    []string `sep:"none" placeholder:"[KEY=]CURRENCY:MIN-MAX" help:"Smallest and largest amount that the account takes at once, such as BRL:1-5000, or pix.BRA=BRL:1-5000 for one rail. The word none removes it."`
	Priority *int     `placeholder:"N" help:"Accounts with lower numbers are tried first; a new account has 100."`
	BaseURL  *string  `name:"base-url" placeholder:"URL" help:"URL to use instead of the provider's own: https, or http to this machine for tests; empty for the provider's own."`
}

// Apply returns the account with the settings that the flags give.
func (f TermFlags) Apply(a accounts.Account) (accounts.Account, error) {
	if len(f.Rail) > 0 {
		a.Rails = f.Rail
	}
	if slices.Equal(f.Rail, []string{"all"}) {
		a.Rails = nil
	}
	if f.Priority != nil {
		a.Priority = *f.Priority
	}
	if f.BaseURL != nil {
		a.BaseURL = *f.BaseURL
	}
	a.Terms = slices.Clone(a.Terms)
	for _, text := range f.Price {
		rail, price := split(text)
		t := termsOf(&a, rail)
		if t.Fee = nil; price == "none" {
			continue
		}
		fee, err := money.ParseFee(price)
		if err != nil {
			return a, err
		}
		t.Fee = &fee
	}
	for _, text := range f.Limit {
		rail, bounds := split(text)
		t := termsOf(&a, rail)
		if bounds == "none" {
			t.Limits = nil
			continue
		}
		limit, err := accounts.ParseLimit(bounds)
		if err != nil {
			return a, err
		}
		others := slices.DeleteFunc(slices.Clone(t.Limits), func(l accounts.Limit) bool { return l.Currency == limit.Currency })
		t.Limits = append(others, limit)
	}
	a.Terms = slices.DeleteFunc(a.Terms, func(t accounts.RailTerms) bool { return t.Fee == nil && len(t.Limits) == 0 })
	return a, nil
}

// split parses "RAIL=REST" or "REST".
func split(text string) (rail, rest string) {
	if rail, rest, ok := strings.Cut(text, "="); ok {
		return rail, rest
	}
	return "", text
}

// termsOf returns the account's terms of a rail, and adds them if there are none.
func termsOf(a *accounts.Account, rail string) *accounts.RailTerms {
	for i := range a.Terms {
		if a.Terms[i].Rail == rail {
			return &a.Terms[i]
		}
	}
	a.Terms = append(a.Terms, accounts.RailTerms{Rail: rail})
	return &a.Terms[len(a.Terms)-1]
}

type providerAddCmd struct {
	cli.AccountFlags
	Adapter     string                `arg:"" help:"Name of the adapter, from provider adapters."`
	ID          string                `name:"id" help:"Id of the account. It is part of the notification URL and can never change. By default one is made."`
	Environment merchants.Environment `default:"production" enum:"production,sandbox" help:"production, or sandbox for the provider's own test environment (default ${default})."`
	Merchant    string                `placeholder:"ID" help:"Merchant whose payments the account takes, mer_…; without it, those of all merchants."`
	Disabled    bool                  `help:"Take no charges until the account is enabled."`
	TermFlags
	credentialFlags
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *providerAddCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	credentials, err := c.read(adapters.Fields(c.Adapter))
	if err != nil {
		return err
	}
	terms, err := c.Apply(accounts.Account{Priority: accounts.DefaultPriority})
	if err != nil {
		return err
	}
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	account, err := a.Accounts.Add(ctx, a.Self(), appaccounts.NewAccount{
		ID: c.ID, Adapter: c.Adapter, Live: c.Environment == merchants.Production, Merchant: c.Merchant, BaseURL: terms.BaseURL, Credentials: credentials,
		Rails: terms.Rails, Terms: terms.Terms, Priority: terms.Priority, Disabled: c.Disabled,
	})
	if err != nil {
		return err
	}
	return show(ctx, a, account.ID, c.JSON)
}

type providerSetCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"Account's id."`
	TermFlags
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *providerSetCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	if _, err := c.Apply(accounts.Account{}); err != nil { // report errors before the database is opened
		return err
	}
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, err := a.Accounts.Edit(ctx, a.Self(), c.Account, c.Apply); err != nil {
		return err
	}
	return show(ctx, a, c.Account, c.JSON)
}

type providerRotateCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"Account's id."`
	credentialFlags
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *providerRotateCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	account, err := a.Providers.ProviderAccount(ctx, c.Account)
	if err != nil {
		return err
	}
	credentials, err := c.read(adapters.Fields(account.Adapter))
	if err != nil {
		return err
	}
	if _, err := a.Accounts.Rotate(ctx, a.Self(), c.Account, credentials); err != nil {
		return err
	}
	return show(ctx, a, c.Account, c.JSON)
}

type providerApplyCmd struct {
	cli.AccountFlags
	File string `arg:"" help:"JSON file (docs/PROVIDERS.md), or - for the standard input."`
}

// declared is an account in the file of provider apply.
type declared struct {
	ID          string                `json:"id"`
	Adapter     string                `json:"adapter"`
	Environment merchants.Environment `json:"environment"`
	Merchant    string                `json:"merchantId"`
	Credentials map[string]string     `json:"credentials"` // sources, as in --credential
	Rails       []string              `json:"rails"`
	Price       string                `json:"price"` // of all rails without a price of their own
	Limits      []string              `json:"limits"`
	Terms       []shape.Terms         `json:"terms"`
	Priority    *int                  `json:"priority"`
	Disabled    bool                  `json:"disabled"`
	BaseURL     string                `json:"baseUrl"`
}

func (c *providerApplyCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	text, err := cli.Content(c.File)
	if err != nil {
		return err
	}
	var file struct{ Accounts []declared }
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields() // a misspelt setting must not become the default
	if err := decoder.Decode(&file); err != nil {
		return fmt.Errorf("%s: want {\"accounts\":[…]}: %w", c.File, err)
	}
	var list []appaccounts.NewAccount
	for i, d := range file.Accounts { // read all accounts before any is changed
		n, err := d.read(adapters)
		if err != nil {
			return fmt.Errorf("%s: account %d %s: %w", c.File, i+1, d.ID, err)
		}
		list = append(list, n)
	}
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	for _, n := range list {
		done, err := a.Accounts.Apply(ctx, a.Self(), n)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.File, n.ID, err)
		}
		fmt.Fprintf(cli.Stdout, "%s %s\n", n.ID, done)
	}
	return nil
}

func (d declared) read(adapters cli.Registry) (appaccounts.NewAccount, error) {
	f := TermFlags{Rail: d.Rails, Priority: d.Priority, BaseURL: &d.BaseURL}
	for _, t := range append([]shape.Terms{{Price: d.Price, Limits: d.Limits}}, d.Terms...) {
		if t.Price != "" {
			f.Price = append(f.Price, t.Rail+"="+t.Price)
		}
		for _, l := range t.Limits {
			f.Limit = append(f.Limit, t.Rail+"="+l)
		}
	}
	n := appaccounts.NewAccount{ID: d.ID, Adapter: d.Adapter, Merchant: d.Merchant, Disabled: d.Disabled, Credentials: map[string]string{}}
	switch d.Environment {
	case merchants.Production:
		n.Live = true
	case merchants.Sandbox:
	default:
		return n, fmt.Errorf("environment %q: want production or sandbox", d.Environment)
	}
	account, err := f.Apply(accounts.Account{Priority: accounts.DefaultPriority})
	if err != nil {
		return n, err
	}
	n.Rails, n.Terms, n.Priority, n.BaseURL = account.Rails, account.Terms, account.Priority, account.BaseURL
	for name, source := range d.Credentials {
		if n.Credentials[name], err = credential(adapters.Fields(d.Adapter), name, source); err != nil {
			return n, err
		}
	}
	return n, nil
}
