package view

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// SessionCreated is the reply to POST /checkout/sessions, in both modes.
type SessionCreated struct {
	SessionID         string            `json:"sessionId" example:"cs_pJ8cX0aGmQ3vWbq1n7o2d9rYtKfE5hLzUiSxRwBvN4M" doc:"The token; in one-shot mode the transaction's id"`
	CheckoutURL       string            `json:"checkoutUrl" doc:"Send the customer there"`
	PaymentMethodID   *string           `json:"paymentMethodId" doc:"null in selector mode"`
	Status            pay.SessionStatus `json:"status" enum:"awaiting_method,pending" doc:"Of the session: pending says that there is a transaction"`
	TransactionStatus pay.Status        `json:"transactionStatus,omitempty" enum:"pending,processing,completed,failed,expired,refunded,chargeback" doc:"One-shot mode only"`
	Amount            Money             `json:"amount"`
	Currency          money.Currency    `json:"currency"`
	Country           *string           `json:"country" doc:"ISO 3166 alpha-3"`
	AmountLocal       *Money            `json:"amountLocal,omitempty" doc:"One-shot mode only"`
	CurrencyLocal     money.Currency    `json:"currencyLocal,omitempty" doc:"One-shot mode only"`
	FxRate            *Rate             `json:"fxRate,omitempty" doc:"One-shot mode only"`
	ExpiresAt         Time              `json:"expiresAt" doc:"When the token stops working; in one-shot mode, until when the customer may pay"`
	PaymentData       *PaymentData      `json:"paymentData,omitempty" doc:"One-shot mode only, if the request has paymentData in expand"`
	Description       string            `json:"description,omitempty" doc:"As the shop sent it"`
	Metadata          map[string]string `json:"metadata,omitempty" doc:"As the shop sent it"`
	LineItems         []LineItem        `json:"lineItems,omitempty" doc:"As the shop sent them"`
}

// Session is a checkout session as its token shows it (CHK-8).
type Session struct {
	Token             string            `json:"token"`
	Status            pay.SessionStatus `json:"status" enum:"awaiting_method,pending" doc:"Of the session: pending says that there is a transaction"`
	TransactionStatus pay.Status        `json:"transactionStatus,omitempty" enum:"pending,processing,completed,failed,expired,refunded,chargeback" doc:"Of the transaction, once there is one"`
	Amount            Money             `json:"amount"`
	Currency          money.Currency    `json:"currency"`
	Country           *string           `json:"country" doc:"ISO 3166 alpha-3; null offers the methods of every country"`
	Customer          *SessionCustomer  `json:"customer" doc:"null for the session of a transaction"`
	CustomerIP        *string           `json:"customerIp" doc:"Of the customer's latest request before the choice"`
	ReturnURL         *string           `json:"returnUrl"`
	ExpiresAt         Time              `json:"expiresAt" doc:"When the token stops working; for the session of a transaction, until when the customer may pay"`
	CompletedTxID     *string           `json:"completedTxId" doc:"null until a method is chosen"`
	Description       string            `json:"description,omitempty" doc:"As the shop sent it; not for the session of a transaction"`
	Metadata          map[string]string `json:"metadata,omitempty" doc:"As the shop sent it; not for the session of a transaction"`
	LineItems         []LineItem        `json:"lineItems,omitempty" doc:"As the shop sent them; not for the session of a transaction"`
	Methods           []SessionMethod   `json:"methods,omitempty" maxItems:"500" doc:"What the customer may choose, for a shop that draws the choice itself; left out once a method is chosen"`
}

// SessionMethod is a method that the customer of a session may choose.
type SessionMethod struct {
	PaymentMethodID string           `json:"paymentMethodId" doc:"For POST /checkout/sessions/{token}/select"`
	Method          string           `json:"method"`
	MethodLabel     string           `json:"methodLabel"`
	Name            string           `json:"name"`
	Country         string           `json:"country" doc:"ISO 3166 alpha-2"`
	CountryISO3     string           `json:"countryIso3" doc:"ISO 3166 alpha-3"`
	Channel         accounts.Channel `json:"channel" enum:"ONLINE,CASH,CREDIT_CARD"`
	ImageURL        string           `json:"imageUrl,omitempty"`
	AmountLocal     Money            `json:"amountLocal" doc:"What the customer pays"`
	CurrencyLocal   money.Currency   `json:"currencyLocal"`
	Payable         bool             `json:"payable" doc:"false: the method does not accept this amount now"`
	Limits          *Limit           `json:"limits" doc:"Of one payment, in currencyLocal; null if there are none in it"`
	NeedsDocument   bool             `json:"needsDocument" doc:"Whether select needs customer.documentId"`
}

// NewSessionMethod shows a rail to the customer of a session. local is what he would pay.
func NewSessionMethod(r accounts.Rail, alpha2 string, local money.Amount, payable, document bool) SessionMethod {
	m := SessionMethod{
		PaymentMethodID: r.ID, Method: r.Method, MethodLabel: r.Label, Name: r.Name, Country: alpha2, CountryISO3: r.Country, Channel: r.Channel,
		ImageURL: r.ImageURL, AmountLocal: Money{local}, CurrencyLocal: local.Currency, Payable: payable, NeedsDocument: document,
	}
	if l, ok := r.LimitIn(local.Currency); ok {
		m.Limits = &Limit{l.Currency, Money{money.New(l.Min, l.Currency)}, Money{money.New(l.Max, l.Currency)}}
	}
	return m
}

// EndedSession is an expired checkout session without a chosen method.
type EndedSession struct {
	SessionID       string         `json:"sessionId" doc:"The token, which no longer works"`
	Status          string         `json:"status" enum:"expired"`
	Amount          Money          `json:"amount"`
	Currency        money.Currency `json:"currency"`
	Country         *string        `json:"country" doc:"ISO 3166 alpha-3"`
	MerchantOrderID *string        `json:"merchantOrderId"`
	CreatedAt       Time           `json:"createdAt"`
	ExpiresAt       Time           `json:"expiresAt" doc:"When the token stopped working"`
}

// NewEndedSession shows an expired session.
func NewEndedSession(s pay.Session, token string) EndedSession {
	return EndedSession{
		SessionID: token, Status: "expired", Amount: Money{s.Asked}, Currency: s.Asked.Currency, Country: text(s.Country),
		MerchantOrderID: text(s.OrderID), CreatedAt: Time{s.CreatedAt}, ExpiresAt: Time{s.ExpiresAt()},
	}
}

// SessionCustomer is the customer of a session.
type SessionCustomer struct {
	FirstName  string `json:"firstName"`
	LastName   string `json:"lastName"`
	Email      string `json:"email"`
	Phone      string `json:"phone"`
	DocumentID string `json:"documentId,omitempty"`
}

// Selected is the reply to POST /checkout/sessions/{token}/select.
type Selected struct {
	SessionID         string            `json:"sessionId" doc:"The token"`
	TransactionID     string            `json:"transactionId"`
	CheckoutURL       string            `json:"checkoutUrl" doc:"Send the customer there"`
	Status            pay.SessionStatus `json:"status" enum:"pending"`
	TransactionStatus pay.Status        `json:"transactionStatus" enum:"pending,processing,completed"`
}

// NewSessionCreated shows a new session. checkoutURL is the service's address for shoppers.
func NewSessionCreated(s pay.Session, token, checkoutURL string) SessionCreated {
	return SessionCreated{
		SessionID: token, CheckoutURL: SessionURL(checkoutURL, token), Status: pay.AwaitingMethod,
		Amount: Money{s.Asked}, Currency: s.Asked.Currency, Country: text(s.Country), ExpiresAt: Time{s.ExpiresAt()},
		Description: s.Purchase.Description, Metadata: s.Purchase.Metadata, LineItems: newLineItems(s.Purchase.Items),
	}
}

// NewOneShot shows a hosted payment as a one-shot session.
func NewOneShot(p *pay.Payment, checkoutURL, key string) SessionCreated {
	c, asked := NewCreated(p, checkoutURL, key), p.Price.Requested()
	return SessionCreated{
		SessionID: c.TransactionID, CheckoutURL: c.CheckoutURL, PaymentMethodID: &c.PaymentMethodID,
		Status: pay.SessionPending, TransactionStatus: c.Status, Amount: Money{asked}, Currency: asked.Currency, Country: &c.Country,
		AmountLocal: &c.AmountLocal, CurrencyLocal: c.CurrencyLocal, FxRate: &c.FxRate, ExpiresAt: c.ExpiresAt,
		Description: c.Description, Metadata: c.Metadata, LineItems: c.LineItems,
	}
}

// WithData adds what the shopper of a one-shot session needed to pay at its creation.
func (c SessionCreated) WithData(p *pay.Payment, checkoutURL string) SessionCreated {
	d := NewCreated(p, checkoutURL, "").WithData(p, checkoutURL).PaymentData
	c.PaymentData = &d
	return c
}

// NewSession shows a session to a holder of its token, with its payment or nil.
func NewSession(s pay.Session, token string, p *pay.Payment) Session {
	v := Session{
		Token: token, Status: s.Status(), Amount: Money{s.Asked}, Currency: s.Asked.Currency, Country: text(s.Country),
		CustomerIP: text(s.IP), ReturnURL: text(s.ReturnURL), ExpiresAt: Time{s.ExpiresAt()}, CompletedTxID: text(s.Payment),
	}
	v.Description, v.Metadata, v.LineItems = s.Purchase.Description, s.Purchase.Metadata, newLineItems(s.Purchase.Items)
	if c := s.Customer; c != (pay.Customer{}) {
		v.Customer = &SessionCustomer{c.FirstName, c.LastName, c.Email, c.Phone, c.Document}
	}
	if p != nil {
		v.TransactionStatus = p.Status
		if p.ID == token { // the id that the shop received
			v.ExpiresAt = Time{deadline(p)}
		}
	}
	return v
}

// NewSelected shows the choice of a method.
func NewSelected(p *pay.Payment, token, checkoutURL, key string) Selected {
	return Selected{
		SessionID: token, TransactionID: p.ID, CheckoutURL: Keyed(CheckoutURL(checkoutURL, p), key),
		Status: pay.SessionPending, TransactionStatus: p.Status,
	}
}

// SessionURL is the page where a session's customer chooses a method.
func SessionURL(base, token string) string { return base + "/checkout/" + token }
