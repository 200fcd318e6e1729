package admin

import (
	"context"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/shape"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// MerchantPath names a merchant.
type MerchantPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"mer_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type merchantOut struct{ Body shape.Merchant }

type termsIn struct {
	MerchantPath
	Body TermsBody
}

// TermsBody changes the terms of a merchant.
type TermsBody struct {
	_          struct{}             `additionalProperties:"false"`
	Tier       merchants.Tier       `json:"tier,omitempty" enum:"starter,standard,premium,trusted" doc:"It decides the fees, the reserve, the delay and the request limits"`
	RefundFees merchants.RefundFees `json:"refundFees,omitempty" enum:"kept,returned" doc:"For payments that are made from now on"`

	Installments *[]string `json:"installments,omitempty" maxItems:"50" example:"[\"card.MEX:12/6@MXN:3000\"]" doc:"What shoppers may be offered from now on, in place of all earlier terms, each RAIL:MAX/INTERESTFREE and, for payments from an amount on, @CURRENCY:FROM. card.* is all rails of a network, * all rails. An empty list grants none"`
}

type pauseIn struct {
	MerchantPath
	Body PauseBody
}

// PauseBody pauses a merchant.
type PauseBody struct {
	_      struct{} `additionalProperties:"false"`
	Reason string   `json:"reason" maxLength:"300" example:"We wait for your new bank account" doc:"The merchant's team reads it"`
}

func (a *API) merchantRoutes() {
	tags := []string{"Merchants"}
	handle(a, huma.Operation{OperationID: "getMerchant", Method: http.MethodGet, Path: "/merchants/{id}", Tags: tags,
		Summary: "Read a merchant's terms", Description: "Its tier, and the fees, the reserve and the delay that follow from it."}, nil, a.merchant)
	handle(a, huma.Operation{OperationID: "changeMerchant", Method: http.MethodPatch, Path: "/merchants/{id}", Tags: tags,
		Summary: "Change a merchant's terms", Description: "Existing payments keep the terms that they were made with. Fields that are not given stay the same."}, nil, a.changeMerchant)
	handle(a, huma.Operation{OperationID: "pauseMerchant", Method: http.MethodPost, Path: "/merchants/{id}/pause", Tags: tags,
		Summary: "Pause a merchant in production", Description: "New payments, checkouts, links and withdrawals are refused, on every node within 5 seconds. What is under way goes on, and so does the sandbox. A repeat changes the reason."}, nil, a.pauseMerchant)
	handle(a, huma.Operation{OperationID: "resumeMerchant", Method: http.MethodPost, Path: "/merchants/{id}/resume", Tags: tags,
		Summary: "End the pause of a merchant", Description: "A repeat changes nothing."}, nil, a.resumeMerchant)
}

func (a *API) merchant(ctx context.Context, _ audit.Actor, in *MerchantPath) (*merchantOut, error) {
	m, err := a.Uses.AnyMerchant(ctx, in.ID)
	return &merchantOut{shape.NewMerchant(m)}, err
}

func (a *API) changeMerchant(ctx context.Context, by audit.Actor, in *termsIn) (*merchantOut, error) {
	to := appmerchants.Agreement{Tier: in.Body.Tier, RefundFees: in.Body.RefundFees}
	if list := in.Body.Installments; list != nil {
		text := strings.Join(*list, ",")
		to.Installments = &text
	}
	if to == (appmerchants.Agreement{}) {
		return nil, message.Refusal(problem.InvalidRequest, "name what changes: tier, refundFees or installments")
	}
	m, err := a.Uses.Onboarding.Agree(ctx, by, in.ID, to)
	return &merchantOut{shape.NewMerchant(m)}, err
}

func (a *API) pauseMerchant(ctx context.Context, by audit.Actor, in *pauseIn) (*merchantOut, error) {
	m, err := a.Uses.Onboarding.Pause(ctx, by, in.ID, in.Body.Reason)
	return &merchantOut{shape.NewMerchant(m)}, err
}

func (a *API) resumeMerchant(ctx context.Context, by audit.Actor, in *MerchantPath) (*merchantOut, error) {
	m, err := a.Uses.Onboarding.Resume(ctx, by, in.ID, appmerchants.AnyReason)
	return &merchantOut{shape.NewMerchant(m)}, err
}
