package auth

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	appmails "github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Keys has the merchants' API keys. It is safe for use by many goroutines.
type Keys struct {
	*base.Base
	mails *appmails.Mails            // tells the owners
	seen  *base.Cache[merchants.Key] // by hash and by id
}

// NewKey describes a key to be made.
type NewKey struct {
	merchants.Scope // without a shop: for the whole merchant
	Kind            merchants.KeyKind
	Rights          []merchants.Right // of a restricted key; a secret key can only get withdrawals
	Ends            time.Time         // it is refused from then on; zero: it does not expire
}

// Create makes a key and returns its text, which cannot be read again. A secret key of the whole
// merchant, or of the merchant's first shop, gets the right withdrawals. by is who makes it, for the audit
// log. What a user may make is decided by Own.
//
// Errors: store.ErrNotFound if the merchant does not exist, or the shop is not the merchant's;
// invalid_request for rights that this kind of key cannot have.
func (ks *Keys) Create(ctx context.Context, by audit.Actor, n NewKey) (string, error) {
	raw, _, err := ks.Issue(ctx, by, n)
	return raw, err
}

// Issue is Create, with the key.
func (ks *Keys) Issue(ctx context.Context, by audit.Actor, n NewKey) (raw string, key merchants.Key, err error) {
	return ks.create(ctx, by, n, func(merchants.Right) bool { return true })
}

// Get reads a key with its use. name is the key's id or preview.
//
// Errors: store.ErrNotFound, conflict_state if the preview fits several keys.
func (ks *Keys) Get(ctx context.Context, name string) (merchants.Key, store.KeyUsage, error) {
	key, err := ks.key(ctx, name)
	if err != nil {
		return key, store.KeyUsage{}, err
	}
	uses, err := ks.Store.Keys().Usages(ctx, key.Merchant)
	return key, uses[key.ID], err
}

// create is Create for somebody who may give only some rights. The right withdrawals, which some secret
// keys get by default, is left out if may refuses it.
//
// Errors: as of Create; forbidden for another right that the giver lacks.
func (ks *Keys) create(ctx context.Context, by audit.Actor, n NewKey, may func(merchants.Right) bool) (raw string, key merchants.Key, err error) {
	scope := n.Scope
	if err := n.check(); err != nil {
		return "", key, err
	}
	m, err := ks.AnyMerchant(ctx, scope.Merchant)
	if err = cmp.Or(err, m.MayAdd()); err != nil {
		return "", key, err
	}
	if scope.Shop != "" {
		shop, err := ks.Store.Merchants().Shop(ctx, scope.Shop)
		if err == nil && shop.Merchant != scope.Merchant {
			err = store.ErrNotFound
		}
		if err != nil {
			return "", key, fmt.Errorf("shop %s: %w", scope.Shop, err)
		}
	}
	raw, key = ks.NewKey(scope, n.Kind, ks.Now())
	key.EndsAt, key.Rights = n.Ends, n.Rights
	if n.Kind == merchants.Secret && may(merchants.RightWithdrawals) {
		shops, err := ks.Store.Merchants().Shops(ctx, scope.Merchant) // oldest first
		if err != nil {
			return "", key, err
		}
		if scope.Shop == "" || len(shops) > 0 && shops[0].ID == scope.Shop {
			key.Rights = []merchants.Right{merchants.RightWithdrawals}
		}
	}
	if err := checkGrant(key, may); err != nil {
		return "", key, err
	}
	change := pay.Change{Keys: []merchants.Key{key}, Audit: ks.AuditKey(by, audit.KeyCreated, key)}
	if err := ks.mails.AddKeyAlerts(ctx, &change, appmails.KeyNews{What: mails.KeyMade, Key: key, By: by}); err != nil {
		return "", key, err
	}
	return raw, key, ks.Store.Commit(ctx, change)
}

func (n NewKey) check() error {
	refuse := func(why problem.Reason) error { return problem.Field(problem.InvalidRequest, "rights", why) }
	switch {
	case n.Kind == merchants.Restricted && len(n.Rights) == 0:
		return refuse(restrictedNeedsRights.With(merchants.WriteRights(merchants.Rights())))
	case n.Kind == merchants.Publishable && len(n.Rights) > 0:
		return refuse(publishableHasNone)
	case n.Kind == merchants.Secret && !slices.Equal(n.Rights, []merchants.Right{merchants.RightWithdrawals}) && len(n.Rights) > 0:
		return refuse(secretHasAll)
	}
	return nil
}

// List lists a merchant's keys, oldest first, including ended ones, with their use.
//
// Errors: store.ErrNotFound.
func (ks *Keys) List(ctx context.Context, merchant string) ([]merchants.Key, map[string]store.KeyUsage, error) {
	if _, err := ks.AnyMerchant(ctx, merchant); err != nil {
		return nil, nil, err
	}
	list, err := ks.Store.Keys().List(ctx, merchant)
	if err != nil {
		return nil, nil, err
	}
	uses, err := ks.Store.Keys().Usages(ctx, merchant)
	return list, uses, err
}

// MadeBy lists the keys of a merchant that a user made and that still work, oldest first. The audit log says who made a
// key. They outlive the user's role: programs run with them.
func (ks *Keys) MadeBy(ctx context.Context, merchant, user string) ([]merchants.Key, error) {
	list, err := ks.Store.Keys().List(ctx, merchant)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(k merchants.Key) bool { return k.Over(ks.Now()) })
	var ids []string
	for _, k := range list {
		ids = append(ids, k.ID)
	}
	made := map[string]bool{}
	for some := range slices.Chunk(ids, keysAtATime) {
		entries, err := ks.Store.Audit().Of(ctx, merchant, audit.KeyCreated, some)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.By.Kind == audit.ByUser && e.By.ID == user {
				made[e.Object] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(k merchants.Key) bool { return !made[k.ID] }), nil
}

// keysAtATime is for how many keys the audit log is read at a time.
const keysAtATime = 200

// LeastGrace is the shortest grace of a rotated key: nodes cache keys for less time.
const LeastGrace = 2 * base.CacheTTL

// Rotate makes a key with the same rights as another one, and returns its text, which cannot be
// read again. name is the old key's id or preview. The old key stays valid for the grace. by is who does it,
// for the audit log.
//
// Errors: store.ErrNotFound; conflict_state if the old key has ended or was rotated, or if the
// preview fits several keys; invalid_request for a grace between 0 and LeastGrace.
func (ks *Keys) Rotate(ctx context.Context, by audit.Actor, name string, grace time.Duration) (raw string, key merchants.Key, err error) {
	err = base.Again(func() error { // others may rotate or revoke it at the same time
		raw, key, err = ks.rotateOnce(ctx, by, name, grace)
		return err
	})
	return raw, key, err
}

func (ks *Keys) rotateOnce(ctx context.Context, by audit.Actor, name string, grace time.Duration) (raw string, key merchants.Key, err error) {
	old, err := ks.key(ctx, name)
	if err != nil {
		return "", key, err
	}
	m, err := ks.AnyMerchant(ctx, old.Merchant)
	if err = cmp.Or(err, m.MayAdd()); err != nil {
		return "", key, err
	}
	now := ks.Now()
	switch {
	case old.Over(now):
		return "", key, problem.New(problem.ConflictState, keyEnded.With(old.ID))
	case old.Successor != "":
		return "", key, problem.New(problem.ConflictState, keyRotated.With(old.ID, old.Successor))
	case grace != 0 && grace < LeastGrace:
		return "", key, problem.Field(problem.InvalidRequest, "grace", graceTooShort.With(LeastGrace))
	}
	raw, key = ks.NewKey(old.Scope, old.Kind, now)
	key.Rights = old.Rights
	if !old.EndsAt.IsZero() { // the new key expires when the old one would have
		key.EndsAt = now.Add(old.EndsAt.Sub(old.CreatedAt))
	}
	old = old.Replace(key.ID, now.Add(grace))
	rolled := appmails.KeyNews{What: mails.KeyRolled, Key: key, By: by, Until: old.EndsAt} // the old key may expire before the grace is over
	if grace == 0 {
		old.RevokedAt, rolled.Until = now, time.Time{}
	}
	change := pay.Change{
		Keys: []merchants.Key{key, old}, Audit: append(ks.AuditKey(by, audit.KeyCreated, key), ks.AuditKey(by, audit.KeyRevoked, old)...),
	}
	if err := ks.mails.AddKeyAlerts(ctx, &change, rolled); err != nil {
		return "", key, err
	}
	err = ks.Store.Commit(ctx, change)
	ks.forgetKey(old) // also if nobody knows whether it was written
	return raw, key, err
}

// Revoke ends a key by its id or its preview. Other nodes notice within two seconds. by is who does it, for
// the audit log.
//
// Errors: store.ErrNotFound, conflict_state if the preview fits several keys.
func (ks *Keys) Revoke(ctx context.Context, by audit.Actor, name string) (merchants.Key, error) {
	return ks.endKey(ctx, by, func() (merchants.Key, error) { return ks.key(ctx, name) })
}

// RevokeRaw is Revoke for whoever has the key itself.
//
// Errors: store.ErrNotFound.
func (ks *Keys) RevokeRaw(ctx context.Context, by audit.Actor, raw string) (merchants.Key, error) {
	return ks.endKey(ctx, by, func() (merchants.Key, error) {
		key, err := ks.Store.Keys().ByHash(ctx, ks.Vault.Hash(raw))
		if err != nil {
			err = fmt.Errorf("key: %w", err) // the key itself is a secret
		}
		return key, err
	})
}

// key reads a key by its id or its preview: sk_test_…abcd, or with three dots.
//
// Errors: store.ErrNotFound, conflict_state if the preview fits several keys.
func (ks *Keys) key(ctx context.Context, name string) (merchants.Key, error) {
	shown := strings.Replace(name, "...", "…", 1)
	if !strings.Contains(shown, "…") {
		key, err := ks.Store.Keys().Get(ctx, name)
		if err != nil {
			err = fmt.Errorf("key %s: %w", name, err)
		}
		return key, err
	}
	list, err := ks.Store.Keys().Shown(ctx, shown)
	switch {
	case err != nil:
		return merchants.Key{}, err
	case len(list) == 0:
		return merchants.Key{}, fmt.Errorf("key %s: %w", shown, store.ErrNotFound)
	case len(list) > 1:
		var ids []string
		for _, key := range list {
			ids = append(ids, key.ID)
		}
		return merchants.Key{}, problem.New(problem.ConflictState, severalKeys.With(shown, ids))
	}
	return list[0], nil
}

func (ks *Keys) endKey(ctx context.Context, by audit.Actor, read func() (merchants.Key, error)) (merchants.Key, error) {
	key, err := base.Decide(func() (merchants.Key, error) {
		key, err := read()
		if err != nil || !key.RevokedAt.IsZero() {
			return key, err
		}
		key = key.Revoke(ks.Now())
		change := pay.Change{Keys: []merchants.Key{key}, Audit: ks.AuditKey(by, audit.KeyRevoked, key)}
		if err := ks.mails.AddKeyAlerts(ctx, &change, appmails.KeyNews{What: mails.KeyRevoked, Key: key, By: by}); err != nil {
			return key, err
		}
		return key, ks.Store.Commit(ctx, change)
	})
	if err == nil {
		ks.forgetKey(key)
	}
	return key, err
}

func (ks *Keys) forgetKey(key merchants.Key) {
	ks.seen.Forget(key.Hash)
	ks.seen.Forget(key.ID)
}

// AuditKey is the audit entry of an act on a key.
func (ks *Keys) AuditKey(by audit.Actor, act audit.Act, key merchants.Key) []audit.Entry {
	details := map[string]string{"kind": string(key.Kind), "preview": key.Preview}
	if len(key.Rights) > 0 {
		details["rights"] = merchants.WriteRights(key.Rights)
	}
	if key.EndsAt.After(ks.Now()) && key.RevokedAt.IsZero() {
		details["until"] = key.EndsAt.UTC().Format(time.RFC3339)
	}
	return ks.Audited(by, key.Scope, act, key.ID, details)
}

// NewKey makes a key of a kind. Its raw text is returned once, and stored nowhere.
func (ks *Keys) NewKey(scope merchants.Scope, kind merchants.KeyKind, now time.Time) (string, merchants.Key) {
	prefix := merchants.KeyPrefix(kind, scope.Live)
	raw := id.Secret(prefix)
	return raw, merchants.Key{
		ID: ks.NewID("key_", now), Scope: scope, Version: 1, Kind: kind,
		Hash: ks.Vault.Hash(raw), Preview: prefix + "…" + raw[len(raw)-4:], CreatedAt: now,
	}
}
