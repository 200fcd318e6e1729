// Package settlements has the commands about settlements and adjustments. It decides nothing: use cases do.
package settlements

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Settlement is cascada settlement.
type Settlement struct {
	List settlementListCmd `cmd:"" help:"List settlements of all merchants, newest first."`
	Show settlementShowCmd `cmd:"" help:"Show a settlement with its totals and first lines."`
	Pay  settlementPayCmd  `cmd:"" help:"Book that you have paid a closed settlement by hand: a withdrawal that is made and completed at once. It takes the money from the merchant's available balance."`
}

type settlementListCmd struct {
	cli.DatabaseFlags
	Merchant string               `placeholder:"ID" help:"Only settlements of this merchant, mer_…"`
	Status   pay.SettlementStatus `enum:",open,closed,paid" default:"" placeholder:"STATUS" help:"Only settlements with this status: open, closed or paid."`
	Limit    cli.AtMost           `default:"50" help:"Longest list (default ${default})."`
}

func (c *settlementListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Settlements.AnySettlements(ctx, c.Merchant, c.Status, int(c.Limit))
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SETTLEMENT\tMERCHANT\tENVIRONMENT\tSTATUS\tCLOSED\tLINES\tNET\tOWED\tAVAILABLE")
	have := map[merchants.Scope]string{}
	for _, s := range list {
		closed := "-"
		if !s.ClosedAt.IsZero() {
			closed = s.ClosedAt.Format(time.RFC3339)
		}
		owed, available := "-", "-"
		if s.PayoutState() == pay.PayoutOwed {
			owed = cli.USD(s.Uncovered())
			if _, known := have[s.Scope]; !known {
				cents, err := a.Settlements.Available(ctx, s.Scope)
				if err != nil {
					return err
				}
				have[s.Scope] = cli.USD(cents)
			}
			available = have[s.Scope]
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", s.ID, s.Merchant, s.Environment(), s.Status, closed, s.Lines, cli.USD(s.Net), owed, available)
	}
	return out.Flush()
}

type settlementShowCmd struct {
	cli.DatabaseFlags
	Settlement string `arg:"" help:"Settlement id, STL-…"`
	Lines      int    `default:"20" help:"How many lines to show (default ${default})."`
}

func (c *settlementShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	s, lines, err := a.Settlements.AnySettlement(ctx, c.Settlement, c.Lines)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Settlement, err)
	}
	fmt.Fprintf(cli.Stdout, "%s of %s, %s, %s\n", s.ID, s.Merchant, s.Environment(), s.Status)
	out := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	for _, fact := range []struct {
		name string
		at   time.Time
	}{{"period from", s.PeriodStart}, {"period to", s.PeriodEnd}, {"closed", s.ClosedAt}, {"receipt", s.PDFAt}, {"paid", s.PaidAt}, {"due", s.DueAt}} {
		if !fact.at.IsZero() {
			fmt.Fprintf(out, "  %s\t%s\n", fact.name, fact.at.Format(time.RFC3339))
		}
	}
	for _, total := range []struct {
		name  string
		cents int64
	}{
		{"gross", s.Gross}, {"fees", -s.Fees().Total()}, {"refunds", -s.Refunds}, {"chargebacks", -s.Chargebacks},
		{"chargeback fees", -s.ChargebackFees}, {"reserve held", -s.Held}, {"reserve released", s.Released},
		{"adjustments", s.Adjustments}, {"net", s.Net}, {"moved to available", s.Moved},
	} {
		fmt.Fprintf(out, "  %s\t%s\n", total.name, cli.USD(total.cents))
	}
	for _, cover := range s.Covers {
		state := "under way"
		if cover.Paid {
			state = "paid"
		}
		fmt.Fprintf(out, "  covered by %s\t%s\t%s\n", cover.By, cli.USD(cover.Amount), state)
	}
	if s.Status == pay.BatchClosed {
		cents, err := a.Settlements.Available(ctx, s.Scope)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  owed\t%s\t%s\n", cli.USD(s.Uncovered()), s.PayoutWhy)
		fmt.Fprintf(out, "  available\t%s\tthe merchant's balance: pay at most this\n", cli.USD(cents))
	}
	fmt.Fprintf(out, "  lines\t%d\n", s.Lines)
	for _, l := range lines {
		fmt.Fprintf(out, "  %d\t%s\t%s\t%s\t%s\n", l.Number, l.At.Format(time.RFC3339), l.Type, l.Payment, cli.USD(l.Net))
	}
	return out.Flush()
}

type settlementPayCmd struct {
	cli.AccountFlags
	Settlement string `arg:"" help:"Settlement id, STL-…"`
	Reference  string `required:"" placeholder:"TEXT" help:"What the bank calls your transfer."`
	Amount     string `placeholder:"USD" help:"What you paid; without it, all that is left of the settlement."`
	Wallet     string `placeholder:"ID" help:"Wallet that the money went to, wal_…; without it, the default wallet of the merchant's first shop."`
	Note       string `help:"For the audit log."`
}

func (c *settlementPayCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	payment := payouts.HandPayment{Settlement: c.Settlement, Wallet: c.Wallet, Reference: c.Reference, Note: c.Note}
	if c.Amount != "" {
		var err error
		if payment.Amount, err = money.Parse(c.Amount, money.USD); err != nil {
			return fmt.Errorf("--amount: %w", err)
		}
	}
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	s, w, err := a.Payouts.PaySettlement(ctx, a.Self(), payment)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Settlement, err)
	}
	fmt.Fprintf(cli.Stdout, "%s is %s: %s pays out %s\n", s.ID, s.Status, w.ID, cli.USD(w.Amount))
	return nil
}
