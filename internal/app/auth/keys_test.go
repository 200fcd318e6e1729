package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// keyOf is a key of a merchant's sandbox.
func (s *service) keyOf(t *testing.T, merchant string, kind merchants.KeyKind) merchants.Key {
	t.Helper()
	keys, _, err := s.Keys.List(t.Context(), merchant)
	must(t, err)
	return keys[slices.IndexFunc(keys, func(k merchants.Key) bool { return k.Kind == kind && !k.Live })]
}

// A rotated key works for its grace beside its successor, which has its rights, and ends with it.
func TestKeyIsRotatedWithAGrace(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	raw, old, err := s.Keys.Issue(t.Context(), s.Operator, auth.NewKey{
		Scope: merchants.Scope{Merchant: made.Merchant.ID, Shop: made.Shop.ID}, Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightRead}, Ends: s.Clock.Now().Add(30 * day),
	})
	must(t, err)
	s.refused(t, "a new key", raw, "")
	s.Clock.Advance(10 * day)
	next, key, err := s.Keys.Rotate(t.Context(), s.Operator, old.ID, day)
	must(t, err)
	if !slices.Equal(key.Rights, old.Rights) || key.Scope != old.Scope || !key.EndsAt.Equal(s.Clock.Now().Add(30*day)) {
		t.Errorf("the successor is %+v, want the rights of %+v, for as long", key, old)
	}
	s.Clock.Advance(day - time.Second)
	s.refused(t, "a key in its grace", raw, "")
	s.refused(t, "its successor", next, "")
	s.Clock.Advance(time.Second)
	s.refused(t, "a key after its grace", raw, problem.InvalidAPIKey)
	s.refused(t, "its successor", next, "")
	s.Clock.Advance(30 * day)
	s.refused(t, "a key that has ended", next, problem.InvalidAPIKey)
}

// A rotated key cannot be rotated again: it has a successor. A grace must be long enough for other nodes to learn of the key's end.
func TestRotatedKeyIsNotRotatedAgain(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	old := s.keyOf(t, made.Merchant.ID, merchants.Secret)
	s.Clock.Advance(10 * day)
	if _, _, err := s.Keys.Rotate(t.Context(), s.Operator, old.ID, auth.LeastGrace-1); code(err) != problem.InvalidRequest {
		t.Errorf("a rotation with too short a grace returns %v", err)
	}
	_, first, err := s.Keys.Rotate(t.Context(), s.Operator, old.ID, day)
	must(t, err)
	if _, _, err = s.Keys.Rotate(t.Context(), s.Operator, old.ID, day); code(err) != problem.ConflictState {
		t.Errorf("a second rotation returns %v, want a conflict", err)
	}
	raw, second, err := s.Keys.Rotate(t.Context(), s.Operator, first.ID, 0)
	must(t, err)
	if !first.EndsAt.IsZero() || !second.EndsAt.IsZero() {
		t.Errorf("the new keys end at %v and %v, want no end, as the old key had", first.EndsAt, second.EndsAt)
	}
	s.refused(t, "the last key", raw, "")
}

// A revoked key stops at once on this node, although this node knows it as good, and so do its logins.
func TestRevokedKeyStopsAtOnce(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	raw, key, err := s.Keys.Issue(t.Context(), s.Operator, auth.NewKey{Scope: merchants.Scope{Merchant: made.Merchant.ID, Shop: made.Shop.ID}, Kind: merchants.Secret})
	must(t, err)
	tokens, err := s.access.Login(t.Context(), from, made.Sandbox.Publishable, raw)
	must(t, err)
	s.refused(t, "the key", raw, "")
	s.refused(t, "its token", tokens.Access, "")
	_, err = s.Keys.Revoke(t.Context(), s.Operator, key.ID)
	must(t, err)
	s.refused(t, "a revoked key", raw, problem.InvalidAPIKey)
	s.refused(t, "a token of a revoked key", tokens.Access, problem.InvalidAPIKey)
	if _, refusal := s.refresh(t, tokens.Refresh); refusal != problem.InvalidToken {
		t.Errorf("a refresh token of a revoked key gets %q", refusal)
	}
	s.refused(t, "another key of the shop", made.Sandbox.Secret, "")
	again, err := s.Keys.Revoke(t.Context(), s.Operator, key.ID)
	if err != nil || len(s.acts(t, made.Merchant.ID, audit.KeyRevoked)) != 1 {
		t.Errorf("a second revocation of %+v is noted: %v", again, err)
	}
}

// A key may be revoked by its preview. To type the preview again must not revoke another key with the same preview.
func TestKeyIsNotRevokedByWhatSeveralAreShownAs(t *testing.T) {
	s := open(t)
	ours, theirs := s.merchant(t), s.merchant(t)
	key := s.keyOf(t, ours.Merchant.ID, merchants.Secret)
	_, twin := s.Keys.NewKey(merchants.Scope{Merchant: theirs.Merchant.ID, Shop: theirs.Shop.ID}, merchants.Secret, s.Clock.Now())
	twin.Preview = key.Preview // by chance: 1 in 16 million pairs
	_, err := s.Keys.Revoke(t.Context(), s.Operator, key.Preview)
	must(t, err)
	must(t, s.Store.Commit(t.Context(), pay.Change{Keys: []merchants.Key{twin}}))
	if _, err := s.Keys.Revoke(t.Context(), s.Operator, key.Preview); code(err) != problem.ConflictState { // typed again
		t.Errorf("the second revocation by the same preview returns %v, want a conflict", err)
	}
	if read, _, err := s.Keys.Get(t.Context(), twin.ID); err != nil || !read.RevokedAt.IsZero() {
		t.Errorf("the other key is %+v, %v", read, err)
	}
}

// A key has no right that its kind cannot have, and belongs to a shop of its merchant (AUTH-15).
func TestKeyHasNoRightThatItsKindCannotHave(t *testing.T) {
	s := open(t)
	ours, theirs := s.merchant(t), s.merchant(t)
	shop := merchants.Scope{Merchant: ours.Merchant.ID, Shop: ours.Shop.ID}
	for name, n := range map[string]auth.NewKey{
		"a restricted key with no right":    {Scope: shop, Kind: merchants.Restricted},
		"a publishable key with a right":    {Scope: shop, Kind: merchants.Publishable, Rights: []merchants.Right{merchants.RightRead}},
		"a secret key with one that it has": {Scope: shop, Kind: merchants.Secret, Rights: []merchants.Right{merchants.RightRead}},
	} {
		if _, err := s.Keys.Create(t.Context(), s.Operator, n); code(err) != problem.InvalidRequest {
			t.Errorf("%s gets %v", name, err)
		}
	}
	foreign := auth.NewKey{Scope: merchants.Scope{Merchant: ours.Merchant.ID, Shop: theirs.Shop.ID}, Kind: merchants.Secret}
	if _, err := s.Keys.Create(t.Context(), s.Operator, foreign); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a key of another merchant's shop gets %v", err)
	}
	for _, right := range merchants.Rights() {
		raw, err := s.Keys.Create(t.Context(), s.Operator, auth.NewKey{Scope: shop, Kind: merchants.Restricted, Rights: []merchants.Right{right}})
		must(t, err)
		p, _ := s.caller(t, raw)
		for _, other := range merchants.Rights() {
			if p.May(other) != (other == right) {
				t.Errorf("a restricted key for %s may %s: %t", right, other, p.May(other))
			}
		}
	}
}

// userOf is a user with a role at a merchant, who visits its shop in an environment.
func userOf(made appmerchants.Onboarded, role people.Role, live bool) base.Principal {
	return base.Principal{
		Scope: merchants.Scope{Merchant: made.Merchant.ID, Shop: made.Shop.ID, Live: live}, User: "usr_" + string(role), Rights: role.Rights(live),
		Address: "192.0.2.7", RequestID: "req_test",
	}
}

// Nobody gives rights that they do not have: neither with a new key, nor with the successor of one (AUTH-25).
func TestNobodyMakesAKeyWithMoreRightsThanTheyHave(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	rights := func(list ...merchants.Right) []merchants.Right { return append([]merchants.Right{}, list...) }
	for _, c := range []struct {
		role people.Role
		live bool
		key  auth.NewKey
		want []merchants.Right // of the key, beyond its kind; nil: it is refused
	}{
		{people.Owner, true, auth.NewKey{Kind: merchants.Secret}, rights(merchants.RightWithdrawals)},
		{people.Admin, true, auth.NewKey{Kind: merchants.Secret}, rights()},
		{people.Admin, true, auth.NewKey{Kind: merchants.Secret, Rights: rights(merchants.RightWithdrawals)}, nil},
		{people.Admin, true, auth.NewKey{Kind: merchants.Restricted, Rights: rights(merchants.RightRead, merchants.RightRefunds)}, rights(merchants.RightRead, merchants.RightRefunds)},
		{people.Developer, true, auth.NewKey{Kind: merchants.Publishable}, rights()},
		{people.Developer, true, auth.NewKey{Kind: merchants.Secret}, nil}, // it may give money back, which a developer may not
		{people.Developer, true, auth.NewKey{Kind: merchants.Restricted, Rights: rights(merchants.RightRead, merchants.RightPayments)}, rights(merchants.RightRead, merchants.RightPayments)},
		{people.Developer, true, auth.NewKey{Kind: merchants.Restricted, Rights: rights(merchants.RightWithdrawals)}, nil},
		{people.Developer, false, auth.NewKey{Kind: merchants.Secret}, rights()},
		{people.Developer, false, auth.NewKey{Kind: merchants.Restricted, Rights: rights(merchants.RightWithdrawals)}, nil},
	} {
		by := userOf(made, c.role, c.live)
		_, key, err := s.Keys.Own(by).Create(t.Context(), c.key)
		switch {
		case c.want == nil && code(err) != problem.Forbidden:
			t.Errorf("%s, live %t: a %s key with %v is made: %v", c.role, c.live, c.key.Kind, c.key.Rights, err)
		case c.want != nil && err != nil:
			t.Errorf("%s, live %t: a %s key with %v is refused: %v", c.role, c.live, c.key.Kind, c.key.Rights, err)
		case c.want != nil && (!slices.Equal(key.Rights, c.want) || key.Scope != by.Scope):
			t.Errorf("%s, live %t: the key has %v in %v", c.role, c.live, key.Rights, key.Scope)
		}
	}
	keys, _, err := s.Keys.Own(userOf(made, people.Owner, true)).List(t.Context())
	must(t, err)
	first := keys[slices.IndexFunc(keys, func(k merchants.Key) bool { return slices.Contains(k.Rights, merchants.RightWithdrawals) })]
	for _, role := range []people.Role{people.Admin, people.Developer} {
		if _, _, err := s.Keys.Own(userOf(made, role, true)).Rotate(t.Context(), first.ID, time.Hour); code(err) != problem.Forbidden {
			t.Errorf("%s rolls a key that may withdraw: %v", role, err)
		}
	}
}

// A user changes the keys of the visited shop and environment, and the audit log names the user (AUTH-25).
func TestUserChangesTheKeysOfTheVisitedShop(t *testing.T) {
	s := open(t)
	ours, theirs := s.merchant(t), s.merchant(t)
	twin, err := s.Onboarding.CreateShop(t.Context(), s.Operator, ours.Merchant.ID, "Second")
	must(t, err)
	visited := s.Keys.Own(userOf(ours, people.Developer, false))
	_, key, err := visited.Create(t.Context(), auth.NewKey{Scope: merchants.Scope{Merchant: theirs.Merchant.ID, Shop: theirs.Shop.ID, Live: true}, Kind: merchants.Secret, Ends: s.Clock.Now().Add(day)})
	must(t, err)
	if key.Scope != (merchants.Scope{Merchant: ours.Merchant.ID, Shop: ours.Shop.ID}) {
		t.Errorf("the key is of %v", key.Scope)
	}
	for name, by := range map[string]base.Principal{
		"another merchant": userOf(theirs, people.Owner, false), "another shop": userOf(twin, people.Owner, false), "another environment": userOf(ours, people.Owner, true),
	} {
		other := s.Keys.Own(by)
		_, _, read := other.Get(t.Context(), key.ID, 1)
		_, _, rolled := other.Rotate(t.Context(), key.ID, 0)
		_, revoked := other.Revoke(t.Context(), key.ID)
		for what, err := range map[string]error{"reads": read, "rolls": rolled, "revokes": revoked} {
			if code(err) != problem.NotFound {
				t.Errorf("%s %s the key: %v", name, what, err)
			}
		}
		list, _, err := other.List(t.Context())
		must(t, err)
		if slices.ContainsFunc(list, func(k merchants.Key) bool { return k.ID == key.ID }) {
			t.Errorf("%s sees the key", name)
		}
	}
	if _, _, err := visited.Create(t.Context(), auth.NewKey{Kind: merchants.Secret, Ends: s.Clock.Now().Add(-day)}); code(err) != problem.InvalidRequest {
		t.Errorf("a key that has ended is made: %v", err)
	}
	raw, next, err := visited.Rotate(t.Context(), key.ID, time.Hour)
	must(t, err)
	s.refused(t, "the new key", raw, "")
	must(t, s.access.WriteKeyUses(t.Context()))
	if _, uses, err := visited.Get(t.Context(), next.ID, 10); err != nil || len(uses) != 1 || uses[0].Address != from.Address {
		t.Errorf("the uses of the key are %+v, %v", uses, err)
	}
	_, err = visited.Revoke(t.Context(), next.ID)
	must(t, err)
	s.refused(t, "the key that was revoked", raw, problem.InvalidAPIKey)
	for _, act := range []audit.Act{audit.KeyCreated, audit.KeyRevoked} {
		n := 0
		for _, e := range s.acts(t, ours.Merchant.ID, act) {
			if e.By.Kind == audit.ByUser && e.By.ID == "usr_developer" && e.By.IP == "192.0.2.7" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("the audit log has %d entries %s of the user, want 2", n, act)
		}
	}
}

// The merchant and the operator can see that a key is used from a new address: it may be stolen (AUTH-20).
func TestKeyUsedFromElsewhereIsTold(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	use := func(address string) {
		t.Helper()
		_, err := s.access.Authenticate(t.Context(), base.Principal{Address: address}, made.Sandbox.Secret)
		must(t, err)
	}
	news := func() (addresses []string) {
		t.Helper()
		must(t, s.access.WriteKeyUses(t.Context()))
		for _, e := range s.acts(t, made.Merchant.ID, audit.KeyUsedAnew) {
			addresses = append(addresses, e.By.IP)
		}
		return addresses
	}
	use("192.0.2.1")
	if got := news(); len(got) != 0 {
		t.Errorf("the first address of a key is reported as new: %v", got)
	}
	for range 3 {
		use("192.0.2.1")
		use("192.0.2.2")
	}
	if got := news(); !slices.Equal(got, []string{"192.0.2.2"}) {
		t.Errorf("the new addresses are %v, want 192.0.2.2", got)
	}
	for i := range 20 { // of many at once, the audit log has one and counts the others
		use(fmt.Sprint("198.51.100.", i+1))
	}
	if got := news(); len(got) != 2 {
		t.Errorf("the audit log has the new addresses %v, want 2", got)
	}
	s.Clock.Advance(2 * time.Hour)
	use("192.0.2.2")
	must(t, s.access.WriteKeyUses(t.Context()))
	_, uses, err := s.Keys.List(t.Context(), made.Merchant.ID)
	must(t, err)
	u, used := uses[s.keyOf(t, made.Merchant.ID, merchants.Secret).ID]
	if !used || len(uses) != 1 || u.Addresses != 22 || !u.Last.Equal(s.Clock.Now()) {
		t.Errorf("the keys were used as %+v, want one from 22 addresses, last now", uses)
	}
}
