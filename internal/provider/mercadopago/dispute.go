package mercadopago

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// chargeback is a dispute with a card's issuer. The reference and the SDKs name some fields differently.
type chargeback struct {
	ID         text        `json:"id"`
	Payments   []ofPayment `json:"payments"`
	PaymentID  text        `json:"payment_id"`
	Amount     json.Number `json:"amount"`
	Currency   text        `json:"currency"`
	CurrencyID text        `json:"currency_id"`
	Covered    decision    `json:"coverage_applied"`
	Papers     text        `json:"documentation_status"`
	Documents  described   `json:"documentation"`
	Deadline   text        `json:"date_documentation_deadline"`
	Updated    text        `json:"date_last_updated"`
}

// described are the descriptions of documents that were sent.
type described []string

// UnmarshalJSON implements json.Unmarshaler. What is no list of documents says nothing of them.
func (d *described) UnmarshalJSON(b []byte) error {
	var list []struct {
		Description text `json:"description"`
	}
	if *d = nil; json.Unmarshal(b, &list) == nil {
		for _, one := range list {
			*d = append(*d, string(one.Description))
		}
	}
	return nil
}

// ofPayment is the id of a payment: a number, a text, or an object that has it.
type ofPayment string

// UnmarshalJSON implements json.Unmarshaler.
func (p *ofPayment) UnmarshalJSON(b []byte) error {
	var id text
	if json.Unmarshal(b, &id) == nil {
		*p = ofPayment(id)
		return nil
	}
	var object struct {
		ID text `json:"id"`
	}
	err := json.Unmarshal(b, &object)
	*p = ofPayment(object.ID)
	return err
}

// decision is a boolean that may be a text, or be missing while nothing is decided.
type decision string

// UnmarshalJSON implements json.Unmarshaler. What is no boolean is no decision.
func (d *decision) UnmarshalJSON(b []byte) error {
	switch word := strings.ToLower(strings.Trim(string(b), `"`)); word {
	case "true", "false":
		*d = decision(word)
	default:
		*d = ""
	}
	return nil
}

// maxDisputed bounds the payments of one chargeback.
const maxDisputed = 10

// payments are the ids of the payments that a chargeback is about.
func (c chargeback) payments() (list []string) {
	for _, id := range c.Payments {
		if isID(string(id)) {
			list = append(list, string(id))
		}
	}
	if len(list) == 0 && isID(string(c.PaymentID)) {
		list = append(list, string(c.PaymentID))
	}
	return list
}

// isCase reports whether s can be the id of a chargeback.
func isCase(s string) bool { return provider.Plain(s, 64) && !strings.ContainsAny(s, "/?#%.") }

// chargeback reads a chargeback; nil if there is none.
//
// Errors: provider.ErrUnreachable.
func (a *account) chargeback(ctx context.Context, id string) (*chargeback, error) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/chargebacks/"+url.PathEscape(id), nil, "")
	if lost != nil || reply.Status != http.StatusOK && !noCase(reply) {
		return nil, provider.ErrUnreachable
	}
	if reply.Status == http.StatusNotFound {
		return nil, nil
	}
	var c chargeback
	if read(reply.Body, &c) != nil || string(c.ID) != id || len(c.Payments) > maxDisputed {
		return nil, provider.ErrUnreachable
	}
	return &c, nil
}

// noCase reports whether an answer proves that there is no such chargeback, in the provider's own words, not a gateway's.
func noCase(reply provider.Reply) bool {
	var e struct {
		Message text `json:"message"`
	}
	return reply.Status == http.StatusNotFound && read(reply.Body, &e) == nil &&
		strings.HasPrefix(string(e.Message), "Case for ") && strings.HasSuffix(string(e.Message), "doesn't exist")
}

// chargebackOf finds the chargeback of a payment; nil if there is none, or if the account may not search. Of several it is the last
// that a search lists, which is not documented: then it is nil too, and their own notifications tell.
//
// Errors: provider.ErrUnreachable.
func (a *account) chargebackOf(ctx context.Context, payment string) (*chargeback, error) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/chargebacks/search?payment_id="+url.QueryEscape(payment), nil, "")
	switch {
	case lost != nil || reply.Status >= http.StatusInternalServerError || reply.Status == http.StatusTooManyRequests:
		return nil, provider.ErrUnreachable
	case reply.Status != http.StatusOK:
		return nil, nil
	}
	var found struct {
		Results []struct {
			ID text `json:"id"`
		} `json:"results"`
	}
	switch {
	case read(reply.Body, &found) != nil:
		return nil, provider.ErrUnreachable
	case len(found.Results) != 1 || !isCase(string(found.Results[0].ID)):
		return nil, nil
	}
	return a.chargeback(ctx, string(found.Results[0].ID))
}

// chargebackNotices are about the payments of a chargeback.
func (a *account) chargebackNotices(ctx context.Context, id string, body []byte) ([]pay.Notice, error) {
	c, err := a.chargeback(ctx, id)
	if c == nil || err != nil {
		return nil, err
	}
	var list []pay.Notice
	for _, of := range c.payments() {
		p, lost := a.payment(ctx, of)
		if lost != nil && lost.Kind == pay.Missing {
			continue
		}
		if lost != nil {
			return nil, provider.ErrUnreachable
		}
		n, ours := a.notice(p, body)
		if !ours {
			continue
		}
		came, lost := a.cameOnPage(ctx, p)
		if lost != nil {
			return nil, provider.ErrUnreachable
		}
		n.Outcome.MoneyRef = came.of(p).ref()
		list = append(list, c.notice(n))
	}
	return list, nil
}

// notice turns a notice of the payment into one of its dispute. Mercado Pago says whether it covers the seller; while it waits for
// documents, or reads them, its "false" is not the end.
func (c chargeback) notice(n pay.Notice) pay.Notice {
	state := "open"
	n.DisputeID, n.Stage = string(c.ID), provider.Printable(string(c.Papers), 40)
	if len(c.payments()) == 1 { // with several payments, the shares are not known
		currency := c.Currency
		if currency == "" {
			currency = c.CurrencyID
		}
		n.Outcome.Local, _ = provider.Major(c.Amount.String(), string(currency))
	}
	open := c.Papers == "pending" || c.Papers == "review_pending"
	n.Dispute, n.Ruling = false, ""
	switch {
	case c.Covered == "true":
		state, n.Ruling, n.Outcome.Message = "won", pay.DisputeWon, "the dispute was decided for the seller"
	case c.Covered == "false" && !open:
		state, n.Ruling, n.Outcome.Message = "lost", pay.DisputeLost, "the dispute was decided for the shopper"
	default:
		n.Dispute, n.Outcome.Message = true, "the card's issuer took the money back"
		n.Reviewing = c.Papers == "review_pending"
		if t, err := time.Parse(time.RFC3339, string(c.Deadline)); err == nil {
			n.RespondBy = t.UTC()
		}
	}
	if n.Stage == "" {
		n.Stage = state
	}
	id := strings.Join([]string{"chargeback", string(c.ID), state, n.Reference, string(c.Updated), string(c.Papers)}, "/")
	n.ID = id[:min(len(id), 200)]
	return n
}

// contested writes the state of a disputed payment to n. A chargeback has an object of its own; a mediation has none that we may
// read. How a payment's chargeback ended is the chargeback's to say: the documents contradict each other about "settled" and
// "reimbursed".
//
// Errors: provider.ErrUnreachable.
func (a *account) contested(ctx context.Context, p payment, f funds, n *pay.Notice) error {
	n.Dispute, n.Stage = true, provider.Printable(string(p.Status)+" "+string(p.StatusDetail), 40)
	n.Outcome.Message, n.Outcome.MoneyRef = "the shopper disputes the payment", f.ref()
	if len(f) > 1 { // it is about a part of the money
		n.Outcome.Local, _ = p.local()
	}
	if p.Status != "charged_back" {
		return nil
	}
	id := strings.Join([]string{string(p.ID), string(p.Status), string(p.StatusDetail)}, "/")
	n.ID = id[:min(len(id), 200)] // once, however often the payment changes
	c, err := a.chargebackOf(ctx, string(p.ID))
	if c != nil {
		*n = c.notice(*n)
	}
	return err
}

// CanQueryDispute implements provider.DisputeQuerier: by the chargeback's id or the payment's.
func (a *account) CanQueryDispute(r provider.DisputeRequest) bool {
	return r.ID != "" || isID(r.Charge.ProviderRef)
}

// QueryDispute returns the state of a dispute: of the chargeback by its id, or of the payment. After a mediation the payment is
// approved if the seller won it, and refunded if the shopper did; but not if Mercado Pago covered a part: then only the account's
// statement shows who paid.
func (a *account) QueryDispute(ctx context.Context, r provider.DisputeRequest) (n pay.Notice, known bool) {
	n.Reference, n.Outcome.MoneyRef = r.Charge.Reference, r.Charge.MoneyRef
	if r.ID != "" {
		if !isCase(r.ID) {
			return n, false
		}
		c, err := a.chargeback(ctx, r.ID)
		if err != nil || c == nil {
			return n, false
		}
		return c.notice(n), true
	}
	if !isID(r.Charge.ProviderRef) {
		return n, false
	}
	f, lost := a.paidFunds(ctx, r.Charge)
	if lost != nil {
		return n, false
	}
	ended := map[pay.Ruling]int{}
	for _, told := range f {
		p, lost := a.payment(ctx, string(told.ID))
		if lost != nil || string(p.ExternalReference) != r.Charge.Reference {
			return n, false
		}
		switch {
		case p.Status == "charged_back", p.Status == "in_mediation":
			return n, a.contested(ctx, p, f, &n) == nil
		case covered[p.StatusDetail]:
			return n, false
		case p.Status == "approved":
			ended[pay.DisputeWon]++
		case p.Status == "refunded":
			ended[pay.DisputeLost]++
		}
		n.Stage = provider.Printable(string(p.Status)+" "+string(p.StatusDetail), 40)
	}
	switch len(f) {
	case ended[pay.DisputeWon]:
		n.Ruling, n.Outcome.Message = pay.DisputeWon, "the dispute was decided for the seller"
	case ended[pay.DisputeLost]:
		n.Ruling, n.Outcome.Message = pay.DisputeLost, "the dispute was decided for the shopper"
	default:
		return n, false
	}
	return n, true
}
