package view

import (
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// PaymentLink is an address at which shoppers pay a shop (CHK-25).
type PaymentLink struct {
	ID              string            `json:"id" example:"lnk_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status          pay.LinkStatus    `json:"status" enum:"open,used,expired,closed" doc:"used: it was paid as often as it may be. Only an open link can be paid"`
	URL             string            `json:"url" doc:"Send it to the shoppers. Whoever has it can pay"`
	QRCodeImageURL  string            `json:"qrCodeImageUrl" doc:"An SVG image of url, for a poster or a receipt"`
	Amount          *Money            `json:"amount" nullable:"true" doc:"What each shopper pays, in currency; null if the shopper types it"`
	OpenAmount      *OpenAmount       `json:"openAmount" doc:"The bounds of what the shopper types; null if the amount is set"`
	Currency        money.Currency    `json:"currency"`
	Country         *string           `json:"country" doc:"ISO 3166 alpha-3; null offers the methods of every country"`
	MerchantOrderID *string           `json:"merchantOrderId" doc:"Of each of its payments"`
	ReturnURL       *string           `json:"returnUrl" personal:"address"`
	Uses            int               `json:"uses" doc:"How many payments may be paid"`
	Paid            int               `json:"paid" doc:"How many are"`
	ExpiresAt       Time              `json:"expiresAt" doc:"Nobody can begin to pay from then on"`
	ClosedAt        *Time             `json:"closedAt" nullable:"true" doc:"When the shop closed it"`
	Description     string            `json:"description,omitempty" doc:"Shown to the shopper" personal:"text"`
	Metadata        map[string]string `json:"metadata,omitempty" doc:"Of each of its payments" personal:"pairs"`
	LineItems       []LineItem        `json:"lineItems,omitempty" doc:"Shown to the shopper"`
	MerchantID      string            `json:"merchantId"`
	ShopID          string            `json:"shopId"`
	CreatedAt       Time              `json:"createdAt"`
	UpdatedAt       Time              `json:"updatedAt"`
	TransactionID   string            `json:"transactionId,omitempty" doc:"In payment_link.paid only: the payment"`
}

// OpenAmount is the bounds of an amount that the shopper types.
type OpenAmount struct {
	Min Money `json:"min"`
	Max Money `json:"max"`
}

// NewPaymentLink shows a payment link as it is at a moment. checkoutURL is the service's address for shoppers.
func NewPaymentLink(l pay.PaymentLink, now time.Time, checkoutURL string) PaymentLink {
	url := PaymentLinkURL(checkoutURL, l.ID)
	v := PaymentLink{
		ID: l.ID, Status: l.Status(now), URL: url, QRCodeImageURL: url + "/qr.svg", Currency: l.Currency(), Country: text(l.Country), MerchantOrderID: text(l.OrderID),
		ReturnURL: text(l.ReturnURL), Uses: l.Uses, Paid: l.Paid, ExpiresAt: Time{l.Expires}, ClosedAt: at(l.Closed), Description: l.Purchase.Description,
		Metadata: l.Purchase.Metadata, LineItems: newLineItems(l.Purchase.Items), MerchantID: l.Merchant, ShopID: l.Shop, CreatedAt: Time{l.CreatedAt}, UpdatedAt: Time{l.UpdatedAt},
	}
	if l.Free() {
		v.OpenAmount = &OpenAmount{Money{l.Least}, Money{l.Most}}
	} else {
		v.Amount = &Money{l.Amount}
	}
	return v
}

// PaymentLinkURL is the page of a payment link.
func PaymentLinkURL(base, id string) string { return base + "/l/" + id }
