package payouts

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Withdrawal is cascada withdrawal.
type Withdrawal struct {
	List    withdrawalListCmd    `cmd:"" help:"List withdrawals that were sent and have no known outcome yet, oldest first."`
	Show    withdrawalShowCmd    `cmd:"" help:"Show a withdrawal with its full destination, to pay it by hand. The audit log records that you saw it."`
	Waiting withdrawalWaitingCmd `cmd:"" help:"List withdrawals that are due but not sent, or not sent again, and what they wait for."`
	Approve withdrawalApproveCmd `cmd:"" help:"Approve a withdrawal, so that it passes the limits (cascada payout limit)."`
	Resolve withdrawalResolveCmd `cmd:"" help:"Resolve a withdrawal whose payout provider does not report how it ended. The provider is queried first, if possible. Works while the server runs."`
}

type withdrawalListCmd struct {
	cli.DatabaseFlags
	Limit cli.AtMost `default:"50" help:"Longest list (default ${default})."`
}

func (c *withdrawalListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Payouts.Unpaid(ctx, int(c.Limit))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(cli.Stdout, "no withdrawal is under way")
		return nil
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WITHDRAWAL\tAMOUNT\tPROVIDER\tENVIRONMENT\tSENT\tQUERIES\tDO NOT PAY BY HAND")
	for _, d := range list {
		hold, err := a.Payouts.HoldByHand(ctx, d)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", d.ID, money.New(d.Amount, money.USD), d.Payout.Provider, d.Environment(), d.Payout.SentAt.UTC().Format(time.DateTime), d.Payout.Checks, hold)
	}
	return w.Flush()
}

type withdrawalShowCmd struct {
	cli.DatabaseFlags
	Withdrawal string `arg:"" help:"Withdrawal id, wdr_…"`
}

func (c *withdrawalShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	w, err := a.Payouts.RevealWithdrawal(ctx, a.Self(), c.Withdrawal)
	if err != nil {
		return fmt.Errorf("withdrawal %s: %w", c.Withdrawal, err)
	}
	if w.Hold != pay.Payable {
		fmt.Fprintf(cli.Stdout, "DO NOT PAY IT NOW: %s\n", w.Hold)
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"withdrawal", w.ID}, {"merchant", w.Merchant}, {"environment", string(w.Environment())}, {"status", string(w.Status)},
		{"account", w.Payout.Provider}, {"to pay out", payable(w.Withdrawal)}, {"our reference", w.Reference()},
		{"network", w.Wallet.Network}, {"currency", w.Wallet.Currency}, {"destination", w.Destination}, {"provider's reference", w.Payout.ProviderRef}, {"bank's reference", w.Payout.BankRef},
	} {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	return table.Flush()
}

type withdrawalResolveCmd struct {
	cli.DatabaseFlags
	Withdrawal string   `arg:"" help:"Withdrawal id, wdr_…"`
	Outcome    pay.Word `required:"" enum:"paid,not-paid,returned" placeholder:"OUTCOME" help:"paid completes it; not-paid returns the money to the balance; returned is for money that arrived and came back, and returns it without the fee."`
	Reference  string   `placeholder:"TEXT" help:"The bank's or the network's reference of the payout, if it arrived; with returned, of the return, which is booked once."`
	Amount     string   `placeholder:"AMOUNT" help:"With returned: the part that came back, in units of the currency that arrived; without it, all that is left. More parts may follow."`
	Note       string   `required:"" help:"How you know; for the audit log."`
	Force      bool     `help:"Resolve the withdrawal even if the payout provider reports something else."`
}

func (c *withdrawalResolveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	w, said, err := a.Payouts.ResolveWithdrawal(ctx, a.Self(), base.Resolution{ID: c.Withdrawal, Word: c.Outcome, Note: c.Note, Force: c.Force, Reference: c.Reference, Amount: c.Amount})
	if err != nil {
		return fmt.Errorf("withdrawal %s: %w", c.Withdrawal, err)
	}
	fmt.Fprintf(cli.Stdout, "%s is %s; the query to the payout provider returned %s\n", w.ID, w.Status, said)
	if w.Returned > 0 && w.Status == pay.WithdrawalDone {
		fmt.Fprintf(cli.Stdout, "%s of %s came back so far\n", cli.USD(w.Returned), cli.USD(w.Net()))
	}
	return nil
}

type withdrawalWaitingCmd struct {
	cli.DatabaseFlags
	Limit cli.AtMost `default:"50" help:"Longest list (default ${default})."`
}

func (c *withdrawalWaitingCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Payouts.WaitingWithdrawals(ctx, int(c.Limit))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(cli.Stdout, "no withdrawal waits")
		return nil
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WITHDRAWAL\tMERCHANT\tENVIRONMENT\tAMOUNT\tMADE\tWAITS FOR")
	for _, d := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.Merchant, d.Environment(), cli.USD(d.Amount), d.CreatedAt.UTC().Format(time.DateTime), d.Waiting)
	}
	return w.Flush()
}

type withdrawalApproveCmd struct {
	cli.DatabaseFlags
	Withdrawal string `arg:"" help:"Withdrawal id, wdr_…"`
	Note       string `required:"" help:"Reason, for the audit log."`
}

func (c *withdrawalApproveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	w, err := a.Payouts.ApproveWithdrawal(ctx, a.Self(), c.Withdrawal, c.Note)
	if err != nil {
		return fmt.Errorf("withdrawal %s: %w", c.Withdrawal, err)
	}
	fmt.Fprintf(cli.Stdout, "%s of %s passes the limits\n", w.ID, cli.USD(w.Amount))
	return nil
}

// payable writes for people what a withdrawal pays out: for a token, the value in USD.
func payable(w pay.Withdrawal) string {
	if w.Local == (money.Amount{}) {
		return "the value of " + cli.USD(w.Net())
	}
	return fmt.Sprintf("%s (%s at %s)", w.Local, cli.USD(w.Net()), w.Rate.Decimal())
}
