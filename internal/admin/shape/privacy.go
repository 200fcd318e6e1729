package shape

import (
	"slices"

	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
)

// ShopperData is all personal data of a shopper that is stored.
type ShopperData struct {
	Payments []ShopperPayment `json:"payments"`
	Sessions []ShopperSession `json:"checkoutSessions"`
}

// ShopperPayment is a payment with the data that belongs to it. Amounts are texts with their currency.
type ShopperPayment struct {
	ID            string                `json:"id"`
	ShopID        string                `json:"shopId"`
	Environment   merchants.Environment `json:"environment"`
	Status        pay.Status            `json:"status"`
	Amount        string                `json:"amount"`
	Paid          string                `json:"amountLocal"`
	Method        string                `json:"method"`
	Country       string                `json:"country"`
	Order         string                `json:"merchantOrderId,omitempty"`
	CreatedAt     view.Time             `json:"createdAt"`
	Shopper       pay.Buyer             `json:"shopper"`
	Purchase      *ShopperPurchase      `json:"purchase,omitempty"`
	ReturnURL     string                `json:"returnUrl,omitempty"`
	Providers     []string              `json:"toldTo" doc:"Accounts at providers that got this data"`
	Claims        []ShopperClaim        `json:"claims"`
	Notifications []ShopperNotification `json:"notifications"`
}

// ShopperClaim is a claim with what was said about it.
type ShopperClaim struct {
	ID       string            `json:"id"`
	Kind     pay.ClaimKind     `json:"kind"`
	Reason   string            `json:"reason,omitempty"`
	Evidence []ShopperEvidence `json:"evidence"`
	Notes    []string          `json:"notes"`
}

// ShopperEvidence is a piece of a claim's evidence.
type ShopperEvidence struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Text    string `json:"text,omitempty"`
	File    string `json:"file,omitempty"`
	Type    string `json:"contentType,omitempty"`
	Content []byte `json:"content,omitempty" doc:"In base64"`
}

// ShopperNotification is what a provider reported.
type ShopperNotification struct {
	Account string    `json:"account"`
	At      view.Time `json:"at"`
	Body    string    `json:"body"`
}

// ShopperSession is a checkout without a payment.
type ShopperSession struct {
	ID        string           `json:"id"`
	ShopID    string           `json:"shopId"`
	CreatedAt view.Time        `json:"createdAt"`
	Shopper   pay.Customer     `json:"shopper"`
	IP        string           `json:"ip,omitempty"`
	ReturnURL string           `json:"returnUrl,omitempty"`
	Purchase  *ShopperPurchase `json:"purchase,omitempty"`
}

// ShopperPurchase is what the shop said about the purchase.
type ShopperPurchase struct {
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Items       []ShopperLineItem `json:"lineItems,omitempty"`
}

// ShopperLineItem is a line of a purchase.
type ShopperLineItem struct {
	Name     string `json:"name"`
	Quantity string `json:"quantity"`
	Unit     string `json:"unitAmount"`
	SKU      string `json:"sku,omitempty"`
}

// newShopperPurchase returns nil if the shop sent nothing about the purchase.
func newShopperPurchase(p pay.Purchase) *ShopperPurchase {
	if p.IsZero() {
		return nil
	}
	told := &ShopperPurchase{Description: p.Description, Metadata: p.Metadata}
	for _, i := range p.Items {
		told.Items = append(told.Items, ShopperLineItem{i.Name, i.Numbers().Quantity, i.Price(), i.SKU})
	}
	return told
}

// NewShopperData shows the data of a shopper.
func NewShopperData(found privacy.ShopperData) ShopperData {
	told := ShopperData{Payments: []ShopperPayment{}, Sessions: []ShopperSession{}}
	for _, p := range found.Payments {
		one := ShopperPayment{ID: p.ID, ShopID: p.Shop, Environment: p.Environment(), Status: p.Status, Amount: p.Price.Amount.String(), Paid: p.Price.Local.String(),
			Method: p.Way.Method, Country: p.Way.Country, Order: p.Order.ID, CreatedAt: view.Time{Time: p.Times.Created}, Shopper: p.Order.Buyer, Purchase: newShopperPurchase(p.Order.Purchase), ReturnURL: p.Page.ReturnURL,
			Providers: []string{}, Claims: []ShopperClaim{}, Notifications: []ShopperNotification{}}
		for _, attempt := range p.Attempts {
			if !slices.Contains(one.Providers, attempt.Provider) {
				one.Providers = append(one.Providers, attempt.Provider)
			}
		}
		for _, c := range p.Claims {
			claim := ShopperClaim{ID: c.ID, Kind: c.Kind, Reason: c.Reason, Evidence: []ShopperEvidence{}, Notes: []string{}}
			for _, step := range c.Timeline {
				if step.Note != "" {
					claim.Notes = append(claim.Notes, step.Note)
				}
			}
			for _, e := range c.Evidence {
				piece := ShopperEvidence{ID: e.ID, Kind: e.Kind, Text: e.Text}
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
			one.Notifications = append(one.Notifications, ShopperNotification{n.Account, view.Time{Time: n.At}, string(n.Body)})
		}
		told.Payments = append(told.Payments, one)
	}
	for _, s := range found.Sessions {
		told.Sessions = append(told.Sessions, ShopperSession{s.ID, s.Shop, view.Time{Time: s.CreatedAt}, s.Customer, s.IP, s.ReturnURL, newShopperPurchase(s.Purchase)})
	}
	return told
}

// ErasedShopper says what was erased of a shopper, or would be.
type ErasedShopper struct {
	DryRun       bool              `json:"dryRun" doc:"Nothing was erased"`
	Transactions []string          `json:"transactionIds"`
	Sessions     []string          `json:"checkoutSessionIds"`
	Kept         map[string]string `json:"kept" doc:"Why payments are kept, by their ids: erase them when they have ended"`
}

// NewErasedShopper shows what was erased.
func NewErasedShopper(done privacy.Erased, dry bool) ErasedShopper {
	shown := ErasedShopper{DryRun: dry, Transactions: append([]string{}, done.Payments...), Sessions: append([]string{}, done.Sessions...), Kept: map[string]string{}}
	for id, why := range done.Kept {
		shown.Kept[id] = message.Text(why)
	}
	return shown
}
