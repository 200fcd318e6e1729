// Package claims has the commands about refunds and disputes. It decides nothing: use cases do.
package claims

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay"
)

// Claim is cascada claim.
type Claim struct {
	List    claimListCmd    `cmd:"" help:"List refunds and claims of all merchants, newest first."`
	Show    claimShowCmd    `cmd:"" help:"Show a claim with its history and evidence."`
	Ask     claimAskCmd     `cmd:"" help:"Ask a merchant for evidence on an inquiry; the merchant has seven days to answer."`
	Book    claimBookCmd    `cmd:"" help:"Book a refund that the provider made by itself, or that you made by hand."`
	Carried claimCarriedCmd `cmd:"" help:"Say that you submitted the evidence of a dispute in the provider's panel."`
	Resolve claimResolveCmd `cmd:"" help:"Resolve a claim, as the bank, the provider or you decided it. Works while the server runs."`
}

type claimListCmd struct {
	cli.DatabaseFlags
	Status pay.ClaimStatus `default:"" enum:",pending,needs_evidence,under_review,approved,rejected,expired,withdrawn" placeholder:"STATUS" help:"Only claims with this status: pending, needs_evidence, under_review, approved, rejected, expired or withdrawn."`
	Type   pay.ClaimKind   `default:"" enum:",user_dispute,chargeback,inquiry" placeholder:"TYPE" help:"Only claims of this type: user_dispute (a refund), chargeback, or inquiry (money that came late, twice or in another amount)."`
	Carry  bool            `help:"Only disputes whose evidence you have to submit in the provider's panel, oldest first."`
	Limit  cli.AtMost      `default:"50" help:"Longest list (default ${default})."`
}

func (c *claimListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	var list []pay.Claim
	if c.Carry {
		list, err = a.ClaimLists.Carrying(ctx, int(c.Limit))
	} else {
		list, err = a.Claims.AnyList(ctx, c.Status, c.Type, int(c.Limit))
	}
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLAIM\tTYPE\tSTATUS\tAMOUNT\tUSD\tENVIRONMENT\tTRANSACTION\tDUE")
	for _, claim := range list {
		due := ""
		if !claim.DueAt.IsZero() {
			due = claim.DueAt.UTC().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", claim.ID, claim.Kind, claim.Status, claim.Local,
			claim.Dollars(), claim.Environment(), claim.Payment, due)
	}
	return w.Flush()
}

type claimShowCmd struct {
	cli.DatabaseFlags
	Claim string `arg:"" help:"Claim id, CLM-…"`
}

func (c *claimShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	claim, err := a.Claims.Any(ctx, c.Claim)
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, claim)
	return nil
}

type claimAskCmd struct {
	cli.DatabaseFlags
	Claim string `arg:"" help:"Claim id, CLM-…"`
	Note  string `required:"" help:"Your question; the merchant reads it."`
}

func (c *claimAskCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return resolve(ctx, c.DatabaseFlags, log, open, claims.Resolution{ID: c.Claim, Word: pay.AskEvidence, Note: c.Note})
}

type claimResolveCmd struct {
	cli.DatabaseFlags
	Claim   string         `arg:"" help:"Claim id, CLM-…"`
	Outcome claims.Outcome `required:"" enum:"approved,rejected,withdrawn,returned" placeholder:"OUTCOME" help:"approved pays the shopper; rejected and withdrawn leave the money to the merchant; withdrawn of an inquiry is for another amount that never came; returned is for an approved refund whose money came back."`
	Note    string         `required:"" help:"Reason; the merchant reads it."`
	Force   bool           `help:"Resolve the claim even if the provider reports something else."`

	Keep     string `placeholder:"AMOUNT" help:"Of an inquiry that is approved: the part of its money that the merchant keeps, in its currency. The rest goes back."`
	Complete bool   `help:"The kept part completes its payment, which has to be open, and is the payment's amount."`
	ByHand   string `placeholder:"REFERENCE" help:"Of an inquiry that is approved: you gave the money back by a bank transfer with this reference. No provider is asked."`
}

func (c *claimResolveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return resolve(ctx, c.DatabaseFlags, log, open, claims.Resolution{ID: c.Claim, Word: claims.Verbs[c.Outcome], Note: c.Note, Force: c.Force, Keep: c.Keep, Complete: c.Complete, ByHand: c.ByHand})
}

type claimCarriedCmd struct {
	cli.DatabaseFlags
	Claim string `arg:"" help:"Claim id, CLM-…"`
	Note  string `required:"" help:"When and how; the merchant reads it."`
}

func (c *claimCarriedCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	claim, err := a.Claims.Carried(ctx, a.Self(), c.Claim, c.Note)
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, claim)
	return nil
}

type claimBookCmd struct {
	cli.DatabaseFlags
	Payment   string     `arg:"" help:"Transaction id, TXN-…"`
	Amount    string     `placeholder:"AMOUNT" help:"Amount in the transaction's local currency, such as 49.90. Default: all that is left."`
	Reference string     `required:"" placeholder:"TEXT" help:"The provider's id of the refund, or the bank's reference of your transfer. It is booked once."`
	Origin    pay.Origin `required:"" enum:"provider,operator" placeholder:"ORIGIN" help:"provider: the provider made it, and its report shows it; operator: you sent the money by hand."`
	Note      string     `required:"" help:"How you know; the merchant reads it."`
}

func (c *claimBookCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	claim, err := a.Claims.BookRefund(ctx, a.Self(), claims.Booking{Payment: c.Payment, Amount: c.Amount, Reference: c.Reference, Origin: c.Origin, Note: c.Note})
	if err != nil {
		return fmt.Errorf("payment %s: %w", c.Payment, err)
	}
	fmt.Fprintln(cli.Stdout, claim)
	return nil
}

// rule applies the operator's decision and prints the claim.
func resolve(ctx context.Context, d cli.DatabaseFlags, log *slog.Logger, open cli.Opener[Uses], r claims.Resolution) error {
	a, err := open.Existing(ctx, d, log)
	if err != nil {
		return err
	}
	defer a.Close()
	claim, err := a.Claims.Resolve(ctx, a.Self(), r)
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, claim)
	if claim.Calling() {
		fmt.Fprintln(cli.Stdout, "the provider has not confirmed the refund yet; a running server queries it again")
	}
	return nil
}
