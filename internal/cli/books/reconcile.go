package books

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/reconcile"
)

// Reconcile is cascada reconcile.
type Reconcile struct {
	cli.DatabaseFlags
	Provider string   `placeholder:"ACCOUNT" help:"Provider account whose report it is."`
	Report   []string `placeholder:"FILE" sep:"none" help:"The report, a CSV file, or - for the standard input. Several are read as one."`
	From     string   `placeholder:"DATE" help:"What was paid from this day or time on has to be in the report; by default, from its first date on."`
	To       string   `placeholder:"DATE" help:"What was paid before this day or time; by default, up to its last date."`
	DryRun   bool     `help:"Compare only: nothing is kept, and no merchant is warned."`
	Shared   bool     `help:"Others use the account too: lines with no reference of ours are counted, and are no difference."`
	JSON     bool     `name:"json" help:"Print an object a line: each difference, and at last the sum."`
	List     bool     `help:"List what came of the last comparisons, of this account or of all."`
	reportFlags
}

// reportFlags say how a report is written that is not as the adapter knows it.
type reportFlags struct {
	Columns    map[string]string `group:"How the report is written" mapsep:"," placeholder:"WORD=COLUMN,…" help:"Which columns the report has, such as reference=\"Merchant Reference\",amount=Gross: ${columns}. Without it, those of the provider's own report, or columns called so."`
	Types      map[string]string `group:"How the report is written" mapsep:"," placeholder:"WORD=KIND,…" help:"What the words of its type column mean: charge, refund, chargeback or other; of an account that pays out: payout, return or other. The word * stands for all others."`
	Paid       []string          `group:"How the report is written" placeholder:"WORD" help:"The words of its status column that say that money moved."`
	Separator  string            `group:"How the report is written" default:"auto" enum:"auto,comma,semicolon,tab,bar" help:"What stands between columns: ${enum}."`
	Decimal    string            `group:"How the report is written" default:"point" enum:"point,comma" help:"The decimal sign: point or comma."`
	Units      string            `group:"How the report is written" default:"major" enum:"major,minor" help:"Amounts are in major units (12.50) or in minor ones (1250)."`
	Currency   string            `group:"How the report is written" placeholder:"CODE" help:"The currency of a report that has no column for it."`
	DateFormat string            `group:"How the report is written" placeholder:"FORM" help:"How dates are written, such as \"DD/MM/YYYY hh:mm:ss\"; not needed for 2026-11-30."`
	Zone       string            `group:"How the report is written" default:"UTC" help:"Time zone of dates that tell none, such as America/Sao_Paulo or -03:00; of --from and --to too."`
}

// Exit codes of reconcile, which a cron job tells apart.
const (
	exitDifferent = 1
	exitFailed    = 2
)

// exit is an error that ends the program with a code of its own.
type exit struct {
	error
	code int
}

// ExitCode is for kong.
func (e exit) ExitCode() int { return e.code }

func (e exit) Unwrap() error { return e.error }

func (c *Reconcile) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	a, err := cli.AccountFlags{DatabaseFlags: c.DatabaseFlags}.Over(ctx, log, adapters)
	if err != nil {
		return exit{err, exitFailed}
	}
	defer a.Close()
	if c.List {
		if err := c.list(ctx, a); err != nil {
			return exit{err, exitFailed}
		}
		return nil
	}
	done, err := c.compare(ctx, a)
	if err != nil {
		return exit{err, exitFailed}
	}
	if n := done.Totals.Differences(); n > 0 {
		return exit{fmt.Errorf("%d differences", n), exitDifferent}
	}
	return nil
}

func (c *Reconcile) compare(ctx context.Context, a *app.App) (done reconciliation.Compared, err error) {
	if c.Provider == "" || len(c.Report) == 0 {
		return done, errors.New("say which account's report to compare, and where it is: --provider ACCOUNT --report FILE")
	}
	format, err := a.Reconciliation.ReportFormat(ctx, c.Provider)
	if err != nil {
		return done, err
	}
	if format, err = c.format(format); err != nil {
		return done, err
	}
	comparison := reconciliation.Comparison{Account: c.Provider, Format: format, Shared: c.Shared, DryRun: c.DryRun}
	if comparison.From, err = cli.Instant("--from", c.From, format.Zone); err != nil {
		return done, err
	}
	if comparison.To, err = cli.Instant("--to", c.To, format.Zone); err != nil {
		return done, err
	}
	for _, path := range c.Report {
		var in io.Reader = os.Stdin
		name := "standard input"
		if path != "-" {
			file, err := os.Open(path)
			if err != nil {
				return done, err
			}
			defer file.Close()
			in, name = file, path
		}
		comparison.Reports = append(comparison.Reports, reconciliation.Report{Name: name, Reader: in})
	}
	out := bufio.NewWriter(cli.Stdout)
	var failed error
	comparison.Tell = func(f reconcile.Finding) {
		var err error
		if c.JSON {
			err = json.NewEncoder(out).Encode(newFindingJSON(f))
		} else {
			_, err = fmt.Fprintln(out, f)
		}
		failed = cmp.Or(failed, err)
	}
	if done, err = a.Reconciliation.Reconcile(ctx, comparison); err != nil {
		return done, errors.Join(err, out.Flush())
	}
	if c.JSON {
		err = json.NewEncoder(out).Encode(newComparedJSON(done))
	} else {
		err = printCompared(out, done)
	}
	return done, errors.Join(failed, err, out.Flush())
}

// format is the report's form: the flags' where they say which columns it has, and
// else the account's own with what they add.
func (f reportFlags) format(own reconcile.Format) (reconcile.Format, error) {
	if len(f.Columns) > 0 {
		words := reconcile.Words()
		if own.Payouts {
			words = reconcile.PayoutWords()
		}
		own = reconcile.Format{Payouts: own.Payouts, Kinds: words}
		for _, word := range slices.Sorted(maps.Keys(f.Columns)) {
			if err := own.Columns.Set(word, f.Columns[word]); err != nil {
				return own, fmt.Errorf("--columns: %w", err)
			}
		}
	}
	own.Kinds = maps.Clone(own.Kinds)
	for word, kind := range f.Types {
		may := []reconcile.Kind{reconcile.Charge, reconcile.Refund, reconcile.Chargeback, reconcile.Other}
		if own.Payouts {
			may = []reconcile.Kind{reconcile.Payout, reconcile.Return, reconcile.Other}
		}
		if !slices.Contains(may, reconcile.Kind(kind)) {
			return own, fmt.Errorf("--types: %q is none of %s", kind, kindWords(may))
		}
		maps.DeleteFunc(own.Kinds, func(known string, _ reconcile.Kind) bool { return strings.EqualFold(known, word) })
		own.Kinds[word] = reconcile.Kind(kind)
	}
	if len(f.Paid) > 0 {
		own.Counts = f.Paid
	}
	if (own.Columns.Status == "") != (len(own.Counts) == 0) {
		return own, errors.New("a column of statuses and --paid, which says what they mean, go together")
	}
	if separator, given := map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t', "bar": '|'}[f.Separator]; given {
		own.Separator = separator
	}
	own.Comma, own.Minor = own.Comma || f.Decimal == "comma", own.Minor || f.Units == "minor"
	if f.Currency != "" {
		currency, err := money.ParseCurrency(f.Currency)
		if err != nil {
			return own, fmt.Errorf("--currency %q: %w", f.Currency, err)
		}
		own.Currency = currency
	}
	if f.DateFormat != "" {
		layout, err := reconcile.Layout(f.DateFormat)
		if err != nil {
			return own, fmt.Errorf("--date-format %w", err)
		}
		own.Dates = append([]string{layout}, own.Dates...)
	}
	zone, err := zoneOf(f.Zone)
	own.Zone = zone
	return own, err
}

func kindWords(list []reconcile.Kind) string {
	var words []string
	for _, kind := range list {
		words = append(words, string(kind))
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// zoneOf is a time zone by its name or by its distance from UTC.
func zoneOf(name string) (*time.Location, error) {
	if at, err := time.Parse("-07:00", name); err == nil {
		_, seconds := at.Zone()
		return time.FixedZone(name, seconds), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" { // what is local differs from node to node
		return time.UTC, fmt.Errorf("--zone %q: want a name such as America/Sao_Paulo, or a distance such as -03:00", name)
	}
	return zone, nil
}
