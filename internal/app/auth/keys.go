package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// Keys are the API keys of merchants. It is safe for use by many goroutines.
type Keys struct {
	*base.Base
	seen *base.Cache[tenant.Key] // by hash and by id
}

// NewKey is what a key is to be.
type NewKey struct {
	tenant.Scope // without a shop: the whole merchant's
	Kind         tenant.KeyKind
	Rights       []tenant.Right // of a restricted one; withdrawals of a secret one
	Ends         time.Time      // when it is refused from; the zero time: it does not end by itself
}

// Create adds a key, and returns it: it cannot be read again. A secret key of the whole
// merchant, or of his first shop, may withdraw.
//
// Errors: store.ErrNotFound where there is no such merchant, or the shop is not
// the merchant's; invalid_request for rights that a key of the kind has not.
func (ks *Keys) Create(ctx context.Context, n NewKey) (string, error) {
	scope := n.Scope
	if err := n.check(); err != nil {
		return "", err
	}
	if _, err := ks.AnyMerchant(ctx, scope.Merchant); err != nil {
		return "", err
	}
	if scope.Shop != "" {
		shop, err := ks.Store.Merchants.Shop(ctx, scope.Shop)
		if err == nil && shop.Merchant != scope.Merchant {
			err = store.ErrNotFound
		}
		if err != nil {
			return "", fmt.Errorf("shop %s: %w", scope.Shop, err)
		}
	}
	raw, key := ks.NewKey(scope, n.Kind, ks.Now())
	key.EndsAt, key.Rights = n.Ends, n.Rights
	if n.Kind == tenant.Secret {
		shops, err := ks.Store.Merchants.Shops(ctx, scope.Merchant) // oldest first
		if err != nil {
			return "", err
		}
		if scope.Shop == "" || len(shops) > 0 && shops[0].ID == scope.Shop {
			key.Rights = []tenant.Right{tenant.RightWithdrawals}
		}
	}
	return raw, ks.Store.Commit(ctx, pay.Change{Keys: []tenant.Key{key}, Audit: ks.AuditKey(audit.KeyCreated, key)})
}

func (n NewKey) check() error {
	refuse := func(why string) error { return problem.Field(problem.InvalidRequest, "rights", why) }
	switch {
	case n.Kind == tenant.Restricted && len(n.Rights) == 0:
		return refuse("a restricted key has some rights: want some of " + tenant.WriteRights(tenant.Rights()))
	case n.Kind == tenant.Publishable && len(n.Rights) > 0:
		return refuse("a publishable key has no rights")
	case n.Kind == tenant.Secret && !slices.Equal(n.Rights, []tenant.Right{tenant.RightWithdrawals}) && len(n.Rights) > 0:
		return refuse("a secret key has all rights but withdrawals: name that, or make a restricted key")
	}
	return nil
}

// List lists a merchant's keys, oldest first, with those that are over, and how they were used.
//
// Errors: store.ErrNotFound.
func (ks *Keys) List(ctx context.Context, merchant string) ([]tenant.Key, map[string]store.KeyUsage, error) {
	if _, err := ks.AnyMerchant(ctx, merchant); err != nil {
		return nil, nil, err
	}
	list, err := ks.Store.Keys.List(ctx, merchant)
	if err != nil {
		return nil, nil, err
	}
	uses, err := ks.Store.Keys.Usages(ctx, merchant)
	return list, uses, err
}

// LeastGrace is the shortest time that a rotated key may be good yet: what nodes know of keys is
// younger.
const LeastGrace = 2 * base.CacheTTL

// Rotate makes a key that may do what another one may, and returns it: it cannot be read
// again. The other one, by its id or how it is shown, is good for the grace yet.
//
// Errors: store.ErrNotFound; conflict_state where the other one is over or was rotated, or several
// are shown so; invalid_request for a grace below LeastGrace that is not 0.
func (ks *Keys) Rotate(ctx context.Context, name string, grace time.Duration) (raw string, key tenant.Key, err error) {
	old, err := ks.key(ctx, name)
	if err != nil {
		return "", key, err
	}
	now := ks.Now()
	switch {
	case old.Over(now):
		return "", key, problem.New(problem.ConflictState, "the key "+old.ID+" is over: make a new one")
	case old.Successor != "":
		return "", key, problem.New(problem.ConflictState, "the key "+old.ID+" was rotated: "+old.Successor+" took its place; rotate that")
	case grace != 0 && grace < LeastGrace:
		return "", key, problem.Field(problem.InvalidRequest, "grace", "the grace is 0, or "+LeastGrace.String()+" at least: other nodes learn of it within that time")
	}
	raw, key = ks.NewKey(old.Scope, old.Kind, now)
	key.Rights = old.Rights
	if !old.EndsAt.IsZero() { // it lives as long as the other one was to
		key.EndsAt = now.Add(old.EndsAt.Sub(old.CreatedAt))
	}
	if old = old.Replace(key.ID, now.Add(grace)); grace == 0 {
		old.RevokedAt = now
	}
	err = ks.Store.Commit(ctx, pay.Change{
		Keys: []tenant.Key{key, old}, Audit: append(ks.AuditKey(audit.KeyCreated, key), ks.AuditKey(audit.KeyRevoked, old)...),
	})
	ks.forgetKey(old)
	return raw, key, err
}

// Revoke ends a key by its id, or by how it is shown; other nodes notice within two seconds.
//
// Errors: store.ErrNotFound, conflict_state where several are shown so.
func (ks *Keys) Revoke(ctx context.Context, name string) (tenant.Key, error) {
	return ks.endKey(ctx, func() (tenant.Key, error) { return ks.key(ctx, name) })
}

// RevokeRaw is Revoke for whoever has the key itself.
//
// Errors: store.ErrNotFound.
func (ks *Keys) RevokeRaw(ctx context.Context, raw string) (tenant.Key, error) {
	return ks.endKey(ctx, func() (tenant.Key, error) {
		key, err := ks.Store.Keys.ByHash(ctx, ks.Vault.Hash(raw))
		if err != nil {
			err = fmt.Errorf("key: %w", err) // the key itself is a secret
		}
		return key, err
	})
}

// key reads a key by its id, or by how it is shown: sk_test_…abcd, or with three dots.
//
// Errors: store.ErrNotFound, conflict_state where several are shown so.
func (ks *Keys) key(ctx context.Context, name string) (tenant.Key, error) {
	shown := strings.Replace(name, "...", "…", 1)
	if !strings.Contains(shown, "…") {
		key, err := ks.Store.Keys.Get(ctx, name)
		if err != nil {
			err = fmt.Errorf("key %s: %w", name, err)
		}
		return key, err
	}
	list, err := ks.Store.Keys.Shown(ctx, shown)
	switch {
	case err != nil:
		return tenant.Key{}, err
	case len(list) == 0:
		return tenant.Key{}, fmt.Errorf("key %s: %w", shown, store.ErrNotFound)
	case len(list) > 1:
		var ids []string
		for _, key := range list {
			ids = append(ids, key.ID)
		}
		return tenant.Key{}, problem.New(problem.ConflictState, "several keys are shown as "+shown+", give the id of one: "+strings.Join(ids, ", "))
	}
	return list[0], nil
}

func (ks *Keys) endKey(ctx context.Context, read func() (tenant.Key, error)) (tenant.Key, error) {
	key, err := base.Decide(func() (tenant.Key, error) {
		key, err := read()
		if err != nil || !key.RevokedAt.IsZero() {
			return key, err
		}
		key = key.Revoke(ks.Now())
		return key, ks.Store.Commit(ctx, pay.Change{Keys: []tenant.Key{key}, Audit: ks.AuditKey(audit.KeyRevoked, key)})
	})
	if err == nil {
		ks.forgetKey(key)
	}
	return key, err
}

func (ks *Keys) forgetKey(key tenant.Key) {
	ks.seen.Forget(key.Hash)
	ks.seen.Forget(key.ID)
}

// AuditKey is the entry of something that was done with a key.
func (ks *Keys) AuditKey(act audit.Act, key tenant.Key) []audit.Entry {
	details := map[string]string{"kind": string(key.Kind), "preview": key.Preview}
	if len(key.Rights) > 0 {
		details["rights"] = tenant.WriteRights(key.Rights)
	}
	if key.EndsAt.After(ks.Now()) && key.RevokedAt.IsZero() {
		details["until"] = key.EndsAt.UTC().Format(time.RFC3339)
	}
	return ks.Audited(ks.Self(), key.Scope, act, key.ID, details)
}

// NewKey makes a key of a kind. Its raw text is told once, and kept nowhere.
func (ks *Keys) NewKey(scope tenant.Scope, kind tenant.KeyKind, now time.Time) (string, tenant.Key) {
	prefix := tenant.KeyPrefix(kind, scope.Live)
	raw := id.Secret(prefix)
	return raw, tenant.Key{
		ID: ks.NewID("key_", now), Scope: scope, Version: 1, Kind: kind,
		Hash: ks.Vault.Hash(raw), Preview: prefix + "…" + raw[len(raw)-4:], CreatedAt: now,
	}
}
