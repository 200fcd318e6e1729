package payouts

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/api/call"
	apppayouts "github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type withdrawIn struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the first reply"`
	RawBody        []byte
	Body           struct {
		WalletID string      `json:"walletId,omitempty" minLength:"1" maxLength:"40" doc:"The default wallet when absent"`
		Amount   call.Amount `json:"amount" doc:"USD major units, two decimals, the fee included; more than the fee and at most the available balance. With currency it may be what arrives"`
		Currency string      `json:"currency,omitempty" minLength:"3" maxLength:"5" example:"MXN" doc:"Of amount: USD by default, which is what leaves the balance; or the currency of a wallet that is no token, and then exactly the amount arrives and the fee is added"`
	}
	amount  money.Amount
	arrives apppayouts.Arrives
}

// Resolve reads the amount and checks the header.
func (in *withdrawIn) Resolve(huma.Context) (issues []error) {
	issues = call.CheckKey(in.IdempotencyKey)
	var code problem.Code
	var message string
	if in.amount, in.arrives, code, message = readWithdrawal(string(in.Body.Amount), in.Body.Currency); code != "" {
		issues = append(issues, wire.Coded(code, "amount", message))
	}
	return issues
}

type quoteIn struct {
	WalletID string `query:"walletId" maxLength:"40" doc:"The default wallet when absent"`
	Amount   string `query:"amount" maxLength:"40" doc:"USD major units, as in the body of a withdrawal" example:"100"`
	Currency string `query:"currency" maxLength:"5" doc:"Of amount, as in the body of a withdrawal"`
}

type quoteOut struct{ Body view.WithdrawalQuote }

// withdrawn reads the amount of a withdrawal, or returns an error code and message; the code is "" on
// success.
// asked is what a withdrawal is to take, in USD, or what is to arrive.
func readWithdrawal(amount, currency string) (usd money.Amount, arrives apppayouts.Arrives, code problem.Code, message string) {
	if currency == "" || amount == "" || strings.EqualFold(currency, string(money.USD)) || !call.IsNumber(amount) {
		usd, code, message = withdrawn(amount)
		return usd, arrives, code, message
	}
	return usd, apppayouts.Arrives{Currency: currency, Text: amount}, "", ""
}

func withdrawn(text string) (usd money.Amount, code problem.Code, message string) {
	usd, err := money.Parse(text, money.USD)
	switch {
	case text == "" || text == "null":
		return usd, problem.MissingField, "amount is required: send a number, such as 250.00"
	case errors.Is(err, money.ErrRange) && !strings.HasPrefix(text, "-"):
		return usd, problem.AmountAboveMaximum, "amount is more than there can be: withdraw at most what GET /me/balance says is available"
	case err != nil || !usd.IsPositive():
		return usd, problem.AmountInvalid, "amount must be a number above 0, in USD with at most two decimals, such as 250.00; you sent " + call.Clip(text)
	}
	return usd, "", ""
}

type withdrawOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.Withdrawal
}

type withdrawalOut struct{ Body view.Withdrawal }

type withdrawalsIn struct {
	wire.Page
	Status   wire.Word[pay.WithdrawalStatus] `query:"status"`
	WalletID string                          `query:"walletId"`
	wire.Span
}

func (in *withdrawalsIn) filter() lists.WithdrawalFilter {
	return lists.WithdrawalFilter{Page: in.Rows(), Span: in.Time(), Status: pay.WithdrawalStatus(in.Status), Wallet: in.WalletID}
}

type withdrawalsOut struct {
	Body struct {
		Data       []view.Withdrawal `json:"data"`
		Pagination wire.Pagination   `json:"pagination"`
	}
}

func (a *api) withdrawalRoutes() {
	tags := []string{"Payouts"}
	call.Handle(a.API, huma.Operation{OperationID: "createWithdrawal", Method: http.MethodPost, Path: "/withdrawals", Tags: tags,
		Summary: "Withdraw from the available balance", DefaultStatus: http.StatusCreated}, call.ToWithdraw, call.InShop(a.API, a.withdraw))
	call.Handle(a.API, huma.Operation{OperationID: "listWithdrawals", Method: http.MethodGet, Path: "/withdrawals", Tags: tags,
		Summary: "List withdrawals, newest first"}, call.ToRead, call.InShop(a.API, a.withdrawals))
	call.Handle(a.API, huma.Operation{OperationID: "quoteWithdrawal", Method: http.MethodGet, Path: "/withdrawals/quote", Tags: tags,
		Summary: "Show what a withdrawal would cost"}, call.ToRead, call.InShop(a.API, a.quoteWithdrawal))
	call.Handle(a.API, huma.Operation{OperationID: "getWithdrawal", Method: http.MethodGet, Path: "/withdrawals/{id}", Tags: tags,
		Summary: "Read a withdrawal"}, call.ToRead, call.InShop(a.API, a.withdrawal))
	call.Handle(a.API, huma.Operation{OperationID: "cancelWithdrawal", Method: http.MethodPost, Path: "/withdrawals/{id}/cancel", Tags: tags,
		Summary: "Cancel a pending withdrawal", DefaultStatus: http.StatusOK}, call.ToWithdraw, call.InShop(a.API, a.cancelWithdrawal))
}

func (a *api) withdraw(ctx context.Context, caller call.Caller, in *withdrawIn) (*withdrawOut, error) {
	n := apppayouts.NewWithdrawal{Wallet: in.Body.WalletID, Amount: in.amount, Arrives: in.arrives, RequestID: caller.RequestID}
	if in.IdempotencyKey != "" {
		n.Idempotency = call.OnceFor("POST /withdrawals", in.IdempotencyKey, in.RawBody, "")
	}
	w, replayed, err := a.uses.Payouts.Withdraw(ctx, caller.Principal, caller.Scope, n)
	if err != nil {
		return nil, err
	}
	out := &withdrawOut{Body: view.NewWithdrawal(w)}
	if replayed {
		out.Replayed = "true"
	}
	return out, nil
}

func (a *api) quoteWithdrawal(ctx context.Context, caller call.Caller, in *quoteIn) (*quoteOut, error) {
	amount, arrives, code, wrong := readWithdrawal(in.Amount, in.Currency)
	if code != "" {
		return nil, message.FieldRefusal(code, "amount", wrong)
	}
	w, err := a.uses.Payouts.Quote(ctx, caller.Principal, caller.Scope, apppayouts.NewWithdrawal{Wallet: in.WalletID, Amount: amount, Arrives: arrives})
	if err != nil {
		return nil, err
	}
	return &quoteOut{view.NewWithdrawalQuote(w)}, nil
}

func (a *api) withdrawals(ctx context.Context, caller call.Caller, in *withdrawalsIn) (*withdrawalsOut, error) {
	list, total, err := a.uses.Payouts.Withdrawals(ctx, caller.Scope, in.filter())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &withdrawalsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(w pay.Withdrawal) string { return w.ID }, view.NewWithdrawal)
	return out, nil
}

func (a *api) withdrawal(ctx context.Context, caller call.Caller, in *call.IDPath) (*withdrawalOut, error) {
	w, err := a.uses.Payouts.Withdrawal(ctx, caller.Scope, in.ID)
	return &withdrawalOut{view.NewWithdrawal(w)}, err
}

func (a *api) cancelWithdrawal(ctx context.Context, caller call.Caller, in *call.IDPath) (*withdrawalOut, error) {
	w, err := a.uses.Payouts.CancelWithdrawal(ctx, caller.Principal, caller.Scope, in.ID)
	return &withdrawalOut{view.NewWithdrawal(w)}, err
}

// publish adds to the published document what the validated one cannot say.
func publish(paths, schemas map[string]any) {
	call.PublishAmount(schemas, "WithdrawInBody", "amount", 250.0)
	call.PublishAmountParam(paths, "/withdrawals/quote", true)
	if kind, ok := call.Dig(schemas, "AddWalletInBody", "properties", "type"); ok {
		kind["enum"] = []any{"bank_account", "crypto"}
	}
	call.Require(schemas, "WithdrawInBody", "amount")
	call.Require(schemas, "AddWalletInBody", "type", "currency", "destination")
}
