// Package plans has the commands about price plans: list, show, apply, assign, replay. It decides nothing: use cases do.
package plans

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
)

// Plan is cascada plan.
type Plan struct {
	List   planListCmd   `cmd:"" help:"List the price plans, with the version in force."`
	Show   planShowCmd   `cmd:"" help:"Show a price plan, as a file that plan apply accepts."`
	Apply  planApplyCmd  `cmd:"" help:"Make or change the price plan in a file. Running servers use it within seconds; payments that exist keep their terms."`
	Assign planAssignCmd `cmd:"" help:"Give a merchant a price plan, and exceptions of its own."`
	Replay planReplayCmd `cmd:"" help:"Compute what the plan in a file would have earned of past payments. Nothing is changed."`
}

type planListCmd struct {
	cli.DatabaseFlags
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (c *planListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "PLAN\tVERSION\tIN FORCE FROM\tPRICES\tOTHERWISE")
	}
	for _, name := range a.Plans.Book().Names() {
		v, _ := a.Plans.Book().At(name, a.Now())
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(shape.NewPlan(v)); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", v.Name, number(v), since(v), len(v.Prices), otherwise(v))
	}
	return table.Flush()
}

func number(v plans.Version) string {
	if v.Number == 0 {
		return "built in"
	}
	return fmt.Sprint(v.Number)
}

func since(v plans.Version) string {
	if v.From.IsZero() {
		return "always"
	}
	return cli.Moment(v.From)
}

// otherwise is the price of payments for which no other is meant.
func otherwise(v plans.Version) string {
	list := planfile.New(v.Plan).Prices
	if len(list) == 0 {
		return "free"
	}
	return list[len(list)-1].String()
}

type planShowCmd struct {
	cli.DatabaseFlags
	Name    string `arg:"" help:"Plan's name."`
	History bool   `help:"Print all versions, newest first."`
	JSON    bool   `name:"json" help:"Print JSON; with --history, one JSON object per line."`
}

func (c *planShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list := a.Plans.Book().Versions(c.Name)
	if len(list) == 0 {
		return appplans.Unknown(a.Plans.Book(), c.Name)
	}
	if !c.History {
		v, _ := a.Plans.Book().At(c.Name, a.Now())
		return write(v, c.JSON)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if i < len(list)-1 && !c.JSON {
			fmt.Fprintln(cli.Stdout, "---")
		}
		if err := write(list[i], c.JSON); err != nil {
			return err
		}
	}
	return nil
}

func write(v plans.Version, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cli.Stdout).Encode(shape.NewPlan(v))
	}
	text, err := planfile.Write(v.Plan)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "# version %s, in force from %s\n%s", number(v), since(v), text)
	return err
}

type planApplyCmd struct {
	cli.DatabaseFlags
	File string `arg:"" help:"YAML or JSON file (docs/PLANS.md), or - for the standard input."`
	From string `placeholder:"TIME" help:"In force from this day or time on (UTC); now by default."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (c *planApplyCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	p, err := read(c.File)
	if err != nil {
		return err
	}
	from, err := cli.Instant("--from", c.From, time.UTC)
	if err != nil {
		return err
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	v, changed, err := a.Plans.Apply(ctx, a.Self(), p, from)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.File, err)
	case c.JSON:
		return json.NewEncoder(cli.Stdout).Encode(shape.NewPlan(v))
	case !changed:
		fmt.Fprintf(cli.Stdout, "nothing was changed: %s, version %s, is in force from %s\n", v.Name, number(v), since(v))
		return nil
	}
	fmt.Fprintf(cli.Stdout, "%s, version %s, in force from %s\n", v.Name, number(v), since(v))
	return nil
}

func read(path string) (plans.Plan, error) {
	text, err := cli.Content(path)
	if err != nil {
		return plans.Plan{}, err
	}
	p, err := planfile.Read(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

type planAssignCmd struct {
	cli.DatabaseFlags
	Merchant   string `arg:"" help:"Merchant's id, mer_…"`
	Name       string `arg:"" name:"plan" help:"Plan's name."`
	Exceptions string `placeholder:"FILE" help:"YAML or JSON file with what differs from the plan for this merchant (docs/PLANS.md), or - for the standard input; without it nothing differs."`
	From       string `placeholder:"TIME" help:"In force from this day or time on (UTC); now by default."`
	Reason     string `help:"Why, for the audit log."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

func (c *planAssignCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	to := appplans.Assignment{Plan: c.Name, Reason: c.Reason}
	var err error
	if to.From, err = cli.Instant("--from", c.From, time.UTC); err != nil {
		return err
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if c.Exceptions != "" {
		if to.Own, err = c.exceptions(a, to.From); err != nil {
			return err
		}
	}
	m, err := a.Onboarding.Agree(ctx, a.Self(), c.Merchant, appmerchants.Agreement{Plan: &to, Reason: c.Reason})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(cli.Stdout).Encode(shape.NewAssignments(m, a.Plans.Book()))
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PLAN\tFROM\tEXCEPTIONS")
	for _, as := range m.Assignments {
		own := "none"
		if as.Own != "" {
			own = "its own"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", as.Plan, cli.Moment(as.From), own)
	}
	return table.Flush()
}

func (c *planAssignCmd) exceptions(a Uses, from time.Time) (plans.Exceptions, error) {
	if from.IsZero() {
		from = a.Now()
	}
	v, known := a.Plans.Book().At(c.Name, from)
	if !known {
		return plans.Exceptions{}, appplans.Unknown(a.Plans.Book(), c.Name)
	}
	text, err := cli.Content(c.Exceptions)
	if err != nil {
		return plans.Exceptions{}, err
	}
	own, err := planfile.ReadExceptions(text, v.Plan)
	if err != nil {
		return own, fmt.Errorf("%s: %w", c.Exceptions, err)
	}
	return own, nil
}

type planReplayCmd struct {
	cli.DatabaseFlags
	File      string   `arg:"" help:"YAML or JSON file of a plan (docs/PLANS.md), or - for the standard input."`
	Since     string   `default:"30d" placeholder:"WHEN" help:"Payments made from this time on: a duration before now such as 30d, a day or a time (UTC); by default ${default}."`
	Until     string   `placeholder:"WHEN" help:"Payments made before this time; now by default."`
	Merchants []string `name:"merchant" placeholder:"ID" help:"Only payments of these merchants; by default of those who have the plan now, or of all if nobody has it."`
	Sandbox   bool     `help:"Payments of the sandbox, not of production."`
	JSON      bool     `name:"json" help:"Print JSON."`
}

func (c *planReplayCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	p, err := read(c.File)
	if err != nil {
		return err
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	r := appplans.Replay{Plan: p, Live: !c.Sandbox, To: a.Now(), Merchants: c.Merchants}
	if r.From, err = cli.When(c.Since, a.Now()); err != nil {
		return err
	}
	if c.Until != "" {
		if r.To, err = cli.When(c.Until, a.Now()); err != nil {
			return err
		}
	}
	out, err := a.Plans.Replay(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.JSON {
		return json.NewEncoder(cli.Stdout).Encode(shape.NewReplayedPlan(out))
	}
	return writeReplay(p, r, out)
}

// writeReplay prints for people what a plan would have earned.
func writeReplay(p plans.Plan, r appplans.Replay, out appplans.Replayed) error {
	environment := merchants.Scope{Live: r.Live}.Environment()
	fmt.Fprintf(cli.Stdout, "%s, over %d completed payments of %s from %s to %s, of %s\n\n",
		p.Name, out.Total.Payments, environment, cli.Moment(r.From), cli.Moment(r.To), cli.USD(out.Total.Volume))
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "MERCHANT\tPAYMENTS\tVOLUME\tEARNED\tWOULD EARN\tDIFFERENCE\tPASSED ON\tWOULD PASS ON\tTAX\tWOULD TAX\t")
	line := func(name string, e appplans.Earned) {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, e.Payments, cli.USD(e.Volume), cli.USD(e.Was.Platform), cli.USD(e.Is.Platform),
			cli.USD(e.Is.Platform-e.Was.Platform), cli.USD(e.Was.Cost), cli.USD(e.Is.Cost), cli.USD(e.Was.Tax), cli.USD(e.Is.Tax))
	}
	for _, of := range out.Of {
		line(of.Merchant, of.Earned)
	}
	line("all", out.Total)
	if err := table.Flush(); err != nil {
		return err
	}
	if out.Unpriced > 0 {
		fmt.Fprintf(cli.Stdout, "\n%d payments over methods that the catalog no longer has are not counted.\n", out.Unpriced)
	}
	return nil
}
