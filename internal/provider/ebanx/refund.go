package ebanx

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refundCode fits our reference into the 20 characters of a merchant_refund_code.
func refundCode(reference string) string {
	if len(reference) <= 20 {
		return reference
	}
	sum := sha256.Sum256([]byte(reference))
	return base32.HexEncoding.EncodeToString(sum[:])[:20]
}

// described begins the description of a refund, which ends with our reference: the code may
// be only a hash of it.
const described = "refund "

// reference is our reference of a refund that we made, or "".
func (r refund) reference() string {
	reference, ours := strings.CutPrefix(r.Text, described)
	if _, _, good := pay.ParseRefundReference(reference); !ours || !good || r.Code != refundCode(reference) {
		return ""
	}
	return reference
}

// reversed adds what went back to the outcome of a paid payment.
func (pa payment) reversed(o pay.Outcome) pay.Outcome {
	var back []pay.ProviderRefund
	for _, f := range pa.Refunds {
		kind := pay.Awaiting
		switch f.Status {
		case "CO":
			kind = pay.Approved
		case "CA":
			kind = pay.Declined
		}
		local, _ := provider.Major(f.Amount.String(), pa.Currency)
		back = append(back, provider.RefundOf(string(f.ID), f.reference(), kind, local))
	}
	return provider.Reversed(o, back, money.Amount{}, false)
}

// panelRefunds identifies the state of the refunds that were not made by our calls, "" if
// there are none; unknown if the state of one is.
func (a *account) panelRefunds(p payment) (state string, unknown bool) {
	var states []string
	for _, f := range p.Refunds {
		if f.reference() == "" {
			states = append(states, string(f.ID)+":"+f.Status)
			unknown = unknown || a.refundOutcome(f, p.Currency).Kind == pay.Unknown
		}
	}
	if len(states) == 0 {
		return "", false
	}
	sum := sha256.Sum256([]byte(strings.Join(states, ",")))
	return base32.HexEncoding.EncodeToString(sum[:])[:20], unknown
}

// Refund refunds a payment unless it finds that it was refunded before: EBANX accepts the
// same code twice.
func (a *account) Refund(ctx context.Context, q provider.RefundRequest) pay.Outcome {
	if !q.Local.IsPositive() {
		return pay.Outcome{Kind: pay.Errored, Decline: "amount_not_accepted"}
	}
	p, failed := a.find(ctx, q.Charge)
	if failed != nil {
		if failed.Kind == pay.Missing {
			return pay.Outcome{Kind: pay.Declined, Decline: "charge_missing", Message: "there is no payment to refund"}
		}
		return pay.Outcome{Kind: pay.Unavailable, Decline: failed.Decline} // no refund was requested yet
	}
	code := refundCode(q.Reference)
	if o, found := a.refunded(p, q); found {
		return o
	}
	got, failed := a.post(ctx, "/ws/refund", map[string]any{
		"operation": "request", "hash": p.Hash, "amount": json.Number(q.Local.Decimal()),
		"merchant_refund_code": code, "description": described + q.Reference,
	})
	switch {
	case failed != nil:
		return *failed
	case got.Status == "ERROR" && strings.HasPrefix(got.Code, "BP-REF") && got.Code != "BP-REF-1": // 1: a parameter is missing
		return pay.Outcome{Kind: pay.Declined, Decline: strings.ToLower(provider.Exact(got.Code, 20)), Message: "the refund was refused"}
	case got.Status == "ERROR":
		return pay.Outcome{Kind: pay.Errored, Decline: strings.ToLower(provider.Exact(got.Code, 20))}
	case !got.good(q.Charge.Reference, p.Hash) || got.Refund.Code != code:
		return provider.Unknown("broken_answer")
	}
	return a.refundOutcome(got.Refund, got.Payment.Currency)
}

// QueryRefund searches its payment's refunds.
func (a *account) QueryRefund(ctx context.Context, q provider.RefundRequest) pay.Outcome {
	p, failed := a.find(ctx, q.Charge)
	if failed != nil {
		return *failed
	}
	o, found := a.refunded(p, q)
	if !found {
		return provider.NoRefund(q, settles)
	}
	return o
}

// refunded is the outcome of a payment's refund with our code or EBANX's id. It returns false if there is no
// sign of it.
func (a *account) refunded(p payment, q provider.RefundRequest) (_ pay.Outcome, found bool) {
	for _, f := range p.Refunds {
		if f.Code == refundCode(q.Reference) || q.RefundRef != "" && string(f.ID) == q.RefundRef {
			return a.refundOutcome(f, p.Currency), true
		}
	}
	return provider.Unknown("refund_not_listed"), q.RefundRef != "" // EBANX gave us its id
}

// refundOutcome is a refund in our terms (guide: Refund a Payment): requested and pending
// first, confirmed when the shopper has the money.
func (a *account) refundOutcome(f refund, currency string) pay.Outcome {
	var local money.Amount
	if back, ok := provider.Major(f.Amount.String(), currency); ok {
		local = back
	}
	o := pay.Outcome{ProviderRef: string(f.ID), Local: local}
	if !identifier.MatchString(o.ProviderRef) {
		return provider.Unknown("broken_answer")
	}
	switch f.Status {
	case "CO":
		o.Kind = pay.Approved
	case "RE", "PE":
		o.Kind = pay.Awaiting
	case "CA":
		o.Kind, o.Decline, o.Message = pay.Declined, "refund_canceled", "the refund was refused"
	default:
		a.Strange("refund", f.Status)
		o.Kind, o.Decline = pay.Unknown, "unmapped_status"
	}
	return o
}
