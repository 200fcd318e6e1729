package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
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

func (c *privacyExportCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.Existing(ctx, log)
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
	return errors.Join(out.Encode(newShopperJSON(found)), unread)
}

// The shape of privacy export. Times are in RFC 3339, amounts as in the API.
type (
	shopperJSON struct {
		Payments []shopperPaymentJSON `json:"payments"`
		Sessions []shopperSessionJSON `json:"checkoutSessions"`
	}
	shopperPaymentJSON struct {
		ID            string                `json:"id"`
		ShopID        string                `json:"shopId"`
		Environment   merchants.Environment `json:"environment"`
		Status        pay.Status            `json:"status"`
		Amount        string                `json:"amount"`
		Paid          string                `json:"amountLocal"`
		Method        string                `json:"method"`
		Country       string                `json:"country"`
		Order         string                `json:"merchantOrderId,omitempty"`
		CreatedAt     string                `json:"createdAt"`
		Shopper       pay.Buyer             `json:"shopper"`
		Purchase      *purchaseJSON         `json:"purchase,omitempty"` // as the shop sent it
		ReturnURL     string                `json:"returnUrl,omitempty"`
		Providers     []string              `json:"toldTo"` // accounts at providers that got this data
		Claims        []shopperClaimJSON    `json:"claims"`
		Notifications []toldJSON            `json:"notifications"`
	}
	shopperClaimJSON struct {
		ID       string         `json:"id"`
		Kind     pay.ClaimKind  `json:"kind"`
		Reason   string         `json:"reason,omitempty"`
		Evidence []evidenceJSON `json:"evidence"`
		Notes    []string       `json:"notes"`
	}
	evidenceJSON struct {
		ID      string `json:"id"`
		Kind    string `json:"kind"`
		Text    string `json:"text,omitempty"`
		File    string `json:"file,omitempty"`
		Type    string `json:"contentType,omitempty"`
		Content []byte `json:"content,omitempty"` // base64
	}
	toldJSON struct {
		Account string `json:"account"`
		At      string `json:"at"`
		Body    string `json:"body"`
	}
	shopperSessionJSON struct {
		ID        string        `json:"id"`
		ShopID    string        `json:"shopId"`
		CreatedAt string        `json:"createdAt"`
		Shopper   pay.Customer  `json:"shopper"`
		IP        string        `json:"ip,omitempty"`
		ReturnURL string        `json:"returnUrl,omitempty"`
		Purchase  *purchaseJSON `json:"purchase,omitempty"`
	}
	purchaseJSON struct {
		Description string            `json:"description,omitempty"`
		Metadata    map[string]string `json:"metadata,omitempty"`
		Items       []lineItemJSON    `json:"lineItems,omitempty"`
	}
	lineItemJSON struct {
		Name     string `json:"name"`
		Quantity string `json:"quantity"`
		Unit     string `json:"unitAmount"`
		SKU      string `json:"sku,omitempty"`
	}
)

// newPurchaseJSON returns nil if the shop sent nothing about the purchase.
func newPurchaseJSON(p pay.Purchase) *purchaseJSON {
	if p.IsZero() {
		return nil
	}
	told := &purchaseJSON{Description: p.Description, Metadata: p.Metadata}
	for _, i := range p.Items {
		told.Items = append(told.Items, lineItemJSON{i.Name, i.Numbers().Quantity, i.Price(), i.SKU})
	}
	return told
}

func newShopperJSON(found privacy.ShopperData) shopperJSON {
	told := shopperJSON{Payments: []shopperPaymentJSON{}, Sessions: []shopperSessionJSON{}}
	for _, p := range found.Payments {
		one := shopperPaymentJSON{ID: p.ID, ShopID: p.Shop, Environment: p.Environment(), Status: p.Status, Amount: p.Price.Amount.String(), Paid: p.Price.Local.String(),
			Method: p.Way.Method, Country: p.Way.Country, Order: p.Order.ID, CreatedAt: p.Times.Created.Format(time.RFC3339), Shopper: p.Order.Buyer, Purchase: newPurchaseJSON(p.Order.Purchase), ReturnURL: p.Page.ReturnURL,
			Providers: []string{}, Claims: []shopperClaimJSON{}, Notifications: []toldJSON{}}
		for _, attempt := range p.Attempts {
			if !slices.Contains(one.Providers, attempt.Provider) {
				one.Providers = append(one.Providers, attempt.Provider)
			}
		}
		for _, c := range p.Claims {
			claim := shopperClaimJSON{ID: c.ID, Kind: c.Kind, Reason: c.Reason, Evidence: []evidenceJSON{}, Notes: []string{}}
			for _, step := range c.Timeline {
				if step.Note != "" {
					claim.Notes = append(claim.Notes, step.Note)
				}
			}
			for _, e := range c.Evidence {
				piece := evidenceJSON{ID: e.ID, Kind: e.Kind, Text: e.Text}
				if e.File != nil {
					piece.File, piece.Type = e.File.Name, e.File.Type
				}
				for _, f := range p.Files {
					if f.ID == e.ID {
						piece.Content = f.Content
					}
				}
				claim.Evidence = append(claim.Evidence, piece)
			}
			one.Claims = append(one.Claims, claim)
		}
		for _, n := range p.Receipts {
			one.Notifications = append(one.Notifications, toldJSON{n.Account, n.At.Format(time.RFC3339), string(n.Body)})
		}
		told.Payments = append(told.Payments, one)
	}
	for _, s := range found.Sessions {
		told.Sessions = append(told.Sessions, shopperSessionJSON{s.ID, s.Shop, s.CreatedAt.Format(time.RFC3339), s.Customer, s.IP, s.ReturnURL, newPurchaseJSON(s.Purchase)})
	}
	return told
}

type privacyEraseCmd struct {
	cli.DatabaseFlags
	shopper
	Yes bool `help:"Erase. Without --yes the command only prints what it would erase. Erased data cannot be restored."`
}

func (c *privacyEraseCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.Existing(ctx, log)
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
