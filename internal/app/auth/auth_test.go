package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

func TestMain(m *testing.M) { apptest.Main(m) }

const day = 24 * time.Hour

// service authenticates the callers of a service.
type service struct {
	*apptest.Service
	access    *auth.Access
	operators *auth.Operators
}

func open(t *testing.T) *service {
	t.Helper()
	s := &service{Service: apptest.Open(t)}
	s.access, s.operators = auth.NewAccess(s.Base, s.Secrets, s.Keys), auth.NewOperators(s.Base)
	return s
}

// merchant creates a merchant, and returns its keys.
func (s *service) merchant(t *testing.T) appmerchants.Onboarded {
	t.Helper()
	made, err := s.Onboarding.CreateMerchant(t.Context(), s.Operator, appmerchants.NewMerchant{Name: "Shop", Email: "shop@example.com"})
	must(t, err)
	return made
}

// login logs in with the keys of a sandbox.
func (s *service) login(t *testing.T, made appmerchants.Onboarded) auth.Tokens {
	t.Helper()
	tokens, err := s.access.Login(t.Context(), from, made.Sandbox.Publishable, made.Sandbox.Secret)
	must(t, err)
	return tokens
}

// from is where a request comes from.
var from = base.Principal{Address: "192.0.2.1", RequestID: "req_1"}

// caller is who a credential is, and the code of the refusal if it is nobody's.
func (s *service) caller(t *testing.T, credential string) (base.Principal, problem.Code) {
	t.Helper()
	p, err := s.access.Authenticate(t.Context(), from, credential)
	return p, code(err)
}

// refused fails the test unless a credential is refused with a code; "" means that it is accepted.
func (s *service) refused(t *testing.T, what, credential string, want problem.Code) {
	t.Helper()
	if _, got := s.caller(t, credential); got != want {
		t.Errorf("%s gets %q, want %q", what, got, want)
	}
}

// refresh refreshes a login.
func (s *service) refresh(t *testing.T, token string) (auth.Tokens, problem.Code) {
	t.Helper()
	tokens, err := s.access.Refresh(t.Context(), from, token)
	return tokens, code(err)
}

// acts lists a merchant's entries of an act in the audit log, oldest first.
func (s *service) acts(t *testing.T, merchant string, act audit.Act) (list []audit.Entry) {
	t.Helper()
	all, err := s.Store.Audit().List(t.Context(), merchant, "", 500)
	must(t, err)
	return slices.DeleteFunc(all, func(e audit.Entry) bool { return e.Act != act })
}

// code is the code of an error that callers see.
func code(err error) problem.Code {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown.Code
	}
	if err != nil {
		return problem.Code(err.Error())
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// altered returns a token with one character of its n-th part changed.
func altered(token string, n int) string {
	parts := strings.Split(token, ".")
	middle := len(parts[n]) / 2
	other := "A"
	if parts[n][middle] == 'A' {
		other = "B"
	}
	parts[n] = parts[n][:middle] + other + parts[n][middle+1:]
	return strings.Join(parts, ".")
}

// A credential is its shop's in its environment, and no other (AUTH-3, AUTH-9, AUTH-10).
func TestCredentialIsOfItsShopAndEnvironment(t *testing.T) {
	s := open(t)
	ours, theirs := s.merchant(t), s.merchant(t)
	for _, made := range []appmerchants.Onboarded{ours, theirs} {
		for credential, want := range map[string]base.Principal{
			made.Sandbox.Secret: {Kind: merchants.Secret}, made.Sandbox.Publishable: {Kind: merchants.Publishable},
			made.Live.Secret: {Kind: merchants.Secret, Scope: merchants.Scope{Live: true}}, s.login(t, made).Access: {Kind: merchants.Secret},
		} {
			got, refusal := s.caller(t, credential)
			scope := merchants.Scope{Merchant: made.Merchant.ID, Shop: made.Shop.ID, Live: want.Live}
			if refusal != "" || got.Scope != scope || got.Kind != want.Kind || got.Address != from.Address {
				t.Errorf("%.8s… is %+v %s, want a %s key of %v", credential, got, refusal, want.Kind, scope)
			}
		}
	}
	for what, pair := range map[string][2]string{
		"another shop's secret": {ours.Sandbox.Publishable, theirs.Sandbox.Secret}, "two environments": {ours.Sandbox.Publishable, ours.Live.Secret},
		"two secrets": {ours.Sandbox.Secret, ours.Sandbox.Secret}, "the halves swapped": {ours.Sandbox.Secret, ours.Sandbox.Publishable},
		"an unknown secret": {ours.Sandbox.Publishable, "sk_test_x"},
	} {
		if _, err := s.access.Login(t.Context(), from, pair[0], pair[1]); code(err) != problem.InvalidAPIKey {
			t.Errorf("%s log in: %v", what, err)
		}
	}
}

// An access token ends after its time, and nobody can alter it (AUTH-5).
func TestAccessTokenEndsAfterItsTime(t *testing.T) {
	s := open(t)
	tokens := s.login(t, s.merchant(t))
	for n := range 3 {
		s.refused(t, "an altered token", altered(tokens.Access, n), problem.InvalidToken)
	}
	s.refused(t, "a refresh token", tokens.Refresh, problem.InvalidAPIKey)
	s.Clock.Advance(auth.AccessTTL - time.Second)
	s.refused(t, "a token in its last second", tokens.Access, "")
	s.Clock.Advance(time.Second)
	s.refused(t, "a token after its time", tokens.Access, problem.TokenExpired)
	s.refused(t, "an altered token after its time", altered(tokens.Access, 2), problem.InvalidToken)
}

// A refresh token works once. One that is used again was stolen: its login ends, whoever had the next one (AUTH-4, AUTH-6).
func TestRefreshTokenWorksOnce(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	t.Run("a used one ends the family", func(t *testing.T) {
		first := s.login(t, made)
		second, _ := s.refresh(t, first.Refresh)
		third, _ := s.refresh(t, second.Refresh)
		different := map[string]bool{}
		for _, tokens := range []auth.Tokens{first, second, third} {
			different[tokens.Access], different[tokens.Refresh] = true, true
			s.refused(t, "an access token of the family", tokens.Access, "")
		}
		if len(different) != 6 {
			t.Errorf("three pairs have %d different tokens, want 6", len(different))
		}
		for what, token := range map[string]string{"a used token": first.Refresh, "its successor": third.Refresh} {
			if _, refusal := s.refresh(t, token); refusal != problem.InvalidToken {
				t.Errorf("%s gets %q", what, refusal)
			}
		}
		s.refused(t, "an access token of a stolen login", third.Access, problem.InvalidToken)
		if list := s.acts(t, made.Merchant.ID, audit.LoginRevoked); len(list) != 1 || list[0].By.Kind != audit.BySystem || list[0].By.IP != from.Address || list[0].By.Request != from.RequestID {
			t.Errorf("the audit log has %+v, want one entry of the second use", list)
		}
		if _, refusal := s.refresh(t, s.login(t, made).Refresh); refusal != "" {
			t.Errorf("another login ended too: %s", refusal)
		}
	})
	t.Run("an altered one does not", func(t *testing.T) {
		token := s.login(t, made).Refresh
		for n := range strings.Split(token, ".") {
			if _, refusal := s.refresh(t, altered(token, n)); refusal != problem.InvalidToken {
				t.Errorf("an altered token gets %q", refusal)
			}
		}
		if _, refusal := s.refresh(t, token); refusal != "" {
			t.Errorf("guesses ended the login: %s", refusal)
		}
	})
	t.Run("of two at once at most one", func(t *testing.T) {
		token := s.login(t, made).Refresh
		refusals := make([]problem.Code, 8)
		var all sync.WaitGroup
		for i := range refusals {
			all.Go(func() {
				_, err := s.access.Refresh(context.Background(), from, token)
				refusals[i] = code(err)
			})
		}
		all.Wait()
		good := 0
		for _, refusal := range refusals {
			if refusal == "" {
				good++
			} else if refusal != problem.InvalidToken {
				t.Errorf("a use at the same time gets %q", refusal)
			}
		}
		if good > 1 {
			t.Errorf("%d of 8 requests got new tokens for one refresh token, want 1 at most", good)
		}
	})
	t.Run("for thirty days", func(t *testing.T) {
		early, late := s.login(t, made).Refresh, s.login(t, made).Refresh
		s.Clock.Advance(auth.RefreshTTL - time.Minute)
		next, refusal := s.refresh(t, early)
		s.Clock.Advance(2 * time.Minute)
		_, ended := s.refresh(t, late)
		_, goesOn := s.refresh(t, next.Refresh) // a new one has its own thirty days
		if refusal != "" || ended != problem.InvalidToken || goesOn != "" {
			t.Errorf("in its last minute a token gets %q, after it %q, and its successor %q", refusal, ended, goesOn)
		}
	})
}

// A login ends after a year, even if a program goes on refreshing it.
func TestLoginEndsAfterAYear(t *testing.T) {
	s := open(t)
	tokens := s.login(t, s.merchant(t))
	const month = 29 * day
	for range 12 {
		s.Clock.Advance(month)
		var refusal problem.Code
		if tokens, refusal = s.refresh(t, tokens.Refresh); refusal != "" {
			t.Fatalf("within its year a login is refused: %s", refusal)
		}
	}
	if tokens.RefreshTTL != 17*day {
		t.Errorf("on day 348 the refresh token has %s left, want 17 days", tokens.RefreshTTL)
	}
	s.Clock.Advance(month)
	if _, refusal := s.refresh(t, tokens.Refresh); refusal != problem.InvalidToken {
		t.Errorf("after a year a refresh gets %q", refusal)
	}
}

// A login is logged out while it is refreshed. The refresh token does not count as used twice (AUTH-21).
func TestLogoutBesideRefreshIsNoTheft(t *testing.T) {
	s := open(t)
	tokens := s.login(t, s.merchant(t))
	in, _ := s.caller(t, tokens.Access)
	s.Store.Around = func(ctx context.Context, _ *pay.Change, commit func() error) error {
		s.Store.Around = nil // the logout's own commit
		must(t, s.access.Logout(ctx, in))
		return commit()
	}
	if _, refusal := s.refresh(t, tokens.Refresh); refusal != problem.InvalidToken {
		t.Errorf("a refresh of a login that was logged out meanwhile gets %q", refusal)
	}
	if n := s.access.AuthEvents()[auth.EventRefreshReused]; n > 0 {
		t.Errorf("%d refresh tokens count as used twice, want none", n)
	}
}

// The keys that sign access tokens are rotated once a month. No token ends early because of that.
func TestSigningKeysOfTokensAreRotated(t *testing.T) {
	s := open(t)
	made := s.merchant(t)
	kids := map[string]bool{}
	login := func() string {
		token := s.login(t, made).Access
		head, _, _ := strings.Cut(token, ".")
		text, err := base64.RawURLEncoding.DecodeString(head)
		must(t, err)
		var header struct{ Kid string }
		must(t, json.Unmarshal(text, &header))
		kids[header.Kid] = true
		return token
	}
	rotate := func() {
		must(t, s.Secrets.RotateSigningKey(t.Context()))
		must(t, s.Secrets.ReadSecrets(t.Context()))
	}
	first := login()
	s.Clock.Advance(auth.RefreshTTL)
	rotate()
	before := login()
	if s.Secrets.SigningKeys() != 2 || len(kids) != 1 {
		t.Errorf("of %d keys %d have signed, want the new one to wait until all nodes know it", s.Secrets.SigningKeys(), len(kids))
	}
	s.Clock.Advance(2 * time.Minute)
	must(t, s.Secrets.ReadSecrets(t.Context()))
	if after := login(); len(kids) != 2 {
		t.Error("the new key does not sign")
	} else {
		s.refused(t, "a token of the new key", after, "")
	}
	s.refused(t, "a token of the key before", before, "")
	s.refused(t, "the first token", first, problem.TokenExpired)
	s.Clock.Advance(auth.RefreshTTL)
	s.refused(t, "a token of the key before", before, problem.TokenExpired) // by its age, not by the rotation
	rotate()
	s.refused(t, "a token of a key that was deleted", first, problem.InvalidToken)
	s.refused(t, "a new token", login(), "")
}

// An operator's token ends at its time, and at once when the operator is removed. Its role is that of the moment.
func TestOperatorsTokenEnds(t *testing.T) {
	s := open(t)
	add := func(ends time.Time) (string, error) {
		token, _, err := s.operators.Add(t.Context(), s.Operator, auth.Newcomer{Name: "ana", Role: operators.Admin, Ends: ends})
		return token, err
	}
	who := func(token string) (operators.Role, problem.Code) {
		o, err := s.operators.Authenticate(t.Context(), token)
		return o.Role, code(err)
	}
	token, err := add(s.Clock.Now().Add(time.Hour))
	must(t, err)
	if role, refusal := who(token); role != operators.Admin || refusal != "" {
		t.Errorf("a new token is %s, %s", role, refusal)
	}
	if _, err := add(time.Time{}); code(err) != problem.ConflictState {
		t.Errorf("an operator with a valid token gets another one: %v", err)
	}
	s.Clock.Advance(time.Hour)
	if _, refusal := who(token); refusal != problem.InvalidToken {
		t.Errorf("an expired token gets %q", refusal)
	}
	again, err := add(time.Time{})
	must(t, err)
	_, err = s.operators.Change(t.Context(), s.Operator, "ana", operators.Viewer)
	must(t, err)
	if role, refusal := who(again); role != operators.Viewer || refusal != "" {
		t.Errorf("after the change of its role the second token is %s, %s", role, refusal)
	}
	if _, refusal := who(token); refusal != problem.InvalidToken {
		t.Errorf("the first token is valid again: %q", refusal)
	}
	must(t, s.operators.Remove(t.Context(), s.Operator, "ana"))
	for _, old := range []string{token, again, "op_unknown", ""} {
		if _, refusal := who(old); refusal != problem.InvalidToken {
			t.Errorf("after the operator was removed a token gets %q", refusal)
		}
	}
}
