package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// replayedHeader marks the stored reply to an earlier request.
const replayedHeader = "Idempotency-Replayed"

// Status is the status of a payment.
type Status string

// The statuses. Treat Processing as pending.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Expired    Status = "expired"
	Refunded   Status = "refunded"
	Chargeback Status = "chargeback"
)

// Action is a simulated action on a sandbox payment.
type Action string

// The actions. NewPayment.Simulate accepts all except refunded, Simulate all except
// slow_payment.
const (
	SimulatePaid        Action = "paid"
	SimulateFailed      Action = "failed"
	SimulateExpired     Action = "expired"
	SimulateRefunded    Action = "refunded"
	SimulateChargeback  Action = "chargeback"
	SimulateSlowPayment Action = "slow_payment"
)

// NewPayment is the data of a payment. Only the amount and the method are required; some
// methods need the buyer's document.
type NewPayment struct {
	Amount          Decimal   `json:"amount"`             // in Currency
	Currency        string    `json:"currency,omitempty"` // ISO 4217, "" for USD
	PaymentMethodID string    `json:"paymentMethodId,omitempty"`
	PaymentMethod   string    `json:"paymentMethod,omitempty"` // legacy slug, instead of the id
	Country         string    `json:"country,omitempty"`
	UserEmail       string    `json:"userEmail,omitempty"`
	UserName        string    `json:"userName,omitempty"`
	UserPhone       string    `json:"userPhone,omitempty"` // with the country code
	UserIP          string    `json:"userIp,omitempty"`
	DocumentID      string    `json:"documentId,omitempty"`
	Customer        *Customer `json:"customer,omitempty"` // the shopper, as in a session, instead of UserEmail, UserName, UserPhone and DocumentID
	MerchantOrderID string    `json:"merchantOrderId,omitempty"`
	HostedCheckout  bool      `json:"hostedCheckout,omitempty"` // Payment.CheckoutURL is the page
	ReturnURL       string    `json:"returnUrl,omitempty"`      // with HostedCheckout
	MerchantID      string    `json:"merchantId,omitempty"`     // if the credentials are for several shops
	ShopID          string    `json:"shopId,omitempty"`
	Purchase
	Installments *InstallmentTerms `json:"installments,omitempty"` // nil: the merchant's terms
	Expand       []Expansion       `json:"expand,omitempty"`       // optional parts of the reply

	// IdempotencyKey makes it safe to send the same payment again: a repeat gets
	// the first reply.
	IdempotencyKey string `json:"-"`
	// Simulate decides how a sandbox payment ends.
	Simulate Action `json:"-"`
	// Strict makes the sandbox refuse what production refuses, or not; nil keeps the sandbox's
	// setting.
	Strict *bool `json:"-"`
}

// Purchase is the shop's own description of what is paid for. It comes back wherever the
// object is shown, also in events: put no secrets there.
type Purchase struct {
	Description string            `json:"description,omitempty"` // at most 500 characters
	Metadata    map[string]string `json:"metadata,omitempty"`    // at most 50 keys of 40 characters, values of 500
	LineItems   []LineItem        `json:"lineItems,omitempty"`
}

// LineItem is one item of a purchase.
type LineItem struct {
	Name       string  `json:"name"`
	Quantity   Decimal `json:"quantity"`   // such as "2", or "0.5" of a kilo
	UnitAmount Decimal `json:"unitAmount"` // in the currency of the shop's request; negative for a discount
	SKU        string  `json:"sku,omitempty"`
}

// Expansion is a part of a reply that is empty unless requested.
type Expansion string

// ExpandPaymentData requests Payment.PaymentData from CreatePayment.
const ExpandPaymentData Expansion = "paymentData"

// Payment is a payment, which the API calls a transaction.
type Payment struct {
	ID              string     `json:"id"` // TXN-…
	Status          Status     `json:"status"`
	Amount          Decimal    `json:"amount"`
	Currency        string     `json:"currency"` // USD
	AmountLocal     Decimal    `json:"amountLocal"`
	CurrencyLocal   string     `json:"currencyLocal"`
	PaymentMethodID string     `json:"paymentMethodId"`
	PaymentMethod   string     `json:"paymentMethod"`
	Country         string     `json:"country"` // ISO 3166 alpha-3
	Fees            Fees       `json:"fees"`
	Settlement      Settling   `json:"settlement"`
	PaymentLinkID   string     `json:"paymentLinkId"` // the payment link through which the shopper came
	MerchantOrderID string     `json:"merchantOrderId"`
	Timestamps      Timestamps `json:"timestamps"`

	// The amount of the shop's request, if it was not in USD; else "".
	AmountRequested   Decimal `json:"amountRequested"`
	CurrencyRequested string  `json:"currencyRequested"`
	Purchase

	FxRate         Decimal   `json:"fxRate"`         // local currency for one USD
	PaymentFormURL string    `json:"paymentFormUrl"` // where the shopper pays a direct charge
	CheckoutURL    string    `json:"checkoutUrl"`    // with HostedCheckout
	ExpiresAt      time.Time `json:"expiresAt"`
	Replayed       bool      `json:"-"` // the reply is from an earlier request with the same key

	// CreatePayment does not fill these in. They are empty once the shopper is erased.
	UserName   string `json:"userName"`
	UserEmail  string `json:"userEmail"`
	DocumentID string `json:"documentId"`

	// What the shopper needs to pay. Payments does not fill it in, and CreatePayment only with
	// ExpandPaymentData.
	PaymentData PaymentData `json:"paymentData"`

	// Only CreatePayment does not fill these in.
	RefundedAmountLocal   Decimal       `json:"refundedAmountLocal"`
	RefundableAmountLocal Decimal       `json:"refundableAmountLocal"`
	Failure               *Failure      `json:"failure"`      // nil unless it failed
	Tries                 []Try         `json:"tries"`        // that did not pay, oldest first
	Attention             *Attention    `json:"attention"`    // money that came late or in another amount; nil if there is none
	Disputes              []Dispute     `json:"disputes"`     // oldest first
	Installments          *Installments `json:"installments"` // nil: paid at once, or not known

	Refund *Refund `json:"refund"` // the refund of a payment.refunded event; else nil
}

// Fees is the price of a payment in USD.
type Fees struct {
	Platform Decimal `json:"platform"`
	Provider Decimal `json:"provider"`
	Network  Decimal `json:"network"`
	Tax      Decimal `json:"tax"`        // on the other fees
	TaxName  string  `json:"taxName"`    // such as IVA; "" without a tax, and in a settlement's sums
	TaxRate  Decimal `json:"taxPercent"` // of the other fees
	Total    Decimal `json:"total"`
}

// FeeTax is a tax on fees.
type FeeTax struct {
	Name    string  `json:"name"`    // such as IVA
	Percent Decimal `json:"percent"` // of the fees
	Amount  Decimal `json:"amount"`  // USD
}

// Settling is how and when a payment's money becomes available.
type Settling struct {
	Type    string  `json:"type"`
	Delay   string  `json:"delay"`   // such as 48h
	Status  string  `json:"status"`  // pending, settled or paid
	Reserve Decimal `json:"reserve"` // USD held back; only CreatePayment fills it in
}

// Timestamps are when a payment reached each status; zero if it did not.
type Timestamps struct {
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	Completed  time.Time `json:"completed"`
	Failed     time.Time `json:"failed"`
	Expired    time.Time `json:"expired"`
	Refunded   time.Time `json:"refunded"`
	Chargeback time.Time `json:"chargeback"`
}

// Failure says why a payment failed.
type Failure struct {
	Code        Code   `json:"code"`
	DeclineCode string `json:"declineCode"`
	Message     string `json:"message"`
}

// Installments is how a shopper paid by card in installments.
type Installments struct {
	Count       int     `json:"count"`
	AmountLocal Decimal `json:"amountLocal"` // one installment; "" if not known
	TotalLocal  Decimal `json:"totalLocal"`  // with interest; "" if not known
	PaidBy      string  `json:"paidBy"`      // who bears the interest, merchant or shopper; "" if not known
}

// InstallmentTerms say how a shopper may pay by card in installments. Zero fields leave it to the
// merchant's terms.
type InstallmentTerms struct {
	Max          int     `json:"max,omitempty"`          // the most installments; 1: the shopper pays at once
	InterestFree *int    `json:"interestFree,omitempty"` // up to this number the merchant bears the interest
	Min          Decimal `json:"min,omitempty"`          // the least amount of one, in the currency in which the shopper pays
}

// Try is a try of the shopper that did not pay.
type Try struct {
	At          time.Time `json:"at"`
	Outcome     string    `json:"outcome"` // declined, blocked, authentication_failed, abandoned or error
	Code        Code      `json:"code"`    // as Failure.Code
	DeclineCode string    `json:"declineCode"`
}

// Dispute is a dispute of a payment, as its claim has it.
type Dispute struct {
	ClaimID string      `json:"claimId"` // CLM-…
	Status  ClaimStatus `json:"status"`
	Outcome ClaimStatus `json:"outcome"` // approved, rejected or withdrawn; "" until it is resolved
	Amount  Decimal     `json:"amount"`  // local currency
}

// Attention is money of a payment that came late, twice or in another amount, and is not resolved
// yet. Do not ask the shopper to pay again meanwhile.
type Attention struct {
	Code          AttentionCode `json:"code"`
	AmountLocal   Decimal       `json:"amountLocal"` // the amount that came
	CurrencyLocal string        `json:"currencyLocal"`
	ClaimID       string        `json:"claimId"` // the inquiry about it; "" of an amount in another currency
}

// AttentionCode is the reason of an Attention.
type AttentionCode string

// The codes. There may be new ones: have a default case.
const (
	AttentionLatePayment    AttentionCode = "late_payment"    // it came after the payment had ended
	AttentionPaidTwice      AttentionCode = "paid_twice"      // the payment had been paid before
	AttentionAmountMismatch AttentionCode = "amount_mismatch" // another amount or currency was paid
)

// PaymentData is what the shopper needs to pay. Type tells which fields are
// set: pix, spei, voucher or redirect.
type PaymentData struct {
	Type            string    `json:"type"`
	QRCode          string    `json:"qrCode"`
	QRCodeImageURL  string    `json:"qrCodeImageUrl"`
	CLABE           string    `json:"clabe"`
	BankName        string    `json:"bankName"`
	Beneficiary     string    `json:"beneficiary"`
	Reference       string    `json:"reference"`
	Barcode         string    `json:"barcode"`
	BarcodeImageURL string    `json:"barcodeImageUrl"`
	VoucherURL      string    `json:"voucherUrl"`
	ExpiresAt       time.Time `json:"expiresAt"`
}

// CreatePayment creates a payment. A declined one returns an *Error whose
// Details.TransactionID names the payment.
func (c *Client) CreatePayment(ctx context.Context, n NewPayment) (Payment, error) {
	var reply struct {
		Payment
		TransactionID string `json:"transactionId"` // the other replies call it id
	}
	header, err := c.do(ctx, request{
		method: http.MethodPost, path: "/payments", body: n,
		header: map[string]string{"Idempotency-Key": n.IdempotencyKey, "Sandbox-Simulate": string(n.Simulate), "Sandbox-Strict": yesOrNo(n.Strict)},
	}, &reply)
	reply.ID = reply.TransactionID
	reply.Replayed = header.Get(replayedHeader) == "true"
	return reply.Payment, err
}

// Payment reads a payment.
func (c *Client) Payment(ctx context.Context, id string) (Payment, error) {
	var p Payment
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/payments/" + url.PathEscape(id)}, &p)
	return p, err
}

// CancelPayment cancels a payment while it is pending, and tells its provider to end the
// charge. Canceling a canceled one returns it as it is. The error conflict_state means that
// it is not pending; with Details.Reason outcome_unknown it is not yet known whether it is
// canceled: read it, or call this again.
func (c *Client) CancelPayment(ctx context.Context, id string) (Payment, error) {
	var p Payment
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/payments/" + url.PathEscape(id) + "/cancel"}, &p)
	return p, err
}

// PaymentFilter selects payments; zero fields select all.
type PaymentFilter struct {
	Status          Status
	PaymentMethodID string
	Method          string // slug
	Country         string
	MerchantOrderID string
	Email           string    // the shopper's whole address, in any letter case
	Amount          Decimal   // in Currency
	Currency        string    // ISO 4217, "" for USD; another one searches AmountLocal or AmountRequested
	From, To        time.Time // created at From or later, and before To

	Limit         int    // rows of a page, 1 to 100; 0 means 50
	Offset        int    // rows to skip
	StartingAfter string // instead of Offset: the NextCursor of the page before

	CSVDecimal string // of ExportPayments: "comma" or "point" makes a file for a spreadsheet that writes 1,5 or 1.5
}

func (f PaymentFilter) query() url.Values {
	v := map[string]string{
		"status": string(f.Status), "paymentMethodId": f.PaymentMethodID, "method": f.Method, "country": f.Country,
		"merchantOrderId": f.MerchantOrderID, "from": moment(f.From), "to": moment(f.To), "email": f.Email, "amount": string(f.Amount), "currency": f.Currency,
	}
	addPage(v, Page{f.Limit, f.Offset, f.StartingAfter})
	return values(v)
}

// PaymentPage is one page of payments.
type PaymentPage struct {
	Data       []Payment  `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Payments lists payments, newest first.
func (c *Client) Payments(ctx context.Context, f PaymentFilter) (PaymentPage, error) {
	var page PaymentPage
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/payments", query: f.query()}, &page)
	return page, err
}

// AllPayments iterates over all payments that the filter selects, newest first, one
// page at a time. New payments do not shift the pages. It ends after the first
// error.
//
//	for p, err := range shop.AllPayments(ctx, client.PaymentFilter{Status: client.Completed}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
func (c *Client) AllPayments(ctx context.Context, f PaymentFilter) iter.Seq2[Payment, error] {
	return each(Page{f.Limit, f.Offset, f.StartingAfter}, func(p Page) ([]Payment, Pagination, error) {
		f.Offset, f.StartingAfter = p.Offset, p.StartingAfter
		page, err := c.Payments(ctx, f)
		return page.Data, page.Pagination, err
	})
}

// ExportPayments writes all payments that the filter selects as CSV to a file or a buffer,
// newest first, without keeping them in memory. It ignores Limit and Offset; with StartingAfter it
// begins after that payment. After an error the output is incomplete or empty. If the file takes
// longer than 90 seconds, set your own Config.HTTP.
//
// Errors: rate_limited while other files are being read.
func (c *Client) ExportPayments(ctx context.Context, f PaymentFilter, to io.Writer) error {
	f.Limit, f.Offset = 0, 0
	query := f.query()
	if f.CSVDecimal != "" {
		query.Set("decimal", f.CSVDecimal)
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/payments/export", query: query}, to)
	return err
}

// Simulated is the result of a simulation.
type Simulated struct {
	ID          string      `json:"id"`
	Status      Status      `json:"status"`
	EventsFired []EventType `json:"eventsFired"`
}

// Simulate performs an action on a sandbox payment.
func (c *Client) Simulate(ctx context.Context, id string, action Action) (Simulated, error) {
	var s Simulated
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/payments/" + url.PathEscape(id) + "/simulate", body: map[string]Action{"action": action},
	}, &s)
	return s, err
}
