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
	"os"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// Reconcile is cascada reconcile.
type Reconcile struct {
	cli.DatabaseFlags
	Provider string   `placeholder:"ACCOUNT" help:"Provider account that the report is from."`
	Report   []string `placeholder:"FILE" sep:"none" help:"Report as a CSV file, or - for the standard input. Repeat the flag for more; all files are read as one report."`
	From     string   `placeholder:"DATE" help:"Start of the period: payments from this day or time on must be in the report; by default its first date."`
	To       string   `placeholder:"DATE" help:"End of the period: payments before this day or time must be in the report; by default its last date."`
	DryRun   bool     `help:"Only compare: keep no result, and warn no merchant."`
	Shared   bool     `help:"Other systems use the account too: lines without our reference are counted, but are not differences."`
	JSON     bool     `name:"json" help:"Print one JSON object per line: each difference, and finally the totals."`
	List     bool     `help:"List the results of the last comparisons, of this account or of all."`
	reportFlags
}

// reportFlags describe the format of a report that differs from the one that the adapter knows.
type reportFlags struct {
	Columns    map[string]string `group:"Format of the report" mapsep:"," placeholder:"WORD=COLUMN,…" help:"Columns of the report, such as reference=\"Merchant Reference\",amount=Gross. The words are ${columns}. By default, the columns of the provider's own report, or columns with these words as names."`
	Types      map[string]string `group:"Format of the report" mapsep:"," placeholder:"WORD=KIND,…" help:"Meaning of the words in the type column: charge, refund, chargeback or other; for an account that pays out: payout, return or other. * stands for all other words."`
	Paid       []string          `group:"Format of the report" placeholder:"WORD" help:"Word in the status column which says that money moved. Repeat the flag for more."`
	Separator  string            `group:"Format of the report" default:"auto" enum:"auto,comma,semicolon,tab,bar" help:"Separator of columns: auto, comma, semicolon, tab or bar (default ${default})."`
	Decimal    string            `group:"Format of the report" default:"point" enum:"point,comma" help:"Decimal sign: point or comma (default ${default})."`
	Units      string            `group:"Format of the report" default:"major" enum:"major,minor" help:"Unit of amounts: major (12.50) or minor (1250) (default ${default})."`
	Currency   string            `group:"Format of the report" placeholder:"CODE" help:"Currency of the report, if it has no column for it."`
	DateFormat string            `group:"Format of the report" placeholder:"FORM" help:"Format of dates, such as \"DD/MM/YYYY hh:mm:ss\"; not needed for dates such as 2026-11-30."`
	Zone       string            `group:"Format of the report" default:"UTC" help:"Time zone of dates that name none, in the report and in --from and --to, such as America/Sao_Paulo or -03:00 (default ${default})."`
}

// Exit codes of reconcile, so that a cron job can tell a difference from a failure.
const (
	exitDifferent = 1
	exitFailed    = 2
)

// exit is an error that ends the program with its own exit code.
type exit struct {
	error
	code int
}

// ExitCode is called by kong.
func (e exit) ExitCode() int { return e.code }

func (e exit) Unwrap() error { return e.error }

func (re *Reconcile) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	a, err := open.Over(ctx, cli.AccountFlags{DatabaseFlags: re.DatabaseFlags}, log, adapters)
	if err != nil {
		return exit{err, exitFailed}
	}
	defer a.Close()
	if re.List {
		if err := re.list(ctx, a); err != nil {
			return exit{err, exitFailed}
		}
		return nil
	}
	done, err := re.compare(ctx, a)
	if err != nil {
		return exit{err, exitFailed}
	}
	if n := done.Totals.Differences(); n > 0 {
		return exit{fmt.Errorf("%d differences", n), exitDifferent}
	}
	return nil
}

func (re *Reconcile) compare(ctx context.Context, a *app.App) (done reconciliation.Compared, err error) {
	if re.Provider == "" || len(re.Report) == 0 {
		return done, errors.New("give the account and its report: --provider ACCOUNT --report FILE")
	}
	format, err := a.Reconciliation.ReportFormat(ctx, re.Provider)
	if err != nil {
		return done, err
	}
	if format, err = re.changes().Apply(format); err != nil {
		return done, fmt.Errorf("--%w", err)
	}
	comparison := reconciliation.Comparison{Account: re.Provider, Format: format, Shared: re.Shared, DryRun: re.DryRun}
	if comparison.From, err = cli.Instant("--from", re.From, format.Zone); err != nil {
		return done, err
	}
	if comparison.To, err = cli.Instant("--to", re.To, format.Zone); err != nil {
		return done, err
	}
	for _, path := range re.Report {
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
		if re.JSON {
			err = json.NewEncoder(out).Encode(newFindingJSON(f))
		} else {
			_, err = fmt.Fprintln(out, f)
		}
		failed = cmp.Or(failed, err)
	}
	if done, err = a.Reconciliation.Reconcile(ctx, comparison); err != nil {
		return done, errors.Join(err, out.Flush())
	}
	if re.JSON {
		err = json.NewEncoder(out).Encode(newComparedJSON(done))
	} else {
		err = printCompared(out, done)
	}
	return done, errors.Join(failed, err, out.Flush())
}

// changes are what the flags say of the report's format.
func (f reportFlags) changes() reconciliation.FormatChanges {
	return reconciliation.FormatChanges{
		Columns: f.Columns, Types: f.Types, Paid: f.Paid, Separator: f.Separator, Decimal: f.Decimal, Units: f.Units, Currency: f.Currency, DateFormat: f.DateFormat, Zone: f.Zone,
	}
}
