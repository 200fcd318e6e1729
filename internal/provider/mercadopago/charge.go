package mercadopago

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

type person struct {
	Email          string          `json:"email,omitempty"`
	FirstName      string          `json:"first_name,omitempty"` // of a payment
	LastName       string          `json:"last_name,omitempty"`
	Name           string          `json:"name,omitempty"` // of a preference
	Surname        string          `json:"surname,omitempty"`
	EntityType     string          `json:"entity_type,omitempty"` // of a transfer
	Identification *identification `json:"identification,omitempty"`
}

type identification struct {
	Type   string `json:"type"`
	Number string `json:"number"`
}

type paymentRequest struct {
	TransactionAmount json.Number `json:"transaction_amount"`
	Description       string      `json:"description"`
	PaymentMethodID   string      `json:"payment_method_id"`
	ExternalReference string      `json:"external_reference"`
	NotificationURL   string      `json:"notification_url,omitempty"`
	DateOfExpiration  string      `json:"date_of_expiration,omitempty"`
	CallbackURL       string      `json:"callback_url,omitempty"`
	Payer             person      `json:"payer"`
}

type item struct {
	ID         string      `json:"id,omitempty"`
	Title      string      `json:"title"`
	Quantity   int         `json:"quantity"`
	CurrencyID string      `json:"currency_id"`
	UnitPrice  json.Number `json:"unit_price"`
}

type named struct {
	ID string `json:"id"`
}

type methods struct {
	ExcludedTypes   []named `json:"excluded_payment_types,omitempty"`
	ExcludedMethods []named `json:"excluded_payment_methods,omitempty"`
	Default         string  `json:"default_payment_method_id,omitempty"`
	Installments    int     `json:"installments,omitempty"` // the most
}

type backURLs struct {
	Success string `json:"success"`
	Pending string `json:"pending"`
	Failure string `json:"failure"`
}

type preferenceRequest struct {
	Items             []item   `json:"items"`
	Payer             person   `json:"payer"`
	ExternalReference string   `json:"external_reference"`
	NotificationURL   string   `json:"notification_url,omitempty"`
	BackURLs          backURLs `json:"back_urls"`
	AutoReturn        string   `json:"auto_return"`
	PaymentMethods    methods  `json:"payment_methods,omitzero"`
	Purpose           string   `json:"purpose,omitempty"`
	Expires           bool     `json:"expires"`
	ExpirationDateTo  string   `json:"expiration_date_to"`
	DateOfExpiration  string   `json:"date_of_expiration,omitempty"`
}

// Accepts implements provider.Accepter.
func (a *account) Accepts(rail string, local money.Amount) bool {
	way, known := railOf(rail)
	return known && way.refusal(local) == ""
}

// refusal is why an amount is refused, or "".
func (r rail) refusal(local money.Amount) string {
	switch {
	case !local.IsPositive():
		return "amount_not_positive"
	case local.Currency != r.currency:
		return "currency_not_served"
	case !whole(local):
		return "amount_not_whole"
	}
	return ""
}

// whole reports whether an amount is one that Mercado Pago accepts in its currency: pesos of Colombia have no centavos there, although
// the currency has. Those of Chile have none at all.
func whole(local money.Amount) bool {
	return local.Currency != money.COP || local.Minor%100 == 0
}

// Charge makes a payment, or a page on which to make one.
func (a *account) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	way, known := railOf(r.Rail)
	switch {
	case !known:
		return pay.Outcome{Kind: pay.Errored, Decline: "rail_not_served"}
	case way.refusal(r.Local) != "":
		return pay.Outcome{Kind: pay.Errored, Decline: way.refusal(r.Local)}
	case r.Buyer.Email == "" && !way.hosted():
		return pay.Outcome{Kind: pay.Errored, Decline: "buyer_email_missing"}
	case way.hosted():
		return a.chargeOnPage(ctx, r, way)
	}
	reply, lost := a.call(ctx, http.MethodPost, "/v1/payments", a.request(r, way), "charge/"+r.Reference)
	if lost != nil {
		return *lost
	}
	p, lost := one(reply)
	if lost != nil {
		return *lost
	}
	if p.ExternalReference != text(r.Reference) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "another_payment"}
	}
	return usable(a.outcome(p, r.PageURL))
}

// usable turns a charge that cannot be paid, because it has neither code nor page, into one
// that is queried again.
func usable(o pay.Outcome) pay.Outcome {
	if o.Kind == pay.Awaiting && o.FormURL == "" {
		o.Kind, o.Decline = pay.Unknown, "no_instructions"
	}
	return o
}

// one reads an answer that is a payment.
func one(reply provider.Reply) (payment, *pay.Outcome) {
	var p payment
	switch {
	case reply.Status != http.StatusOK && reply.Status != http.StatusCreated:
		return p, refused(reply)
	case read(reply.Body, &p) != nil:
		return p, provider.Broken()
	}
	return p, nil
}

func (a *account) request(r provider.Request, way rail) paymentRequest {
	who := buyer(r)
	who.FirstName, who.LastName = provider.Names(provider.Words(r.Buyer.Name, nameMax))
	q := paymentRequest{
		TransactionAmount: json.Number(r.Local.Decimal()), Description: r.Title(titleMax), PaymentMethodID: way.method,
		ExternalReference: r.Reference, NotificationURL: a.notificationURL(), Payer: who,
	}
	now := a.Now()
	switch way.method {
	case "clabe": // it has no documented expiry: we cancel it
		q.Payer.EntityType, q.CallbackURL = "individual", r.BackURL
	case "pix":
		q.DateOfExpiration = within(r.Expires, now.Add(31*time.Minute), now.Add(30*day-time.Hour))
	default:
		q.DateOfExpiration = within(r.Expires, now.Add(day+time.Hour), now.Add(30*day-time.Hour))
	}
	return q
}

const day = 24 * time.Hour

// titleMax is as much as a page shows of what is bought; no document has a limit.
const titleMax = 120

// nameMax is more than a shop can send.
const nameMax = 200

// within writes a time, moved into the range that Mercado Pago allows.
func within(t, low, high time.Time) string {
	if t.Before(low) {
		t = low
	}
	if t.After(high) {
		t = high
	}
	return t.UTC().Format(stamp)
}

// notificationURL asks for signed notifications only.
func (a *account) notificationURL() string {
	if a.NotificationURL == "" {
		return ""
	}
	join := "?"
	if strings.Contains(a.NotificationURL, "?") {
		join = "&"
	}
	return a.NotificationURL + join + "source_news=webhooks"
}

func buyer(r provider.Request) person {
	who := person{Email: r.Buyer.Email}
	if kind, number := document(r); number != "" {
		who.Identification = &identification{kind, number}
	}
	return who
}

// document is the shopper's document with Mercado Pago's type of it. What fits no type of the country is not sent: it would be refused.
// Mexico has no types by the guide; by the OpenAPI document it has RFC and CURP: nothing is sent.
func document(r provider.Request) (kind, number string) {
	kind, number = r.Document()
	switch {
	case kind == "" || r.Country == "MEX":
		return "", ""
	case kind == "CUIL":
		kind = "CUIT"
	case kind == "RUT" && r.Country == "URY", kind == "PP" && r.Country == "COL":
		kind = "Otro"
	case kind == "PP": // Peru has no type for the others
		return "", ""
	}
	return kind, number
}

// chargeOnPage makes a preference, unless there is one. If the search is refused, so is the
// charge: no shopper has seen a page yet.
func (a *account) chargeOnPage(ctx context.Context, r provider.Request, way rail) pay.Outcome {
	if o := a.byReference(ctx, r); o.Kind != pay.Missing {
		return usable(o)
	}
	reply, lost := a.call(ctx, http.MethodPost, "/checkout/preferences", a.page(r, way, r.Expires), "")
	if lost != nil {
		return *lost
	}
	var p preference
	switch {
	case reply.Status != http.StatusOK && reply.Status != http.StatusCreated:
		return *refused(reply)
	case read(reply.Body, &p) != nil:
		return *provider.Broken()
	}
	return p.await()
}

// page is a preference that expires at a time.
func (a *account) page(r provider.Request, way rail, until time.Time) preferenceRequest {
	who := buyer(r)
	who.Name, who.Surname = provider.Names(provider.Words(r.Buyer.Name, nameMax))
	q := preferenceRequest{
		Items:             []item{{r.Reference, r.Title(titleMax), 1, string(r.Local.Currency), json.Number(r.Local.Decimal())}},
		Payer:             who,
		ExternalReference: r.Reference, NotificationURL: a.notificationURL(),
		BackURLs: backURLs{r.BackURL, r.BackURL, r.BackURL}, AutoReturn: "approved",
		Expires: true, ExpirationDateTo: until.UTC().Format(stamp),
		PaymentMethods: methods{Default: way.page.first},
	}
	if way.cards() {
		q.PaymentMethods.Installments = max(1, a.Installments(r.Rail, r.Local, r.Installments).Max())
	}
	for _, id := range way.page.without {
		q.PaymentMethods.ExcludedTypes = append(q.PaymentMethods.ExcludedTypes, named{id})
	}
	for _, id := range way.page.but {
		q.PaymentMethods.ExcludedMethods = append(q.PaymentMethods.ExcludedMethods, named{id})
	}
	if way.page.wallet {
		q.Purpose = "wallet_purchase"
	}
	if r.Rail == "boleto.BRA" {
		now := a.Now()
		q.DateOfExpiration = within(until, now.Add(day+time.Hour), now.Add(30*day-time.Hour))
	}
	return q
}
