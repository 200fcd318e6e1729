// Package merchants makes merchants with their shops and keys, and changes their terms. Their
// activity is in the other packages.
package merchants

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Onboarding makes merchants and their shops, and changes their settings.
type Onboarding struct {
	*base.Base
	keys  *auth.Keys
	mails *mails.Mails
	plans *plans.Plans
}

// NewOnboarding returns the Onboarding of a service; keys makes the merchants' keys.
func NewOnboarding(b *base.Base, keys *auth.Keys, m *mails.Mails, plans *plans.Plans) *Onboarding {
	ob := &Onboarding{b, keys, m, plans}
	base.Applies(b, "merchant.terms", func(ctx context.Context, by audit.Actor, a agreed) error {
		_, err := ob.Agree(ctx, by, a.Merchant, a.Agreement)
		return err
	})
	return ob
}

// NewMerchant describes a merchant to be made.
type NewMerchant struct {
	Name     string
	Email    string
	Industry string
	Tier     merchants.Tier
	Language merchants.Language // empty: English
	// RefundFees is what happens to the fees of refunded payments; empty: kept.
	RefundFees merchants.RefundFees
	// Idempotency lets requests that repeat each other make only one merchant.
	Idempotency base.Idempotency
}

// KeyPair is the two keys of an environment. They are shown only once and cannot be read again.
type KeyPair struct {
	Publishable string `json:"publishable"`
	Secret      string `json:"secret"`
}

// Onboarded is a new merchant with its first shop and keys.
type Onboarded struct {
	Repeated bool // an earlier request made the merchant and returned its keys: there are none here
	Merchant merchants.Merchant
	Shop     merchants.Shop
	Sandbox  KeyPair
	Live     KeyPair
}

// CreateMerchant makes a merchant with one shop and a key pair for each environment.
//
// Errors: idempotency_conflict.
func (ob *Onboarding) CreateMerchant(ctx context.Context, by audit.Actor, n NewMerchant) (Onboarded, error) {
	if o, err := ob.earlierMerchant(ctx, n); err != nil || o.Repeated {
		return o, err
	}
	if err := ob.mayAgree(ctx, by, n); err != nil {
		return Onboarded{}, err
	}
	now := ob.Now()
	o, change, err := ob.onboard(by, n, now)
	if err != nil {
		return o, err
	}
	change.Once = n.Idempotency.Guard(ofNoMerchant, o.Merchant.ID, now)
	err = ob.Store.Commit(ctx, change)
	if errors.Is(err, store.ErrDuplicate) { // the same request at the same time
		return ob.earlierMerchant(ctx, n)
	}
	return o, err
}

// mayAgree returns an error if an operator may not create a merchant with other terms than the usual ones: they are prices.
//
// Errors: forbidden; those of base.DualControls.Require.
func (ob *Onboarding) mayAgree(ctx context.Context, by audit.Actor, n NewMerchant) error {
	if by.Kind == audit.BySystem || (n.Tier == "" || n.Tier == merchants.Starter) && (n.RefundFees == "" || n.RefundFees == merchants.FeesKept) {
		return nil
	}
	if err := ob.Dual.Check(ctx, by, operators.Prices); err != nil {
		return err
	}
	return ob.Dual.Require(ctx, by, base.Ask{
		Right: operators.Prices, Kind: "merchant.create", Subject: n.Name, Details: map[string]string{"tier": string(n.Tier), "refundFees": string(n.RefundFees)}, Secret: n.Name + n.Email,
	})
}

// ofNoMerchant is the scope of the once-keys of requests that make merchants.
var ofNoMerchant = merchants.Scope{Live: true}

// earlierMerchant returns the merchant that an earlier request with the same key made.
//
// Errors: idempotency_conflict.
func (ob *Onboarding) earlierMerchant(ctx context.Context, n NewMerchant) (o Onboarded, err error) {
	made, found, err := ob.Earlier(ctx, ofNoMerchant, n.Idempotency)
	if err != nil || !found {
		return o, err
	}
	o.Repeated = true
	o.Merchant, err = ob.Store.Merchants().Get(ctx, made)
	return o, err
}

// demoMerchant is the once-key of the demo merchant.
const demoMerchant = "demo merchant"

// Demo is a merchant for a database that has none, with the keys that only this process knows.
type Demo struct {
	Onboarded
	ob      *Onboarding
	change  pay.Change
	unknown bool // the merchant may be written, even later
}

// NewDemo returns a demo merchant that is not written yet.
func (ob *Onboarding) NewDemo(n NewMerchant) (*Demo, error) {
	now := ob.Now()
	o, change, err := ob.onboard(ob.Self(), n, now)
	change.Once = &pay.Once{Key: demoMerchant, Object: o.Merchant.ID, At: now}
	return &Demo{Onboarded: o, ob: ob, change: change}, err
}

// Create writes the merchant if the database has none, and reports whether the demo merchant is this one. If several nodes
// start at once, one of them writes its own. After an error, call it again: nobody may know whether the merchant was
// written.
func (d *Demo) Create(ctx context.Context) (ours bool, err error) {
	if ours, err := d.first(ctx); !base.Absent(err) {
		return ours, err
	}
	if !d.unknown {
		if count, err := d.ob.Store.Merchants().Count(ctx); err != nil || count > 0 {
			return false, err
		}
	}
	err = d.ob.Store.Commit(ctx, d.change)
	d.unknown = d.unknown || errors.Is(err, store.ErrUnknown)
	if errors.Is(err, store.ErrDuplicate) {
		return d.first(ctx)
	}
	return err == nil, err
}

// first reports whether the database's demo merchant is this one.
//
// Errors: store.ErrNotFound if there is no demo merchant.
func (d *Demo) first(ctx context.Context) (ours bool, err error) {
	made, err := d.ob.Store.Idempotency().Get(ctx, demoMerchant)
	return err == nil && made.Object == d.Merchant.ID, err
}

// Demo is the sandbox of the demo merchant's first shop.
//
// Errors: store.ErrNotFound if there is no demo merchant.
func (ob *Onboarding) Demo(ctx context.Context) (merchants.Scope, error) {
	made, err := ob.Store.Idempotency().Get(ctx, demoMerchant)
	if err != nil {
		return merchants.Scope{}, err
	}
	shops, err := ob.Store.Merchants().Shops(ctx, made.Object)
	if err != nil {
		return merchants.Scope{}, err
	}
	if len(shops) == 0 {
		return merchants.Scope{}, store.ErrNotFound
	}
	return merchants.Scope{Merchant: made.Object, Shop: shops[0].ID}, nil
}

// Check validates a new merchant.
func (n NewMerchant) Check() error {
	if n.RefundFees != "" && !slices.Contains(merchants.AllRefundFees(), n.RefundFees) {
		return problem.Field(problem.InvalidRequest, "refundFees", refundFeesUnknown.With(n.RefundFees))
	}
	if strings.TrimSpace(n.Name) == "" {
		return problem.Field(problem.InvalidRequest, "name", nameRequired)
	}
	if err := cmp.Or(readable("name", n.Name), problem.Fit(problem.Text{Param: "name", Text: n.Name, Most: merchants.MaxName},
		problem.Text{Param: "industry", Text: n.Industry, Most: merchants.MaxIndustry})); err != nil {
		return err
	}
	return checkEmail(n.Email)
}

// checkEmail returns invalid_request unless the text is exactly one address, such as name@example.com.
func checkEmail(address string) error {
	if parsed, err := mail.CheckAddress(address); err != nil || parsed != address {
		return problem.Field(problem.InvalidRequest, "email", emailNotOneAddress.With(address))
	}
	return nil
}

// SetEmail changes a merchant's e-mail address. The old address and the owners get an e-mail.
//
// Errors: store.ErrNotFound, invalid_request.
func (ob *Onboarding) SetEmail(ctx context.Context, by audit.Actor, id, address string) error {
	if err := checkEmail(address); err != nil {
		return err
	}
	_, err := ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		if m.Email == address {
			return m, nil, nil
		}
		return m.Move(address), ob.Audited(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantMoved, id, nil), nil
	}, func(written *pay.Change, before merchants.Merchant) error {
		return ob.mails.AddMoveAlerts(ctx, written, before, by)
	})
	return err
}

// SetLanguage changes the language of a merchant's receipts and reports.
//
// Errors: store.ErrNotFound, invalid_request.
func (ob *Onboarding) SetLanguage(ctx context.Context, by audit.Actor, id string, language merchants.Language) error {
	_, err := ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		next, err := m.Speak(language)
		if err != nil || m.Language == language {
			return m, nil, err
		}
		return next, ob.Audited(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantSpeaks, id,
			map[string]string{"language": string(language), "before": string(m.Language)}), nil
	})
	return err
}

// FindMerchants lists merchants whose name or e-mail address contains a text, newest first, before the one with
// an id, for the operator.
func (ob *Onboarding) FindMerchants(ctx context.Context, text, before string, limit int) ([]merchants.Merchant, error) {
	return ob.Store.Merchants().Find(ctx, text, before, limit)
}

// AnyShop reads a shop of any merchant, for the operator.
//
// Errors: store.ErrNotFound.
func (ob *Onboarding) AnyShop(ctx context.Context, id string) (merchants.Shop, error) {
	return base.Named(id, store.ErrNotFound, func() (merchants.Shop, error) { return ob.Store.Merchants().Shop(ctx, id) })
}

// Shops lists a merchant's shops, oldest first.
func (ob *Onboarding) Shops(ctx context.Context, merchant string) ([]merchants.Shop, error) {
	return ob.Store.Merchants().Shops(ctx, merchant)
}

// Merchants lists merchants with their shops, by id, beginning after the merchant whose id is after, for the
// operator.
func (ob *Onboarding) Merchants(ctx context.Context, after string, limit int) ([]merchants.Merchant, map[string][]merchants.Shop, error) {
	list, err := ob.Store.Merchants().List(ctx, after, limit)
	if err != nil {
		return nil, nil, err
	}
	shops := map[string][]merchants.Shop{}
	for _, m := range list {
		if shops[m.ID], err = ob.Store.Merchants().Shops(ctx, m.ID); err != nil {
			return nil, nil, err
		}
	}
	return list, shops, nil
}

// onboard returns a merchant that is not written yet.
func (ob *Onboarding) onboard(by audit.Actor, n NewMerchant, now time.Time) (Onboarded, pay.Change, error) {
	if err := n.Check(); err != nil {
		return Onboarded{}, pay.Change{}, err
	}
	name := strings.TrimSpace(n.Name)
	if n.Tier == "" {
		n.Tier = merchants.Starter
	}
	if n.Language == "" {
		n.Language = merchants.English
	}
	if n.RefundFees == "" {
		n.RefundFees = merchants.FeesKept
	}
	o := Onboarded{Merchant: merchants.Merchant{
		ID: ob.NewID(merchants.MerchantPrefix, now), Version: 1, Name: name, Email: n.Email, Industry: n.Industry,
		Tier: n.Tier, TrustScore: n.Tier.FirstScore(), Language: n.Language, RefundFees: n.RefundFees, CreatedAt: now,
	}}
	change := ob.openShop(by, &o, name, now, merchants.RightWithdrawals)
	change.Merchants = []merchants.Merchant{o.Merchant}
	change.Audit = append(change.Audit, ob.Audited(by, merchants.Scope{Merchant: o.Merchant.ID, Live: true}, audit.MerchantCreated, o.Merchant.ID,
		map[string]string{"name": o.Merchant.Name, "tier": string(o.Merchant.Tier), "refundFees": string(o.Merchant.RefundFees)})...)
	return o, change, nil
}

// newShop makes a shop of a merchant.
func (ob *Onboarding) newShop(by audit.Actor, merchant, name string, now time.Time) (merchants.Shop, pay.Change) {
	id := ob.NewID(merchants.ShopPrefix, now)
	shop := merchants.NewShop(id, merchant, name, slug(name)+"-"+strings.ToLower(id[len(id)-6:]), now)
	return shop, pay.Change{
		Shops: []merchants.Shop{shop},
		Audit: ob.Audited(by, merchants.Scope{Merchant: merchant, Shop: id, Live: true}, audit.ShopCreated, id, map[string]string{"name": name}),
	}
}

// openShop gives the merchant of o a shop and its keys. rights are extra rights of the secret keys.
func (ob *Onboarding) openShop(by audit.Actor, o *Onboarded, name string, now time.Time, rights ...merchants.Right) pay.Change {
	shop, change := ob.newShop(by, o.Merchant.ID, name, now)
	o.Shop = shop
	for _, live := range []bool{false, true} {
		scope := merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: live}
		pair := &o.Sandbox
		if live {
			pair = &o.Live
		}
		var keys [2]merchants.Key
		pair.Publishable, keys[0] = ob.keys.NewKey(scope, merchants.Publishable, now)
		pair.Secret, keys[1] = ob.keys.NewKey(scope, merchants.Secret, now)
		keys[1].Rights = rights
		change.Keys = append(change.Keys, keys[:]...)
		for _, key := range keys {
			change.Audit = append(change.Audit, ob.keys.AuditKey(by, audit.KeyCreated, key)...)
		}
	}
	return change
}

// slug is a name in a form for a URL.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := strings.Trim(b.String(), "-")
	if s == "" {
		return "shop"
	}
	return s[:min(len(s), 40)]
}
