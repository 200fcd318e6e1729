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
	"github.com/cascadapay/cascada/internal/pay"
)

// Recover is cascada recover.
type Recover struct {
	Status recoverStatusCmd `cmd:"" default:"withargs" help:"Say how far it is, and what comes next."`
	Begin  recoverBeginCmd  `cmd:"" help:"Close the service, whose database was put back to a moment by other means than cascada restore. Before it starts."`
	List   recoverListCmd   `cmd:"" help:"Read a provider's own list of all that it did in the lost time, paid or not: charges and refunds, or payouts."`
	Cover  recoverCoverCmd  `cmd:"" help:"Say how you know what an account did in the lost time, where there is no list to read."`
	Close  recoverCloseCmd  `cmd:"" help:"Say what you did about something that was found and that nothing stands for."`
	End    recoverEndCmd    `cmd:"" help:"Open the service again."`
}

type recoverStatusCmd struct {
	cli.DatabaseFlags
}

func (c *recoverStatusCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	return with(ctx, c.DatabaseFlags, log, adapters, func(a *app.App) error {
		s, err := a.Recovery.Recovery(ctx)
		if err == nil {
			printRecovery(s)
		}
		return err
	})
}

// with runs something on a database that is there.
func with(ctx context.Context, d cli.DatabaseFlags, log *slog.Logger, adapters cli.Registry, do func(*app.App) error) error {
	a, err := cli.AccountFlags{DatabaseFlags: d}.Over(ctx, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	return do(a)
}

// printRecovery says how far a recovery is.
func printRecovery(s recovery.RecoveryStatus) {
	window := fmt.Sprintf("what was done from %s to %s", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	switch {
	case s.State == "":
		fmt.Fprintln(cli.Stdout, "this database was never put back from a copy")
		return
	case s.State == pay.RecoveryClosed:
		fmt.Fprintf(cli.Stdout, "closed: %s is not in the database. Payments, refunds and withdrawals that it does not know answer 503\n", window)
	case s.Guarded:
		fmt.Fprintf(cli.Stdout, "open: %s is not in the database. Until %s requests that nobody knows are compared with what was found\n", window, s.Until.Format(time.RFC3339))
	default:
		fmt.Fprintf(cli.Stdout, "over: %s was found out\n", window)
	}
	for _, account := range s.Uncovered {
		if s.State == pay.RecoveryClosed {
			fmt.Fprintf(cli.Stdout, "next: cascada recover list --provider %s --report FILE\n", account)
		}
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	for i, f := range s.Open {
		if i == 0 {
			fmt.Fprintln(table, "FOUND\tKIND\tAMOUNT\tPROVIDER'S\tWHY IT WAITS")
		}
		why := f.Why
		if why == "" && f.Kind == pay.FoundCharge {
			why = "its request was not repeated"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.ID(), f.Kind, f.Local(), f.ProviderRef, why)
	}
	_ = table.Flush() // as of all that is printed here
	if s.State == pay.RecoveryClosed && len(s.Uncovered) == 0 {
		fmt.Fprintln(cli.Stdout, "next: cascada recover end")
	}
}

type recoverBeginCmd struct {
	cli.DatabaseFlags
	From string `required:"" placeholder:"TIME" help:"The moment to which the database was put back; earlier rather than later."`
	To   string `placeholder:"TIME" help:"When the service that was lost wrote its last; by default now."`
}

func (c *recoverBeginCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	from, err := cli.Instant("--from", c.From, time.UTC)
	if err != nil {
		return err
	}
	to, err := cli.Instant("--to", c.To, time.UTC)
	if err != nil {
		return err
	}
	return with(ctx, c.DatabaseFlags, log, adapters, func(a *app.App) error {
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
	Provider string   `required:"" placeholder:"ACCOUNT" help:"Provider account whose list it is."`
	Report   []string `required:"" placeholder:"FILE" sep:"none" help:"The list, a CSV file, or - for the standard input. Several are read as one."`
	reportFlags
}

func (c *recoverListCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	return with(ctx, c.DatabaseFlags, log, adapters, func(a *app.App) error {
		format, err := a.Reconciliation.ReportFormat(ctx, c.Provider)
		if err != nil {
			return err
		}
		if format, err = c.format(format); err != nil {
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
		fmt.Fprintf(cli.Stdout, "%d lines: %d known, %d taken back into the books, %d that nothing stands for, %d without a reference of ours; %d lines of other kinds\n",
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

func (c *recoverCoverCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	return with(ctx, c.DatabaseFlags, log, adapters, func(a *app.App) error { return a.Recovery.CoverAccount(ctx, c.Account, c.Note) })
}

type recoverCloseCmd struct {
	cli.DatabaseFlags
	ID   string `arg:"" name:"id" help:"What cascada recover lists: ACCOUNT/REFERENCE."`
	Note string `required:"" help:"What you did about it, for the audit log."`
}

func (c *recoverCloseCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	return with(ctx, c.DatabaseFlags, log, adapters, func(a *app.App) error { return a.Recovery.CloseFound(ctx, c.ID, c.Note) })
}

type recoverEndCmd struct {
	cli.DatabaseFlags
	Waiting bool   `help:"Refunds and payouts that nothing stands for wait until their requests are repeated. Merchants have that money a second time meanwhile."`
	Note    string `help:"For the audit log."`
}

func (c *recoverEndCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry) error {
	return with(ctx, c.DatabaseFlags, log, adapters, func(a *app.App) error {
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
