package mercadopago

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refund is the part of a refund that we read.
type refund struct {
	ID       text        `json:"id"`
	Status   text        `json:"status"`
	Amount   json.Number `json:"amount"`
	Metadata struct {
		Reference text `json:"reference"`
	} `json:"metadata"`
}

// final are the causes that are final: no later try can succeed.
var final = []string{
	"2024", "15016", // too old
	"2063", // not possible in the payment's status
	"3024", // no partial refunds
	"4295", "4296",
}

// Refund refunds a payment unless it finds that it was refunded before: how long Mercado
// Pago keeps a key is not documented.
func (a *account) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if !whole(r.Local) {
		return pay.Outcome{Kind: pay.Declined, Decline: "amount_not_whole", Message: "only whole pesos can be refunded"}
	}
	id, lost := a.refundable(ctx, r.Charge)
	if lost != nil {
		return *lost
	}
	switch o, found, lost := a.findRefund(ctx, id, r); {
	case lost != nil: // no refund was requested yet
		return pay.Outcome{Kind: pay.Unavailable, Decline: lost.Decline}
	case found:
		return o
	}
	body := struct {
		Amount   json.Number       `json:"amount"`
		Metadata map[string]string `json:"metadata"`
	}{json.Number(r.Local.Decimal()), map[string]string{"reference": r.Reference}}
	reply, lost := a.call(ctx, http.MethodPost, "/v1/payments/"+id+"/refunds", body, "refund/"+r.Reference)
	if lost != nil {
		return *lost
	}
	if reply.Status != http.StatusOK && reply.Status != http.StatusCreated {
		o := refused(reply)
		for _, code := range causes(reply.Body) {
			if o.Kind == pay.Errored && slices.Contains(final, code) {
				o.Kind, o.Message = pay.Declined, "the payment cannot be refunded"
			}
		}
		return *o
	}
	var back refund
	if read(reply.Body, &back) != nil {
		return *provider.Broken()
	}
	return a.refundOutcome(back, r.Local.Currency)
}

// refundable is the id of the paid payment.
func (a *account) refundable(ctx context.Context, r provider.Request) (string, *pay.Outcome) {
	if isID(r.ProviderRef) {
		return r.ProviderRef, nil
	}
	list, lost := a.payments(ctx, r.Reference)
	if lost != nil {
		return "", lost
	}
	p, found := decisive(list)
	switch {
	case !found || !p.paid():
		return "", &pay.Outcome{Kind: pay.Errored, Decline: "payment_not_found"}
	case !isID(string(p.ID)):
		return "", provider.Broken()
	}
	return string(p.ID), nil
}

// refundOutcome is the outcome of a refund.
func (a *account) refundOutcome(back refund, currency money.Currency) pay.Outcome {
	o := pay.Outcome{ProviderRef: string(back.ID)}
	if !isID(o.ProviderRef) {
		return *provider.Broken()
	}
	local, ok := provider.Major(back.Amount.String(), string(currency))
	if !ok {
		o.Kind, o.Decline = pay.Unknown, "broken_answer"
		return o
	}
	o.Local = local
	switch back.Status {
	case "approved":
		o.Kind = pay.Approved
	case "in_process", "pending", "authorized":
		o.Kind = pay.Awaiting
	case "rejected", "cancelled":
		o.Kind, o.Decline, o.Message = pay.Declined, "refund_rejected", "the refund was refused"
	default:
		a.Strange("refund", string(back.Status))
		o.Kind, o.Decline = pay.Unknown, unmapped
	}
	return o
}

// QueryRefund reads a refund by its id, or searches those of the payment.
func (a *account) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	id, lost := a.refundable(ctx, r.Charge)
	if lost != nil {
		return lost.Asked()
	}
	if isID(r.RefundRef) {
		reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/"+id+"/refunds/"+url.PathEscape(r.RefundRef), nil, "")
		var back refund
		switch {
		case lost != nil:
			return lost.Asked()
		case reply.Status == http.StatusNotFound:
			return *notFound(reply)
		case reply.Status != http.StatusOK:
			return refused(reply).Asked()
		case read(reply.Body, &back) != nil || string(back.ID) != r.RefundRef:
			return *provider.Broken()
		}
		return a.refundOutcome(back, r.Local.Currency)
	}
	o, _, lost := a.findRefund(ctx, id, r)
	if lost != nil {
		return lost.Asked()
	}
	return o
}

// findRefund searches all refunds of a payment for our reference. If none has it, the
// result is Missing, or Unknown if one without a reference may be it.
func (a *account) findRefund(ctx context.Context, id string, r provider.RefundRequest) (o pay.Outcome, found bool, lost *pay.Outcome) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/"+id+"/refunds", nil, "")
	var list *[]refund
	switch {
	case lost != nil:
		return o, false, lost
	case reply.Status != http.StatusOK:
		return o, false, refused(reply)
	case read(reply.Body, &list) != nil || list == nil:
		return o, false, provider.Broken()
	}
	doubt := false
	for _, back := range *list {
		if back.Metadata.Reference == text(r.Reference) {
			return a.refundOutcome(back, r.Local.Currency), true, nil
		}
		local, ok := provider.Major(back.Amount.String(), string(r.Local.Currency))
		doubt = doubt || back.Metadata.Reference == "" && (!ok || local == r.Local)
	}
	if doubt {
		return provider.Unknown("refund_without_reference"), false, nil
	}
	return pay.Outcome{Kind: pay.Missing}, false, nil
}
