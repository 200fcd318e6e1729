// Package payouts has the commands about withdrawals, bank files, floats and limits. It decides nothing: use cases do.
package payouts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Payout is cascada payout.
type Payout struct {
	Batch    payoutBatchCmd    `cmd:"" help:"Put the payouts that wait at a bank-file account into batches, and make their files. Another operator must approve them."`
	List     payoutListCmd     `cmd:"" help:"List batches, newest first."`
	Show     payoutShowCmd     `cmd:"" help:"Show a batch and its withdrawals."`
	Approve  payoutApproveCmd  `cmd:"" help:"Approve a batch, so that its file can be exported. The operator who made the batch cannot approve it."`
	Export   payoutExportCmd   `cmd:"" help:"Write a batch's file, to upload at the bank. A second export writes the same bytes."`
	Import   payoutImportCmd   `cmd:"" help:"Read the bank's answer (CNAB 240, pain.002, camt.054 or a table), and complete or fail the withdrawals in it. It is safe to import a file again."`
	Limit    payoutLimitCmd    `cmd:"" help:"Show or change how much may be withdrawn per hour, per day and without approval; stop all withdrawals, or one merchant's."`
	Float    payoutFloatCmd    `cmd:"" help:"Show your money at each payout account, in the ledger and as the provider reports it."`
	TopUp    payoutTopUpCmd    `cmd:"" name:"top-up" help:"Book money that you put into a payout account or took out of it. After the first entry the account pays out no more than it has."`
	Dissolve payoutDissolveCmd `cmd:"" help:"Dissolve a batch whose file was never exported: its payouts wait for another batch."`
}

type payoutBatchCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"The payout account."`
}

func (c *payoutBatchCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	made, err := a.Batches.Make(ctx, a.Self(), c.Account)
	if len(made) == 0 && err == nil {
		fmt.Fprintln(cli.Stdout, "no withdrawal waits at "+c.Account)
		return nil
	}
	return cmp.Or(err, printBatches(made))
}

func printBatches(list []pay.Batch) error {
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BATCH\tACCOUNT\tNUMBER\tSTATUS\tLAYOUT\tNETWORK\tLINES\tTOTAL\tMADE\tBY\tAPPROVED BY")
	for _, b := range list {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", b.ID, b.Account, b.Number, b.Status, b.Layout, b.Network, b.Lines, b.Total,
			b.CreatedAt.UTC().Format(time.DateTime), b.MadeBy, b.ApprovedBy)
	}
	return w.Flush()
}

type payoutListCmd struct {
	cli.AccountFlags
	Account string     `help:"Only batches of this account." placeholder:"ID"`
	Limit   cli.AtMost `default:"50" help:"Longest list (default ${default})."`
}

func (c *payoutListCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Batches.List(ctx, c.Account, int(c.Limit))
	if err == nil && len(list) == 0 {
		fmt.Fprintln(cli.Stdout, "there are no batches")
		return nil
	}
	return cmp.Or(err, printBatches(list))
}

type payoutShowCmd struct {
	cli.AccountFlags
	Batch string `arg:"" help:"Batch id, bat_…"`
}

func (c *payoutShowCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	b, of, err := a.Batches.Get(ctx, c.Batch)
	if err != nil {
		return err
	}
	if err := printBatches([]pay.Batch{b}); err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "SHA-256 of the file: %s\n", b.Checksum)
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LINE\tWITHDRAWAL\tAMOUNT\tSTATUS\tBANK'S REFERENCE")
	for _, d := range of {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Payout.ProviderRef, d.ID, d.Local, d.Status, d.Payout.BankRef)
	}
	return w.Flush()
}

type payoutApproveCmd struct {
	cli.AccountFlags
	Batch string `arg:"" help:"Batch id, bat_…"`
}

func (c *payoutApproveCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := a.Batches.Approve(ctx, a.Self(), c.Batch)
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s is approved: %d payouts, %s; the file's SHA-256 is %s\n", b.ID, b.Lines, b.Total, b.Checksum)
	return nil
}

type payoutDissolveCmd struct {
	cli.AccountFlags
	Batch string `arg:"" help:"Batch id, bat_…"`
}

func (c *payoutDissolveCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := a.Batches.Dissolve(ctx, a.Self(), c.Batch)
	if err == nil {
		fmt.Fprintf(cli.Stdout, "%s is dissolved: its %d payouts wait for another batch\n", b.ID, b.Lines)
	}
	return err
}

type payoutExportCmd struct {
	cli.AccountFlags
	Batch  string `arg:"" help:"Batch id, bat_…"`
	Output string `short:"o" required:"" placeholder:"FILE" help:"Where to write the file; an existing file is not overwritten. It contains names and bank accounts, so only its owner can read it."`
}

func (c *payoutExportCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	// The output file comes first: a batch counts as exported once its file is read.
	to, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	file, b, err := a.Batches.Export(ctx, a.Self(), c.Batch)
	if err == nil {
		_, err = to.Write(file)
	}
	if err == nil {
		err = to.Sync()
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(c.Output)
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s: %d payouts, %s; SHA-256 %s\n", c.Output, b.Lines, b.Total, b.Checksum)
	return nil
}

type payoutImportCmd struct {
	cli.AccountFlags
	Account string `arg:"" help:"The payout account."`
	File    string `arg:"" help:"File with the bank's answer."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (c *payoutImportCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	from, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := io.ReadAll(io.LimitReader(from, payouts.MostAnswer+1))
	if err != nil {
		return err
	}
	done, err := a.Batches.ImportAnswers(ctx, a.Self(), c.Account, file)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(cli.Stdout).Encode(map[string]any{"checksum": done.Checksum, "paid": done.Paid, "rejected": done.Rejected,
			"returned": done.Returned, "pending": done.Pending, "known": done.Known, "strange": append([]string{}, done.Strange...)})
	}
	fmt.Fprintf(cli.Stdout, "paid %d, rejected %d, returned %d, pending %d, known before %d\n", done.Paid, done.Rejected, done.Returned, done.Pending, done.Known)
	for _, s := range done.Strange {
		fmt.Fprintln(cli.Stdout, "look at "+s)
	}
	if len(done.Strange) > 0 {
		return fmt.Errorf("%d lines need your attention", len(done.Strange))
	}
	return nil
}

type payoutLimitCmd struct {
	cli.DatabaseFlags
	Merchant      string  `placeholder:"ID" help:"Limits of one merchant; without it, of all merchants together."`
	Environment   string  `enum:"production,sandbox" default:"production" help:"production or sandbox (default ${default})."`
	ApprovalAbove *string `placeholder:"USD" help:"Withdrawals above this amount wait for cascada withdrawal approve; 0: none waits."`
	Hourly        *string `placeholder:"USD" help:"Largest amount that is sent in an hour (UTC); 0: no limit."`
	Daily         *string `placeholder:"USD" help:"Largest amount that is sent in a day (UTC); 0: no limit."`
	Schedule      string  `enum:",plan,automatic,on_request" default:"" placeholder:"WORD" help:"For one merchant. plan: as its price plan says; automatic: pay the net amount of each settlement out to the default wallet of the merchant's first shop; on_request: the merchant withdraws."`
	Minimum       *string `placeholder:"USD" help:"For automatic payouts: a smaller amount waits for the next settlement; 0: as the price plan says."`
	Days          *string `placeholder:"DAYS" help:"For automatic payouts: days of the week in UTC, such as mon,thu; an empty text: as the price plan says."`
	Stop          *string `placeholder:"REASON" help:"Send no more withdrawals. Those that were sent go on."`
	Resume        bool    `help:"Send withdrawals again, after --stop."`
}

// changes returns the changes that the flags ask for.
func (c *payoutLimitCmd) changes() (list []func(*pay.PayoutLimits), err error) {
	for _, f := range []struct {
		name  string
		given *string
		into  func(*pay.PayoutLimits, int64)
	}{
		{"--approval-above", c.ApprovalAbove, func(l *pay.PayoutLimits, v int64) { l.ApprovalAbove = v }},
		{"--hourly", c.Hourly, func(l *pay.PayoutLimits, v int64) { l.Hourly = v }},
		{"--minimum", c.Minimum, func(l *pay.PayoutLimits, v int64) { l.Minimum = v }},
		{"--daily", c.Daily, func(l *pay.PayoutLimits, v int64) { l.Daily = v }},
	} {
		if f.given == nil {
			continue
		}
		amount, err := money.Parse(*f.given, money.USD)
		if err != nil || amount.IsNegative() {
			return nil, fmt.Errorf("%s %s: want an amount of USD, such as 5000", f.name, *f.given)
		}
		list = append(list, func(l *pay.PayoutLimits) { f.into(l, amount.Minor) })
	}
	if c.Schedule != "" {
		list = append(list, func(l *pay.PayoutLimits) { l.Schedule = pay.ParseSchedule(c.Schedule) })
	}
	if c.Days != nil {
		list = append(list, func(l *pay.PayoutLimits) { l.Days = *c.Days })
	}
	switch {
	case c.Stop != nil && c.Resume:
		return nil, errors.New("--stop and --resume: give only one of them")
	case c.Stop != nil && strings.TrimSpace(*c.Stop) == "":
		return nil, errors.New("--stop: say why, such as --stop \"a key was stolen\": nothing was stopped")
	case c.Stop != nil:
		list = append(list, func(l *pay.PayoutLimits) { l.Stopped = *c.Stop })
	case c.Resume:
		list = append(list, func(l *pay.PayoutLimits) { l.Stopped = "" })
	}
	return list, nil
}

func (c *payoutLimitCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	changes, err := c.changes()
	if err != nil {
		return err
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if len(changes) > 0 {
		_, err := a.Payouts.LimitPayouts(ctx, a.Self(), c.Merchant, c.Environment == "production", func(l *pay.PayoutLimits) {
			for _, change := range changes {
				change(l)
			}
		})
		if err != nil {
			return err
		}
	}
	list, err := a.Payouts.Controls(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MERCHANT\tENVIRONMENT\tAPPROVAL ABOVE\tHOURLY\tDAILY\tPAYOUTS\tSTOPPED")
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cmp.Or(l.Merchant, "all"), merchants.EnvironmentOf(l.Live), bound(l.ApprovalAbove), bound(l.Hourly), bound(l.Daily), schedule(l), l.Stopped)
	}
	return w.Flush()
}

// bound writes a limit for people.
func bound(cents int64) string {
	if cents == 0 {
		return "-"
	}
	return cli.USD(cents)
}

// schedule writes for people how a merchant's settlements are paid out, where that is not as the price plan says.
func schedule(l pay.PayoutControl) string {
	words := []string{l.Schedule.Word()}
	if l.Merchant == "" {
		words[0] = "-"
	}
	if l.Minimum > 0 {
		words = append(words, "from "+cli.USD(l.Minimum))
	}
	if l.Days != "" {
		words = append(words, l.Days)
	}
	return strings.Join(words, " ")
}
