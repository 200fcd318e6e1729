// Package rates has the commands about exchange rates. It decides nothing: use cases do.
package rates

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// RateFlags say how long exchange rates are trusted (docs/OPERATIONS.md).
type RateFlags struct {
	StaleAfter time.Duration `name:"fx-stale-after" default:"${fx_stale_after}" env:"CASCADA_FX_STALE_AFTER" help:"Age from which a rate causes a warning (${env}, default ${default})."`
	MaxAge     time.Duration `name:"fx-max-age" default:"${fx_max_age}" env:"CASCADA_FX_MAX_AGE" help:"Age from which a rate is not used for new charges (${env}, default ${default})."`
	MaxJump    int           `name:"fx-max-jump" default:"${fx_max_jump}" env:"CASCADA_FX_MAX_JUMP" help:"Largest change of a rate in one step, in percent; a larger change waits for the operator (${env}, default ${default})."`
}

// Limits returns the limits that the flags give.
func (f RateFlags) Limits() rates.Limits {
	return rates.Limits{StaleAfter: f.StaleAfter, MaxAge: f.MaxAge, MaxJumpBps: int64(f.MaxJump) * 100}
}

// FX is cascada fx.
type FX struct {
	List   fxListCmd   `cmd:"" help:"List the exchange rates, or the history of one currency."`
	Set    fxSetCmd    `cmd:"" help:"Set a rate: units of the currency for one US dollar. Running servers use it within seconds."`
	Import fxImportCmd `cmd:"" help:"Set the rates in a CSV or JSON file, all of them or none."`
}

// parseCurrency parses a currency, in upper or lower case.
func parseCurrency(text string) (money.Currency, error) {
	currency, err := money.ParseCurrency(strings.ToUpper(text))
	if err != nil {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	return currency, nil
}

// over returns the use cases over a database, with the limits of these flags.
func (f RateFlags) over(ctx context.Context, d cli.DatabaseFlags, log *slog.Logger, open cli.Opener[Uses]) (Uses, error) {
	c := d.OperatorConfig(log)
	c.Rates = f.Limits()
	return open.As(ctx, c)
}

type fxListCmd struct {
	cli.DatabaseFlags
	RateFlags
	Currency string `arg:"" optional:"" help:"Currency whose history is listed, such as BRL."`
}

func (c *fxListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := c.over(ctx, c.DatabaseFlags, log, open)
	if err != nil {
		return err
	}
	defer a.Close()
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if c.Currency != "" {
		err = c.history(ctx, a, table)
	} else {
		err = c.rates(ctx, a, table)
	}
	if err != nil {
		return err
	}
	return table.Flush()
}

func (c *fxListCmd) rates(ctx context.Context, a Uses, out io.Writer) error {
	list, err := a.Rates.RateList(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "CURRENCY\tFOR 1 USD\tSOURCE\tOBSERVED\tSTATE")
	for _, r := range list {
		used := r.Reading
		if used.Rate.IsZero() {
			used = r.BuiltIn
		}
		state := r.State
		switch state {
		case "built-in":
			state = "built-in, for the sandbox only"
		case "expired":
			state = "expired: no new charges"
		}
		if !r.Held.Rate.IsZero() {
			state += fmt.Sprintf("; %s of %s, %s, waits for cascada fx set --force", r.Held.Rate.Decimal(), r.Held.Source, cli.Moment(r.Held.At))
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", r.Currency, text(used.Rate), used.Source, cli.Moment(used.At), state)
	}
	return nil
}

func (c *fxListCmd) history(ctx context.Context, a Uses, out io.Writer) error {
	currency, err := parseCurrency(c.Currency)
	if err != nil {
		return err
	}
	list, err := a.Rates.RateHistory(ctx, currency)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "TAKEN\tFOR 1 USD\tSOURCE\tOBSERVED\tVERDICT\tBY")
	for _, r := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", cli.Moment(r.DecidedAt), text(r.Rate), r.Source, cli.Moment(r.At), r.Verdict, cmp.Or(r.By, "the service"))
	}
	return nil
}

func text(r money.Rate) string {
	if r.IsZero() {
		return "none"
	}
	return r.Decimal()
}

type fxSetCmd struct {
	cli.DatabaseFlags
	RateFlags
	Currency string    `arg:"" help:"Currency, such as BRL."`
	Rate     string    `arg:"" help:"Units of the currency that one US dollar buys, such as 5.4321."`
	Source   string    `default:"operator" help:"Source of the rate (default ${default})."`
	At       time.Time `placeholder:"TIME" help:"Time of the rate, such as 2026-11-20T15:04:05Z; now by default."`
	Force    bool      `help:"Set the rate even if it changes by more than --fx-max-jump, or is older than the rate in use."`
}

func (c *fxSetCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	currency, err := parseCurrency(c.Currency)
	if err != nil {
		return err
	}
	rate, err := money.ParseRate(c.Rate)
	if err != nil {
		return fmt.Errorf("%q: %w", c.Rate, err)
	}
	a, err := c.over(ctx, c.DatabaseFlags, log, open)
	if err != nil {
		return err
	}
	defer a.Close()
	if c.At.IsZero() {
		c.At = a.Now()
	}
	changes, err := a.Rates.SetRates(ctx, a.Rates.Self(), []rates.Reading{{Currency: currency, Rate: rate, Source: c.Source, At: c.At}}, c.Force)
	if err != nil {
		return err
	}
	if was := changes[0].Before; changes[0].Verdict == rates.Known && was != rate {
		return fmt.Errorf("%s stays at %s, which is newer: --force sets %s anyway", currency, was.Decimal(), rate.Decimal())
	}
	return printChanges(changes)
}

type fxImportCmd struct {
	cli.DatabaseFlags
	RateFlags
	File   string `arg:"" type:"existingfile" help:"CSV with the columns currency, rate, source, observed_at; or JSON: a list of such objects, or the format that --fx-url reads."`
	Source string `help:"Source of rates that have none in the file; by default the file's name."`
	Force  bool   `help:"Set also rates that change by more than --fx-max-jump, or are older than the rates in use."`
}

func (c *fxImportCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	file, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	if c.Source == "" {
		c.Source = filepath.Base(c.File)
	}
	a, err := c.over(ctx, c.DatabaseFlags, log, open)
	if err != nil {
		return err
	}
	defer a.Close()
	changes, err := a.Rates.ImportRates(ctx, a.Rates.Self(), file, c.Source, c.Force)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return printChanges(changes)
}

// printChanges prints the changes.
func printChanges(changes []apprates.RateChange) error {
	for _, c := range changes {
		note := "was " + text(c.Before)
		if c.Verdict == rates.Known {
			note = "not applied: the rate in use is of the same time or newer, " + text(c.Before)
		}
		if _, err := fmt.Fprintf(cli.Stdout, "%s %s (%s)\n", c.Currency, c.Rate.Decimal(), note); err != nil {
			return err
		}
	}
	return nil
}
