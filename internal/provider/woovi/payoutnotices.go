package woovi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// movement is a notification of a payment or of its return. We use it only to learn which
// payment it is about, and for the reason of a failure, which some answers lack.
type movement struct {
	Event   string `json:"event"`
	Payment *struct {
		CorrelationID string `json:"correlationID"`
	} `json:"payment"`
	Error    failure    `json:"error"`
	Refund   *movedBack `json:"refundTransaction"`
	Original *movedBack `json:"originalTransaction"`
}

// failure is why something failed: an object with a code, or a text that begins with one.
type failure struct{ code, text string }

// UnmarshalJSON reads both, and nothing else: the rest of the event counts without it.
func (f *failure) UnmarshalJSON(b []byte) error {
	var object struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(b, &f.text) != nil && json.Unmarshal(b, &object) == nil {
		f.code = object.Code
	}
	return nil
}

// movedBack is the bank's transaction of a return, or of the returned payment.
type movedBack struct {
	transaction
	Value json.Number `json:"value"` // centavos
}

// Notices reads a notification of a payment or of its return. It queries, and never
// approves.
func (p *payer) Notices(ctx context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	if !p.account.signed(n) {
		return nil, provider.ErrUnsigned
	}
	var m movement
	if err := json.Unmarshal(n.Body, &m); err != nil {
		return nil, errors.New("woovi: the notification is not JSON")
	}
	switch name, about := p.account.newsOf(m.Event); {
	case about == ofPayout && m.Payment != nil:
		return p.moved(ctx, m, name, n.Body)
	case about == ofReturn:
		return p.cameBack(ctx, m, n.Body)
	}
	return nil, nil // about something else, or Woovi's test of the address
}

// moved reports a payment that has ended, by the account's own answer.
func (p *payer) moved(ctx context.Context, m movement, name string, body []byte) ([]pay.PayoutNotice, error) {
	reference := provider.Exact(m.Payment.CorrelationID, 128)
	if _, _, ours := pay.ParsePayoutReference(reference); !ours {
		return nil, nil
	}
	answer, failed := p.account.call(ctx, http.MethodGet, "/api/v1/payment/"+escape(reference), nil)
	if failed == nil && answer.Status == http.StatusBadRequest && sentence(answer) != "" {
		if name != "MOVEMENT_REMOVED" || len(p.account.secrets) == 0 {
			return nil, nil // not ours, or not clear: a query finds out
		}
		// Our own webhook says that a person removed it, and it cannot be read any more. Only a
		// payment without approval can be removed.
		o := payouts.Rejected("rejected", "a person removed the payout before it was paid").Outcome()
		return []pay.PayoutNotice{{ID: "payment:" + reference + ":removed", Reference: reference, Outcome: o, Body: body}}, nil
	}
	if failed != nil || !good(answer) {
		return nil, fmt.Errorf("woovi: payment of the notification: %w", provider.ErrUnreachable)
	}
	found, ok := read(answer, reference)
	if !ok {
		return nil, fmt.Errorf("woovi: payment of the notification: %w", provider.ErrUnreachable)
	}
	o := p.outcome(found)
	if code, text := found.why(); found.Payment.Status == "FAILED" && code+text == "" && m.Error != (failure{}) {
		o = p.failed(found.ref(), provider.Exact(m.Error.code, 64), provider.Exact(m.Error.text, 512))
	}
	if o.Kind == pay.PayoutAccepted || o.Kind == pay.PayoutUnknown { // nothing new
		return nil, nil
	}
	return []pay.PayoutNotice{{
		ID: "payment:" + reference + ":" + string(o.Kind), Reference: reference, ProviderRef: o.ProviderRef, Outcome: o, Body: body,
	}}, nil
}

// cameBack reports money that a beneficiary's bank sent back. The event has the bank's
// numbers of the return and of the payment, but not our reference; the account's
// transactions show whether the return arrived, and its amount, which may be a part.
func (p *payer) cameBack(ctx context.Context, m movement, body []byte) ([]pay.PayoutNotice, error) {
	if m.Refund == nil || m.Original == nil || m.Refund.number() == "" || m.Original.number() == "" {
		return nil, nil // Woovi's test of the address
	}
	back, paid := m.Refund.number(), m.Original.number()
	answer, failed := p.account.call(ctx, http.MethodGet, "/api/v1/transaction/"+escape(back), nil)
	if failed == nil && p.account.says(answer, noTransaction) {
		// It is not ours, unless the account has the payment that it returns: then it is not listed yet, and nothing else tells of it.
		if answer, failed = p.account.call(ctx, http.MethodGet, "/api/v1/transaction/"+escape(paid), nil); failed == nil && p.account.says(answer, noTransaction) {
			return nil, nil
		}
		return nil, fmt.Errorf("woovi: return that is not listed yet: %w", provider.ErrUnreachable)
	}
	var reply struct {
		Transaction *movedBack `json:"transaction"`
	}
	if failed != nil || !good(answer) || json.Unmarshal(answer.Body, &reply) != nil || reply.Transaction == nil || reply.Transaction.number() != back {
		return nil, fmt.Errorf("woovi: transaction of the return: %w", provider.ErrUnreachable)
	}
	o := pay.PayoutOutcome{Kind: pay.PayoutReturned, ProviderRef: paid, Code: "returned", Message: "the payout arrived and was sent back", Local: amount(reply.Transaction.Value)}
	switch {
	case o.Local == (money.Amount{}):
		o.Kind, o.Message = pay.PayoutUnknown, unreadable
	case o.Local != amount(m.Original.Value):
		o.Message = "a part of the payout was sent back"
	}
	return []pay.PayoutNotice{{ID: "return:" + back, ProviderRef: paid, Outcome: o, Body: body}}, nil
}
