package ebanx

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Limits of a notification.
const (
	maxBody   = 64 << 10
	maxHashes = 100
)

// Notices reads a notification: a signed form that names hashes. It queries each payment.
func (a *account) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	if !a.signed(n) {
		return nil, provider.ErrUnsigned
	}
	fields, err := url.ParseQuery(string(n.Body))
	if err != nil {
		return nil, fmt.Errorf("ebanx notification: %w", err)
	}
	kind := fields.Get("notification_type")
	if operation := fields.Get("operation"); operation != "payment_status_change" {
		if fields.Get("hash_codes") == "" { // for example, an enrollment
			return nil, nil
		}
		kind = "of " + operation
	}
	if !slices.Contains([]string{"update", "chargeback", "chargeback_credit", "refund"}, kind) {
		a.Strange("notification", kind)
	}
	hashes := strings.Split(fields.Get("hash_codes"), ",")
	if len(hashes) > maxHashes {
		return nil, errors.New("ebanx notification: too many hashes")
	}
	var list []pay.Notice
	for _, hash := range hashes {
		if !identifier.MatchString(hash) {
			return nil, errors.New("ebanx notification: no hash")
		}
		told, err := a.learn(ctx, kind, hash)
		if err != nil {
			return nil, err
		}
		list = append(list, told...)
	}
	for i := range list {
		list[i].Account, list[i].Body = a.ID, n.Body
	}
	return list, nil
}

// signed checks the RSA signature of the SHA-1 of the raw body.
func (a *account) signed(n provider.Notification) bool {
	if len(n.Body) == 0 || len(n.Body) > maxBody {
		return false
	}
	text := n.Header.Get("X-SignatureContent")
	if text == "" {
		text = n.Header.Get("X-Signature-Content")
	}
	signature, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	digest := sha1.Sum(n.Body)
	return rsa.VerifyPKCS1v15(a.notary, crypto.SHA1, digest[:], signature) == nil
}

// learn queries what a notification is about. A hash that EBANX does not know, or a payment
// that still waits for the shopper, gives no notice. An unknown kind may mean anything.
func (a *account) learn(ctx context.Context, kind, hash string) ([]pay.Notice, error) {
	got, failed := a.post(ctx, "/ws/query", map[string]any{"hash": hash})
	p := got.Payment
	switch {
	case failed != nil:
		return nil, provider.ErrUnreachable
	case got.missing():
		return nil, nil
	case !got.good("", hash) || p.Reference == "" || provider.Exact(p.Reference, 40) != p.Reference:
		return nil, provider.ErrUnreachable
	case kind == "refund" && len(p.Refunds) == 0: // it is not there yet, and nothing else may tell of it
		return nil, provider.ErrUnreachable
	case kind == "refund":
		list := a.refundNotices(p)
		if state, unknown := a.panelRefunds(p); state != "" {
			list = append(list, pay.Notice{
				ID: "refunds:" + hash + ":" + state, Reference: p.Reference, Unread: unknown, Outcome: a.outcome(provider.Request{Reference: p.Reference}, p),
			})
		}
		return list, nil
	}
	notice := pay.Notice{
		ID:        fmt.Sprintf("%s:%s:%s:%s%s", hash, provider.Exact(kind, 32), provider.Exact(p.Status, 8), provider.Exact(p.Amount.String(), 32), provider.Exact(p.Currency, 3)),
		Reference: p.Reference,
	}
	switch kind {
	case "chargeback":
		notice.Stage, notice.Dispute = kind, true
		notice.Outcome = pay.Outcome{MoneyRef: hash, Message: "the shopper disputes the payment"}
	case "chargeback_credit":
		notice.Stage, notice.Ruling = kind, pay.DisputeWon
		notice.Outcome = pay.Outcome{MoneyRef: hash, Message: "the disputed money came back"}
	case "update":
		notice.Outcome = a.outcome(provider.Request{Reference: p.Reference}, p)
		if notice.Outcome.Kind == pay.Awaiting && len(notice.Outcome.Tries) == 0 {
			return nil, nil
		}
		for _, one := range notice.Outcome.Tries {
			notice.ID += ":" + string(one.Reason)
		}
		notice.Unread = notice.Outcome.Kind == pay.Unknown
	default:
		notice = provider.Puzzling(notice, "unknown_notification")
	}
	return []pay.Notice{notice}, nil
}

// refundNotices are the notices of our ended refunds of a payment: the notification does
// not say which one changed.
func (a *account) refundNotices(p payment) (list []pay.Notice) {
	for _, f := range p.Refunds {
		reference := f.reference()
		if reference == "" {
			continue
		}
		o := a.refundOutcome(f, p.Currency)
		if o.Kind == pay.Awaiting || o.ProviderRef == "" {
			continue
		}
		list = append(list, pay.Notice{
			ID: "refund:" + o.ProviderRef + ":" + provider.Exact(f.Status, 8), Refund: reference, Outcome: o, Unread: o.Kind == pay.Unknown,
		})
	}
	return list
}
