package settlements

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type balanceOut struct{ Body view.Balance }

func (a *api) balanceRoutes() {
	tags := []string{"Merchant"}
	call.Handle(a.API, huma.Operation{OperationID: "getBalance", Method: http.MethodGet, Path: "/me/balance", Tags: tags, Summary: "Read the balance"}, call.ToRead, a.balance)
	call.Handle(a.API, huma.Operation{OperationID: "listMovements", Method: http.MethodGet, Path: "/me/balance/movements", Tags: tags,
		Summary: "List the movements of the balance, newest first"}, call.ToRead, a.movements)
}

func (a *api) balance(ctx context.Context, caller call.Caller, _ *struct{}) (*balanceOut, error) {
	merchant, _, err := a.uses.Tenant(ctx, caller.Principal)
	if err != nil {
		return nil, err
	}
	account, err := a.uses.Settlements.Balance(ctx, caller.Scope)
	if err != nil {
		return nil, err
	}
	terms, err := a.uses.Plans.Terms(ctx, caller.Scope, merchant)
	if err != nil {
		return nil, err
	}
	agreed, err := payouts.Agreed(ctx, a.uses.Payouts, caller.Scope)
	if err != nil {
		return nil, err
	}
	withdrawal, tax := view.NewWithdrawalFee(terms)
	warnings := view.NewLedgerWarnings(account.Balances, account.Mismatched.Count, account.Mismatched.USD, account.Mismatched.Since)
	warnings = append(warnings, view.NewDrift(account.Drift.Count, account.Drift.USD, account.Drift.Since)...)
	stale, err := a.uses.Rates.StaleRates(ctx, caller.Scope)
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, view.NewStaleRates(stale, a.uses.RateLimits)...)
	return &balanceOut{view.Balance{
		MerchantID: merchant.ID, Currency: "USD", Balance: view.NewBuckets(account.Balances), LedgerWarnings: warnings,
		Tier: merchant.Tier, TrustScore: merchant.TrustScore, RollingReservePct: view.Percent(terms.ReserveBps),
		WithdrawalFeeUSD: withdrawal, WithdrawalFeeTax: tax, Payouts: view.NewPayoutTerms(agreed), RefundFees: terms.RefundFees, FeeSummary: view.NewFeeSummary(account.Period),
		Movements: view.NewMovements(account.Movements), ReserveSchedule: view.NewReleases(account.Releases, terms.ReserveBps, account.Now),
	}}, nil
}

type movementsIn struct{ wire.Page }

type movementsOut struct {
	Body struct {
		Data       []view.Movement `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

func (a *api) movements(ctx context.Context, caller call.Caller, in *movementsIn) (*movementsOut, error) {
	list, total, err := a.uses.Settlements.Movements(ctx, caller.Scope, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &movementsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(m pay.Movement) string { return m.ID }, view.NewMovement)
	return out, nil
}
