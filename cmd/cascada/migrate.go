package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/daemon"
)

type migrateCmd struct {
	cli.DatabaseFlags
	Plan bool          `help:"Only list the migrations that are left to do, and what they wait for."`
	Wait time.Duration `placeholder:"DURATION" help:"How long a contract migration waits for older programs to end (default: it does not wait; serve runs it when they have ended)."`
}

// Help is called by kong.
func (migrateCmd) Help() string {
	return `An expand migration keeps everything that older programs use, and runs beside them. A contract migration
removes something, so it waits until no older program has been active for 90 seconds, and then keeps
older programs from writing. Other commands do not change the schema, and refuse a database whose schema
is older than theirs.`
}

func (c *migrateCmd) Run(ctx context.Context, log *slog.Logger) error {
	if c.Plan {
		return c.plan(ctx)
	}
	config := configOf(c.Config(log))
	config.Operator, config.Migrate = cli.Operator(), true
	a, err := daemon.Open(ctx, config)
	if err != nil {
		return err
	}
	defer a.Close()
	waits, err := a.Contract(ctx, c.Wait)
	if err != nil {
		return err
	}
	if waits != nil {
		fmt.Fprintf(cli.Stdout, "the schema is usable, but not up to date yet: %v\n", waits)
		return nil
	}
	fmt.Fprintln(cli.Stdout, "the schema is up to date")
	return nil
}

// plan prints the migrations that are left to do.
func (c *migrateCmd) plan(ctx context.Context) error {
	list, err := app.Migrations(ctx, c.Database, c.NextMigrations())
	if err != nil {
		return err
	}
	done := 0
	for _, m := range list {
		if m.Done {
			done++
		}
	}
	fmt.Fprintf(cli.Stdout, "%d of %d migrations are done.\n", done, len(list))
	for _, m := range list {
		if m.Done {
			continue
		}
		kind, when := "expand", ""
		if m.Contract {
			kind = "contract"
		}
		if m.Waits != "" {
			when = "waits: " + m.Waits
		}
		if _, err := fmt.Fprintf(cli.Stdout, "%4d  %-8s  %-45s  %s\n", m.Version, kind, m.Name, when); err != nil {
			return err
		}
	}
	return nil
}
