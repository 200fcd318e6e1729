package merchants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

type merchantCloseCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
	Reason   string `required:"" help:"Reason; the merchant's team reads it. Running servers obey within five seconds."`
}

func (c *merchantCloseCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.Leaving.Close(ctx, a.Self(), c.Merchant, c.Reason)
	if err != nil {
		return err
	}
	return writeTerms(ctx, a.Plans, m)
}

type merchantReopenCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
}

func (c *merchantReopenCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.Onboarding.Reopen(ctx, a.Self(), c.Merchant)
	if err != nil {
		return err
	}
	return writeTerms(ctx, a.Plans, m)
}

type merchantSandboxCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
	State    string `arg:"" enum:"on,off" help:"on or off. Running servers obey within five seconds."`
}

func (c *merchantSandboxCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.Onboarding.SwitchSandbox(ctx, a.Self(), c.Merchant, c.State == "on")
	if err != nil {
		return err
	}
	return writeTerms(ctx, a.Plans, m)
}

type merchantLeavingCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" optional:"" help:"Merchant's id, mer_…; without one, all that leave, and those that have left and have a balance again."`
}

func (c *merchantLeavingCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	var list []merchants.Merchant
	if c.Merchant != "" {
		m, err := a.AnyMerchant(ctx, c.Merchant)
		if err != nil {
			return err
		}
		list = append(list, m)
	} else if list, err = a.Leaving.List(ctx); err != nil {
		return err
	} else if owing, err := a.Leaving.Owing(ctx); err != nil {
		return err
	} else {
		list = append(list, owing...)
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MERCHANT\tENVIRONMENT\tCLOSED\tPAYMENTS\tCLAIMS\tPENDING\tAVAILABLE\tFROZEN\tRESERVE\tSUSPENSE\tIN TRANSIT\tWAITS FOR")
	for _, m := range list {
		for _, live := range []bool{true, false} {
			r, err := a.Leaving.Rest(ctx, m, live)
			if err != nil {
				return err
			}
			closed := ""
			if m.Leaving.Closed() {
				closed = m.Leaving.ClosedAt.UTC().Format(time.DateOnly)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d", m.ID, merchants.Scope{Live: live}.Environment(), closed, r.Payments, r.Claims)
			for _, part := range r.Parts() {
				fmt.Fprintf(table, "\t%s", part.Amount.Decimal())
			}
			fmt.Fprintf(table, "\t%s\n", r.Waits)
		}
	}
	return table.Flush()
}

type merchantExportCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
	Out      string `required:"" placeholder:"FILE" help:"File to write. It must not exist."`
}

func (c *merchantExportCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) (err error) {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	file, err := os.OpenFile(c.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // it holds shoppers' data
	if err != nil {
		return err
	}
	manifest, err := a.Leaving.Export(ctx, a.Self(), c.Merchant, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(c.Out))
	}
	for _, f := range manifest.Files {
		if _, err := fmt.Fprintf(cli.Stdout, "%s  %8d rows  %10d bytes  %s\n", f.SHA256, f.Rows, f.Bytes, f.Name); err != nil {
			return err
		}
	}
	return nil
}
