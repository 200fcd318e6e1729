package dlocal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// order is the request for a payment (reference: Create payment).
type order struct {
	Amount          json.Number `json:"amount"`
	Currency        string      `json:"currency"`
	Country         string      `json:"country"`
	MethodID        string      `json:"payment_method_id"`
	Flow            string      `json:"payment_method_flow"`
	Payer           payer       `json:"payer"`
	OrderID         string      `json:"order_id"`
	Description     string      `json:"description"`
	Risk            risk        `json:"additional_risk_data,omitzero"`
	NotificationURL string      `json:"notification_url,omitempty"`
	CallbackURL     string      `json:"callback_url,omitempty"`
}

type payer struct {
	Name          string `json:"name"`
	Email         string `json:"email"`
	Document      string `json:"document,omitempty"`
	Phone         string `json:"phone,omitempty"`
	UserReference string `json:"user_reference"`
	IP            string `json:"ip,omitempty"`
}

// risk is the data for the prevention of fraud alone.
type risk struct {
	Basket []thing `json:"basket,omitempty"`
}

// thing is one of a basket.
type thing struct {
	Reference string      `json:"item_reference,omitempty"`
	Name      string      `json:"product_name"`
	Quantity  int64       `json:"quantity"`
	UnitPrice json.Number `json:"unit_price"` // in the payment's currency, as in the document's example
}

// longest is the length of the payer's name, and of texts for which no page has a limit.
const longest = 100

// Charge creates a payment. Our reference is its order id, which dLocal accepts once, and
// its idempotency key.
func (a *account) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	m, served := methods[r.Rail]
	switch {
	case !served:
		return pay.Outcome{Kind: pay.Errored, Decline: "rail_not_served"}
	case !a.Accepts(r.Rail, r.Local):
		return pay.Outcome{Kind: pay.Errored, Decline: "amount_not_accepted"}
	case provider.Words(r.Buyer.Name, longest) == "" || r.Buyer.Email == "":
		return pay.Outcome{Kind: pay.Errored, Decline: "buyer_incomplete", Message: "the shopper's name and e-mail address are needed"}
	}
	ask := order{
		Amount: json.Number(r.Local.Decimal()), Currency: string(r.Local.Currency), Country: m.country,
		MethodID: m.id, Flow: "REDIRECT", OrderID: r.Reference, NotificationURL: a.NotificationURL, CallbackURL: r.BackURL,
		Payer:       payer{provider.Words(r.Buyer.Name, longest), r.Buyer.Email, document(r), r.Phone(), r.Shopper(), provider.Exact(r.Buyer.IP, 39)},
		Description: r.Title(longest), Risk: risk{basket(r)},
	}
	// Without the document only dLocal's own page works: it asks for it.
	if m.direct && ask.Payer.Document != "" {
		ask.Flow, ask.CallbackURL = "DIRECT", ""
	}
	reply, failed := a.call(ctx, http.MethodPost, "/payments", r.Reference, ask)
	if failed != nil {
		return *failed
	}
	var p payment
	if !reply.read(&p) {
		return a.refused(ctx, r, reply)
	}
	return a.outcome(r, p)
}

// document is the shopper's document. A CNPJ with letters is not sent: the document's form in Brazil is digits (country reference), and no page has
// another one.
func document(r provider.Request) string {
	kind, number := r.Document()
	if letters, _ := provider.CNPJ(number); kind == "CNPJ" && letters || len(number) > 30 {
		return ""
	}
	return number
}

// basket is what is bought; nothing if a price is not one that dLocal takes in its currency.
func basket(r provider.Request) (list []thing) {
	for _, item := range r.Items() {
		if item.Unit.IsPositive() && !sendable(item.Unit) {
			return nil
		}
		list = append(list, thing{
			Reference: provider.Words(item.SKU, longest), Name: provider.Words(item.Name, longest), Quantity: item.Quantity, UnitPrice: json.Number(item.Unit.Decimal()),
		})
	}
	return list
}

// Accepts implements provider.Accepter.
func (a *account) Accepts(rail string, local money.Amount) bool {
	_, served := methods[rail]
	return served && sendable(local)
}

// refused is the outcome of an answer that is not a payment (reference: Payments HTTP
// Errors).
func (a *account) refused(ctx context.Context, r provider.Request, reply reply) pay.Outcome {
	if reply.Status < http.StatusBadRequest {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	if reply.Status != http.StatusBadRequest { // whatever its code
		return provider.Refused(reply.Status)
	}
	switch code := reply.code(); code {
	case 5005, 5006, 5014:
		return a.Declined(declines, strconv.Itoa(code), "")
	case 5009:
		// Ours, from a call whose answer was lost.
		if o := a.Query(ctx, r); o.Kind != pay.Missing {
			return o
		}
		return pay.Outcome{Kind: pay.Unknown, Decline: "duplicate_order"}
	case 5010: // a time-out, or a method that is not available
		return provider.Unknown("timeout_or_method")
	case 5021: // of the acquirer
		return provider.Unknown("acquirer_error")
	}
	return provider.Refused(reply.Status)
}

// Query reads the payment, by dLocal's id if it is known.
func (a *account) Query(ctx context.Context, r provider.Request) pay.Outcome {
	if r.ProviderRef == "" {
		found, o := a.find(ctx, r)
		if o.Kind != pay.Awaiting {
			return o
		}
		r.ProviderRef = found.ID // an order has no code or address to pay at
	}
	p, failed := a.payment(ctx, r.ProviderRef)
	if failed != nil {
		return *failed
	}
	return a.outcome(r, p)
}

// find reads a payment by our reference (reference: Retrieve an order).
func (a *account) find(ctx context.Context, r provider.Request) (payment, pay.Outcome) {
	reply, failed := a.call(ctx, http.MethodGet, "/orders/"+url.PathEscape(r.Reference), "", nil)
	if failed != nil {
		return payment{}, provider.Unknown(failed.Decline)
	}
	if reply.Status == http.StatusNotFound && reply.code() == 4000 {
		return payment{}, pay.Outcome{Kind: pay.Missing}
	}
	var o struct {
		payment
		PaymentID string `json:"payment_id"`
	}
	if !reply.read(&o) {
		return payment{}, queryFailed(reply)
	}
	o.ID = o.PaymentID
	outcome := a.outcome(r, o.payment)
	if outcome.Kind == pay.Unknown && outcome.ProviderRef == "" { // not the requested order
		return payment{}, outcome
	}
	return o.payment, outcome
}

// payment reads a payment by its id. A 404 proves nothing: dLocal gave us the id, and
// forgets payments after a year.
func (a *account) payment(ctx context.Context, id string) (payment, *pay.Outcome) {
	reply, failed := a.call(ctx, http.MethodGet, "/payments/"+url.PathEscape(id), "", nil)
	if failed != nil {
		o := provider.Unknown(failed.Decline)
		return payment{}, &o
	}
	var p payment
	if !reply.read(&p) {
		o := queryFailed(reply)
		return payment{}, &o
	}
	return p, nil
}

// queryFailed is the outcome of a failed query: it proves nothing.
func queryFailed(reply reply) pay.Outcome {
	if reply.Status < http.StatusBadRequest {
		return provider.Unknown("broken_answer")
	}
	return provider.Unknown(provider.Refused(reply.Status).Decline)
}

// Cancel ends a pending payment. A card page cannot be ended, and neither can a wallet's (Primer and Gr4vy, who
// charge wallets at dLocal: no cancel, no void).
func (a *account) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if r.ProviderRef == "" {
		found, o := a.find(ctx, r)
		if o.Kind != pay.Awaiting {
			return provider.Ended(o)
		}
		r.ProviderRef = found.ID
	}
	if strings.HasPrefix(r.Rail, "card.") || strings.HasPrefix(r.Rail, "wallet.") {
		return provider.RefusedCancel(a.Query(ctx, r))
	}
	reply, failed := a.call(ctx, http.MethodPost, "/payments/"+url.PathEscape(r.ProviderRef)+"/cancel", r.Reference+"-cancel", nil)
	if failed != nil {
		return provider.Unknown(failed.Decline)
	}
	var p payment
	switch {
	case reply.read(&p):
		return provider.Ended(a.outcome(r, p))
	case provider.Refused(reply.Status).Kind == pay.Errored: // it may have ended already
		return provider.RefusedCancel(a.Query(ctx, r))
	}
	return provider.Ended(a.Query(ctx, r))
}

// outcome is a payment in our terms.
func (a *account) outcome(r provider.Request, p payment) pay.Outcome {
	if !identifier.MatchString(p.ID) || p.OrderID != r.Reference {
		return provider.Unknown("broken_answer")
	}
	o := pay.Outcome{ProviderRef: p.ID}
	switch p.Status {
	case "PAID":
		local, ok := provider.Major(p.Amount.String(), p.Currency)
		if !ok {
			return provider.Unknown("broken_answer")
		}
		o.Kind, o.Local, o.FormURL, o.MoneyRef, o.Installments = pay.Approved, local, r.PageURL, p.ID, p.plan()
		if p.Refunds != nil {
			o = reversed(o, *p.Refunds)
		}
	case "PENDING", "AUTHORIZED", "VERIFIED":
		o.Kind = pay.Awaiting
		if p.Code == "101" {
			o.Code = problem.ThreeDSRequired
		}
		o.FormURL, o.Data = form(r, p)
	case "REJECTED":
		code := string(p.Code)
		o = a.Declined(declines, code, p.ID)
		o.Tries = []decline.Try{provider.Try(p.ID, 0, decline.Reason(o.Decline), code)} // it ends the page, so there is one
		return o
	case "CANCELLED", "EXPIRED":
		o.Kind = pay.Lapsed
	default:
		a.Strange("payment", p.Status)
		o.Kind, o.Decline = pay.Unknown, "unmapped_status"
	}
	return o
}

var clabe = regexp.MustCompile(`^[0-9]{18}$`)

// form is where the shopper pays, and the data that our page shows.
func form(r provider.Request, p payment) (string, pay.PaymentData) {
	var d pay.PaymentData
	switch m := methods[r.Rail]; {
	case !m.direct:
	case m.id == "PQ": // its barcode is an image of the code
		d.QRCode = provider.Exact(p.Ticket.Number, 1000)
	case m.id == "SE":
		if clabe.MatchString(p.Transfer.Account) {
			d = pay.PaymentData{
				CLABE: p.Transfer.Account, Bank: provider.Exact(p.Transfer.Bank, 100),
				Beneficiary: provider.Exact(p.Transfer.Beneficiary, 100), Reference: provider.Exact(p.Transfer.Reference, 100),
			}
		}
	default:
		if p.Ticket.Number != "" || p.Ticket.Barcode != "" {
			d = pay.PaymentData{
				Reference: provider.Exact(p.Ticket.Number, 200), Barcode: provider.Exact(p.Ticket.Barcode, 200), Beneficiary: provider.Exact(p.Ticket.Company, 100),
			}
		}
	}
	if d != (pay.PaymentData{}) {
		return r.PageURL, d
	}
	for _, address := range []string{p.Redirect, p.ThreeDS.Redirect, p.Transfer.Redirect, p.Ticket.Image} {
		if address = provider.Link(address); address != "" {
			return address, d
		}
	}
	return r.PageURL, d
}
