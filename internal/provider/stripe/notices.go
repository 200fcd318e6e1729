package stripe

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	signatureHeader = "Stripe-Signature"
	// tolerance is how old a notification may be, as in Stripe's own libraries. When Stripe
	// sends a notification again, it signs it again with the new time.
	tolerance = 5 * time.Minute
	// maxSignatures limits the signatures that are compared. Stripe signs with two secrets
	// while one replaces the other.
	maxSignatures = 16
)

// event is the part of a notification that we read.
type event struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Type    string `json:"type"`
	Created int64  `json:"created"`
	Data    struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// Notices reads an event. An event holds all we need of an intent. A session or a dispute
// may have changed since or lack what we need, so it is queried.
func (p *Provider) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	if err := p.signed(n); err != nil {
		return nil, err
	}
	var e event
	if err := json.Unmarshal(n.Body, &e); err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	if e.Object != "event" || !id(e.ID) {
		return nil, errors.New("it is not an event")
	}
	notice := pay.Notice{ID: e.ID, Account: p.ID, Body: n.Body}
	if tell := events[e.Type].tell; tell != nil {
		return tell(p, ctx, e, notice)
	}
	return nil, nil // about something else
}

// signed checks the header t=…,v1=…: HMAC-SHA-256 of the time, a dot and the
// body as it came.
func (p *Provider) signed(n provider.Notification) error {
	var at string
	var signatures [][]byte
	for _, part := range strings.Split(n.Header.Get(signatureHeader), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "t":
			at = value
		case name == "v1" && len(signatures) < maxSignatures:
			if mac, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, mac)
			}
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || len(signatures) == 0 {
		return provider.ErrUnsigned
	}
	mac := hmac.New(sha256.New, p.secret)
	mac.Write([]byte(at + "."))
	mac.Write(n.Body)
	want := mac.Sum(nil)
	if !slices.ContainsFunc(signatures, func(got []byte) bool { return hmac.Equal(got, want) }) {
		return provider.ErrUnsigned
	}
	if p.Now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return fmt.Errorf("%w: it is too old", provider.ErrUnsigned)
	}
	return nil
}

// intentNotice reports an intent. A failure on the hosted page is a try: the shopper may try again there until the session expires.
func (p *Provider) intentNotice(_ context.Context, e event, n pay.Notice) ([]pay.Notice, error) {
	var i intent
	if err := json.Unmarshal(e.Data.Object, &i); err != nil {
		return nil, fmt.Errorf("read the payment of an event: %w", err)
	}
	hosted := i.Metadata[hostedKey] != ""
	if n.Reference = i.reference(); n.Reference == "" {
		return nil, nil
	}
	n.Outcome = p.intent(i, provider.Request{})
	if hosted && i.Status != "succeeded" {
		if n.Outcome = (pay.Outcome{Kind: pay.Awaiting, Tries: p.tries(i, e.Created)}); len(n.Outcome.Tries) == 0 {
			return nil, nil
		}
	}
	if hosted {
		n.Outcome.ProviderRef = "" // we query by the session's id
	}
	return chargeNotice(n)
}

// refundNotice reports the result of a refund. A successful refund may fail later: the
// shopper's bank sent it back. A refund without our reference was made at Stripe: it is
// reported with all refunds of its payment.
func (p *Provider) refundNotice(ctx context.Context, e event, n pay.Notice) ([]pay.Notice, error) {
	var made refund
	if err := json.Unmarshal(e.Data.Object, &made); err != nil {
		return nil, fmt.Errorf("read the refund of an event: %w", err)
	}
	if n.Refund = made.reference(); n.Refund == "" {
		return p.panelRefund(ctx, string(made.Intent), n)
	}
	n.Outcome = p.refunded(ctx, made)
	if n.Outcome.Kind == pay.Approved && made.kind() == pay.Declined { // a query tells the operator
		n.Outcome = pay.Outcome{Kind: pay.Unknown, Decline: "refund_" + made.Status, ProviderRef: made.ID}
	}
	return chargeNotice(n)
}

// panelRefund reports the refunds of a payment of which one was made at Stripe.
func (p *Provider) panelRefund(ctx context.Context, of string, n pay.Notice) ([]pay.Notice, error) {
	if !id(of) {
		return nil, nil
	}
	var i intent
	if f := p.get(ctx, "/v1/payment_intents/"+url.PathEscape(of), nil, &i); f != nil {
		return nil, provider.ErrUnreachable
	}
	if n.Reference = i.reference(); n.Reference == "" {
		return nil, nil
	}
	o := p.intent(i, provider.Request{})
	if o.Kind != pay.Approved {
		return nil, nil
	}
	if n.Outcome = p.reversed(ctx, o, i); n.Outcome.Back == nil {
		return nil, provider.ErrUnreachable // the list must have the refund of the event
	}
	if i.Metadata[hostedKey] != "" {
		n.Outcome.ProviderRef = "" // we query by the session's id
	}
	return []pay.Notice{n}, nil
}

func (p *Provider) sessionNotice(ctx context.Context, e event, n pay.Notice) ([]pay.Notice, error) {
	var then session
	if err := json.Unmarshal(e.Data.Object, &then); err != nil {
		return nil, fmt.Errorf("read the session of an event: %w", err)
	}
	if n.Reference = then.reference(); n.Reference == "" {
		return nil, nil
	}
	if !id(then.ID) {
		return nil, errors.New("the event's session has no id")
	}
	s, f := p.loadSession(ctx, then.ID)
	if f != nil || s.reference() != n.Reference {
		return nil, provider.ErrUnreachable
	}
	if s.underway() { // no end yet: a query hears of it
		return nil, nil
	}
	n.Outcome = p.session(s, provider.Request{})
	return chargeNotice(n)
}

// chargeNotice is the notice of a charge that ended, or of a try on its page. It skips a charge that still waits, of which there is no
// other news; a query finds the data to pay with.
func chargeNotice(n pay.Notice) ([]pay.Notice, error) {
	if n.Outcome.Kind == pay.Awaiting && len(n.Outcome.Tries) == 0 {
		return nil, nil
	}
	return []pay.Notice{n}, nil
}
