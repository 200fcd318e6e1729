package mercadopago

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
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

// Notices reads a notification and queries the payment or the chargeback that it is about.
func (a *account) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	id := n.Query.Get("data.id")
	if !a.signed(n.Header, id) {
		return nil, provider.ErrUnsigned
	}
	var body struct {
		Type text `json:"type"`
		Data struct {
			ID        text `json:"id"`
			PaymentID text `json:"payment_id"`
		} `json:"data"`
	}
	if err := read(n.Body, &body); err != nil {
		return nil, fmt.Errorf("mercadopago notification: %w", err)
	}
	about, known := topics[body.Type]
	if !known {
		a.Strange("topic", string(body.Type))
	}
	if about == alert { // its id is the payment's, and the address may have none
		if id = string(body.Data.PaymentID); !isID(id) {
			return nil, nil
		}
		return a.paymentNotice(ctx, id, n.Body)
	}
	if about == none {
		return nil, nil
	}
	if string(body.Data.ID) != id {
		return nil, errors.New("mercadopago notification: its address and its body name different objects")
	}
	switch {
	case about == ofChargeback && isCase(id):
		return a.chargebackNotices(ctx, id, n.Body)
	case about == ofMoney && isID(id):
		return a.paymentNotice(ctx, id, n.Body)
	case about == ofClaim && isID(id):
		return a.claimNotice(ctx, id, n.Body)
	}
	return nil, errors.New("mercadopago notification: it names no object")
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
	rest := ""
	if request := strings.TrimSpace(h.Get("X-Request-Id")); request != "" {
		rest += "request-id:" + request + ";"
	}
	rest += "ts:" + ts + ";"
	got, err := hex.DecodeString(v1)
	if err != nil || !a.signs(got, strings.ToLower(id), rest) && !a.signs(got, id, rest) {
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

// signs reports whether a signature is that of an id and the rest. The documentation puts ids into lower case; since June 2026
// the SDKs sign them as they are, which differs for those with letters.
func (a *account) signs(signature []byte, id, rest string) bool {
	if id != "" {
		id = "id:" + id + ";"
	}
	mac := hmac.New(sha256.New, a.secret)
	mac.Write([]byte(id + rest))
	return hmac.Equal(signature, mac.Sum(nil))
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
	if !p.paid() {
		// On a page it was only one of several tries.
		n.Outcome = a.byReference(ctx, provider.Request{Reference: n.Reference}, p)
		k, reason := n.Outcome.Kind, n.Outcome.Decline
		n.Unread = reason == inPart
		if k == pay.Unavailable || k == pay.Errored || k == pay.Unknown && reason != unmapped && !n.Unread {
			return nil, provider.ErrUnreachable
		}
		n.ID += "/" + provider.Digest(n.Outcome)
		return withOthers(n, a.refundNotices(funds{p}, body)), nil
	}
	came, lost := a.cameOnPage(ctx, p)
	if lost != nil {
		return nil, provider.ErrUnreachable
	}
	f := came.of(p)
	switch {
	case p.Status == "charged_back" || p.Status == "in_mediation":
		if err := a.contested(ctx, p, f, &n); err != nil {
			return nil, err
		}
	case came.part.has(p.ID): // the rest may follow
		n.Outcome.Kind = pay.Awaiting
	default:
		n.Outcome = a.paidOutcome(f, "")
		n.Outcome.Tries = a.tries(came.rest)
		n.ID += "/" + provider.Digest(n.Outcome) // the state of a refund may change while the payment's stays
	}
	return withOthers(n, a.refundNotices(f, body)), nil
}

// claimNotice is about the payment that a claim is about.
func (a *account) claimNotice(ctx context.Context, id string, body []byte) ([]pay.Notice, error) {
	reply, lost := a.call(ctx, http.MethodGet, "/post-purchase/v1/claims/"+id, nil, "")
	if lost != nil || reply.Status >= http.StatusInternalServerError {
		return nil, provider.ErrUnreachable
	}
	var claim struct {
		Resource   text `json:"resource"`
		ResourceID text `json:"resource_id"`
	}
	if reply.Status != http.StatusOK || read(reply.Body, &claim) != nil || claim.Resource != "payment" || !isID(string(claim.ResourceID)) {
		return nil, nil
	}
	return a.paymentNotice(ctx, string(claim.ResourceID), body)
}

// withOthers is a notice with others, unless it tells nothing: the data to pay with is not a notice's.
func withOthers(n pay.Notice, others []pay.Notice) []pay.Notice {
	if n.Outcome.Kind == pay.Awaiting && len(n.Outcome.Tries) == 0 {
		return others
	}
	return append([]pay.Notice{n}, others...)
}

// cameOnPage is what was paid of the charge of a paid payment: it may be a part, paid by one of several cards. What came by the
// Payments API is one payment. The page has the price.
func (a *account) cameOnPage(ctx context.Context, p payment) (charged, *pay.Outcome) {
	if !p.onPage() {
		return charged{other: []funds{{p}}}, nil
	}
	r := provider.Request{Reference: string(p.ExternalReference)}
	list, lost := a.payments(ctx, r.Reference)
	if lost != nil {
		return charged{}, lost
	}
	list = merged(list, []payment{p})
	page, lost := a.preference(ctx, r)
	if lost != nil && lost.Kind != pay.Missing {
		return charged{}, lost
	}
	came := sorted(list, page.price)
	if last, _ := decisive(list); lost != nil || page.over(a.Now()) && (last.paid() || last.dead()) {
		came.apart()
	}
	return came, nil
}

// unmapped is the reason of an outcome whose status we do not know.
const unmapped = "unknown_status"

// refundNotices are the notices of our ended refunds of a money. Somebody else may have given one a name in the form of ours, so the
// charge is named too.
func (a *account) refundNotices(f funds, body []byte) (list []pay.Notice) {
	for _, back := range f.refunds() {
		reference := string(back.Metadata.Reference)
		if _, _, ours := pay.ParseRefundReference(reference); !ours {
			continue
		}
		o := a.refundOutcome(back, money.Currency(f[0].CurrencyID))
		if o.Kind == pay.Awaiting || o.ProviderRef == "" {
			continue
		}
		id := strings.Join([]string{"refund", o.ProviderRef, string(back.Status)}, "/")
		list = append(list, pay.Notice{ID: id[:min(len(id), 200)], Account: a.ID, Reference: string(f[0].ExternalReference), Refund: reference, Outcome: o, Body: body})
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
