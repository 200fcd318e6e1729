package app

import (
	"context"
	"errors"
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
	key.RevokedAt = ends
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
	if !old.RevokedAt.IsZero() { // it lives as long as the other one was to
		key.RevokedAt = now.Add(old.RevokedAt.Sub(old.CreatedAt))
	}
	old = old.Until(now.Add(grace))
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
	key, err := a.key(ctx, id)
	if err != nil {
		return err
	}
	return a.endKey(ctx, key)
}

// RevokeRawKey is RevokeKey for whoever has the key itself.
//
// Errors: store.ErrNotFound.
func (a *App) RevokeRawKey(ctx context.Context, raw string) error {
	key, err := a.store.KeyByHash(ctx, a.Vault.Hash(raw))
	if err != nil {
		return fmt.Errorf("key: %w", err) // the key itself is a secret
	}
	return a.endKey(ctx, key)
}

func (a *App) key(ctx context.Context, id string) (pay.Key, error) {
	key, err := a.store.Key(ctx, id)
	if err != nil {
		err = fmt.Errorf("key %s: %w", id, err)
	}
	return key, err
}

func (a *App) endKey(ctx context.Context, key pay.Key) error {
	if key.Over(a.Now()) {
		return nil
	}
	key = key.Until(a.Now())
	err := a.store.Commit(ctx, pay.Change{Keys: []pay.Key{key}, Audit: a.auditKey(pay.KeyRevoked, key)})
	if errors.Is(err, store.ErrStale) {
		return fmt.Errorf("somebody else changed the key at this moment: try again: %w", err)
	}
	a.forgetKey(key)
	return err
}

func (a *App) forgetKey(key pay.Key) {
	a.keys.forget(key.Hash)
	a.keys.forget(key.ID)
}

func (a *App) auditKey(act pay.Act, key pay.Key) []pay.AuditEntry {
	details := map[string]string{"kind": string(key.Kind), "preview": key.Preview}
	if key.RevokedAt.After(a.Now()) {
		details["until"] = key.RevokedAt.UTC().Format(time.RFC3339)
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
