package auth

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Own lets a user change the keys of a shop in an environment, and those of its whole merchant. Users cannot
// give rights that they do not have: they cannot make a key with more rights than their role has, nor roll
// one, because they would see its successor. Whoever may change keys may revoke any of them.
type Own struct {
	keys *Keys
	by   base.Principal
}

// Own returns the keys that a user may change. The user's right to do so was checked.
func (ks *Keys) Own(by base.Principal) Own { return Own{ks, by} }

// List lists the keys, newest first, also ended ones, with their use.
func (o Own) List(ctx context.Context) ([]merchants.Key, map[string]store.KeyUsage, error) {
	all, uses, err := o.keys.List(ctx, o.by.Merchant)
	list := slices.DeleteFunc(all, func(k merchants.Key) bool { return !o.covers(k) })
	slices.Reverse(list)
	return list, uses, err
}

// Get reads one of the keys, and the addresses from which it was used, the last used first, at most limit.
//
// Errors: not_found, also for another shop's key.
func (o Own) Get(ctx context.Context, id string, limit int) (merchants.Key, []merchants.KeyUse, error) {
	key, err := base.Named(id, noKey(), func() (merchants.Key, error) { return o.keys.Store.Keys().Get(ctx, id) })
	if err == nil && !o.covers(key) {
		err = noKey()
	}
	if err != nil {
		return merchants.Key{}, nil, err
	}
	uses, err := o.keys.Store.Keys().UsesOf(ctx, key.ID, limit)
	return key, uses, err
}

// Create makes a key of the shop, and returns its text, which cannot be read again. A secret key gets the
// right withdrawals only if the user has it.
//
// Errors: invalid_request, forbidden for a right that the user lacks.
func (o Own) Create(ctx context.Context, n NewKey) (string, merchants.Key, error) {
	n.Scope = o.by.Scope
	if !slices.Contains([]merchants.KeyKind{merchants.Publishable, merchants.Secret, merchants.Restricted}, n.Kind) {
		return "", merchants.Key{}, problem.Field(problem.InvalidRequest, "kind", unknownKeyKind)
	}
	if !n.Ends.IsZero() && !n.Ends.After(o.keys.Now()) {
		return "", merchants.Key{}, problem.Field(problem.InvalidRequest, "ends", keyEndsInThePast)
	}
	return o.keys.create(ctx, o.by.Actor(), n, o.by.May)
}

// Rotate is Keys.Rotate for one of the keys.
//
// Errors: not_found, forbidden for a key with a right that the user lacks; as of Keys.Rotate.
func (o Own) Rotate(ctx context.Context, id string, grace time.Duration) (string, merchants.Key, error) {
	old, _, err := o.Get(ctx, id, 0)
	if err == nil {
		err = checkGrant(old, o.by.May)
	}
	if err != nil {
		return "", merchants.Key{}, err
	}
	return o.keys.Rotate(ctx, o.by.Actor(), old.ID, grace)
}

// Revoke ends one of the keys.
//
// Errors: not_found.
func (o Own) Revoke(ctx context.Context, id string) (merchants.Key, error) {
	key, _, err := o.Get(ctx, id, 0)
	if err != nil {
		return key, err
	}
	return o.keys.Revoke(ctx, o.by.Actor(), key.ID)
}

// Lacks lists the rights of a key that the user does not have, and so cannot give.
func (o Own) Lacks(key merchants.Key) []merchants.Right { return lacking(key, o.by.May) }

// covers reports whether a key belongs to the shop, or its merchant, and the environment.
func (o Own) covers(key merchants.Key) bool {
	return key.Merchant == o.by.Merchant && key.Live == o.by.Live && (key.Shop == "" || key.Shop == o.by.Shop)
}

func noKey() error {
	return problem.New(problem.NotFound, keyMissing)
}

// lacking lists the rights of a key that may refuses.
func lacking(key merchants.Key, may func(merchants.Right) bool) (list []merchants.Right) {
	for _, r := range merchants.Rights() {
		if key.May(r) && !may(r) {
			list = append(list, r)
		}
	}
	return list
}

// checkGrant returns an error for a key with rights that its giver lacks.
//
// Errors: forbidden.
func checkGrant(key merchants.Key, may func(merchants.Right) bool) error {
	missing := lacking(key, may)
	if len(missing) == 0 {
		return nil
	}
	return &problem.Error{
		Code: problem.Forbidden, Param: "rights",
		Reason:  rightsBeyondRole.With(strings.Split(merchants.WriteRights(missing), ",")),
		Details: problem.Details{Right: string(missing[0])},
	}
}
