// Package payments has the commands that show a payment's story and resolve what no provider ends. It decides nothing: use cases do.
package payments

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay"
)

// Payment is cascada payment.
type Payment struct {
	List    paymentListCmd    `cmd:"" help:"List payments whose outcome is unknown, oldest first."`
	Resolve paymentResolveCmd `cmd:"" help:"Resolve a payment whose provider does not report how it ended. The provider is queried first, if possible. Works while the server runs."`
}

type paymentListCmd struct {
	cli.DatabaseFlags
	Limit cli.AtMost `default:"50" help:"Longest list (default ${default})."`
}

func (c *paymentListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Payments.Unsure(ctx, int(c.Limit))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(cli.Stdout, "every outcome is known")
		return nil
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PAYMENT\tSTATUS\tAMOUNT\tACCOUNT\tENVIRONMENT\tSINCE\tUNANSWERED QUERIES")
	for _, p := range list {
		attempt, _ := p.Attempts.Current()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n", p.ID, p.Status, p.Price.Local, attempt.Provider, p.Environment(),
			p.Times.Unsure.UTC().Format(time.DateTime), attempt.Unanswered)
	}
	return w.Flush()
}

type paymentResolveCmd struct {
	cli.DatabaseFlags
	Payment string   `arg:"" help:"Transaction id, TXN-…"`
	Outcome pay.Word `required:"" enum:"paid,not-charged" placeholder:"OUTCOME" help:"paid completes the payment, or books late money if it had ended; not-charged fails it."`
	Note    string   `required:"" help:"How you know; for the audit log."`
	Force   bool     `help:"Resolve the payment even if the provider reports something else."`
}

func (c *paymentResolveCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, cli.AccountFlags{DatabaseFlags: c.DatabaseFlags}, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	p, said, err := a.Payments.Resolve(ctx, a.Self(), base.Resolution{ID: c.Payment, Word: c.Outcome, Note: c.Note, Force: c.Force})
	if err != nil {
		return fmt.Errorf("payment %s: %w", c.Payment, err)
	}
	fmt.Fprintf(cli.Stdout, "%s is %s; the query to the provider returned %s\n", p.ID, p.Status, said)
	if s, late := p.Strays.Attention(); late && s.Claim != "" {
		fmt.Fprintf(cli.Stdout, "its money is late money; decide about it with cascada claim resolve %s\n", s.Claim)
	}
	return nil
}
