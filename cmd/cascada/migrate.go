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
	Plan bool          `help:"Change nothing: list the migrations that are left, and what they wait for."`
	Wait time.Duration `placeholder:"DURATION" help:"How long to wait for older programs to go, where a migration does (default: not at all; serve does it when they are gone)."`
}

// Help is asked by kong.
func (migrateCmd) Help() string {
	return `An expand migration leaves what older programs use, and is done beside them. A contract migration takes
something away, so it waits until no older program is heard of for 90 seconds, and bars them from writing.
Other commands change no schema, and refuse a database that is older than they are.`
}

func (c *migrateCmd) Run(ctx context.Context, log *slog.Logger) error {
	if c.Plan {
		return c.plan(ctx)
	}
	config := c.Config(log)
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
		fmt.Fprintf(cli.Stdout, "the schema can be used, and is not up to date yet: %v\n", waits)
		return nil
	}
	fmt.Fprintln(cli.Stdout, "the schema is up to date")
	return nil
}

// plan lists what is left.
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
