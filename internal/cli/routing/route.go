// Package routing has the commands about routing rules: apply, explain, replay. It decides nothing: use cases do.
package routing

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
)

// Route is cascada route.
type Route struct {
	Show   routeShowCmd   `cmd:"" help:"Show the routing rules in force, as a file that route apply accepts."`
	Apply  routeApplyCmd  `cmd:"" help:"Apply the routing rules in a file. Running servers use them within seconds."`
	Reset  routeResetCmd  `cmd:"" help:"Remove the routing rules: servers use their --routing again."`
	Replay routeReplayCmd `cmd:"" help:"Run past payments through other rules, and print how approvals and cost would have been different. Nothing is changed."`
}

// routingFlag is for commands that need the order that the servers use without rules.
type routingFlag struct {
	Routing string `default:"priority" enum:"priority,least_cost,success_rate" env:"CASCADA_ROUTING" help:"The servers' --routing, which they use while no rules are applied: priority, least_cost or success_rate (${env}, default ${default})."`
}

// over returns the use cases over an existing database.
func (f routingFlag) over(ctx context.Context, d cli.DatabaseFlags, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) (Uses, error) {
	c := d.OperatorConfig(log)
	c.Adapters, c.Routing = adapters, f.Routing
	return open.As(ctx, c)
}

type routeShowCmd struct {
	cli.DatabaseFlags
	routingFlag
	History int  `placeholder:"N" help:"Print the newest N versions instead, newest first."`
	JSON    bool `name:"json" help:"Print JSON; with --history, one JSON object per line."`
}

// rulesJSON is the shape of rules in --json.
type rulesJSON struct {
	Version   int64         `json:"version"` // 0: no rules were ever applied
	Applied   bool          `json:"applied"` // false: the servers use their --routing
	ChangedAt string        `json:"changedAt,omitempty"`
	Rules     rulefile.Text `json:"rules"`
}

func newRulesJSON(v routing.RulesVersion) rulesJSON {
	told := rulesJSON{Version: v.Version, Applied: v.Applied, Rules: rulefile.New(v.Rules)}
	if !v.At.IsZero() {
		told.ChangedAt = v.At.Format(cli.TimeForm)
	}
	return told
}

func (c *routeShowCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := c.over(ctx, c.DatabaseFlags, log, adapters, open)
	if err != nil {
		return err
	}
	defer a.Close()
	list := []routing.RulesVersion{{}}
	if c.History > 0 {
		list, err = a.Rules.History(ctx, c.History)
	} else {
		list[0], err = a.Rules.Current(ctx)
	}
	if err != nil {
		return err
	}
	for i, v := range list {
		if i > 0 && !c.JSON {
			fmt.Fprintln(cli.Stdout, "---")
		}
		if err := printRules(v, c.JSON); err != nil {
			return err
		}
	}
	return nil
}

// printRules prints rules as a file, with their version in a comment.
func printRules(v routing.RulesVersion, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cli.Stdout).Encode(newRulesJSON(v))
	}
	text, err := rulefile.Write(v.Rules)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "# %s\n%s", whence(v), text)
	return err
}

// whence describes the version of rules.
func whence(v routing.RulesVersion) string {
	switch {
	case v.Version == 0:
		return "no rules were ever applied: servers use their --routing"
	case !v.Applied:
		return fmt.Sprintf("rules were removed at %s (version %d): servers use their --routing", v.At.Format(cli.TimeForm), v.Version)
	}
	return fmt.Sprintf("version %d, applied at %s", v.Version, v.At.Format(cli.TimeForm))
}

type routeApplyCmd struct {
	cli.DatabaseFlags
	File string `arg:"" help:"YAML or JSON file (docs/ROUTING.md), or - for the standard input."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (c *routeApplyCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	file, text, err := readRules(c.File)
	if err != nil {
		return err
	}
	if file.Accounts != nil {
		return fmt.Errorf("%s: the section accounts is only for route replay: remove it, and change accounts with provider set or provider apply", c.File)
	}
	a, err := routingFlag{}.over(ctx, c.DatabaseFlags, log, adapters, open)
	if err != nil {
		return err
	}
	defer a.Close()
	v, changed, err := a.Rules.Apply(ctx, a.Self(), file.Rules)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, rulefile.AtLines(text, err))
	}
	return tellRules(v, changed, c.JSON)
}

// readRules reads a file of rules. It returns its text too.
func readRules(path string) (file rulefile.File, text []byte, err error) {
	if text, err = cli.Content(path); err != nil {
		return file, nil, err
	}
	if file, err = rulefile.Read(text); err != nil {
		return file, text, fmt.Errorf("%s: %w", path, err)
	}
	return file, text, nil
}

// tellRules prints the result of a change.
func tellRules(v routing.RulesVersion, changed, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cli.Stdout).Encode(newRulesJSON(v))
	}
	if !changed {
		fmt.Fprintln(cli.Stdout, "nothing was changed: "+whence(v))
		return nil
	}
	fmt.Fprintln(cli.Stdout, whence(v))
	return nil
}

type routeResetCmd struct {
	cli.DatabaseFlags
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *routeResetCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := routingFlag{}.over(ctx, c.DatabaseFlags, log, adapters, open)
	if err != nil {
		return err
	}
	defer a.Close()
	v, changed, err := a.Rules.Reset(ctx, a.Self())
	if err != nil {
		return err
	}
	return tellRules(v, changed, c.JSON)
}
