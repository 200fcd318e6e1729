package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay"
)

// Notification is cascada notification.
type Notification struct {
	List  notificationsListCmd  `cmd:"" help:"List notifications that need your attention: another currency was paid, another amount was refunded, a report contradicts the books or was not understood, or the books do not have its object."`
	Show  notificationsShowCmd  `cmd:"" help:"Print a notification as the provider sent it."`
	Close notificationsCloseCmd `cmd:"" help:"Record that you have dealt with a notification. The merchant's balance stops warning of it; the payment does not change."`
}

type notificationsListCmd struct {
	cli.DatabaseFlags
	Payment string     `placeholder:"TXN-…" xor:"which" help:"All notifications of this payment."`
	Unknown bool       `xor:"which" help:"Notifications about objects that the books do not have, newest first; also those of other systems at the same account, of which one an hour is kept."`
	Limit   cli.AtMost `default:"50" help:"Longest list (default ${default})."`
	JSON    bool       `name:"json" help:"Print JSON."`
}

// notificationJSON is the shape of notification list --json.
type notificationJSON struct {
	ID       string      `json:"id"`
	At       string      `json:"at"`
	Account  string      `json:"account"`
	Payment  string      `json:"transactionId"`
	Verdict  pay.Verdict `json:"verdict"`
	Original string      `json:"body"`
}

func (c *notificationsListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Notices.Notifications(ctx, c.Payment, int(c.Limit))
	if c.Unknown {
		list, err = a.Notices.Unknown(ctx, int(c.Limit))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		told := make([]notificationJSON, 0, len(list))
		for _, n := range list {
			told = append(told, notificationJSON{n.ID, n.At.UTC().Format("2006-01-02T15:04:05.000Z"), n.Account, n.Payment, n.Verdict, string(n.Body)})
		}
		return json.NewEncoder(cli.Stdout).Encode(told)
	}
	if len(list) == 0 && c.Payment == "" && !c.Unknown {
		fmt.Fprintln(cli.Stdout, "no notification needs your attention")
		return nil
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tVERDICT\tACCOUNT\tTRANSACTION\tNOTIFICATION")
	for _, n := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%q\n", n.At.UTC().Format("2006-01-02 15:04:05"), n.Verdict, n.Account, n.Payment, n.ID)
	}
	return w.Flush()
}

type notificationsShowCmd struct {
	cli.DatabaseFlags
	Notification string `arg:"" help:"Notification's id, from notification list."`
}

func (c *notificationsShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	n, err := a.Notices.Notification(ctx, c.Notification)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s\n", n.Body)
	return err
}

type notificationsCloseCmd struct {
	cli.DatabaseFlags
	Notification string `arg:"" help:"Notification's id, from notification list."`
	Note         string `required:"" help:"What you did about it; for the audit log."`
}

func (c *notificationsCloseCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Notices.CloseNotification(ctx, a.Notices.Self(), c.Notification, c.Note)
}
