package books

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/cli"
)

// Repair is cascada repair.
type Repair struct {
	Counters repairCountersCmd `cmd:"" help:"Count payments, deliveries and movements again, for the totals of lists. The ledger does not change."`
}

type repairCountersCmd struct{ cli.DatabaseFlags }

func (c *repairCountersCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[*app.App]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	mended, err := a.RepairCounters(ctx)
	for _, m := range mended {
		fmt.Fprintln(cli.Stdout, m)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%d counters were corrected\n", len(mended))
	return nil
}
