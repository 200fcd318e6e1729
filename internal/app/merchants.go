package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
)

// NewMerchant is what a merchant is created from.
type NewMerchant struct {
	Name     string
	Email    string
	Industry string
	Tier     pay.Tier
}

// KeyPair is the two halves of an environment's credentials. They are shown
// once and cannot be read again.
type KeyPair struct {
	Publishable string `json:"publishable"`
	Secret      string `json:"secret"`
}

// Onboarded is a new merchant with its first shop and keys.
type Onboarded struct {
	Merchant pay.Merchant
	Shop     pay.Shop
	Sandbox  KeyPair
	Live     KeyPair
}

// CreateMerchant makes a merchant with one shop and a key pair for each
// environment.
func (a *App) CreateMerchant(ctx context.Context, n NewMerchant) (Onboarded, error) {
	now := a.Now()
	name := strings.TrimSpace(n.Name)
	if name == "" || !strings.Contains(n.Email, "@") {
		return Onboarded{}, fmt.Errorf("a merchant needs a name and an email, got %q and %q", n.Name, n.Email)
	}
	if n.Tier == "" {
		n.Tier = pay.Starter
	}
	o := Onboarded{Merchant: pay.Merchant{
		ID: a.NewID("mer_", now), Version: 1, Name: name, Email: n.Email, Industry: n.Industry,
		Tier: n.Tier, TrustScore: pay.TermsOf(n.Tier).TrustScore, CreatedAt: now,
	}}
	shopID := a.NewID("shp_", now)
	o.Shop = pay.Shop{
		ID: shopID, Version: 1, Merchant: o.Merchant.ID, Name: name,
		Slug: slug(name) + "-" + strings.ToLower(shopID[len(shopID)-6:]), CreatedAt: now,
	}
	change := pay.Change{Merchants: []pay.Merchant{o.Merchant}, Shops: []pay.Shop{o.Shop}}
	for _, live := range []bool{false, true} {
		scope := pay.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: live}
		pair := &o.Sandbox
		if live {
			pair = &o.Live
		}
		var keys [2]pay.Key
		pair.Publishable, keys[0] = a.newKey(scope, pay.Publishable, now)
		pair.Secret, keys[1] = a.newKey(scope, pay.Secret, now)
		change.Keys = append(change.Keys, keys[:]...)
	}
	return o, a.store.Commit(ctx, change)
}

// CreateKey adds a key. A scope without a shop makes a legacy key of the whole
// merchant.
func (a *App) CreateKey(ctx context.Context, scope pay.Scope, kind pay.KeyKind) (string, error) {
	raw, key := a.newKey(scope, kind, a.Now())
	return raw, a.store.Commit(ctx, pay.Change{Keys: []pay.Key{key}})
}

// RevokeKey ends a key; other nodes notice within seconds.
func (a *App) RevokeKey(ctx context.Context, raw string) error {
	key, err := a.store.KeyByHash(ctx, a.Vault.Hash(raw))
	if err != nil {
		return err
	}
	key.Version++
	key.RevokedAt = a.Now()
	if err := a.store.Commit(ctx, pay.Change{Keys: []pay.Key{key}}); err != nil {
		return err
	}
	a.keys.forget(key.Hash)
	a.keys.forget(key.ID)
	return nil
}

func (a *App) newKey(scope pay.Scope, kind pay.KeyKind, now time.Time) (string, pay.Key) {
	prefix := pay.KeyPrefix(kind, scope.Live)
	raw := id.Secret(prefix)
	return raw, pay.Key{
		ID: a.NewID("key_", now), Scope: scope, Version: 1, Kind: kind,
		Hash: a.Vault.Hash(raw), Preview: prefix + "…" + raw[len(raw)-4:], CreatedAt: now,
	}
}

// Empty reports whether the database has no merchant yet.
func (a *App) Empty(ctx context.Context) (bool, error) {
	n, err := a.store.CountMerchants(ctx)
	return n == 0, err
}

// slug is a name as it may stand in a URL.
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
