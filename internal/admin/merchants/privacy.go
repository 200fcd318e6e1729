package merchants

import (
	"context"
	"errors"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type exportShopperIn struct{ Body ShopperBody }

// ShopperBody names a shopper.
type ShopperBody struct {
	_ struct{} `additionalProperties:"false"`
	ShopperFields
}

// ShopperFields name a shopper: a payment; or a merchant, with one or more of email, document and phone.
type ShopperFields struct {
	MerchantID    string `json:"merchantId,omitempty" maxLength:"64" doc:"Whose shopper it is"`
	Email         string `json:"email,omitempty" maxLength:"254" doc:"Upper and lower case are equal"`
	Document      string `json:"document,omitempty" maxLength:"100" doc:"With or without dots and dashes"`
	Phone         string `json:"phone,omitempty" maxLength:"100" doc:"With the country code, as the shop sent it"`
	TransactionID string `json:"transactionId,omitempty" maxLength:"64" doc:"Only this payment"`
}

func (s ShopperFields) who() privacy.Shopper {
	return privacy.Shopper{Merchant: s.MerchantID, Email: s.Email, Document: s.Document, Phone: s.Phone, Payment: s.TransactionID}
}

type shopperOut struct {
	Body struct {
		shape.ShopperData
		Unread bool `json:"unread" doc:"Rows cannot be read, and may have more of the shopper's data: cascada check says which"`
	}
}

type eraseShopperIn struct{ Body ErasureBody }

// ErasureBody names a shopper to be erased.
type ErasureBody struct {
	_ struct{} `additionalProperties:"false"`
	ShopperFields
	DryRun bool `json:"dryRun" doc:"Say what would be erased, and erase nothing"`
}

type erasedShopperOut struct{ Body shape.ErasedShopper }

func (a *api) privacyRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Privacy"}}
	}
	missing := []problem.Code{problem.NotFound}
	call.Handle(a.API, operators.Privacy, call.Heavy(op("exportShopper", http.MethodPost, "/shopper-exports", "Read all stored personal data of a shopper", "The audit log has that you read it.")), missing, a.exportShopper)
	call.Handle(a.API, operators.Privacy, op("eraseShopper", http.MethodPost, "/shopper-erasures", "Erase a shopper from payments that have ended",
		"With their evidence, notifications and checkouts. The books stay. What was erased cannot be restored."), missing, a.eraseShopper)
}

func (a *api) exportShopper(ctx context.Context, by audit.Actor, in *exportShopperIn) (*shopperOut, error) {
	found, err := a.Uses.Privacy.ExportShopper(ctx, by, in.Body.who())
	unread := errors.Is(err, privacy.ErrUnread)
	if err != nil && !unread {
		return nil, err
	}
	out := &shopperOut{}
	out.Body.ShopperData, out.Body.Unread = shape.NewShopperData(found), unread
	return out, nil
}

func (a *api) eraseShopper(ctx context.Context, by audit.Actor, in *eraseShopperIn) (*erasedShopperOut, error) {
	done, err := a.Uses.Privacy.EraseShopper(ctx, by, in.Body.who(), in.Body.DryRun)
	if err != nil {
		return nil, err
	}
	return &erasedShopperOut{shape.NewErasedShopper(done, in.Body.DryRun)}, nil
}
