package woovi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/work"
)

// settles is how long a new charge or payment may be missing from lists; the documents do not
// say.
const settles = 5 * time.Minute

// PayoutAdapter is the adapter for accounts at Woovi that pay out.
func PayoutAdapter() provider.Adapter {
	charges := Adapter()
	return provider.Adapter{
		Name: "woovi-payouts",
		Fields: []provider.Field{
			{Name: "appId", Doc: "Panel: API/Plugins, an API application, AppID. Pix out must be enabled for the account. The AppID needs the scopes PAYMENT_POST, PAYMENT_APPROVE_POST, PAYMENT_GET, PAYMENT_GET_LIST, TRANSACTION_GET and ACCOUNT_GET_LIST. In the same place, webhooks for MOVEMENT_CONFIRMED, MOVEMENT_FAILED, MOVEMENT_REMOVED and PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED go to the account's notification URL"},
			charges.Fields[1], charges.Fields[2],
		},
		Rails:       []string{"pix.BRL"},
		OpenPayouts: openPayouts,
	}
}

// payer is an account that pays out.
type payer struct {
	account *client
	turns   work.Turns // one call at a time under a reference
}

func openPayouts(a provider.Account) (payouts.Provider, error) {
	c, err := newClient(a)
	if err != nil {
		return nil, err
	}
	return &payer{account: c}, nil
}

// paymentRequest is the body of POST /api/v1/payment.
type paymentRequest struct {
	Type          string `json:"type"`
	Value         int64  `json:"value"` // centavos
	Alias         string `json:"destinationAlias"`
	AliasType     string `json:"destinationAliasType"`
	CorrelationID string `json:"correlationID"`
}

// approveRequest is the body of POST /api/v1/payment/approve.
type approveRequest struct {
	CorrelationID string `json:"correlationID"`
}

// Fits implements payouts.Choosy.
func (*payer) Fits(r payouts.Request) error {
	letters, _ := provider.CNPJ(r.Destination)
	switch {
	case r.Network != "pix" || r.Local.Currency != brl || r.Local.Minor < 1 || r.Local.Minor > largest:
		return errors.New("the account pays out only BRL over Pix")
	case letters: // no page has one
		return errors.New("the account is known to pay only to a CNPJ of digits, and this Pix key is a CNPJ with letters")
	case aliasType(r.Destination) == "":
		return errors.New("the account cannot pay to this kind of Pix key")
	}
	return nil
}

// Send orders the payment and approves it. An existing payment is continued from its
// present state.
func (p *payer) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	if err := p.Fits(r); err != nil {
		return payouts.Unavailable("unsupported", err.Error())
	}
	done, err := p.turns.Lock(ctx, r.Reference)
	if err != nil {
		return payouts.Unknown("the payout's turn did not come in time")
	}
	defer done()
	answer, failed := p.account.call(ctx, http.MethodPost, "/api/v1/payment", paymentRequest{
		Type: "PIX_KEY", Value: r.Local.Minor, Alias: r.Destination, AliasType: aliasType(r.Destination), CorrelationID: r.Reference,
	})
	switch {
	case failed != nil: // the result of an earlier call is not known either
		return payouts.Unknown("there is no answer (" + failed.Decline + ")")
	case answer.Status == http.StatusBadRequest:
		return p.refused(ctx, r, answer)
	case !good(answer):
		return payouts.Unknown(problemOf(answer))
	}
	found, ok := read(answer, r.Reference)
	if !ok {
		return payouts.Unknown(unreadable)
	}
	return p.goOn(ctx, r, found)
}

// refused is the outcome of an order that was refused. An earlier call may have made the
// payment.
func (p *payer) refused(ctx context.Context, r payouts.Request, answer provider.Reply) pay.PayoutOutcome {
	found, state := p.find(ctx, r)
	text := sentence(answer)
	switch {
	case state == there:
		return p.goOn(ctx, r, found)
	case state != gone, r.ProviderRef != "", contains(text, "já existe", "ja existe", "already exists"):
		return payouts.Unknown("the payout was refused, but it is not known whether there is one")
	case contains(text, "chave pix", "pix key") && contains(text, "inválid", "invalid", "não encontrad", "não existe", "not found"):
		return reasons["INVALID_PIX_KEY"].Outcome()
	}
	return payouts.Unavailable("refused", "the account does not accept the payout")
}

// Query reads the payment by our reference. A payment that is still to be approved, because
// a Send broke off or the balance was too low, waits for another Send.
func (p *payer) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	done, err := p.turns.Lock(ctx, r.Reference)
	if err != nil {
		return payouts.Unknown("the payout's turn did not come in time")
	}
	defer done()
	found, state := p.find(ctx, r)
	switch {
	case state == there:
		o := p.outcome(found)
		if found.Payment.Status == "CREATED" {
			o.Kind = pay.PayoutUnsent
			if !found.ours(r) {
				o.Kind, o.Message = pay.PayoutUnknown, foreign
			}
		}
		return o
	case state == gone:
		return payouts.NotFound(r, settles, "the payout was there and is gone: a person may have removed it")
	}
	return payouts.Unknown("the query got no usable answer")
}

// goOn approves a payment that waits for it, and returns the state of any other. It
// approves only a payment that is as we ordered it: in the panel a person may use our
// references too.
func (p *payer) goOn(ctx context.Context, r payouts.Request, found paymentReply) pay.PayoutOutcome {
	o := p.outcome(found)
	if found.Payment.Status != "CREATED" {
		return o
	}
	if !found.ours(r) {
		o.Kind, o.Message = pay.PayoutUnknown, foreign
		return o
	}
	answer, failed := p.account.call(ctx, http.MethodPost, "/api/v1/payment/approve", approveRequest{r.Reference})
	switch {
	case failed != nil:
		o.Kind, o.Message = pay.PayoutUnknown, "there is no answer to the approval ("+failed.Decline+")"
		return o
	case good(answer):
		approved, ok := read(answer, r.Reference)
		if !ok {
			o.Kind, o.Message = pay.PayoutUnknown, unreadable
			return o
		}
		return p.outcome(approved)
	case answer.Status == http.StatusBadRequest && contains(sentence(answer), "saldo", "balance"):
		// It stays there, and a person may approve it at any time.
		o.Code, o.Message = "insufficient_funds", "the account has too little money: the payout waits there for approval"
		return o
	}
	if again, state := p.get(ctx, r.Reference); state == there && again.Payment.Status != "CREATED" {
		return p.outcome(again) // a person in the panel was faster
	}
	o.Kind, o.Message = pay.PayoutUnknown, "the approval was refused: "+problemOf(answer)
	return o
}

// foreign is the message for a payment that has our reference but another amount or Pix
// key.
const foreign = "a payout has our reference but is not ours: it is not approved"

// ours reports whether a payment is as we ordered it.
func (r paymentReply) ours(asked payouts.Request) bool {
	return amount(r.Payment.Value) == asked.Local && r.goesTo(asked.Destination)
}

// outcome is the outcome of a payment.
func (p *payer) outcome(found paymentReply) pay.PayoutOutcome {
	o := pay.PayoutOutcome{Kind: pay.PayoutUnknown, ProviderRef: found.ref(), Local: found.moved()}
	code, text := found.why()
	switch status := found.Payment.Status; status {
	case "CREATED":
		o.Kind, o.Message = pay.PayoutAccepted, "the payout waits for approval"
	case "APPROVED", "PROCESSING":
		o.Kind = pay.PayoutAccepted
	case "CONFIRMED":
		if o.Local != (money.Amount{}) {
			o.Kind = pay.PayoutPaid
		} else {
			o.Message = unreadable
		}
	case "FAILED":
		return p.failed(found.ref(), code, text)
	case "DENIED", "REJECTED": // documented by name only
		if code+text != "" {
			return p.failed(found.ref(), code, text)
		}
		o.Message = "the payout was refused without a reason, which does not prove that it was not made"
	default:
		p.account.account.Strange("payment", status)
		o.Message = "the payout's status is unknown to us"
	}
	return o
}

// Check reads the accounts and one payment; both calls are free.
func (p *payer) Check(ctx context.Context) error {
	if _, err := p.Balance(ctx); err != nil {
		return err
	}
	answer, failed := p.account.call(ctx, http.MethodGet, "/api/v1/payment?skip=0&limit=1", nil)
	var list paymentList
	return usable(answer, failed, "PAYMENT_GET_LIST", &list, func() bool { return list.Payments != nil })
}

// Balance is what the account can pay out now: the default account's available balance.
//
// Errors: in words for the operator.
func (p *payer) Balance(ctx context.Context) (money.Amount, error) {
	answer, failed := p.account.call(ctx, http.MethodGet, "/api/v1/account/", nil)
	var list struct {
		Accounts *[]struct {
			IsDefault bool `json:"isDefault"`
			Balance   struct {
				Available *int64 `json:"available"` // centavos
			} `json:"balance"`
		} `json:"accounts"`
	}
	if err := usable(answer, failed, "ACCOUNT_GET_LIST", &list, func() bool { return list.Accounts != nil }); err != nil {
		return money.Amount{}, err
	}
	for _, a := range *list.Accounts {
		if a.IsDefault && a.Balance.Available != nil {
			return money.New(*a.Balance.Available, brl), nil
		}
	}
	return money.Amount{}, fmt.Errorf("the provider has no default account to pay out from")
}
