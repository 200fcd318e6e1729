package app

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// CreateKey adds a key, and returns it: it cannot be read again. It is refused from ends on,
// unless that is zero. A scope without a shop makes a legacy key of the whole merchant.
//
// Errors: store.ErrNotFound where there is no such merchant, or the shop is not
// the merchant's.
func (a *App) CreateKey(ctx context.Context, scope pay.Scope, kind pay.KeyKind, ends time.Time) (string, error) {
	if _, err := a.AnyMerchant(ctx, scope.Merchant); err != nil {
		return "", err
	}
	if scope.Shop != "" {
		shop, err := a.store.Shop(ctx, scope.Shop)
		if err == nil && shop.Merchant != scope.Merchant {
			err = store.ErrNotFound
		}
		if err != nil {
			return "", fmt.Errorf("shop %s: %w", scope.Shop, err)
		}
	}
	raw, key := a.newKey(scope, kind, a.Now())
	key.EndsAt = ends
	return raw, a.store.Commit(ctx, pay.Change{Keys: []pay.Key{key}, Audit: a.auditKey(pay.KeyCreated, key)})
}

// Keys lists a merchant's keys, oldest first, with those that are over.
//
// Errors: store.ErrNotFound.
func (a *App) Keys(ctx context.Context, merchant string) ([]pay.Key, error) {
	if _, err := a.AnyMerchant(ctx, merchant); err != nil {
		return nil, err
	}
	return a.store.Keys(ctx, merchant)
}

// RotateKey makes a key that may do what another one may, and returns it: it cannot be read
// again. The other one is good for the grace yet.
//
// Errors: store.ErrNotFound, conflict_state where the other one is over.
func (a *App) RotateKey(ctx context.Context, id string, grace time.Duration) (raw string, key pay.Key, err error) {
	old, err := a.key(ctx, id)
	if err != nil {
		return "", key, err
	}
	now := a.Now()
	if old.Over(now) {
		return "", key, pay.NewError(pay.CodeConflictState, "the key "+id+" is over: make a new one")
	}
	raw, key = a.newKey(old.Scope, old.Kind, now)
	if !old.EndsAt.IsZero() { // it lives as long as the other one was to
		key.EndsAt = now.Add(old.EndsAt.Sub(old.CreatedAt))
	}
	if old = old.Until(now.Add(grace)); grace == 0 {
		old.RevokedAt = now
	}
	err = a.store.Commit(ctx, pay.Change{
		Keys: []pay.Key{key, old}, Audit: append(a.auditKey(pay.KeyCreated, key), a.auditKey(pay.KeyRevoked, old)...),
	})
	a.forgetKey(old)
	return raw, key, err
}

// RevokeKey ends a key by its id; other nodes notice within two seconds.
//
// Errors: store.ErrNotFound.
func (a *App) RevokeKey(ctx context.Context, id string) error {
	return a.endKey(ctx, func() (pay.Key, error) { return a.key(ctx, id) })
}

// RevokeRawKey is RevokeKey for whoever has the key itself.
//
// Errors: store.ErrNotFound.
func (a *App) RevokeRawKey(ctx context.Context, raw string) error {
	return a.endKey(ctx, func() (pay.Key, error) {
		key, err := a.store.KeyByHash(ctx, a.Vault.Hash(raw))
		if err != nil {
			err = fmt.Errorf("key: %w", err) // the key itself is a secret
		}
		return key, err
	})
}

func (a *App) key(ctx context.Context, id string) (pay.Key, error) {
	key, err := a.store.Key(ctx, id)
	if err != nil {
		err = fmt.Errorf("key %s: %w", id, err)
	}
	return key, err
}

func (a *App) endKey(ctx context.Context, read func() (pay.Key, error)) error {
	key, err := decided(func() (pay.Key, error) {
		key, err := read()
		if err != nil || !key.RevokedAt.IsZero() {
			return key, err
		}
		key = key.Revoke(a.Now())
		return key, a.store.Commit(ctx, pay.Change{Keys: []pay.Key{key}, Audit: a.auditKey(pay.KeyRevoked, key)})
	})
	if err == nil {
		a.forgetKey(key)
	}
	return err
}

func (a *App) forgetKey(key pay.Key) {
	a.keys.forget(key.Hash)
	a.keys.forget(key.ID)
}

func (a *App) auditKey(act pay.Act, key pay.Key) []pay.AuditEntry {
	details := map[string]string{"kind": string(key.Kind), "preview": key.Preview}
	if key.EndsAt.After(a.Now()) && key.RevokedAt.IsZero() {
		details["until"] = key.EndsAt.UTC().Format(time.RFC3339)
	}
	return a.audit(a.Self(), key.Scope, act, key.ID, details)
}

func (a *App) newKey(scope pay.Scope, kind pay.KeyKind, now time.Time) (string, pay.Key) {
	prefix := pay.KeyPrefix(kind, scope.Live)
	raw := id.Secret(prefix)
	return raw, pay.Key{
		ID: a.NewID("key_", now), Scope: scope, Version: 1, Kind: kind,
		Hash: a.Vault.Hash(raw), Preview: prefix + "…" + raw[len(raw)-4:], CreatedAt: now,
	}
}
