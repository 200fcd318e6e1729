package dlocal

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// How old a notification may be, and how far its clock may be ahead. dLocal retries for
// four days and six hours, and does not say whether a retry gets a new date. A replay by
// somebody else changes nothing: it has the same contents and so the same id.
const (
	maxAge   = 5 * 24 * time.Hour
	maxAhead = 10 * time.Minute
)

// maxBody is the most bytes that are read of a notification.
const maxBody = 1 << 20

// news is what a notification may report: a payment, a refund or a chargeback. The last two
// name their payment.
type news struct {
	payment
	PaymentID  string        `json:"payment_id"`
	ReasonCode provider.Text `json:"reason_code"`
	Reason     string        `json:"reason_description"`
	Detail     string        `json:"status_detail"`
	RefundName string        `json:"order_refund_id"`
	Text       string        `json:"description"`
}

// Notices reads a notification: a signed payment, refund or chargeback. It has no id of its
// own, so one is made from its contents.
func (a *account) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	if !a.signed(n) {
		return nil, provider.ErrUnsigned
	}
	var told news
	if err := json.Unmarshal(n.Body, &told); err != nil {
		return nil, fmt.Errorf("dlocal notification: %w", err)
	}
	if !identifier.MatchString(told.ID) {
		return nil, errors.New("dlocal notification: no id")
	}
	notice := pay.Notice{
		ID:      fmt.Sprintf("%s:%s:%s:%s%s", told.ID, provider.Exact(told.Status, 32), provider.Exact(string(told.Code), 32), provider.Exact(told.Amount.String(), 32), provider.Exact(told.Currency, 3)),
		Account: a.ID, Reference: told.OrderID, Body: n.Body,
	}
	switch {
	case told.PaymentID != "" && a.ofRefund(told):
		return a.refundNotice(ctx, told, notice)
	case told.PaymentID != "":
		return a.chargeback(ctx, told, notice)
	}
	if told.OrderID == "" || provider.Exact(told.OrderID, 64) != told.OrderID {
		return nil, errors.New("dlocal notification: no order id")
	}
	notice.Outcome = a.outcome(provider.Request{Reference: told.OrderID}, told.payment)
	if notice.Outcome.Kind == pay.Awaiting { // it adds nothing to the answer of the call
		return nil, nil
	}
	return []pay.Notice{notice}, nil
}

// signed checks the signature of the raw body, and then its date.
func (a *account) signed(n provider.Notification) bool {
	given, ok := strings.CutPrefix(n.Header.Get("Authorization"), scheme)
	date := n.Header.Get("X-Date")
	if !ok || date == "" || len(n.Body) == 0 || len(n.Body) > maxBody {
		return false
	}
	if !hmac.Equal([]byte(given), []byte(sign(a.secret, a.login, date, n.Body))) {
		return false
	}
	at, ok := instant(date)
	age := a.Now().Sub(at)
	return ok && age <= maxAge && age >= -maxAhead
}

// refund is the refund that a notification reports.
func (n news) refund() refund {
	return refund{
		ID: n.ID, PaymentID: n.PaymentID, OrderID: n.RefundName, Description: n.Text, Amount: n.Amount, Currency: n.Currency, Status: n.Status,
	}
}

// ofRefund reports whether a notification that names a payment is about a refund and not a
// chargeback: it has our reference, or dLocal's id for a refund.
func (a *account) ofRefund(told news) bool {
	return told.refund().name() != "" || strings.HasPrefix(told.ID, "REF") && told.ReasonCode == ""
}

// refundNotice reports the result of a refund. dLocal does not promise to send all fields:
// if our reference or the amount is missing, we query the refund.
func (a *account) refundNotice(ctx context.Context, told news, notice pay.Notice) ([]pay.Notice, error) {
	f := told.refund()
	if f.name() == "" || f.Amount == "" || f.Currency == "" {
		var failed *pay.Outcome
		f, failed = a.refund(ctx, told.ID)
		switch {
		case failed != nil && failed.Kind == pay.Missing:
			return nil, nil
		case failed != nil:
			return nil, provider.ErrUnreachable
		}
	}
	notice.ID = "refund:" + f.ID + ":" + provider.Exact(f.Status, 32)
	if notice.Reference, notice.Refund = "", f.name(); notice.Refund == "" {
		return a.panelRefund(ctx, f, told.PaymentID, notice)
	}
	if notice.Outcome = a.refunded(f, told.PaymentID); notice.Outcome.Kind == pay.Awaiting {
		return nil, nil
	}
	return []pay.Notice{notice}, nil
}

// panelRefund reports a refund that was not made by our call, with the payment's other
// refunds.
func (a *account) panelRefund(ctx context.Context, f refund, payment string, n pay.Notice) ([]pay.Notice, error) {
	p, failed := a.payment(ctx, payment)
	if failed != nil || p.ID != payment {
		return nil, provider.ErrUnreachable
	}
	local, ok := provider.Major(p.Amount.String(), p.Currency)
	if _, _, ours := pay.ParseReference(p.OrderID); !ours || !ok {
		return nil, nil
	}
	list := []refund{f}
	if p.Refunds != nil {
		for _, other := range *p.Refunds {
			if other.ID != f.ID {
				list = append(list, other)
			}
		}
	}
	n.Reference = p.OrderID
	n.Outcome = reversed(pay.Outcome{Kind: pay.Approved, ProviderRef: p.ID, Local: local}, list)
	return []pay.Notice{n}, nil
}

// disputed writes the state of a chargeback to n; false if it moves no money, or its status
// is unknown.
func (a *account) disputed(told news, n *pay.Notice) bool {
	switch told.Status {
	case "PENDING", "COMPLETED": // announced or executed: it may still be contested
		n.Dispute = true
	case "DISPUTE_RECEIVED", "IN_DISPUTE":
		n.Dispute, n.Reviewing = true, true
	case "REVERSAL":
		n.Ruling = pay.DisputeWon
	case "DISPUTE_LOST":
		n.Ruling = pay.DisputeLost
	case "CANCELLED":
		n.Ruling = pay.DisputeWithdrawn
	case "SUCCESS", "REJECTED", "INQUIRY":
		return false
	default:
		a.Strange("chargeback", told.Status)
		return false
	}
	n.DisputeID, n.Stage, n.Network = told.ID, told.Status, provider.Exact(string(told.ReasonCode), 32)
	n.Outcome.Local, _ = provider.Major(told.Amount.String(), told.Currency)
	if n.Outcome.Message = provider.Exact(told.Reason, 200); n.Outcome.Message == "" {
		n.Outcome.Message = "the shopper disputes the payment"
	}
	return true
}

// CanQueryDispute implements provider.DisputeQuerier: a chargeback has its own id.
func (a *account) CanQueryDispute(r provider.DisputeRequest) bool {
	return identifier.MatchString(r.ID)
}

// QueryDispute returns the state of a chargeback.
func (a *account) QueryDispute(ctx context.Context, r provider.DisputeRequest) (n pay.Notice, known bool) {
	if !identifier.MatchString(r.ID) {
		return n, false
	}
	reply, failed := a.call(ctx, http.MethodGet, "/chargebacks/"+url.PathEscape(r.ID), "", nil)
	var told news
	if failed != nil || !reply.read(&told) || told.ID != r.ID || told.OrderID != "" && told.OrderID != r.Charge.Reference {
		return n, false
	}
	if told.OrderID == "" && told.PaymentID != r.Charge.ProviderRef {
		return n, false
	}
	n.Reference = r.Charge.Reference
	return n, a.disputed(told, &n)
}

// chargeback reads what the issuer does about a payment. dLocal's refunds and chargebacks
// look alike: a notification with no status that only chargebacks have is ignored; another
// one comes when the money moves.
func (a *account) chargeback(ctx context.Context, told news, notice pay.Notice) ([]pay.Notice, error) {
	mine := strings.HasPrefix(told.ID, "CHAR") || told.ReasonCode != ""
	if (told.Status == "PENDING" || told.Status == "CANCELLED") && !mine || !a.disputed(told, &notice) {
		return nil, nil
	}
	if notice.Reference == "" { // older notifications name only the payment
		p, failed := a.payment(ctx, told.PaymentID)
		if failed != nil || p.ID != told.PaymentID {
			return nil, provider.ErrUnreachable
		}
		notice.Reference = p.OrderID
	}
	if notice.Reference == "" || provider.Exact(notice.Reference, 64) != notice.Reference {
		return nil, errors.New("dlocal notification: no order id")
	}
	return []pay.Notice{notice}, nil
}
