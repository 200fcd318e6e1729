package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/message"
)

// Privacy is cascada privacy.
type Privacy struct {
	Export privacyExportCmd `cmd:"" help:"Print all stored personal data of a shopper, as JSON."`
	Erase  privacyEraseCmd  `cmd:"" help:"Erase a shopper from payments that have ended, with their evidence, notifications and checkouts. The books stay."`
}

// shopper names the shopper that the commands are about.
type shopper struct {
	Merchant string `placeholder:"ID" help:"Merchant whose shopper it is, mer_…"`
	Email    string `placeholder:"ADDRESS" help:"The shopper's e-mail address; upper and lower case are equal."`
	Document string `placeholder:"NUMBER" help:"The shopper's document, with or without dots and dashes."`
	Phone    string `placeholder:"NUMBER" help:"The shopper's phone number."`
	Payment  string `placeholder:"ID" help:"Only this payment, TXN-…, not all payments of the shopper."`
}

func (s shopper) who() privacy.Shopper {
	return privacy.Shopper{Merchant: s.Merchant, Email: s.Email, Document: s.Document, Phone: s.Phone, Payment: s.Payment}
}

type privacyExportCmd struct {
	cli.DatabaseFlags
	shopper
}

func (c *privacyExportCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	found, unread := a.Privacy.ExportShopper(ctx, a.Self(), c.who())
	if unread != nil && !errors.Is(unread, privacy.ErrUnread) {
		return unread
	}
	out := json.NewEncoder(cli.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return errors.Join(out.Encode(shape.NewShopperData(found)), unread)
}

type privacyEraseCmd struct {
	cli.DatabaseFlags
	shopper
	Yes bool `help:"Erase. Without --yes the command only prints what it would erase. Erased data cannot be restored."`
}

func (c *privacyEraseCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	done, err := a.Privacy.EraseShopper(ctx, a.Self(), c.who(), !c.Yes)
	verb := "erased"
	if !c.Yes {
		verb = "would be erased"
	}
	for _, id := range slices.Concat(done.Payments, done.Sessions) {
		fmt.Fprintf(cli.Stdout, "%s %s\n", id, verb)
	}
	for _, id := range slices.Sorted(maps.Keys(done.Kept)) {
		fmt.Fprintf(cli.Stdout, "%s is kept: %s\n", id, message.Text(done.Kept[id]))
	}
	switch {
	case err != nil:
		return err
	case len(done.Kept) > 0:
		return errors.New("some payments are kept: erase them when they have ended")
	case len(done.Payments)+len(done.Sessions) == 0:
		fmt.Fprintln(cli.Stdout, "nothing was found: give the e-mail address, document and phone number (with country code) as the shop sent them")
	case !c.Yes:
		fmt.Fprintln(cli.Stdout, "Add --yes to erase. Also ask the providers that got the data to erase it (privacy export: toldTo).")
	}
	return nil
}
