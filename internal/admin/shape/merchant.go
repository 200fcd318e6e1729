package shape

import (
	"cmp"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/view"
)

// Merchant is a merchant with its terms.
type Merchant struct {
	ID         string               `json:"id" example:"mer_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Name       string               `json:"name" example:"Acme"`
	Email      string               `json:"email"`
	Industry   string               `json:"industry"`
	Language   merchants.Language   `json:"language" enum:"es,pt,en" doc:"Of receipts and reports"`
	Tier       merchants.Tier       `json:"tier" enum:"starter,standard,premium,trusted"`
	TrustScore int                  `json:"trustScore" doc:"0 to 1000"`
	Plan       string               `json:"plan" doc:"Its price plan, and the version of it that is in force" example:"gold/3"`
	RefundFees merchants.RefundFees `json:"refundFees" enum:"kept,returned" doc:"What happens to a payment's fees when it is refunded, for payments that are made from now on: kept, so that the merchant pays the whole refund, or returned"`

	Installments []string `json:"installments" doc:"What its shoppers may be offered in installments, each RAIL:MAX/INTERESTFREE and, for payments from an amount on, @CURRENCY:FROM: up to INTERESTFREE the merchant may bear the interest" example:"[\"card.MEX:12/6@MXN:3000\"]"`

	PlatformFeePct    view.Rate  `json:"platformFeePct" doc:"Percent of each payment for which the plan has no other price"`
	RollingReservePct view.Rate  `json:"rollingReservePct" doc:"Percent of each payment"`
	SettlementDelay   string     `json:"settlementDelay" example:"48h"`
	WithdrawalFeeUSD  view.Money `json:"withdrawalFeeUsd"`
	ChargebackFeeUSD  view.Money `json:"chargebackFeeUsd"`
	CreatedAt         view.Time  `json:"createdAt"`

	Assignments []Assignment `json:"assignments" doc:"The price plans that were assigned to it, oldest first; none: the built-in plan of its tier"`

	Paused   *string    `json:"paused" nullable:"true" doc:"Why the merchant begins no payment, checkout or withdrawal in production; its team reads it. null: it is not paused"`
	PausedAt *view.Time `json:"pausedAt" nullable:"true"`

	Closed   *string    `json:"closed" nullable:"true" doc:"Why the merchant's account is closed; its team reads it. null: it is open"`
	ClosedAt *view.Time `json:"closedAt" nullable:"true" doc:"Nothing new begins from then on"`
	ErasedAt *view.Time `json:"erasedAt" nullable:"true" doc:"When what is only the merchant's was erased: it cannot be opened again"`
	Sandbox  bool       `json:"sandbox" doc:"Whether the merchant has a sandbox"`
}

// NewMerchant shows a merchant, with its terms, to operators.
func NewMerchant(m merchants.Merchant, t merchants.Terms, b *plans.Book) Merchant {
	told := Merchant{
		ID: m.ID, Name: m.Name, Email: m.Email, Industry: m.Industry, Language: m.Language, Tier: m.Tier, TrustScore: m.TrustScore, Plan: t.Plan, RefundFees: m.RefundFees,
		PlatformFeePct: view.Percent(t.Price.Bps), RollingReservePct: view.Percent(t.ReserveBps), SettlementDelay: fmt.Sprintf("%dh", int(t.Delay.Hours())),
		WithdrawalFeeUSD: view.USD(t.WithdrawalFee), ChargebackFeeUSD: view.USD(t.ChargebackFee), CreatedAt: view.Time{Time: m.CreatedAt},
		Assignments: NewAssignments(m, b), Sandbox: !m.SandboxOff,
	}
	told.Installments = []string{}
	for _, g := range m.Installments.List() {
		told.Installments = append(told.Installments, g.String())
	}
	if m.Paused != "" {
		told.Paused, told.PausedAt = &m.Paused, &view.Time{Time: m.PausedAt}
	}
	if m.Leaving.Closed() {
		told.Closed, told.ClosedAt = &m.Leaving.Reason, &view.Time{Time: m.Leaving.ClosedAt}
	}
	if m.Leaving.Erased() {
		told.ErasedAt = &view.Time{Time: m.Leaving.ErasedAt}
	}
	return told
}

// LeavingMerchant is what a merchant that leaves still has.
type LeavingMerchant struct {
	MerchantID   string        `json:"merchantId" example:"mer_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Name         string        `json:"name" example:"Acme"`
	ClosedAt     *view.Time    `json:"closedAt" nullable:"true" doc:"null: it is open"`
	ErasedAt     *view.Time    `json:"erasedAt" nullable:"true" doc:"When what is only the merchant's was erased"`
	Environments []LeavingRest `json:"environments" doc:"Production, and the sandbox"`
}

// LeavingRest is what a merchant still has in one environment. Amounts are in USD.
type LeavingRest struct {
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Payments    int64                 `json:"payments" doc:"That have not ended"`
	Claims      int64                 `json:"claims" doc:"That are open"`
	Pending     view.Money            `json:"pending"`
	Available   view.Money            `json:"available"`
	Frozen      view.Money            `json:"frozen"`
	Reserve     view.Money            `json:"reserve"`
	Suspense    view.Money            `json:"suspense" doc:"Of late money"`
	InTransit   view.Money            `json:"inTransit" doc:"Of withdrawals on their way"`
	WaitsFor    string                `json:"waitsFor" enum:"nothing,open,minimum,negative,reserve,wallet" doc:"Why the balance is not paid out now. nothing: there is none, or it is on its way; open: payments, claims or unsettled money can still change it; minimum: it is less than a withdrawal may be; negative: the merchant owes it; reserve: the rest is reserved; wallet: no wallet takes it"`
}

// NewLeavingMerchant shows what a merchant has in production and in its sandbox.
func NewLeavingMerchant(m merchants.Merchant, live, sandbox leaving.Rest) LeavingMerchant {
	shown := LeavingMerchant{MerchantID: m.ID, Name: m.Name, Environments: []LeavingRest{newLeavingRest(merchants.Production, live), newLeavingRest(merchants.Sandbox, sandbox)}}
	if m.Leaving.Closed() {
		shown.ClosedAt = &view.Time{Time: m.Leaving.ClosedAt}
	}
	if m.Leaving.Erased() {
		shown.ErasedAt = &view.Time{Time: m.Leaving.ErasedAt}
	}
	return shown
}

func newLeavingRest(environment merchants.Environment, r leaving.Rest) LeavingRest {
	of := map[string]view.Money{} // by the ledger's account
	for _, part := range r.Parts() {
		of[part.Account] = view.Money{Amount: part.Amount}
	}
	return LeavingRest{
		Environment: environment, Payments: r.Payments, Claims: r.Claims, Pending: of["pending"], Available: of["available"],
		Frozen: of["frozen"], Reserve: of["reserve"], Suspense: of["suspense"], InTransit: of["in_transit"],
		WaitsFor: cmp.Or(r.Waits, "nothing"),
	}
}
