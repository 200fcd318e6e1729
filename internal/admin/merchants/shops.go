package merchants

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// ShopPath names a shop.
type ShopPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"shp_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type shopOut struct{ Body shape.Shop }

type shopsIn struct {
	MerchantPath
	call.PageQuery
}

type shopsOut struct {
	Body struct {
		Data       []shape.Shop `json:"data"`
		Pagination call.Cursor  `json:"pagination"`
	}
}

type createShopIn struct {
	MerchantPath
	Body NewShopBody
}

// NewShopBody is a shop to be made.
type NewShopBody struct {
	_    struct{} `additionalProperties:"false"`
	Name string   `json:"name" minLength:"1" maxLength:"80" example:"Acme Two" doc:"As shoppers see it"`
}

type openedShopOut struct{ Body shape.OpenedShop }

type changeShopIn struct {
	ShopPath
	Body ShopBody
}

// ShopBody changes a shop.
type ShopBody struct {
	_       struct{}   `additionalProperties:"false"`
	Name    *string    `json:"name,omitempty" minLength:"1" maxLength:"80"`
	Brand   *BrandBody `json:"brand,omitempty"`
	Schemes *[]string  `json:"schemes,omitempty" maxItems:"10" doc:"Replaces the current list. Any app can claim any scheme: prefer https addresses that open the app"`
}

// BrandBody changes how a shop's pages look.
type BrandBody struct {
	_       struct{}  `additionalProperties:"false"`
	Color   *string   `json:"color,omitempty" maxLength:"7" example:"#0a7d5a" doc:"An empty text: the default"`
	Logo    *string   `json:"logo,omitempty" maxLength:"32768" doc:"A PNG or JPEG picture in base64, at most 24 KB and 1024 pixels a side; an empty text removes the logo"`
	Frames  *[]string `json:"frames,omitempty" maxItems:"10" doc:"Replaces the current list of origins that may embed the pages"`
	PassFee *bool     `json:"passFee,omitempty"`
}

func (a *api) shopRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Shops"}}
	}
	call.Handle(a.API, operators.View, op("listShops", http.MethodGet, "/merchants/{id}/shops", "List a merchant's shops", "Oldest first."), nil, a.shops)
	call.Handle(a.API, operators.Merchants, call.Creates(op("createShop", http.MethodPost, "/merchants/{id}/shops", "Add a shop to a merchant, with its keys",
		"The keys are shown once: a repeat with the same Idempotency-Key shows them again for 7 days.")), nil, a.createShop)
	call.Handle(a.API, operators.View, op("getShop", http.MethodGet, "/shops/{id}", "Read a shop", "With its brand and the schemes of its apps."), nil, a.shop)
	call.Handle(a.API, operators.Merchants, op("changeShop", http.MethodPatch, "/shops/{id}", "Change a shop's name, brand or schemes", "Fields that are not given stay the same. Nothing is changed if one of them is wrong."), nil, a.changeShop)
}

func (a *api) shops(ctx context.Context, _ audit.Actor, in *shopsIn) (*shopsOut, error) {
	if _, err := a.Uses.AnyMerchant(ctx, in.ID); err != nil {
		return nil, err
	}
	list, err := a.Uses.Onboarding.Shops(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	id := func(s merchants.Shop) string { return s.ID }
	list = call.Cut(in.PageQuery, list, id)
	out := &shopsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, shape.NewShop)
	return out, nil
}

func (a *api) createShop(ctx context.Context, by audit.Actor, in *createShopIn) (*openedShopOut, error) {
	o, err := a.Uses.Onboarding.CreateShop(ctx, by, in.ID, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &openedShopOut{shape.NewOpenedShop(o)}, nil
}

func (a *api) shop(ctx context.Context, _ audit.Actor, in *ShopPath) (*shopOut, error) {
	s, err := a.Uses.Onboarding.AnyShop(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &shopOut{shape.NewShop(s)}, nil
}

func (a *api) changeShop(ctx context.Context, by audit.Actor, in *changeShopIn) (*shopOut, error) {
	b := in.Body
	if b.Name == nil && b.Brand == nil && b.Schemes == nil {
		return nil, message.Refusal(problem.InvalidRequest, "name what changes: name, brand or schemes")
	}
	s, err := a.Uses.Onboarding.AnyShop(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	logo, err := b.check(s)
	if err != nil {
		return nil, err
	}
	if b.Name != nil {
		if err := a.Uses.Onboarding.Rename(ctx, by, in.ID, *b.Name); err != nil {
			return nil, err
		}
	}
	if b.Brand != nil {
		if _, err := a.Uses.Onboarding.Rebrand(ctx, by, in.ID, b.Brand.apply, logo); err != nil {
			return nil, err
		}
	}
	if b.Schemes != nil {
		if _, err := a.Uses.Onboarding.SetSchemes(ctx, by, in.ID, *b.Schemes); err != nil {
			return nil, err
		}
	}
	return a.shop(ctx, by, &in.ShopPath)
}

// check reads the logo, nil if there is none, and checks everything before anything is written.
//
// Errors: invalid_request.
func (b ShopBody) check(s merchants.Shop) (logo *merchants.Logo, err error) {
	if b.Name != nil {
		if _, err := s.Rename(*b.Name); err != nil {
			return nil, err
		}
	}
	if b.Schemes != nil {
		if _, err := s.WithSchemes(*b.Schemes); err != nil {
			return nil, err
		}
	}
	if b.Brand == nil {
		return nil, nil
	}
	if _, err := s.Rebrand(b.Brand.apply(s.Brand)); err != nil {
		return nil, err
	}
	if b.Brand.Logo == nil || *b.Brand.Logo == "" {
		return nil, nil
	}
	body, err := base64.StdEncoding.DecodeString(*b.Brand.Logo)
	if err != nil {
		return nil, message.FieldRefusal(problem.InvalidRequest, "brand.logo", "brand.logo must be a picture in base64")
	}
	read, err := appmerchants.ReadLogo(body)
	return &read, err
}

// apply changes the given fields of a brand, but for a new logo.
func (b BrandBody) apply(to merchants.Brand) merchants.Brand {
	if b.Color != nil {
		to.Color = *b.Color
	}
	if b.Logo != nil {
		to.Logo = ""
	}
	if b.Frames != nil {
		to.Frames = *b.Frames
	}
	if b.PassFee != nil {
		to.PassFee = *b.PassFee
	}
	return to
}
