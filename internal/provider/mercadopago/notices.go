package mercadopago

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// How old a notification may be, and how far ahead its clock.
const (
	maxAge  = 5 * day
	maxLead = 5 * time.Minute
)

// Notices reads a notification and queries the payment that it names.
func (a *account) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	id := n.Query.Get("data.id")
	if !a.signed(n.Header, id) {
		return nil, provider.ErrUnsigned
	}
	var body struct {
		Type text `json:"type"`
		Data struct {
			ID text `json:"id"`
		} `json:"data"`
	}
	if err := read(n.Body, &body); err != nil {
		return nil, fmt.Errorf("mercadopago notification: %w", err)
	}
	if !provider.Digits(id, 1, 30) || string(body.Data.ID) != id {
		return nil, errors.New("mercadopago notification: its address and its body name different objects")
	}
	switch body.Type {
	case "payment":
		return a.paymentNotice(ctx, id, n.Body)
	case "topic_chargebacks_wh", "chargebacks":
		return a.chargebackNotices(ctx, id, n.Body)
	}
	return nil, nil // about something else
}

// signed checks the signature over the id, the request's id and the time, without those
// that are missing.
func (a *account) signed(h http.Header, id string) bool {
	var ts, v1 string
	for part := range strings.SplitSeq(h.Get("X-Signature"), ",") {
		key, value, _ := strings.Cut(part, "=")
		switch strings.TrimSpace(key) {
		case "ts":
			ts = strings.TrimSpace(value)
		case "v1":
			v1 = strings.TrimSpace(value)
		}
	}
	manifest := ""
	if id != "" {
		manifest += "id:" + strings.ToLower(id) + ";"
	}
	if request := strings.TrimSpace(h.Get("X-Request-Id")); request != "" {
		manifest += "request-id:" + request + ";"
	}
	manifest += "ts:" + ts + ";"
	mac := hmac.New(sha256.New, a.secret)
	mac.Write([]byte(manifest))
	got, err := hex.DecodeString(v1)
	if err != nil || !hmac.Equal(got, mac.Sum(nil)) {
		return false
	}
	at, err := strconv.ParseInt(ts, 10, 64)
	if err != nil {
		return false
	}
	sent := time.UnixMilli(at)
	if at < 1e11 { // in seconds, until the year 5138
		sent = time.Unix(at, 0)
	}
	age := a.Now().Sub(sent)
	return age <= maxAge && age >= -maxLead
}

func (a *account) paymentNotice(ctx context.Context, id string, body []byte) ([]pay.Notice, error) {
	p, lost := a.payment(ctx, id)
	if lost != nil && lost.Kind == pay.Missing {
		return nil, nil // from Mercado Pago's simulator
	}
	if lost != nil {
		return nil, provider.ErrUnreachable
	}
	n, ours := a.notice(p, body)
	if !ours {
		return nil, nil
	}
	list := a.refundNotices(p, body)
	switch {
	case p.Status == "charged_back" || p.Status == "in_mediation":
		a.contested(p, &n)
	case p.paid():
		n.Outcome = a.outcome(p, "")
	default:
		// On a page it was only one of several tries.
		n.Outcome = a.byReference(ctx, n.Reference, "")
		switch {
		case n.Outcome.Kind == pay.Missing: // the search lags behind the payment
			n.Outcome = a.outcome(p, "")
		case n.Outcome.Kind == pay.Unavailable || n.Outcome.Kind == pay.Errored || n.Outcome.Kind == pay.Unknown && n.Outcome.Decline != unmapped:
			return nil, provider.ErrUnreachable
		}
	}
	if n.Outcome.Kind == pay.Awaiting {
		return list, nil // nothing has changed; the data to pay with is not a notice's
	}
	return append([]pay.Notice{n}, list...), nil
}

// contested writes the state of a disputed payment to n. The chargeback has an id and an
// amount; the payment has neither. It is reported once, however often the payment changes.
func (a *account) contested(p payment, n *pay.Notice) {
	n.Stage = provider.Printable(string(p.Status)+" "+string(p.StatusDetail), 40)
	n.Outcome.Message, n.Outcome.MoneyRef = "the shopper disputes the payment", string(p.ID)
	switch {
	case p.Status == "charged_back" && p.StatusDetail == "settled":
		n.Ruling = pay.DisputeLost
	case p.Status == "charged_back" && p.StatusDetail == "reimbursed":
		n.Ruling = pay.DisputeWon
	default:
		n.Dispute = true
	}
	if p.Status == "charged_back" {
		id := strings.Join([]string{string(p.ID), string(p.Status), string(p.StatusDetail)}, "/")
		n.ID = id[:min(len(id), 200)]
	}
}

// CanQueryDispute implements provider.DisputeQuerier: by the chargeback's id or the payment's.
func (a *account) CanQueryDispute(r provider.DisputeRequest) bool {
	return r.ID != "" || isID(r.Charge.ProviderRef)
}

// QueryDispute returns the state of a dispute: of the chargeback by its id, or of the
// payment if no chargeback was reported. A mediation has no object of its own that can be
// read: the payment is approved again if the seller won it, and refunded if the shopper did.
func (a *account) QueryDispute(ctx context.Context, r provider.DisputeRequest) (n pay.Notice, known bool) {
	n.Reference = r.Charge.Reference
	if r.ID != "" {
		c, err := a.chargeback(ctx, r.ID)
		if err != nil || c == nil {
			return n, false
		}
		return c.notice(n), true
	}
	if !isID(r.Charge.ProviderRef) {
		return n, false
	}
	p, lost := a.payment(ctx, r.Charge.ProviderRef)
	if lost != nil || string(p.ExternalReference) != r.Charge.Reference {
		return n, false
	}
	switch p.Status {
	case "charged_back", "in_mediation":
		a.contested(p, &n)
		return n, true
	case "approved":
		n.Ruling, n.Outcome.Message = pay.DisputeWon, "the dispute was decided for the seller"
	case "refunded":
		n.Ruling, n.Outcome.Message = pay.DisputeLost, "the dispute was decided for the shopper"
	default:
		return n, false
	}
	n.Stage = provider.Printable(string(p.Status)+" "+string(p.StatusDetail), 40)
	return n, true
}

// unmapped is the reason of an outcome whose status we do not know.
const unmapped = "unknown_status"

// refundNotices are the notices of our ended refunds of a payment.
func (a *account) refundNotices(p payment, body []byte) (list []pay.Notice) {
	var refunds []refund
	if len(p.Refunds) == 0 || read(p.Refunds, &refunds) != nil {
		return nil // queries find the result
	}
	for _, back := range refunds {
		reference := string(back.Metadata.Reference)
		if _, _, ours := pay.ParseRefundReference(reference); !ours {
			continue
		}
		o := a.refundOutcome(back, money.Currency(p.CurrencyID))
		if o.Kind == pay.Awaiting || o.ProviderRef == "" {
			continue
		}
		id := strings.Join([]string{"refund", o.ProviderRef, string(back.Status)}, "/")
		list = append(list, pay.Notice{ID: id[:min(len(id), 200)], Account: a.ID, Refund: reference, Outcome: o, Body: body})
	}
	return list
}

// notice begins the notice of a payment; false if we did not make the payment. Its id is
// that of the payment's state: the notification's own differs for each delivery.
func (a *account) notice(p payment, body []byte) (pay.Notice, bool) {
	if _, _, ours := pay.ParseReference(string(p.ExternalReference)); !ours {
		return pay.Notice{}, false
	}
	id := strings.Join([]string{string(p.ID), string(p.Status), string(p.StatusDetail), string(p.DateLastUpdated)}, "/")
	return pay.Notice{ID: id[:min(len(id), 200)], Account: a.ID, Reference: string(p.ExternalReference), Body: body}, true
}

// chargeback is a dispute with a card's issuer.
type chargeback struct {
	ID       text        `json:"id"`
	Payments []text      `json:"payments"`
	Amount   json.Number `json:"amount"`
	Currency text        `json:"currency"`
	Covered  *bool       `json:"coverage_applied"` // the result, once it has ended
	Papers   text        `json:"documentation_status"`
	Deadline text        `json:"date_documentation_deadline"`
	Updated  text        `json:"date_last_updated"`
}

// maxDisputed bounds the payments of one chargeback.
const maxDisputed = 10

// chargeback reads a chargeback; nil if there is none.
func (a *account) chargeback(ctx context.Context, id string) (*chargeback, error) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/chargebacks/"+url.PathEscape(id), nil, "")
	if lost != nil || reply.Status != http.StatusOK && reply.Status != http.StatusNotFound {
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

func (a *account) chargebackNotices(ctx context.Context, id string, body []byte) ([]pay.Notice, error) {
	c, err := a.chargeback(ctx, id)
	if c == nil || err != nil {
		return nil, err
	}
	var list []pay.Notice
	for _, of := range c.Payments {
		if !isID(string(of)) {
			continue
		}
		p, lost := a.payment(ctx, string(of))
		if lost != nil && lost.Kind == pay.Missing {
			continue
		}
		if lost != nil {
			return nil, provider.ErrUnreachable
		}
		if n, ours := a.notice(p, body); ours {
			list = append(list, c.notice(n))
		}
	}
	return list, nil
}

// notice turns a notice of the payment into one of its dispute.
func (c chargeback) notice(n pay.Notice) pay.Notice {
	state := "open"
	n.DisputeID, n.Stage = string(c.ID), provider.Printable(string(c.Papers), 40)
	if len(c.Payments) == 1 { // with several payments, the shares are not known
		n.Outcome.Local, _ = provider.Major(c.Amount.String(), string(c.Currency))
	}
	switch {
	case c.Covered == nil:
		n.Dispute, n.Outcome.Message = true, "the card's issuer took the money back"
		n.Reviewing = c.Papers == "review_pending"
		if t, err := time.Parse(time.RFC3339, string(c.Deadline)); err == nil {
			n.RespondBy = t.UTC()
		}
	case *c.Covered:
		state, n.Ruling, n.Outcome.Message = "won", pay.DisputeWon, "the dispute was decided for the seller"
	default:
		state, n.Ruling, n.Outcome.Message = "lost", pay.DisputeLost, "the dispute was decided for the shopper"
	}
	id := strings.Join([]string{"chargeback", string(c.ID), state, n.Reference, string(c.Updated)}, "/")
	n.ID = id[:min(len(id), 200)]
	return n
}
