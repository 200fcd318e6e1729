package base

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Actor is the principal in the audit log.
func (p Principal) Actor() audit.Actor {
	if p.User != "" {
		return audit.Actor{Kind: audit.ByUser, ID: p.User, IP: p.Address, Request: p.RequestID, Agent: p.Agent}
	}
	return audit.Actor{Kind: audit.ByKey, ID: p.KeyID, IP: p.Address, Request: p.RequestID}
}

// Principal is who makes a request, and with which credentials.
type Principal struct {
	merchants.Scope        // Shop is empty for a key of the whole merchant
	User            string // usr_…, "" if a program makes the request; then the fields of keys are empty
	KeyID           string
	Login           string // lgn_…, "" if the request uses the key itself
	Kind            merchants.KeyKind
	Preview         string // masked key
	Rights          []merchants.Right
	RequestID       string
	Address         string // the request's address, as far as it is trusted
	Agent           string // the browser of a user, as it calls itself
}

// May reports whether the principal's key, or role, has a right.
func (p Principal) May(r merchants.Right) bool {
	if p.User != "" {
		return slices.Contains(p.Rights, r)
	}
	return merchants.Key{Kind: p.Kind, Rights: p.Rights}.May(r)
}

// Tenancy is a shop with its merchant.
type Tenancy struct {
	merchant merchants.Merchant
	shop     merchants.Shop
}

// OrRefuse replaces "not found" with the refusal. It does not change other errors.
func OrRefuse(err, refusal error) error {
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return refusal
	}
	return err
}

// Tenant reads the merchant and shop of a principal.
func (b *Base) Tenant(ctx context.Context, p Principal) (merchants.Merchant, merchants.Shop, error) {
	t, err := b.Tenants.Get(ctx, p.Merchant+"/"+p.Shop, func(ctx context.Context) (t Tenancy, err error) {
		if t.merchant, err = b.Store.Merchants().Get(ctx, p.Merchant); err != nil {
			return t, err
		}
		if p.Shop != "" {
			t.shop, err = b.Store.Merchants().Shop(ctx, p.Shop)
		}
		return t, err
	})
	return t.merchant, t.shop, err
}

// Narrow returns the scope of a request that may name its merchant and shop in the body.
//
// Errors: forbidden if the credentials do not cover the named one, shop_required if no shop is
// named and the credentials are the whole merchant's.
func (b *Base) Narrow(ctx context.Context, p Principal, merchant, shop string) (merchants.Scope, error) {
	foreign := problem.Field(problem.Forbidden, "shopId", shopNotCovered)
	if merchant != "" && merchant != p.Merchant {
		return merchants.Scope{}, problem.Field(problem.Forbidden, "merchantId", merchantNotCovered)
	}
	if p.Shop != "" {
		if shop != "" && shop != p.Shop {
			return merchants.Scope{}, foreign
		}
		return p.Scope, nil
	}
	if shop == "" {
		return merchants.Scope{}, problem.New(problem.ShopRequired, shopRequired)
	}
	if !Storable(shop) {
		return merchants.Scope{}, foreign
	}
	found, err := b.Store.Merchants().Shop(ctx, shop)
	if err != nil {
		return merchants.Scope{}, OrRefuse(err, foreign)
	}
	if found.Merchant != p.Merchant {
		return merchants.Scope{}, foreign
	}
	return merchants.Scope{Merchant: p.Merchant, Shop: shop, Live: p.Live}, nil
}

// AnyMerchant reads a merchant, for the operator.
//
// Errors: store.ErrNotFound.
func (b *Base) AnyMerchant(ctx context.Context, id string) (merchants.Merchant, error) {
	m, err := b.Store.Merchants().Get(ctx, id)
	if err != nil {
		return m, fmt.Errorf("merchant %s: %w", id, err)
	}
	return m, nil
}
