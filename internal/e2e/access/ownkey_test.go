package access

import (
	"errors"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"net/http"
	"slices"
	"testing"
	"time"
)

// userOf is a user with a role at the shop's merchant, who looks at the shop in an environment.
func userOf(o harness.Client, role people.Role, live bool) base.Principal {
	return base.Principal{
		Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: live}, User: "usr_" + string(role), Rights: role.Rights(live),
		Address: "192.0.2.7", RequestID: "req_test",
	}
}

// codeOf is the code of an error that is shown, "" for another one.
func codeOf(err error) problem.Code {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown.Code
	}
	return ""
}

// Nobody gives rights that they do not have: neither with a new key, nor with the successor of one.
func TestNobodyMakesAKeyWithMoreRightsThanTheyHave(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
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
			by := userOf(o, c.role, c.live)
			_, key, err := s.App.Keys.Own(by).Create(ctx, c.key)
			switch {
			case c.want == nil && codeOf(err) != problem.Forbidden:
				t.Errorf("%s, live %t: a %s key with %v is made: %v", c.role, c.live, c.key.Kind, c.key.Rights, err)
			case c.want != nil && err != nil:
				t.Errorf("%s, live %t: a %s key with %v is refused: %v", c.role, c.live, c.key.Kind, c.key.Rights, err)
			case c.want != nil && (!slices.Equal(key.Rights, c.want) || key.Scope != by.Scope):
				t.Errorf("%s, live %t: the key has %v in %v", c.role, c.live, key.Rights, key.Scope)
			}
		}
		keys, _, err := s.App.Keys.Own(userOf(o, people.Owner, true)).List(ctx)
		harness.Must(t, err)
		first := keys[slices.IndexFunc(keys, func(k merchants.Key) bool { return slices.Contains(k.Rights, merchants.RightWithdrawals) })]
		for _, role := range []people.Role{people.Admin, people.Developer} {
			if _, _, err := s.App.Keys.Own(userOf(o, role, true)).Rotate(ctx, first.ID, time.Hour); codeOf(err) != problem.Forbidden {
				t.Errorf("%s rolls a key that may withdraw: %v", role, err)
			}
		}
		_, _, err = s.App.Keys.Own(userOf(o, people.Owner, true)).Rotate(ctx, first.ID, time.Hour)
		harness.Must(t, err)
	})
}

// A user changes the keys of the visited shop and environment, and the audit log names the user.
func TestUserChangesTheKeysOfTheVisitedShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		twin := harness.Sibling(t, o)
		mine := s.App.Keys.Own(userOf(o, people.Developer, false))
		_, key, err := mine.Create(ctx, auth.NewKey{Scope: merchants.Scope{Merchant: other.Merchant.ID, Shop: other.Shop.ID, Live: true}, Kind: merchants.Secret, Ends: s.Clock.Now().Add(day)})
		harness.Must(t, err)
		if key.Scope != (merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}) {
			t.Errorf("the key is of %v", key.Scope)
		}
		for name, by := range map[string]base.Principal{
			"another merchant": userOf(other, people.Owner, false), "another shop": userOf(twin, people.Owner, false), "another environment": userOf(o, people.Owner, true),
		} {
			theirs := s.App.Keys.Own(by)
			if _, _, err := theirs.Get(ctx, key.ID, 1); codeOf(err) != problem.NotFound {
				t.Errorf("%s reads the key: %v", name, err)
			}
			if _, _, err := theirs.Rotate(ctx, key.ID, 0); codeOf(err) != problem.NotFound {
				t.Errorf("%s rolls the key: %v", name, err)
			}
			if _, err := theirs.Revoke(ctx, key.ID); codeOf(err) != problem.NotFound {
				t.Errorf("%s revokes the key: %v", name, err)
			}
			list, _, err := theirs.List(ctx)
			harness.Must(t, err)
			if slices.ContainsFunc(list, func(k merchants.Key) bool { return k.ID == key.ID }) {
				t.Errorf("%s sees the key", name)
			}
		}
		if _, _, err := mine.Create(ctx, auth.NewKey{Kind: merchants.Secret, Ends: s.Clock.Now().Add(-day)}); codeOf(err) != problem.InvalidRequest {
			t.Errorf("a key that has ended is made: %v", err)
		}
		raw, next, err := mine.Rotate(ctx, key.ID, time.Hour)
		harness.Must(t, err)
		o.As(raw).Get(t, "/me").Want(t, 200)
		harness.Eventually(t, "the use of the key is written", func() bool {
			_, uses, err := mine.Get(ctx, next.ID, 10)
			harness.Must(t, err)
			return len(uses) == 1
		})
		_, err = mine.Revoke(ctx, next.ID)
		harness.Must(t, err)
		o.As(raw).Get(t, "/me").Want(t, 401)
		acts := map[audit.Act]int{}
		for _, e := range harness.AuditActs(t, o) {
			if e.By.Kind == audit.ByUser && e.By.ID == "usr_developer" && e.By.IP == "192.0.2.7" {
				acts[e.Act]++
			}
		}
		if acts[audit.KeyCreated] != 2 || acts[audit.KeyRevoked] != 2 {
			t.Errorf("the audit log has of the user %v", acts)
		}
	})
}

func TestRotationKeepsWhatIsUnderWay(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1", "key-2")
		o := s.NewShop(t)
		live := o.Production()
		s.OpenAccount(t, "bank", u)
		before, after := live.Create(t, o.PixOrder(t)), live.Create(t, o.PixOrder(t))
		asked, release := u.Hold()
		held := make(chan harness.Reply)
		order := o.PixOrder(t)
		go func() { held <- live.Post(t, "/payments", order) }()
		harness.Soon(t, "the provider to be asked", asked)
		_, err := s.App.Accounts.Rotate(ctx, s.App.Self(), "bank", map[string]string{"apiKey": "key-2", "webhookSecret": "bank-new"})
		harness.Must(t, err)
		_, err = s.App.Accounts.Rotate(ctx, s.App.Self(), "bank", map[string]string{"merchantNumber": "77"}) // key-1's grace goes on after a second rotation
		harness.Must(t, err)
		release()
		during := harness.Soon(t, "the payment to be answered", held).Want(t, http.StatusCreated).Text(t, "transactionId")
		u.Revoke("key-1")
		s.TellUpstream(t, u, before, 1, "paid", "bank-hush").Is(t, http.StatusOK, `{"ok":true}`)
		s.TellUpstream(t, u, during, 1, "paid", "bank-new").Is(t, http.StatusOK, `{"ok":true}`)
		kept := func() bool {
			harness.Must(t, s.App.Accounts.ForgetCredentials(ctx))
			a, err := s.App.Providers.ProviderAccount(ctx, "bank")
			harness.Must(t, err)
			return len(a.Before) > 0
		}
		if !kept() {
			t.Error("the old credentials were deleted during their grace")
		}
		s.TellUpstream(t, u, after, 1, "paid", "bank-other").Refused(t, "401 invalid_token authentication_error")
		s.Clock.Advance(accounts.Grace)
		if kept() {
			t.Error("the old credentials are kept after their grace")
		}
		s.TellUpstream(t, u, after, 1, "paid", "bank-hush").Refused(t, "401 invalid_token authentication_error")
		s.TellUpstream(t, u, after, 1, "paid", "bank-new").Is(t, http.StatusOK, `{"ok":true}`)
		for _, id := range []string{before, during, after} {
			if got := live.Status(t, id); got != "completed" {
				t.Errorf("%s is %s, want completed", id, got)
			}
		}
		if id := live.Create(t, o.PixOrder(t)); live.Status(t, id) != "pending" {
			t.Errorf("a payment with the new key is not pending")
		}
	})
}
