package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// NewPaymentLink is the data of a payment link. Set Amount, or OpenAmount if the shopper types it.
type NewPaymentLink struct {
	Amount          Decimal           `json:"amount,omitempty"`     // that each shopper pays, in Currency
	OpenAmount      *OpenAmount       `json:"openAmount,omitempty"` // the bounds of what the shopper types
	Currency        string            `json:"currency,omitempty"`   // ISO 4217, "" for USD
	Country         string            `json:"country,omitempty"`    // "" offers the methods of every country
	MerchantOrderID string            `json:"merchantOrderId,omitempty"`
	ReturnURL       string            `json:"returnUrl,omitempty"`
	Uses            int               `json:"uses,omitempty"`      // how many payments may be paid; 0 for one
	ExpiresAt       *time.Time        `json:"expiresAt,omitempty"` // nil for 30 days
	MerchantID      string            `json:"merchantId,omitempty"`
	ShopID          string            `json:"shopId,omitempty"`       // if the credentials are for several shops
	Installments    *InstallmentTerms `json:"installments,omitempty"` // nil: the merchant's terms
	Purchase

	// IdempotencyKey makes it safe to send the same link again: a repeat gets the link that the first request made.
	IdempotencyKey string `json:"-"`
	// Strict makes the sandbox refuse what production refuses, or not; nil keeps the sandbox's setting.
	Strict *bool `json:"-"`
}

// OpenAmount is the bounds of an amount that the shopper types.
type OpenAmount struct {
	Min Decimal `json:"min"`
	Max Decimal `json:"max"`
}

// PaymentLink is an address at which shoppers pay. Whoever has the URL can pay.
type PaymentLink struct {
	ID              string      `json:"id"`     // lnk_…
	Status          string      `json:"status"` // open, used, expired or closed
	URL             string      `json:"url"`
	QRCodeImageURL  string      `json:"qrCodeImageUrl"` // an SVG image of URL
	Amount          Decimal     `json:"amount"`         // "" if the shopper types it
	OpenAmount      *OpenAmount `json:"openAmount"`     // nil if the amount is set
	Currency        string      `json:"currency"`
	Country         string      `json:"country"` // "" offers the methods of every country
	MerchantOrderID string      `json:"merchantOrderId"`
	ReturnURL       string      `json:"returnUrl"`
	Uses            int         `json:"uses"` // how many payments may be paid
	Paid            int         `json:"paid"` // how many are
	ExpiresAt       time.Time   `json:"expiresAt"`
	ClosedAt        *time.Time  `json:"closedAt"`
	MerchantID      string      `json:"merchantId"`
	ShopID          string      `json:"shopId"`
	CreatedAt       time.Time   `json:"createdAt"`
	UpdatedAt       time.Time   `json:"updatedAt"`
	TransactionID   string      `json:"transactionId"` // in payment_link.paid: the payment
	Replayed        bool        `json:"-"`             // the reply is from an earlier request with the same key
	Purchase
}

// CreatePaymentLink makes a payment link.
func (c *Client) CreatePaymentLink(ctx context.Context, n NewPaymentLink) (PaymentLink, error) {
	var l PaymentLink
	header, err := c.do(ctx, request{
		method: http.MethodPost, path: "/payment-links", body: n,
		header: map[string]string{"Idempotency-Key": n.IdempotencyKey, "Sandbox-Strict": yesOrNo(n.Strict)},
	}, &l)
	l.Replayed = header.Get(replayedHeader) == "true"
	return l, err
}

// PaymentLink reads a payment link.
func (c *Client) PaymentLink(ctx context.Context, id string) (PaymentLink, error) {
	var l PaymentLink
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/payment-links/" + url.PathEscape(id)}, &l)
	return l, err
}

// PaymentLinkPage is one page of payment links.
type PaymentLinkPage struct {
	Data       []PaymentLink `json:"data"`
	Pagination Pagination    `json:"pagination"`
}

// PaymentLinks lists payment links, newest first; status "" selects all.
func (c *Client) PaymentLinks(ctx context.Context, status string, p Page) (PaymentLinkPage, error) {
	query := map[string]string{"status": status}
	addPage(query, p)
	var page PaymentLinkPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/payment-links", query: values(query)}, &page)
	return page, err
}

// PaymentLinkChange is what UpdatePaymentLink changes; zero fields keep the present value.
type PaymentLinkChange struct {
	Status    string     `json:"status,omitempty"` // open or closed
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// UpdatePaymentLink closes a payment link, opens it again, or sets its end. Payments that are under way go on.
func (c *Client) UpdatePaymentLink(ctx context.Context, id string, change PaymentLinkChange) (PaymentLink, error) {
	var l PaymentLink
	_, err := c.do(ctx, request{method: http.MethodPatch, path: "/payment-links/" + url.PathEscape(id), body: change}, &l)
	return l, err
}
