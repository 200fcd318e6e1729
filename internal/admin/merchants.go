package admin

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
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
	_          struct{}          `additionalProperties:"false"`
	RefundFees tenant.RefundFees `json:"refundFees" enum:"kept,returned" doc:"Of the payments that are made from now on"`
}

func (a *API) merchantRoutes() {
	tags := []string{"Merchants"}
	handle(a, huma.Operation{OperationID: "getMerchant", Method: http.MethodGet, Path: "/merchants/{id}", Tags: tags,
		Summary: "Read what was agreed with a merchant", Description: "Its tier, and the fees, the reserve and the delay that follow from it."}, nil, a.merchant)
	handle(a, huma.Operation{OperationID: "changeMerchant", Method: http.MethodPatch, Path: "/merchants/{id}", Tags: tags,
		Summary: "Change what was agreed with a merchant", Description: "Payments that are made already keep the terms that they were made with."}, nil, a.changeMerchant)
}

func (a *API) merchant(ctx context.Context, _ audit.Actor, in *MerchantPath) (*merchantOut, error) {
	m, err := a.App.AnyMerchant(ctx, in.ID)
	return &merchantOut{shape.NewMerchant(m)}, err
}

func (a *API) changeMerchant(ctx context.Context, by audit.Actor, in *termsIn) (*merchantOut, error) {
	m, err := a.App.Onboarding.SetRefundFees(ctx, by, in.ID, in.Body.RefundFees)
	return &merchantOut{shape.NewMerchant(m)}, err
}
