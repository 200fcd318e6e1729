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
	if told.PaymentID != "" {
		return a.after(ctx, told, notice)
	}
	if told.OrderID == "" || provider.Exact(told.OrderID, 64) != told.OrderID {
		return nil, errors.New("dlocal notification: no order id")
	}
	notice.Outcome = a.outcome(provider.Request{Reference: told.OrderID}, told.payment)
	if notice.Outcome.Kind == pay.Awaiting { // it adds nothing to the answer of the call
		return nil, nil
	}
	notice.Unread = notice.Outcome.Kind == pay.Unknown // a state that we do not know
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

// after reads what a notification reports that names its payment: a refund or a chargeback. Both may have the same
// fields and statuses; if neither our reference nor the id, the reason or the status tells them apart, dLocal is asked.
func (a *account) after(ctx context.Context, told news, notice pay.Notice) ([]pay.Notice, error) {
	switch {
	case told.refund().name() != "":
		return a.refundNotice(ctx, told, notice)
	case strings.HasPrefix(told.ID, "CHAR"), told.ReasonCode != "", disputes[told.Status]:
		return a.chargeback(ctx, told, notice)
	case strings.HasPrefix(told.ID, "REF"):
		return a.refundNotice(ctx, told, notice)
	}
	switch _, failed := a.refund(ctx, told.ID); {
	case failed == nil:
		return a.refundNotice(ctx, told, notice)
	case failed.Kind == pay.Missing:
		return a.chargeback(ctx, told, notice)
	}
	return nil, provider.ErrUnreachable
}

// disputes are the statuses that only chargebacks have.
var disputes = map[string]bool{
	"COMPLETED": true, "INQUIRY": true, "DISPUTE_RECEIVED": true, "IN_DISPUTE": true, "DISPUTE_LOST": true, "REVERSAL": true,
}

// refundNotice reports the result of a refund. dLocal does not promise to send all fields:
// if our reference or the amount is missing, we query the refund.
func (a *account) refundNotice(ctx context.Context, told news, notice pay.Notice) ([]pay.Notice, error) {
	f := told.refund()
	if f.name() == "" || f.Amount == "" || f.Currency == "" {
		var failed *pay.Outcome
		f, failed = a.refund(ctx, told.ID)
		switch {
		case failed != nil && failed.Kind == pay.Missing: // dLocal contradicts itself
			return a.puzzling(ctx, told, notice, "refund_not_found")
		case failed != nil:
			return nil, provider.ErrUnreachable
		}
	}
	notice.ID = "refund:" + f.ID + ":" + provider.Exact(f.Status, 32)
	if notice.Reference, notice.Refund = "", f.name(); notice.Refund == "" {
		return a.panelRefund(ctx, f, told.PaymentID, notice)
	}
	// Somebody may have written a text in the form of ours, such as an order's number, so the charge is named too.
	switch p, failed := a.payment(ctx, told.PaymentID); {
	case failed == nil && p.ID == told.PaymentID:
		notice.Reference = p.OrderID
	case failed == nil || failed.Kind != pay.Missing:
		return nil, provider.ErrUnreachable
	}
	if notice.Outcome = a.refunded(f, told.PaymentID); notice.Outcome.Kind == pay.Awaiting {
		return nil, nil
	}
	notice.Unread = notice.Outcome.Kind == pay.Unknown
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
	n.Reference, n.Unread = p.OrderID, a.refunded(f, payment).Kind == pay.Unknown
	n.Outcome = reversed(pay.Outcome{Kind: pay.Approved, ProviderRef: p.ID, MoneyRef: p.ID, Local: local}, list)
	return []pay.Notice{n}, nil
}

// disputed writes the state of a chargeback to n; false if the status does not tell what happens to the money.
func (a *account) disputed(told news, n *pay.Notice) bool {
	n.DisputeID, n.Stage, n.Network = told.ID, provider.Exact(told.Status, 32), provider.Exact(string(told.ReasonCode), 32)
	switch told.Status {
	case "PENDING", "COMPLETED", "SUCCESS": // announced or executed: it may still be contested
		n.Dispute = true
	case "DISPUTE_RECEIVED", "IN_DISPUTE":
		n.Dispute, n.Reviewing = true, true
	case "REVERSAL":
		n.Ruling = pay.DisputeWon
	case "DISPUTE_LOST":
		n.Ruling = pay.DisputeLost
	case "CANCELLED":
		n.Ruling = pay.DisputeWithdrawn
	case "INQUIRY": // the bank asks for documents; for how long and with what effect is not said
		return false
	default:
		a.Strange("chargeback", told.Status)
		return false
	}
	n.Outcome.MoneyRef = told.PaymentID
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

// QueryDispute returns the state of a chargeback. The answer may leave out the payment.
func (a *account) QueryDispute(ctx context.Context, r provider.DisputeRequest) (n pay.Notice, known bool) {
	if !identifier.MatchString(r.ID) {
		return n, false
	}
	reply, failed := a.call(ctx, http.MethodGet, "/chargebacks/"+url.PathEscape(r.ID), "", nil)
	var told news
	if failed != nil || !reply.read(&told) || told.ID != r.ID || told.OrderID != "" && told.OrderID != r.Charge.Reference {
		return n, false
	}
	if told.PaymentID == "" {
		told.PaymentID = r.Charge.ProviderRef
	}
	if r.Charge.ProviderRef != "" && told.PaymentID != r.Charge.ProviderRef {
		return n, false
	}
	n.Reference = r.Charge.Reference
	return n, a.disputed(told, &n)
}

// chargeback reads what the issuer does about a payment. What the status does not tell is for the operator.
func (a *account) chargeback(ctx context.Context, told news, notice pay.Notice) ([]pay.Notice, error) {
	if !a.disputed(told, &notice) {
		return a.puzzling(ctx, told, notice, "unclear_chargeback")
	}
	return a.referred(ctx, told, notice)
}

func (a *account) puzzling(ctx context.Context, told news, notice pay.Notice, reason string) ([]pay.Notice, error) {
	return a.referred(ctx, told, provider.Puzzling(notice, reason))
}

// referred adds our reference to a notice, which may name only the payment.
func (a *account) referred(ctx context.Context, told news, notice pay.Notice) ([]pay.Notice, error) {
	if notice.Reference == "" {
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
