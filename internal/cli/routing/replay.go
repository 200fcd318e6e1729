package routing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/cli"
	cliaccounts "github.com/cascadapay/cascada/internal/cli/accounts"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
)

type routeReplayCmd struct {
	cli.DatabaseFlags
	routingFlag
	Since       string                `required:"" placeholder:"WHEN" help:"Start of the period: a duration before now such as 24h or 7d, a day such as 2026-11-21, or a time such as 2026-11-21T15:00:00Z (UTC)."`
	Until       string                `placeholder:"WHEN" help:"End of the period; now by default."`
	Rules       string                `required:"" placeholder:"FILE" help:"YAML or JSON file with rules, and with settings that accounts are assumed to have (docs/ROUTING.md), or - for the standard input."`
	Environment merchants.Environment `default:"production" enum:"production,sandbox" help:"production or sandbox (default ${default})."`
	Rail        string                `placeholder:"KEY" help:"Only payments by this rail, such as pix.BRA."`
	Examples    int                   `default:"5" placeholder:"N" help:"How many of the payments that begin at another account to print as examples (default ${default})."`
	JSON        bool                  `name:"json" help:"Print JSON."`
}

func (c *routeReplayCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	file, text, err := readRules(c.Rules)
	if err != nil {
		return err
	}
	a, err := c.over(ctx, c.DatabaseFlags, log, adapters, open)
	if err != nil {
		return err
	}
	defer a.Close()
	o := routing.PastRoutes{Live: c.Environment == merchants.Production, Rail: c.Rail, Examples: c.Examples, Until: a.Now()}
	if o.Since, err = cli.When(c.Since, a.Now()); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if c.Until != "" {
		if o.Until, err = cli.When(c.Until, a.Now()); err != nil {
			return fmt.Errorf("--until: %w", err)
		}
	}
	if !o.Since.Before(o.Until) {
		return errors.New("--since must be before --until")
	}
	if !file.Silent {
		o.Rules = &file.Rules
	}
	if o.Accounts, err = otherwise(file.Accounts); err != nil {
		return fmt.Errorf("%s: %w", c.Rules, err)
	}
	done, err := a.Rules.Replay(ctx, o)
	if err != nil && o.Rules != nil {
		err = rulefile.AtLines(text, err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(cli.Stdout).Encode(newReplayJSON(o, done))
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	printReplay(table, o, done)
	return table.Flush()
}

// otherwise returns the changes that a file assumes for accounts.
func otherwise(file map[string]rulefile.Account) (map[string]func(accounts.Account) (accounts.Account, error), error) {
	changes := map[string]func(accounts.Account) (accounts.Account, error){}
	var wrong []error
	for id, of := range file {
		f := cliaccounts.TermFlags{Rail: of.Rails, Price: of.Price, Limit: of.Limits, Priority: of.Priority}
		if _, err := f.Apply(accounts.Account{}); err != nil { // report all errors at once
			wrong = append(wrong, fmt.Errorf("accounts: %s: %w", id, err))
		}
		changes[id] = func(a accounts.Account) (accounts.Account, error) {
			if of.Enabled != nil {
				a.Status = accounts.Disabled
				if *of.Enabled {
					a.Status = accounts.Enabled
				}
			}
			return f.Apply(a)
		}
	}
	return changes, errors.Join(wrong...)
}
