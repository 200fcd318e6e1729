package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/cli"
)

// Provider is cascada provider.
type Provider struct {
	Adapters providerAdaptersCmd `cmd:"" help:"List the adapters of providers, with their rails and the credentials that they need."`
	Add      providerAddCmd      `cmd:"" help:"Open an account at a provider. Running servers use it within seconds."`
	List     providerListCmd     `cmd:"" help:"List the accounts."`
	Show     providerShowCmd     `cmd:"" help:"Show an account: its rails, terms, names of credentials and notification URL."`
	Set      providerSetCmd      `cmd:"" help:"Change an account's rails, price, limits, priority or base URL. Settings that you do not give stay the same."`
	Rotate   providerRotateCmd   `cmd:"" help:"Replace an account's credentials. Notifications signed with the old ones are accepted for a day."`
	Enable   providerEnableCmd   `cmd:"" help:"Enable an account: it takes new charges."`
	Disable  providerDisableCmd  `cmd:"" help:"Disable an account: it takes no new charges. Its open payments are completed, and refunds still work."`
	Check    providerCheckCmd    `cmd:"" help:"Test whether the credentials of accounts work. The exit code is 1 if some do not."`
	Remove   providerRemoveCmd   `cmd:"" help:"Remove an account and its credentials for ever."`
	Apply    providerApplyCmd    `cmd:"" help:"Create or change accounts as a JSON file declares them. Other accounts do not change."`
}

type providerAdaptersCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *providerAdaptersCmd) Run(adapters cli.Registry) error {
	if c.JSON {
		list := []shape.Adapter{}
		for _, a := range adapters {
			list = append(list, shape.NewAdapter(a))
		}
		return json.NewEncoder(cli.Stdout).Encode(list)
	}
	if len(adapters) == 0 {
		return errors.New("this program contains no adapter")
	}
	for _, a := range adapters {
		fmt.Fprintf(cli.Stdout, "%s\n  rails        %s\n  credentials\n", a.Name, strings.Join(a.Rails, " "))
		table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
		for _, f := range a.Fields {
			note := "secret"
			if f.Public {
				note = "not secret"
			}
			if f.Optional {
				note += ", optional"
			}
			fmt.Fprintf(table, "    %s\t%s\t%s\n", f.Name, note, f.Doc)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// printAccount prints an account for people.
func printAccount(told shape.Account) error {
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	line := func(name, value string) { fmt.Fprintf(table, "%s\t%s\n", name, value) }
	merchant := "all"
	if told.Merchant != nil {
		merchant = *told.Merchant
	}
	line("account", told.ID)
	line("adapter", told.Adapter)
	line("environment", string(told.Environment))
	line("merchant", merchant)
	line("status", string(told.Status))
	if told.Problem != "" {
		line("problem", told.Problem)
	}
	line("priority", fmt.Sprint(told.Priority))
	line("rails", strings.Join(told.Rails, " "))
	for _, t := range told.Terms {
		line("  "+cmp.Or(t.Rail, "all others"), strings.TrimSpace(t.Price+" "+strings.Join(t.Limits, " ")))
	}
	line("credentials", strings.Join(told.Credentials, " "))
	if told.RotatedAt != nil {
		line("rotated", told.RotatedAt.Format(cli.TimeForm))
	}
	if told.BaseURL != "" {
		line("base URL", told.BaseURL)
	}
	if told.NotificationURL != "" {
		line("notifications", told.NotificationURL)
	}
	return table.Flush()
}

// show prints the current state of an account.
func show(ctx context.Context, a Uses, id string, asJSON bool) error {
	s, err := a.Providers.ProviderAccount(ctx, id)
	if err != nil {
		return err
	}
	told := shape.NewAccount(s)
	if asJSON {
		return json.NewEncoder(cli.Stdout).Encode(told)
	}
	return printAccount(told)
}

type providerListCmd struct {
	cli.AccountFlags
	All  bool `help:"Include removed accounts."`
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (c *providerListCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Providers.Accounts(ctx, c.All)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "ACCOUNT\tADAPTER\tENVIRONMENT\tMERCHANT\tSTATUS\tPRIORITY\tRAILS")
	}
	for _, s := range list {
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(shape.NewAccount(s)); err != nil {
				return err
			}
			continue
		}
		status, rails := string(s.Status), strings.Join(s.On, " ")
		if s.Broken != "" {
			status += ", cannot be used: " + s.Broken
		}
		if len(s.On) > 3 {
			rails = fmt.Sprintf("%s and %d more", strings.Join(s.On[:2], " "), len(s.On)-2)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", s.ID, s.Adapter, s.Environment(), cmp.Or(s.Merchant, "all"), status, s.Priority, rails)
	}
	return table.Flush()
}

type providerShowCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"Account's id."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (c *providerShowCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	return show(ctx, a, c.Account, c.JSON)
}

type providerEnableCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"Account's id."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (c *providerEnableCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	return c.enable(ctx, log, adapters, open, true)
}

func (c *providerEnableCmd) enable(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses], on bool) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, err := a.Accounts.Enable(ctx, a.Self(), c.Account, on); err != nil {
		return err
	}
	return show(ctx, a, c.Account, c.JSON)
}

type providerDisableCmd struct{ providerEnableCmd }

func (c *providerDisableCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	return c.enable(ctx, log, adapters, open, false)
}

type providerRemoveCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"Account's id."`
	Force   bool   `help:"Remove the account even if it has open payments: their outcome then stays unknown."`
}

func (c *providerRemoveCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, err := a.Accounts.Remove(ctx, a.Self(), c.Account, c.Force); err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s was removed; its credentials are deleted, and its id is never used again\n", c.Account)
	return nil
}

type providerCheckCmd struct {
	cli.AccountFlags
	Account string `arg:"" optional:"" help:"Account's id; without it, all accounts that are not removed."`
	JSON    bool   `name:"json" help:"Print one JSON object per line."`
}

func (c *providerCheckCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	ids := []string{c.Account}
	if c.Account == "" {
		ids = nil
		list, err := a.Providers.Accounts(ctx, false)
		if err != nil {
			return err
		}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
	}
	bad := 0
	for _, id := range ids {
		proof, problem, err := a.Accounts.Prove(ctx, id)
		if err != nil {
			return err
		}
		if proof == accounts.ProofFails {
			bad++
		}
		if !c.JSON {
			fmt.Fprintf(cli.Stdout, "%s: %s\n", id, cmp.Or(problem, "the credentials work"))
		} else if err := json.NewEncoder(cli.Stdout).Encode(shape.Check{Account: id, Result: proof, Problem: problem}); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d accounts cannot be used", bad, len(ids))
	}
	return nil
}
