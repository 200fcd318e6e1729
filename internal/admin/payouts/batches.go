package payouts

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// BatchPath names a batch.
type BatchPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"bat_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type batchesIn struct {
	call.PageQuery
	Account string `query:"account" maxLength:"64" doc:"Only batches of this account"`
}

type batchesOut struct {
	Body struct {
		Data       []shape.PayoutBatch `json:"data"`
		Pagination call.Cursor         `json:"pagination"`
	}
}

type makeBatchesIn struct{ Body BatchBody }

// BatchBody names the account whose payouts are put into batches.
type BatchBody struct {
	_       struct{} `additionalProperties:"false"`
	Account string   `json:"account" minLength:"1" maxLength:"64" example:"bank-1"`
}

type madeBatchesOut struct {
	Body struct {
		Data []shape.PayoutBatch `json:"data" doc:"One for each network and currency; none if no withdrawal waits"`
	}
}

type batchOut struct{ Body shape.PayoutBatch }

type batchWithPayoutsOut struct{ Body shape.BatchWithPayouts }

type exportedBatchOut struct{ Body shape.ExportedBatch }

type importAnswersIn struct {
	call.AccountPath
	Body AnswersBody
}

// AnswersBody is a bank's answer.
type AnswersBody struct {
	_       struct{} `additionalProperties:"false"`
	Content []byte   `json:"content" doc:"CNAB 240, pain.002, camt.054 or a table, in base64"`
}

type bankAnswersOut struct{ Body shape.BankAnswers }

type floatsIn struct{ call.PageQuery }

type floatsOut struct {
	Body struct {
		Data       []shape.Float `json:"data"`
		Pagination call.Cursor   `json:"pagination"`
	}
}

type enterFloatIn struct{ Body FloatBody }

// FloatBody is money that was put into a payout account or taken out of it.
type FloatBody struct {
	_         struct{} `additionalProperties:"false"`
	Account   string   `json:"account" minLength:"1" maxLength:"64"`
	Amount    string   `json:"amount" maxLength:"20" example:"10000" doc:"In units of the currency; below zero: taken out, or paid as fees"`
	Currency  string   `json:"currency" maxLength:"3" example:"MXN" doc:"Which the account holds; USD if it pays out of dollars"`
	Reference string   `json:"reference" minLength:"1" maxLength:"200" doc:"The bank's reference of the transfer. Each is booked once"`
	Note      string   `json:"note,omitempty" text:"lines" maxLength:"1000" doc:"For the audit log"`
	Force     bool     `json:"force,omitempty" doc:"Allow taking out more than is free, and a currency that the account does not pay out"`
}

type floatOut struct{ Body shape.Float }

func (a *api) batchRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Payouts"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listBatches", http.MethodGet, "/batches", "List batches of payouts", "Newest first."), nil, a.batches)
	made := op("makeBatches", http.MethodPost, "/batches", "Put the payouts that wait at a bank-file account into batches",
		"And make their files. Another operator must approve them. A repeat batches what was not batched yet.")
	made.DefaultStatus = http.StatusCreated
	call.Handle(a.API, operators.Payouts, made, nil, a.makeBatches)
	call.Handle(a.API, operators.View, op("getBatch", http.MethodGet, "/batches/{id}", "Read a batch and its withdrawals", "Without its file."), nil, a.batch)
	call.Handle(a.API, operators.Payouts, op("approveBatch", http.MethodPost, "/batches/{id}/approve", "Approve a batch, so that its file can be exported", "The operator who made it cannot approve it."), conflict, a.approveBatch)
	call.Handle(a.API, operators.Payouts, op("dissolveBatch", http.MethodPost, "/batches/{id}/dissolve", "Dissolve a batch whose file was never exported", "Its payouts wait for another batch."), conflict, a.dissolveBatch)
	call.Handle(a.API, operators.Payouts, op("exportBatch", http.MethodPost, "/batches/{id}/export", "Export a batch's file, to upload at the bank", "A second export has the same bytes. Each is in the audit log."), conflict, a.exportBatch)
	answers := op("importAnswers", http.MethodPost, "/accounts/{id}/answers", "Read the bank's answer, and complete or fail the withdrawals in it", "It is safe to send a file again. If it cannot be read, nothing is applied; if it fails half way, send it again. The body has 12 MiB at most.")
	answers.MaxBodyBytes = call.MaxFileBody
	call.Handle(a.API, operators.Payouts, answers, nil, a.importAnswers)
}

func (a *api) floatRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Payouts"}}
	}
	call.Handle(a.API, operators.View, op("listFloats", http.MethodGet, "/floats", "List your money at each payout account", "In the ledger and, if it can be queried, as the provider reports it."), nil, a.floats)
	call.Handle(a.API, operators.Payouts, call.Creates(op("enterFloat", http.MethodPost, "/floats", "Book money that you put into a payout account or took out of it",
		"After the first entry the account pays out no more than it has.")), []problem.Code{problem.NotFound, problem.ConflictState}, a.enterFloat)
}

func (a *api) batches(ctx context.Context, _ audit.Actor, in *batchesIn) (*batchesOut, error) {
	list, err := a.Uses.Lists.Batches(ctx, in.Account, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &batchesOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(b pay.Batch) string { return b.ID }, shape.NewPayoutBatch)
	return out, nil
}

func (a *api) makeBatches(ctx context.Context, by audit.Actor, in *makeBatchesIn) (*madeBatchesOut, error) {
	made, err := a.Uses.Batches.Make(ctx, by, in.Body.Account)
	if err != nil {
		return nil, err
	}
	out := &madeBatchesOut{}
	out.Body.Data = shape.NewPayoutBatches(made)
	return out, nil
}

func (a *api) batch(ctx context.Context, _ audit.Actor, in *BatchPath) (*batchWithPayoutsOut, error) {
	b, of, err := a.Uses.Batches.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &batchWithPayoutsOut{shape.NewBatchWithPayouts(b, of)}, nil
}

func batched(b pay.Batch, err error) (*batchOut, error) {
	if err != nil {
		return nil, err
	}
	return &batchOut{shape.NewPayoutBatch(b)}, nil
}

func (a *api) approveBatch(ctx context.Context, by audit.Actor, in *BatchPath) (*batchOut, error) {
	return batched(a.Uses.Batches.Approve(ctx, by, in.ID))
}

func (a *api) dissolveBatch(ctx context.Context, by audit.Actor, in *BatchPath) (*batchOut, error) {
	return batched(a.Uses.Batches.Dissolve(ctx, by, in.ID))
}

func (a *api) exportBatch(ctx context.Context, by audit.Actor, in *BatchPath) (*exportedBatchOut, error) {
	file, b, err := a.Uses.Batches.Export(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	return &exportedBatchOut{shape.ExportedBatch{Batch: shape.NewPayoutBatch(b), Content: file}}, nil
}

func (a *api) importAnswers(ctx context.Context, by audit.Actor, in *importAnswersIn) (*bankAnswersOut, error) {
	if _, err := a.Uses.Providers.ProviderAccount(ctx, in.ID); err != nil {
		return nil, err
	}
	done, err := a.Uses.Batches.ImportAnswers(ctx, by, in.ID, in.Body.Content)
	if err != nil {
		return nil, err
	}
	return &bankAnswersOut{shape.NewBankAnswers(done)}, nil
}

// floatID names a float in a list, and is its place there.
func floatID(f payouts.FloatStatus) string { return f.Account + " " + string(f.Currency) }

func (a *api) floats(ctx context.Context, _ audit.Actor, in *floatsIn) (*floatsOut, error) {
	list, err := a.Uses.Floats.List(ctx)
	if err != nil {
		return nil, err
	}
	list = call.Cut(in.PageQuery, list, floatID)
	out := &floatsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, floatID, shape.NewFloat)
	return out, nil
}

func (a *api) enterFloat(ctx context.Context, by audit.Actor, in *enterFloatIn) (*floatOut, error) {
	b := in.Body
	currency, err := money.ParseCurrency(b.Currency)
	if err != nil {
		return nil, message.FieldRefusal(problem.InvalidRequest, "currency", "currency must be one such as MXN; the float for a token is in USD")
	}
	amount, err := money.Parse(b.Amount, currency)
	if err != nil {
		return nil, message.FieldRefusal(problem.InvalidRequest, "amount", "amount must be an amount of "+string(currency)+", such as 10000")
	}
	s, err := a.Uses.Providers.ProviderAccount(ctx, b.Account)
	if err != nil {
		return nil, err
	}
	if !s.PaysOut {
		return nil, message.FieldRefusal(problem.InvalidRequest, "account", "only an account that pays out can have a float")
	}
	if err := a.Uses.Floats.Enter(ctx, by, b.Account, amount, b.Reference, b.Note, b.Force); err != nil {
		return nil, err
	}
	list, err := a.Uses.Floats.List(ctx)
	for _, f := range list {
		if f.Account == b.Account && f.Currency == currency {
			return &floatOut{shape.NewFloat(f)}, err
		}
	}
	return nil, err
}
