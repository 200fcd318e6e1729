package settlements

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay"
)

// Adjust is cascada adjust.
type Adjust struct {
	Create  adjustCreateCmd  `cmd:"" help:"Credit or debit a merchant's balance, for what no other command books."`
	List    adjustListCmd    `cmd:"" help:"List adjustments of all merchants, newest first."`
	Show    adjustShowCmd    `cmd:"" help:"Show an adjustment."`
	Approve adjustApproveCmd `cmd:"" help:"Approve an adjustment that waits for a second operator."`
	Reject  adjustRejectCmd  `cmd:"" help:"Reject an adjustment that waits for a second operator."`
	Reverse adjustReverseCmd `cmd:"" help:"Take an applied adjustment back, by another one that names it."`
}

type adjustCreateCmd struct {
	cli.DatabaseFlags
	Merchant  string               `required:"" placeholder:"ID" help:"The merchant, mer_…"`
	Amount    string               `required:"" help:"USD. Above zero the merchant gets it, below zero (--amount=-50) the merchant pays it."`
	Account   string               `enum:"available" default:"available" help:"The account of the balance. Only the available balance is adjusted."`
	Reason    pay.AdjustmentReason `required:"" enum:"goodwill,fee_correction,provider_refund,late_cash_returned,payout_returned_in_part,wrong_amount,write_off,debt_paid_in,other" placeholder:"REASON" help:"Why: ${enum}. The merchant reads it."`
	Note      string               `required:"" help:"Why, in your words. The merchant reads it."`
	About     string               `placeholder:"ID" help:"The payment, claim, withdrawal, settlement or notification that it is about."`
	Reference string               `required:"" help:"Your own name of this booking, such as a ticket. Each reference is booked once: a repeated command changes nothing."`
	Sandbox   bool                 `help:"In the merchant's sandbox. The default is production."`
	Negative  bool                 `name:"allow-negative" help:"Let it take the available balance below zero."`
}

func (c *adjustCreateCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	amount, err := settlements.AdjustmentAmount(c.Amount)
	if err != nil {
		return err
	}
	return adjust(ctx, log, open, c.DatabaseFlags, func(a Uses) (pay.Adjustment, error) {
		return a.Adjustments.Make(ctx, a.Self(), settlements.NewAdjustment{
			Merchant: c.Merchant, Live: !c.Sandbox, Amount: amount, Account: c.Account, Reason: c.Reason, Note: c.Note, About: c.About,
			Reference: c.Reference, Negative: c.Negative,
		})
	})
}

// adjust prints the adjustment that a command acts on.
func adjust(ctx context.Context, log *slog.Logger, open cli.Opener[Uses], on cli.DatabaseFlags, act func(Uses) (pay.Adjustment, error)) error {
	a, err := open.Existing(ctx, on, log)
	if err != nil {
		return err
	}
	defer a.Close()
	done, err := act(a)
	if err != nil {
		return err
	}
	if err := printAdjustments([]pay.Adjustment{done}); err != nil || done.Status != pay.AdjustmentPending {
		return err
	}
	fmt.Fprintf(cli.Stdout, "it is above the limit for approvals and waits for another operator: cascada adjust approve %s\n", done.ID)
	return nil
}

func printAdjustments(list []pay.Adjustment) error {
	out := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ADJUSTMENT\tMERCHANT\tENVIRONMENT\tSTATUS\tAMOUNT\tREASON\tABOUT\tREFERENCE\tMADE BY\tAT")
	for _, a := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Merchant, a.Environment(), a.Status, cli.USD(a.Amount), a.Reason,
			a.About, a.Reference, a.MadeBy, a.CreatedAt.Format(time.RFC3339))
	}
	return out.Flush()
}

type adjustListCmd struct {
	cli.DatabaseFlags
	Merchant string               `placeholder:"ID" help:"Only adjustments of this merchant, mer_…"`
	Status   pay.AdjustmentStatus `enum:",pending,applied,rejected" default:"" placeholder:"STATUS" help:"Only adjustments with this status: pending, applied or rejected."`
	Limit    cli.AtMost           `default:"50" help:"Longest list (default ${default})."`
	JSON     bool                 `name:"json" help:"Print JSON."`
}

func (c *adjustListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Adjustments.List(ctx, c.Merchant, c.Status, int(c.Limit))
	switch {
	case err != nil:
		return err
	case c.JSON:
		return json.NewEncoder(cli.Stdout).Encode(shape.NewAdjustments(list))
	}
	return printAdjustments(list)
}

type adjustShowCmd struct {
	cli.DatabaseFlags
	Adjustment string `arg:"" help:"Adjustment id, adj_…"`
}

func (c *adjustShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	one, err := a.Adjustments.Any(ctx, c.Adjustment)
	if err != nil {
		return err
	}
	reversed, err := a.Adjustments.ReversedBy(ctx, one)
	if err != nil {
		return err
	}
	shown := json.NewEncoder(cli.Stdout)
	shown.SetIndent("", "  ")
	return shown.Encode(shape.NewAdjustment(one, reversed))
}

type adjustApproveCmd struct {
	cli.DatabaseFlags
	Adjustment string `arg:"" help:"Adjustment id, adj_…"`
}

func (c *adjustApproveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return adjust(ctx, log, open, c.DatabaseFlags, func(a Uses) (pay.Adjustment, error) {
		return a.Adjustments.Approve(ctx, a.Self(), c.Adjustment)
	})
}

type adjustRejectCmd struct {
	cli.DatabaseFlags
	Adjustment string `arg:"" help:"Adjustment id, adj_…"`
	Note       string `required:"" help:"Why, for the audit log."`
}

func (c *adjustRejectCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return adjust(ctx, log, open, c.DatabaseFlags, func(a Uses) (pay.Adjustment, error) {
		return a.Adjustments.Reject(ctx, a.Self(), c.Adjustment, c.Note)
	})
}

type adjustReverseCmd struct {
	cli.DatabaseFlags
	Adjustment string `arg:"" help:"Adjustment id, adj_…"`
	Note       string `required:"" help:"Why, in your words. The merchant reads it."`
	Negative   bool   `name:"allow-negative" help:"Let it take the available balance below zero."`
}

func (c *adjustReverseCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return adjust(ctx, log, open, c.DatabaseFlags, func(a Uses) (pay.Adjustment, error) {
		return a.Adjustments.Reverse(ctx, a.Self(), c.Adjustment, c.Note, c.Negative)
	})
}
