package books

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/app/recovery"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
)

// Recover is cascada recover.
type Recover struct {
	Status recoverStatusCmd `cmd:"" default:"withargs" help:"Show the state of the recovery, and the next step."`
	Begin  recoverBeginCmd  `cmd:"" help:"Close the service after its database was restored by other means than cascada restore. Run this before the service starts."`
	List   recoverListCmd   `cmd:"" help:"Read a provider's own list of everything that it did in the lost time, paid or not: charges and refunds, or payouts."`
	Cover  recoverCoverCmd  `cmd:"" help:"Record how you know what an account did in the lost time, if there is no list to read."`
	Close  recoverCloseCmd  `cmd:"" help:"Record what you did about a found entry that has no payment, refund or withdrawal here."`
	End    recoverEndCmd    `cmd:"" help:"Open the service again."`
}

type recoverStatusCmd struct {
	cli.DatabaseFlags
}

func (c *recoverStatusCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	return with(ctx, c.DatabaseFlags, log, adapters, open, func(a *app.App) error {
		s, err := a.Recovery.Recovery(ctx)
		if err == nil {
			printRecovery(s)
		}
		return err
	})
}

// with runs do on an existing database.
func with(ctx context.Context, d cli.DatabaseFlags, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App], do func(*app.App) error) error {
	a, err := open.Over(ctx, cli.AccountFlags{DatabaseFlags: d}, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	return do(a)
}

// printRecovery prints the state of a recovery and its next steps.
func printRecovery(s recovery.Status) {
	window := fmt.Sprintf("what was done from %s to %s", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	switch {
	case s.State == "":
		fmt.Fprintln(cli.Stdout, "this database was never restored from a copy")
		return
	case s.State == pay.RecoveryClosed:
		fmt.Fprintf(cli.Stdout, "closed: %s is not in the database. Payments, refunds and withdrawals that it does not know answer 503\n", window)
	case s.Guarded:
		fmt.Fprintf(cli.Stdout, "open: %s is not in the database. Until %s, requests that the database does not know are compared with what was found\n", window, s.Until.Format(time.RFC3339))
	default:
		fmt.Fprintf(cli.Stdout, "ended: %s is known again\n", window)
	}
	for _, account := range s.Uncovered {
		if s.State == pay.RecoveryClosed {
			fmt.Fprintf(cli.Stdout, "next: cascada recover list --provider %s --report FILE\n", account)
		}
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	for i, f := range s.Open {
		if i == 0 {
			fmt.Fprintln(table, "FOUND\tKIND\tAMOUNT\tPROVIDER'S ID\tWHY IT WAITS")
		}
		why := message.StoredText(f.Why)
		if why == "" && f.Kind == pay.FoundCharge {
			why = "its request was not repeated"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.ID(), f.Kind, f.Local(), f.ProviderRef, why)
	}
	_ = table.Flush() // errors of printing are ignored here
	if s.State == pay.RecoveryClosed && len(s.Uncovered) == 0 {
		fmt.Fprintln(cli.Stdout, "next: cascada recover end")
	}
}

type recoverBeginCmd struct {
	cli.DatabaseFlags
	From string `required:"" placeholder:"TIME" help:"Time to which the database was restored; too early rather than too late."`
	To   string `placeholder:"TIME" help:"Time of the lost service's last write; now by default."`
}

func (c *recoverBeginCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	from, err := cli.Instant("--from", c.From, time.UTC)
	if err != nil {
		return err
	}
	to, err := cli.Instant("--to", c.To, time.UTC)
	if err != nil {
		return err
	}
	return with(ctx, c.DatabaseFlags, log, adapters, open, func(a *app.App) error {
		if _, err := a.Recovery.BeginRecovery(ctx, from, to); err != nil {
			return err
		}
		s, err := a.Recovery.Recovery(ctx)
		if err == nil {
			printRecovery(s)
		}
		return err
	})
}

type recoverListCmd struct {
	cli.DatabaseFlags
	Provider string   `required:"" placeholder:"ACCOUNT" help:"Provider account that the list is from."`
	Report   []string `required:"" placeholder:"FILE" sep:"none" help:"List as a CSV file, or - for the standard input. Repeat the flag for more; all files are read as one list."`
	reportFlags
}

func (c *recoverListCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	return with(ctx, c.DatabaseFlags, log, adapters, open, func(a *app.App) error {
		format, err := a.Reconciliation.ReportFormat(ctx, c.Provider)
		if err != nil {
			return err
		}
		if format, err = c.changes().Apply(format); err != nil {
			return err
		}
		listing := recovery.Listing{Account: c.Provider, Format: format}
		for _, path := range c.Report {
			var in io.Reader = os.Stdin
			if path != "-" {
				file, err := os.Open(path)
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			listing.Reports = append(listing.Reports, reconciliation.Report{Name: path, Reader: in})
		}
		done, err := a.Recovery.ReadListing(ctx, listing)
		if err != nil {
			return err
		}
		fmt.Fprintf(cli.Stdout, "%d lines: %d known, %d taken back into the books, %d without an object here, %d without our reference; %d lines of other kinds\n",
			done.Lines, done.Known, done.Regained, len(done.Found), done.Foreign, done.Other)
		s, err := a.Recovery.Recovery(ctx)
		if err == nil {
			printRecovery(s)
		}
		return err
	})
}

type recoverCoverCmd struct {
	cli.DatabaseFlags
	Account string `arg:"" help:"Provider account."`
	Note    string `required:"" help:"How you know, for the audit log."`
}

func (c *recoverCoverCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	return with(ctx, c.DatabaseFlags, log, adapters, open, func(a *app.App) error { return a.Recovery.CoverAccount(ctx, c.Account, c.Note) })
}

type recoverCloseCmd struct {
	cli.DatabaseFlags
	ID   string `arg:"" name:"id" help:"Found entry, ACCOUNT/REFERENCE, as cascada recover prints it."`
	Note string `required:"" help:"What you did about it, for the audit log."`
}

func (c *recoverCloseCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	return with(ctx, c.DatabaseFlags, log, adapters, open, func(a *app.App) error { return a.Recovery.CloseFound(ctx, c.ID, c.Note) })
}

type recoverEndCmd struct {
	cli.DatabaseFlags
	Waiting bool   `help:"Leave found refunds and payouts waiting until their requests are repeated. Until then, merchants have that money twice."`
	Note    string `help:"Note for the audit log."`
}

func (c *recoverEndCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	return with(ctx, c.DatabaseFlags, log, adapters, open, func(a *app.App) error {
		if _, err := a.Recovery.EndRecovery(ctx, c.Waiting, c.Note); err != nil {
			return err
		}
		s, err := a.Recovery.Recovery(ctx)
		if err == nil {
			printRecovery(s)
		}
		return err
	})
}
