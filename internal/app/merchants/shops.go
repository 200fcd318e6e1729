package merchants

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	_ "image/jpeg" // a logo may be one
	_ "image/png"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// CreateShop adds a shop to a merchant, with a key pair for each environment. by is who adds it, for the audit log.
//
// Errors: store.ErrNotFound if the merchant does not exist, invalid_request for the name.
func (ob *Onboarding) CreateShop(ctx context.Context, by audit.Actor, merchant, name string) (Onboarded, error) {
	named, err := merchants.Shop{}.Rename(name)
	if err != nil {
		return Onboarded{}, err
	}
	m, err := ob.Store.Merchants().Get(ctx, merchant)
	if err != nil {
		return Onboarded{}, fmt.Errorf("merchant %s: %w", merchant, err)
	}
	if err := m.MayAdd(); err != nil {
		return Onboarded{}, err
	}
	o := Onboarded{Merchant: m}
	change := ob.openShop(by, &o, named.Name, ob.Now())
	return o, ob.Store.Commit(ctx, change)
}

// mostShops is how many shops a merchant's own people may open, so that nobody fills the service with them.
const mostShops = 50

// OpenShop adds a shop to a merchant, without keys: whoever opens it on a page makes the keys that are needed, so no
// key exists that nobody has seen. by is who opens it, for the audit log. A second click opens no second shop, which
// nobody could remove again: two shops opened here cannot have the same name. The merchant is written too, so that of
// two requests at once one must decide again.
//
// Errors: invalid_request for the name, conflict_state if the merchant has many shops.
func (ob *Onboarding) OpenShop(ctx context.Context, by audit.Actor, merchant, name string) (merchants.Shop, error) {
	named, err := merchants.Shop{}.Rename(name)
	if err != nil {
		return merchants.Shop{}, err
	}
	return base.Decide(func() (merchants.Shop, error) {
		m, err := ob.Store.Merchants().Get(ctx, merchant)
		if err = cmp.Or(err, m.MayAdd()); err != nil {
			return merchants.Shop{}, err
		}
		have, err := ob.Store.Merchants().Shops(ctx, merchant)
		if err != nil {
			return merchants.Shop{}, err
		}
		if len(have) >= mostShops {
			return merchants.Shop{}, problem.Conflict("many_shops", manyShops.With(len(have)))
		}
		if slices.ContainsFunc(have, func(s merchants.Shop) bool { return strings.EqualFold(s.Name, named.Name) }) {
			return merchants.Shop{}, problem.Field(problem.InvalidRequest, "name", shopNameTaken)
		}
		shop, change := ob.newShop(by, merchant, named.Name, ob.Now())
		change.Merchants = []merchants.Merchant{m.Next()}
		return shop, ob.Store.Commit(ctx, change)
	})
}

// readable returns an error for a name with characters that could mislead shoppers.
//
// Errors: invalid_request.
func readable(field, name string) error {
	if strings.ContainsFunc(name, printable.Unprintable) {
		return problem.Field(problem.InvalidRequest, field, nameMisleads.With(field))
	}
	return nil
}

// ReadLogo checks an image for shoppers' pages: PNG or JPEG, at most 24 KB and 1024 pixels a side.
func ReadLogo(body []byte) (merchants.Logo, error) {
	refuse := func(why problem.Reason) (merchants.Logo, error) {
		return merchants.Logo{}, problem.Field(problem.InvalidRequest, "logo", logoRefused.With(why))
	}
	if len(body) > merchants.MaxLogo {
		return refuse(logoTooLarge.With(len(body)))
	}
	config, kind, err := image.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return refuse(logoNoPicture)
	}
	if config.Width > merchants.MaxLogoSide || config.Height > merchants.MaxLogoSide {
		return refuse(logoTooWide.With(config.Width, config.Height))
	}
	sum := sha256.Sum256(body)
	return merchants.Logo{ID: hex.EncodeToString(sum[:]), Kind: "image/" + kind, Body: body}, nil
}

// Rename changes the name of a shop, as shoppers see it. Its slug stays: it is in addresses.
//
// Errors: store.ErrNotFound, invalid_request.
func (ob *Onboarding) Rename(ctx context.Context, by audit.Actor, shop, name string) error {
	s, err := base.Decide(func() (merchants.Shop, error) {
		s, err := ob.Store.Merchants().Shop(ctx, shop)
		if err != nil {
			return s, fmt.Errorf("shop %s: %w", shop, err)
		}
		next, err := s.Rename(name)
		if err != nil || next.Name == s.Name {
			return s, err
		}
		return next, ob.Store.Commit(ctx, pay.Change{
			Shops: []merchants.Shop{next},
			Audit: ob.Audited(by, merchants.Scope{Merchant: s.Merchant, Shop: s.ID, Live: true}, audit.ShopRenamed, s.ID, map[string]string{"name": next.Name, "before": s.Name}),
		})
	})
	if err == nil {
		ob.Tenants.Forget(s.Merchant + "/" + s.ID)
	}
	return err
}

// Rebrand changes a shop's brand; logo may be nil. Running servers use it within seconds.
//
// Errors: store.ErrNotFound, invalid_request.
func (ob *Onboarding) Rebrand(ctx context.Context, by audit.Actor, shop string, change func(merchants.Brand) merchants.Brand, logo *merchants.Logo) (merchants.Shop, error) {
	done, err := base.Decide(func() (merchants.Shop, error) {
		s, err := ob.Store.Merchants().Shop(ctx, shop)
		if err != nil {
			return s, fmt.Errorf("shop %s: %w", shop, err)
		}
		brand, write := change(s.Brand), pay.Change{}
		if logo != nil {
			brand.Logo, write.Logos = logo.ID, []merchants.Logo{*logo}
		}
		next, err := s.Rebrand(brand)
		if err != nil {
			return s, err
		}
		write.Shops = []merchants.Shop{next}
		write.Audit = ob.Audited(by, merchants.Scope{Merchant: s.Merchant, Shop: s.ID, Live: true}, audit.ShopRebranded, s.ID, map[string]string{
			"color": next.Brand.Color, "logo": next.Brand.Logo, "frames": strings.Join(next.Brand.Frames, " "),
			"passFee": strconv.FormatBool(next.Brand.PassFee),
		})
		return next, ob.Store.Commit(ctx, write)
	})
	if err == nil {
		ob.Tenants.Forget(done.Merchant + "/" + done.ID)
	}
	return done, err
}

// SetSchemes replaces the app schemes to which a shop's pages may lead back, in the sandbox and in production. Running servers
// use them within seconds: a link to a scheme that is gone is no longer shown.
//
// Errors: store.ErrNotFound, invalid_request.
func (ob *Onboarding) SetSchemes(ctx context.Context, by audit.Actor, shop string, list []string) (merchants.Shop, error) {
	done, err := base.Decide(func() (merchants.Shop, error) {
		s, err := ob.Store.Merchants().Shop(ctx, shop)
		if err != nil {
			return s, fmt.Errorf("shop %s: %w", shop, err)
		}
		next, err := s.WithSchemes(list)
		if err != nil || slices.Equal(next.Schemes, s.Schemes) {
			return s, err
		}
		return next, ob.Store.Commit(ctx, pay.Change{
			Shops: []merchants.Shop{next},
			Audit: ob.Audited(by, merchants.Scope{Merchant: s.Merchant, Shop: s.ID, Live: true}, audit.ShopSchemes, s.ID, map[string]string{
				"schemes": strings.Join(next.Schemes, " "), "before": strings.Join(s.Schemes, " "),
			}),
		})
	})
	if err == nil {
		ob.Tenants.Forget(done.Merchant + "/" + done.ID)
	}
	return done, err
}

// Logo reads a shop's logo.
//
// Errors: not_found.
func (ob *Onboarding) Logo(ctx context.Context, id string) (merchants.Logo, error) {
	return base.Named(id, problem.New(problem.NotFound, noPicture), func() (merchants.Logo, error) { return ob.Store.Merchants().Logo(ctx, id) })
}
