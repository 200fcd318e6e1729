package woovi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// refundRequest is the body of POST /api/v1/charge/{id}/refund.
type refundRequest struct {
	CorrelationID string `json:"correlationID"` // the refund's own id
	Value         int64  `json:"value"`         // centavos
	Comment       string `json:"comment,omitempty"`
}

type refundReply struct {
	CorrelationID string `json:"correlationID"`
	Status        string `json:"status"`
	EndToEndID    string `json:"endToEndId"`
	Value         int64  `json:"value"` // centavos
}

// Refund refunds a charge.
func (c *client) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if r.Local.Currency != brl || r.Local.Minor < 1 || r.Local.Minor > largest {
		return pay.Outcome{Kind: pay.Errored, Decline: "unsupported"}
	}
	if r.Charge.MoneyRef != "" && r.Charge.MoneyRef != r.Charge.Reference {
		return pay.Outcome{Kind: pay.Declined, Decline: "second_payment", Message: "the charge was paid twice: give this payment back in Woovi's panel, or by a bank transfer"}
	}
	answer, failed := c.call(ctx, http.MethodPost, "/api/v1/charge/"+escape(r.Charge.Reference)+"/refund", refundRequest{
		CorrelationID: r.Reference, Value: r.Local.Minor, Comment: provider.Exact(r.Reason, longestNote),
	})
	if failed != nil {
		return *failed
	}
	if answer.Status == http.StatusBadRequest {
		return c.refused(ctx, r, answer)
	}
	if !good(answer) {
		return provider.Refused(answer.Status)
	}
	var reply struct {
		Refund refundReply `json:"refund"`
	}
	if json.Unmarshal(answer.Body, &reply) != nil || reply.Refund.CorrelationID != r.Reference {
		return provider.Unknown("broken_answer")
	}
	return c.refunded(reply.Refund)
}

// refused is the outcome of a refund that was refused. It may have been accepted before,
// under the same correlationID; an account with too little money may have enough tomorrow.
func (c *client) refused(ctx context.Context, r provider.RefundRequest, answer provider.Reply) pay.Outcome {
	if o := c.QueryRefund(ctx, r); o.Kind != pay.Missing {
		return o
	}
	if contains(sentence(answer), "saldo", "balance") {
		return pay.Outcome{Kind: pay.Errored, Decline: "balance"}
	}
	return pay.Outcome{Kind: pay.Declined, Decline: "refund_refused", Message: "the refund was refused"}
}

// QueryRefund searches the refunds of the charge.
func (c *client) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	refunds, more, lost := c.refundsOf(ctx, r.Charge.Reference)
	if lost != nil {
		return *lost
	}
	for _, refund := range refunds {
		if refund.CorrelationID == r.Reference {
			return c.refunded(refund)
		}
	}
	if more { // if there are more pages, which are not documented, this proves nothing
		return provider.Unknown("more_pages")
	}
	return pay.Outcome{Kind: pay.Missing}
}

// refundsOf are the refunds of a charge; more reports whether the list is incomplete.
func (c *client) refundsOf(ctx context.Context, reference string) (list []refundReply, more bool, lost *pay.Outcome) {
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/charge/"+escape(reference)+"/refund", nil)
	if failed != nil {
		o := failed.AsQueried()
		return nil, false, &o
	}
	if !good(answer) {
		o := provider.Unknown(provider.Refused(answer.Status).Decline)
		return nil, false, &o
	}
	var reply struct {
		Refunds  *[]refundReply `json:"refunds"`
		PageInfo struct {
			HasNextPage bool `json:"hasNextPage"`
		} `json:"pageInfo"`
	}
	if json.Unmarshal(answer.Body, &reply) != nil || reply.Refunds == nil {
		return nil, false, provider.Broken()
	}
	return *reply.Refunds, reply.PageInfo.HasNextPage, nil
}

// reversed adds what went back to the outcome of a paid charge, if its refunds can be read.
func (c *client) reversed(ctx context.Context, reference string, o pay.Outcome) pay.Outcome {
	if o.Kind != pay.Approved {
		return o
	}
	list, _, lost := c.refundsOf(ctx, reference)
	if lost != nil {
		return o
	}
	var back []pay.ProviderRefund
	for _, r := range list {
		kind := pay.Awaiting
		switch r.Status {
		case "CONFIRMED":
			kind = pay.Approved
		case "REJECTED":
			kind = pay.Declined
		}
		back = append(back, provider.RefundOf(r.EndToEndID, r.CorrelationID, kind, money.New(max(0, r.Value), brl)))
	}
	if len(o.Also) > 0 && slices.ContainsFunc(back, func(r pay.ProviderRefund) bool { return r.Reference == "" }) {
		o.Kind = pay.Reversed // of which payment is not known
		return o
	}
	return provider.Reversed(o, back, money.Amount{}, false)
}

func (c *client) refunded(r refundReply) pay.Outcome {
	o := pay.Outcome{ProviderRef: provider.Exact(r.EndToEndID, 128)}
	if r.Value > 0 {
		o.Local = money.New(r.Value, brl)
	}
	switch r.Status {
	case "IN_PROCESSING", "PROCESSING":
		o.Kind = pay.Awaiting
	case "CONFIRMED":
		o.Kind = pay.Approved
	case "REJECTED":
		o.Kind, o.Decline, o.Message = pay.Declined, "rejected", "the shopper's bank refused the refund"
	default:
		c.account.Strange("refund", r.Status)
		o.Kind, o.Decline = pay.Unknown, unmapped
	}
	return o
}
