package woovi

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha1" // X-OpenPix-Signature is HMAC-SHA1, which Woovi calls deprecated
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	signatureHeader = "X-Webhook-Signature" // RSA-SHA256 of the body, Base64
	hmacHeader      = "X-Openpix-Signature" // HMAC-SHA1 of the body, Base64
)

// event is a notification. We use it only to learn what it is about.
type event struct {
	Event  string `json:"event"`
	Charge *struct {
		CorrelationID string `json:"correlationID"`
	} `json:"charge"`
	Pix     *transaction `json:"pix"`                 // of a refund: the refund
	Refund  *transaction `json:"refundTransaction"`   // in newer events
	Paid    *transaction `json:"originalTransaction"` // the refunded payment
	Dispute *dispute     `json:"dispute"`
}

// transaction is a transaction of the bank's.
type transaction struct {
	EndToEndID string `json:"endToEndId"`
}

// number is the bank's number of a transaction, or "".
func (t *transaction) number() string {
	if t == nil {
		return ""
	}
	return provider.Exact(t.EndToEndID, 64)
}

// Notices reads a notification of a charge or of a dispute. It queries the state of the
// charge, and the charge of the disputed transaction.
func (c *client) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	if !c.signed(n) {
		return nil, provider.ErrUnsigned
	}
	var e event
	if err := json.Unmarshal(n.Body, &e); err != nil {
		return nil, errors.New("woovi: the notification is not JSON")
	}
	switch name, about := c.newsOf(e.Event); {
	case about == ofCharge && e.Charge != nil:
		return c.charged(ctx, provider.Exact(e.Charge.CorrelationID, 255), n.Body)
	case about == ofDispute && e.Dispute != nil:
		return c.disputed(ctx, *e.Dispute, name, n.Body)
	case about == ofRefunds && e.Refund != nil:
		return c.givenBack(ctx, e.Refund.number(), "", e.Paid.number(), n.Body)
	case about == ofRefunds && e.Charge != nil:
		return c.givenBack(ctx, e.Pix.number(), provider.Exact(e.Charge.CorrelationID, 255), "", n.Body)
	}
	return nil, nil // about something else, or Woovi's test of the address
}

// signed checks the signatures of the raw body.
func (c *client) signed(n provider.Notification) bool {
	if len(n.Body) == 0 {
		return false
	}
	signature, err := base64.StdEncoding.DecodeString(n.Header.Get(signatureHeader))
	if err != nil {
		return false
	}
	sum, known := sha256.Sum256(n.Body), false
	for _, key := range c.keys {
		known = known || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	}
	return known && c.ours(n)
}

// ours checks the signature of our own webhooks, if their secrets are known.
func (c *client) ours(n provider.Notification) bool {
	if len(c.secrets) == 0 {
		return true
	}
	given, err := base64.StdEncoding.DecodeString(n.Header.Get(hmacHeader))
	if err != nil {
		return false
	}
	match := false
	for _, secret := range c.secrets {
		mac := hmac.New(sha1.New, secret)
		mac.Write(n.Body)
		match = hmac.Equal(mac.Sum(nil), given) || match
	}
	return match
}

// charged reports the state of a charge, which the event only names.
func (c *client) charged(ctx context.Context, reference string, body []byte) ([]pay.Notice, error) {
	if reference == "" {
		return nil, errors.New("woovi: the notification names no charge")
	}
	if _, _, ours := pay.ParseReference(reference); !ours { // of a plugin or the panel
		return nil, nil
	}
	o, why := c.read(ctx, provider.Request{Reference: reference})
	switch {
	case o.Kind == pay.Unknown && o.Decline != unmapped, why == odd:
		return nil, fmt.Errorf("woovi: charge of the notification: %w", provider.ErrUnreachable)
	case o.Kind == pay.Missing, o.Kind == pay.Awaiting: // not of this account, or nothing new
		return nil, nil
	}
	n := pay.Notice{ID: "charge:" + reference + ":" + string(o.Kind), Account: c.account.ID, Reference: reference, Outcome: o, Body: body}
	if len(o.Also) > 0 {
		n.ID += fmt.Sprintf(":%d", 1+len(o.Also))
	}
	return []pay.Notice{n}, nil
}

// givenBack reports the results of a charge's refunds. The event has a bank's number of one, and the
// charge's reference or the bank's number of the payment. The charge's own list says which of our
// refunds there are, and their states. It may have other numbers than the event (E… and D…), so all
// that have ended are reported: what is known already changes nothing. A refund that nobody asked us for is told of once, so until the
// list has its end, Woovi has to send the event again.
func (c *client) givenBack(ctx context.Context, refund, reference, paid string, body []byte) (list []pay.Notice, err error) {
	if refund == "" || reference == "" && paid == "" { // Woovi's test of the address
		return nil, nil
	}
	if reference == "" {
		if reference, err = c.referenceOf(ctx, paid); err != nil {
			return nil, err
		}
	}
	if _, _, ours := pay.ParseReference(reference); !ours {
		return nil, nil
	}
	refunds, _, lost := c.refundsOf(ctx, reference)
	if lost != nil {
		return nil, fmt.Errorf("woovi: refund of the notification: %w", provider.ErrUnreachable)
	}
	theirs := 0
	for _, r := range refunds {
		o := c.refunded(r)
		if _, _, ours := pay.ParseRefundReference(r.CorrelationID); !ours { // made in Woovi's panel
			if theirs++; o.Kind == pay.Awaiting || o.Kind == pay.Unknown { // the event may be about this one, and nothing else tells of it
				return nil, fmt.Errorf("woovi: refund of the panel, whose end is not listed yet: %w", provider.ErrUnreachable)
			}
			continue
		}
		if o.Kind != pay.Awaiting { // somebody else may have made one whose name has the form of ours: the charge is named too
			list = append(list, pay.Notice{
				ID: "refund:" + r.CorrelationID + ":" + string(o.Kind), Account: c.account.ID, Reference: reference, Refund: r.CorrelationID, Outcome: o, Body: body,
			})
		}
	}
	switch {
	case theirs == 0 && len(list) > 0:
		return list, nil
	case theirs == 0: // the event may be about one that is not listed yet
		return nil, fmt.Errorf("woovi: refund of the notification, which is not listed: %w", provider.ErrUnreachable)
	}
	o, why := c.read(ctx, provider.Request{Reference: reference})
	if o.Kind == pay.Unknown || why == odd || o.Kind == pay.Approved && o.Back == nil { // the refunds could not be read again
		return nil, fmt.Errorf("woovi: charge of the refund: %w", provider.ErrUnreachable)
	}
	return append(list, pay.Notice{
		ID: "refund:" + refund + ":" + string(o.Kind), Account: c.account.ID, Reference: reference, Outcome: o, Body: body,
	}), nil
}

// referenceOf is our reference of a transaction, "" if it belongs to no charge of this
// account.
func (c *client) referenceOf(ctx context.Context, number string) (string, error) {
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/transaction/"+escape(number), nil)
	if failed == nil && c.says(answer, noTransaction) {
		return "", nil
	}
	var reply struct {
		Transaction *struct {
			Charge *struct {
				CorrelationID string `json:"correlationID"`
			} `json:"charge"`
		} `json:"transaction"`
	}
	if failed != nil || !good(answer) || json.Unmarshal(answer.Body, &reply) != nil || reply.Transaction == nil {
		return "", fmt.Errorf("woovi: transaction of the notification: %w", provider.ErrUnreachable)
	}
	if reply.Transaction.Charge == nil {
		return "", nil
	}
	return provider.Exact(reply.Transaction.Charge.CorrelationID, 255), nil
}
