package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/vault"
)

// shopOf returns a service with one merchant, and a login with the merchant's sandbox keys.
func shopOf(f testing.TB) (*App, appmerchants.Onboarded, auth.Tokens) {
	f.Helper()
	secrets, err := vault.New(bytes.Repeat([]byte{7}, vault.KeySize))
	if err != nil {
		f.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return noon }
	ctx := context.Background()
	a, err := Open(ctx, "sqlite:"+filepath.Join(f.TempDir(), "fuzz.db"), Config{
		Config:     base.Config{Log: slog.New(slog.DiscardHandler), Vault: secrets, Now: now, NewID: id.New, CheckoutURL: "http://127.0.0.1"},
		LeaseClock: now, InboxURL: "http://127.0.0.1/inbox",
		Sender: sender.New(sender.Config{Now: now}),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(a.Close)
	o, err := a.Onboarding.CreateMerchant(ctx, a.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Standard, RefundFees: merchants.FeesReturned})
	if err != nil {
		f.Fatal(err)
	}
	tokens, err := a.Access.Login(ctx, base.Principal{}, o.Sandbox.Publishable, o.Sandbox.Secret)
	if err != nil {
		f.Fatal(err)
	}
	return a, o, tokens
}

// garbled returns a text with another byte at one position. It is the same text if the position does not
// exist, or the byte is the same.
func garbled(text string, at uint16, with byte) string {
	i := int(at) % len(text)
	if with == 0 {
		return text[:i] + text[i+1:]
	}
	return text[:i] + string(rune(with)) + text[i+1:]
}

// None of these is signed with one of our keys.
var foreignTokens = []string{
	"", "Bearer", "a.b.c", "..", "eyJhbGciOiJub25lIn0.e30.", // alg none
	"eyJhbGciOiJIUzI1NiIsImtpZCI6IjEiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJjYXNjYWRhIiwia2V5Ijoia2V5XzEifQ.AAAA",
	"eyJhbGciOiJSUzI1NiIsImtpZCI6MX0.eyJpc3MiOiJjYXNjYWRhIn0.AAAA", "eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("A", 5000) + ".AAAA",
	"sk_test_", "pk_live_x", "rk_\x00", "rt_lgn_1.1.00", "rt_..", "rt_lgn_1.9223372036854775808.00", "\xff\xfe", "sk_test_" + strings.Repeat("x", 5000),
}

// Only an exact credential is accepted.
func FuzzBearer(f *testing.F) {
	a, o, tokens := shopOf(f)
	for _, text := range foreignTokens {
		f.Add(text, uint16(0), byte('x'))
	}
	for at := range uint16(8) {
		f.Add(tokens.Access, at*50, byte(0))
		f.Add(tokens.Access+"=", at*40+7, byte('A'+at))
		f.Add(" "+o.Sandbox.Secret, at*5+3, byte('.'))
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, text string, at uint16, with byte) {
		good := []string{tokens.Access, o.Sandbox.Secret, o.Sandbox.Publishable}
		for _, tried := range []string{text, garbled(good[0], at, with), garbled(good[1], at, with), garbled(good[2], at, with)} {
			who, err := a.Access.Authenticate(ctx, base.Principal{}, tried)
			known := tried == good[0] || tried == good[1] || tried == good[2] || tried == o.Live.Secret || tried == o.Live.Publishable
			if known != (err == nil) {
				t.Errorf("%q: let in %t, %v", tried, err == nil, err)
			}
			var refusal *problem.Error
			if err != nil && (!errors.As(err, &refusal) || !reflect.DeepEqual(who, base.Principal{})) {
				t.Errorf("%q: %+v and the fault %v", tried, who, err)
			}
			if err != nil && strings.Contains(err.Error(), tried) && len(tried) > 20 {
				t.Errorf("the error contains the credential: %v", err)
			}
		}
	})
}

// A refresh token that was never issued is refused, and ends no login.
func FuzzRefreshToken(f *testing.F) {
	a, _, tokens := shopOf(f)
	login, version, ok := a.Access.ParseRefresh(tokens.Refresh)
	if !ok || version != 1 {
		f.Fatalf("our own refresh token is read as %q, %d, %t", login, version, ok)
	}
	for _, text := range append(foreignTokens, "rt_"+login+".1."+strings.Repeat("0", 64), "rt_"+login+".01."+tokens.Refresh[len(tokens.Refresh)-64:], strings.ToUpper(tokens.Refresh)) {
		f.Add(text, uint16(40), byte('0'))
	}
	for at := range uint16(10) {
		f.Add("", at*11, byte('1'+at))
		f.Add(tokens.Access, at*11+3, byte(0))
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, text string, at uint16, with byte) {
		for _, tried := range []string{text, garbled(tokens.Refresh, at, with)} {
			if tried == tokens.Refresh {
				continue
			}
			if login, version, ok := a.Access.ParseRefresh(tried); ok && tried != a.Access.RefreshToken(login, version) {
				t.Errorf("%q is read as %q, %d", tried, login, version)
			}
			_, err := a.Access.Refresh(ctx, base.Principal{}, tried)
			var refusal *problem.Error
			if !errors.As(err, &refusal) || refusal.Code != problem.InvalidToken {
				t.Errorf("%q: %v", tried, err)
			}
			if _, err := a.Access.Authenticate(ctx, base.Principal{}, tokens.Access); err != nil {
				t.Fatalf("%q ended somebody's login: %v", tried, err)
			}
		}
	})
}
