package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// NewCheckout is the data of a checkout in which the customer chooses the method. To choose
// it yourself call CreatePayment with HostedCheckout.
type NewCheckout struct {
	Amount          Decimal           `json:"amount"`             // in Currency
	Currency        string            `json:"currency,omitempty"` // ISO 4217, "" for USD
	Country         string            `json:"country,omitempty"`  // "" offers the methods of every country
	Customer        Customer          `json:"customer"`
	MerchantOrderID string            `json:"merchantOrderId,omitempty"`
	ReturnURL       string            `json:"returnUrl,omitempty"` // where the customer returns at the end
	MerchantID      string            `json:"merchantId,omitempty"`
	ShopID          string            `json:"shopId,omitempty"`       // if the credentials are for several shops
	Installments    *InstallmentTerms `json:"installments,omitempty"` // nil: the merchant's terms
	Purchase

	// IdempotencyKey makes it safe to send the same checkout again: a repeat gets
	// the first reply, with the same token.
	IdempotencyKey string `json:"-"`
	// Strict makes the sandbox refuse what production refuses, or not; nil keeps the sandbox's
	// setting.
	Strict *bool `json:"-"`
}

// Customer is the person who pays. In a session all fields except the document are required.
type Customer struct {
	FirstName  string `json:"firstName"`
	LastName   string `json:"lastName"`
	Email      string `json:"email"`
	Phone      string `json:"phone"` // with the country code
	DocumentID string `json:"documentId,omitempty"`
}

// Checkout is an opened session. Send the customer to CheckoutURL. The SessionID is a
// secret: whoever has it may read the session and choose a method.
type Checkout struct {
	SessionID   string    `json:"sessionId"` // cs_…
	CheckoutURL string    `json:"checkoutUrl"`
	Status      string    `json:"status"` // awaiting_method
	Amount      Decimal   `json:"amount"`
	Currency    string    `json:"currency"`
	Country     string    `json:"country"`
	ExpiresAt   time.Time `json:"expiresAt"`
	Replayed    bool      `json:"-"` // the reply is from an earlier request with the same key
	Purchase
}

// CheckoutSession is the session of a token.
type CheckoutSession struct {
	Token             string    `json:"token"`
	Status            string    `json:"status"`            // awaiting_method or pending
	TransactionStatus Status    `json:"transactionStatus"` // "" until a method is chosen
	Amount            Decimal   `json:"amount"`
	Currency          string    `json:"currency"`
	Country           string    `json:"country"`
	Customer          Customer  `json:"customer"`
	CustomerIP        string    `json:"customerIp"`
	ReturnURL         string    `json:"returnUrl"`
	ExpiresAt         time.Time `json:"expiresAt"`     // if the token is a transaction's id: until when the customer may pay
	CompletedTxID     string    `json:"completedTxId"` // "" until a method is chosen

	Methods  []SessionMethod `json:"methods"` // what the customer may choose; empty once a method is chosen
	Purchase                 // empty if the token is a transaction's id
}

// SessionMethod is a method that the customer of a session may choose.
type SessionMethod struct {
	PaymentMethodID string  `json:"paymentMethodId"`
	Method          string  `json:"method"`
	MethodLabel     string  `json:"methodLabel"`
	Name            string  `json:"name"`
	Country         string  `json:"country"`     // alpha-2
	CountryISO3     string  `json:"countryIso3"` // alpha-3
	Channel         string  `json:"channel"`     // ONLINE, CASH or CREDIT_CARD
	ImageURL        string  `json:"imageUrl"`
	AmountLocal     Decimal `json:"amountLocal"` // what the customer pays
	CurrencyLocal   string  `json:"currencyLocal"`
	Payable         bool    `json:"payable"`       // false: the method does not accept this amount now
	Limits          *Limit  `json:"limits"`        // of one payment; nil for none
	NeedsDocument   bool    `json:"needsDocument"` // SelectMethod needs Customer.DocumentID
}

// Choice is a customer's choice of a method. Empty fields keep the session's values.
type Choice struct {
	PaymentMethodID string `json:"paymentMethodId"`
	Customer        struct {
		Email      string `json:"email,omitempty"`
		FullName   string `json:"fullName,omitempty"` // or FirstName and LastName
		FirstName  string `json:"firstName,omitempty"`
		LastName   string `json:"lastName,omitempty"`
		Phone      string `json:"phone,omitempty"` // with the country code
		DocumentID string `json:"documentId,omitempty"`
	} `json:"customer"`
}

// Chosen is the transaction of a choice. Send the customer to CheckoutURL.
type Chosen struct {
	SessionID         string `json:"sessionId"`
	TransactionID     string `json:"transactionId"`
	CheckoutURL       string `json:"checkoutUrl"`
	Status            string `json:"status"` // of the session
	TransactionStatus Status `json:"transactionStatus"`
}

// CreateCheckout opens a hosted checkout.
func (c *Client) CreateCheckout(ctx context.Context, n NewCheckout) (Checkout, error) {
	var s Checkout
	header, err := c.do(ctx, request{
		method: http.MethodPost, path: "/checkout/sessions", body: n,
		header: map[string]string{"Idempotency-Key": n.IdempotencyKey, "Sandbox-Strict": yesOrNo(n.Strict)},
	}, &s)
	s.Replayed = header.Get(replayedHeader) == "true"
	return s, err
}

// CheckoutSession reads a session. Its token is the credential. Call this from the
// customer's side: the service counts the caller's address as the customer's.
func (c *Client) CheckoutSession(ctx context.Context, token string) (CheckoutSession, error) {
	var s CheckoutSession
	_, err := c.send(ctx, request{method: http.MethodGet, path: "/checkout/sessions/" + url.PathEscape(token)}, "", &s)
	return s, err
}

// SelectMethod chooses the method of a session, once. A second choice returns an *Error
// whose Details.ExistingTxID is the transaction of the first one.
func (c *Client) SelectMethod(ctx context.Context, token string, choice Choice) (Chosen, error) {
	var made Chosen
	_, err := c.send(ctx, request{method: http.MethodPost, path: "/checkout/sessions/" + url.PathEscape(token) + "/select", body: choice}, "", &made)
	return made, err
}

// ExpireCheckout ends what a customer may still choose through a session, such as one for a cart that has changed: the session, or
// another try after a transaction that was not paid. Doing so twice changes nothing. If a transaction waits or was paid it returns
// an *Error whose Details.ExistingTxID is that one; CancelPayment ends it if it waits.
func (c *Client) ExpireCheckout(ctx context.Context, sessionID string) (EndedCheckout, error) {
	var s EndedCheckout
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/checkout/sessions/" + url.PathEscape(sessionID) + "/expire"}, &s)
	return s, err
}
