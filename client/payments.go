package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// replayedHeader marks the stored reply to an earlier request.
const replayedHeader = "Idempotency-Replayed"

// Status is where a payment stands.
type Status string

// The statuses. Processing is to be treated as pending.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Expired    Status = "expired"
	Refunded   Status = "refunded"
	Chargeback Status = "chargeback"
)

// Action moves a sandbox payment.
type Action string

// The actions. NewPayment.Simulate takes all but refunded, Simulate all but
// slow_payment.
const (
	SimulatePaid        Action = "paid"
	SimulateFailed      Action = "failed"
	SimulateExpired     Action = "expired"
	SimulateRefunded    Action = "refunded"
	SimulateChargeback  Action = "chargeback"
	SimulateSlowPayment Action = "slow_payment"
)

// NewPayment is what a payment is made from. Only the amount and the method
// are needed; some methods need the buyer's document.
type NewPayment struct {
	Amount          Decimal `json:"amount"` // USD
	PaymentMethodID string  `json:"paymentMethodId,omitempty"`
	PaymentMethod   string  `json:"paymentMethod,omitempty"` // legacy slug, in place of the id
	Country         string  `json:"country,omitempty"`
	UserEmail       string  `json:"userEmail,omitempty"`
	UserName        string  `json:"userName,omitempty"`
	UserIP          string  `json:"userIp,omitempty"`
	DocumentID      string  `json:"documentId,omitempty"`
	MerchantOrderID string  `json:"merchantOrderId,omitempty"`
	HostedCheckout  bool    `json:"hostedCheckout,omitempty"` // Payment.CheckoutURL is the page
	ReturnURL       string  `json:"returnUrl,omitempty"`      // with HostedCheckout
	MerchantID      string  `json:"merchantId,omitempty"`     // with credentials of several
	ShopID          string  `json:"shopId,omitempty"`

	// IdempotencyKey makes it safe to send the same payment again: a repeat gets
	// the first reply.
	IdempotencyKey string `json:"-"`
	// Simulate decides how a sandbox payment ends.
	Simulate Action `json:"-"`
	// Strict makes the sandbox refuse what production refuses, or not; nil is as it is set.
	Strict *bool `json:"-"`
}

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
	MerchantOrderID string     `json:"merchantOrderId"`
	Timestamps      Timestamps `json:"timestamps"`

	// Only CreatePayment fills these in.
	FxRate         Decimal   `json:"fxRate"`         // local currency for one USD
	PaymentFormURL string    `json:"paymentFormUrl"` // where the shopper pays
	CheckoutURL    string    `json:"checkoutUrl"`    // with HostedCheckout
	ExpiresAt      time.Time `json:"expiresAt"`
	Replayed       bool      `json:"-"` // an earlier request with the same key made it

	// Only Payment, Payments and events fill these in, Payments no PaymentData.
	PaymentData           PaymentData `json:"paymentData"`
	RefundedAmountLocal   Decimal     `json:"refundedAmountLocal"`
	RefundableAmountLocal Decimal     `json:"refundableAmountLocal"`
	Failure               *Failure    `json:"failure"`   // nil unless it failed
	Attention             *Attention  `json:"attention"` // money that came late or of another amount; nil when there is none

	Refund *Refund `json:"refund"` // the one that payment.refunded tells of; else nil
}

// Fees is the price of a payment in USD.
type Fees struct {
	Platform Decimal `json:"platform"`
	Provider Decimal `json:"provider"`
	Network  Decimal `json:"network"`
	Total    Decimal `json:"total"`
}

// Settling is how and when a payment's money becomes available.
type Settling struct {
	Type    string  `json:"type"`
	Delay   string  `json:"delay"`   // such as 48h
	Status  string  `json:"status"`  // pending, settled or paid
	Reserve Decimal `json:"reserve"` // USD held back; only CreatePayment fills it in
}

// Timestamps says when a payment reached each status; zero if it did not.
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

// Attention is money of a payment that came otherwise than was asked for and waits for
// somebody to deal with it. Do not ask the shopper to pay again meanwhile.
type Attention struct {
	Code          AttentionCode `json:"code"`
	AmountLocal   Decimal       `json:"amountLocal"` // what came
	CurrencyLocal string        `json:"currencyLocal"`
	ClaimID       string        `json:"claimId"` // the inquiry about late money, else ""
}

// AttentionCode says what is the matter.
type AttentionCode string

// The codes. There may be new ones: have a default case.
const (
	AttentionLatePayment    AttentionCode = "late_payment"    // it came after the payment had ended
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

// CreatePayment takes a payment. A declined one is an *Error whose
// Details.TransactionID names the payment.
func (c *Client) CreatePayment(ctx context.Context, n NewPayment) (Payment, error) {
	var reply struct {
		Payment
		TransactionID string `json:"transactionId"` // where the others have id
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

// PaymentFilter selects payments; zero fields select all.
type PaymentFilter struct {
	Status          Status
	PaymentMethodID string
	Method          string // slug
	Country         string
	MerchantOrderID string
	From, To        time.Time // created at From or later, and before To

	Limit         int    // rows of a page, 1 to 100; 0 means 50
	Offset        int    // rows to skip
	StartingAfter string // in place of Offset: the last id of the page before
}

func (f PaymentFilter) query() url.Values {
	v := map[string]string{
		"status": string(f.Status), "paymentMethodId": f.PaymentMethodID, "method": f.Method, "country": f.Country,
		"merchantOrderId": f.MerchantOrderID, "from": moment(f.From), "to": moment(f.To), "starting_after": f.StartingAfter,
	}
	addPage(v, f.Limit, f.Offset)
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

// AllPayments goes through all payments that the filter selects, newest first,
// asking for a page at a time. Payments made meanwhile shift nothing. It ends
// after the first error.
//
//	for p, err := range shop.AllPayments(ctx, client.PaymentFilter{Status: client.Completed}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
func (c *Client) AllPayments(ctx context.Context, f PaymentFilter) iter.Seq2[Payment, error] {
	return func(yield func(Payment, error) bool) {
		for {
			page, err := c.Payments(ctx, f)
			if err != nil {
				yield(Payment{}, err)
				return
			}
			for _, p := range page.Data {
				if !yield(p, nil) {
					return
				}
			}
			// The page's own limit: the service clamps ours.
			if len(page.Data) == 0 || len(page.Data) < page.Pagination.Limit {
				return
			}
			f.StartingAfter, f.Offset = page.Data[len(page.Data)-1].ID, 0
		}
	}
}

// Simulated is what a simulation did.
type Simulated struct {
	ID          string      `json:"id"`
	Status      Status      `json:"status"`
	EventsFired []EventType `json:"eventsFired"`
}

// Simulate moves a sandbox payment.
func (c *Client) Simulate(ctx context.Context, id string, action Action) (Simulated, error) {
	var s Simulated
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/payments/" + url.PathEscape(id) + "/simulate", body: map[string]Action{"action": action},
	}, &s)
	return s, err
}
