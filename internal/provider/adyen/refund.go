package adyen

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Refund requests a refund. Adyen accepts the request, and reports the result later.
func (p *Provider) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if !p.Refunds(r.Charge.Rail) {
		return pay.Outcome{Kind: pay.Declined, Decline: "refund_not_supported", Message: "payments made with this method cannot be refunded"}
	}
	of := r.Charge.ProviderRef
	if of == "" || strings.HasPrefix(of, "PL") { // the notification of the payment has its reference
		return pay.Outcome{Kind: pay.Unavailable, Decline: "payment_not_told"}
	}
	if scale(r.Local.Currency) == 0 || !r.Local.IsPositive() || r.Local.Minor > largest/100 {
		return pay.Outcome{Kind: pay.Errored, Decline: "invalid_amount"}
	}
	var made struct {
		Ref    string `json:"pspReference"`
		Status string `json:"status"`
	}
	f := p.call(ctx, http.MethodPost, "/payments/"+url.PathEscape(of)+"/refunds", map[string]any{
		"merchantAccount": p.merchant, "reference": r.Reference, "amount": units(r.Local),
	}, r.Reference, &made)
	if f != nil {
		return f.outcome
	}
	o := pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	if !provider.Plain(made.Ref, 64) {
		return o
	}
	o.ProviderRef = made.Ref
	if made.Status != "received" {
		p.Strange("refund", made.Status)
		return o
	}
	o.Kind, o.Decline = pay.Awaiting, ""
	return o
}

// QueryRefund knows no more than the answer to Refund. If there was none, it repeats the
// call: the refund is wanted, and Adyen makes it once as long as it keeps the key. After
// keyLife the result stays unknown.
func (p *Provider) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if r.RefundRef != "" {
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: r.RefundRef}
	}
	if provider.OnlyLooks(ctx) {
		return provider.Unknown("cannot_be_asked")
	}
	if r.Sent.IsZero() || r.Charge.Now.Sub(r.Sent) > keyLife { // Adyen would make a second refund
		return provider.Unknown("too_old_to_ask")
	}
	return p.Refund(ctx, r).AsQueried()
}

// Refunds implements provider.Refunder: Adyen gives no cash back at a shop.
func (*Provider) Refunds(rail string) bool { return rail != "cash.oxxo.MEX" }
