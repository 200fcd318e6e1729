package claims

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
	appclaims "github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// RefundBody refunds a payment (REF-1). Without a body, everything left is refunded.
type RefundBody struct {
	Amount   call.Amount `json:"amount,omitempty"`
	Currency string      `json:"currency,omitempty" minLength:"3" maxLength:"3" example:"BRL" doc:"Of amount: the currency in which the shopper paid, and no other"`
	Reason   string      `json:"reason,omitempty" text:"lines" maxLength:"500" example:"requested_by_customer" doc:"Free; suggested: requested_by_customer, duplicate, fraudulent, other"`
}

const refundAmountDoc = "Local currency of the transaction, major units, above 0 and at most what is left; all of it by default"

// Resolve checks the amount as well as possible without its currency, which is the payment's: appclaims.Refund parses it. It
// refuses null: the sender did not mean to refund everything.
func (b *RefundBody) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	text := string(b.Amount)
	if text == "" {
		return nil
	}
	if !call.IsNumber(text) || b.Amount.Rough() <= 0 {
		message := "amount must be above zero, such as 49.90; you sent " + call.Clip(text)
		if !call.IsNumber(text) {
			message = call.NotNumber(text)
		}
		return []error{wire.Coded(problem.AmountInvalid, prefix.With("amount"), message)}
	}
	return nil
}

type refundIn struct {
	ID             string `path:"id"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the first reply"`
	RawBody        []byte
	Body           *RefundBody
}

// Resolve checks the header.
func (in *refundIn) Resolve(huma.Context) []error { return call.CheckKey(in.IdempotencyKey) }

type refundOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.Refund
}

func (a *api) refundRoutes() {
	for _, alias := range []struct{ path, suffix string }{{"/payments", "Payment"}, {"/transactions", "Transaction"}} {
		body := &huma.RequestBody{}
		call.Handle(a.API, huma.Operation{OperationID: "refund" + alias.suffix, Method: http.MethodPost, Path: alias.path + "/{id}/refund",
			Tags: []string{"Payments"}, Deprecated: alias.path == "/transactions", Summary: "Refund a payment, in full or in part",
			DefaultStatus: http.StatusOK, RequestBody: body}, call.ToRefund, call.InShop(a.API, a.refund))
		body.Required = false // huma requires one because the handler reads it raw
	}
}

func (a *api) refund(ctx context.Context, caller call.Caller, in *refundIn) (*refundOut, error) {
	n := appclaims.NewRefund{Payment: in.ID, By: caller.Actor()}
	if in.Body != nil {
		n.Amount, n.Currency, n.Reason = string(in.Body.Amount), in.Body.Currency, in.Body.Reason
	}
	if in.IdempotencyKey != "" {
		body := in.RawBody
		if len(body) == 0 {
			body = []byte("{}") // means the same
		}
		// The route includes the payment: a key stands for one refund of one payment, under any alias.
		n.Idempotency = call.OnceFor("POST /payments/"+in.ID+"/refund", in.IdempotencyKey, body, "")
	}
	r, replayed, err := a.uses.Claims.Refund(ctx, caller.Scope, n)
	if err != nil {
		return nil, err
	}
	out := &refundOut{Body: view.NewRefund(r)}
	if replayed {
		out.Replayed = "true"
	}
	return out, nil
}
