package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

func TestEachKindOfCredentialReachesItsOperations(t *testing.T) {
	s, keys := service(t, nil)
	ctx := t.Context()
	cases := []struct {
		what, publishable, secret, kind string
		full                            bool
	}{
		{"both keys", keys.Publishable, keys.Secret, "secret", true},
		{"the secret key alone", "", keys.Secret, "secret", true},
		{"the publishable key alone", keys.Publishable, "", "publishable", false},
	}
	for _, c := range cases {
		// The address works with and without the API's path.
		for _, url := range []string{s.URL, s.URL + "/", s.URL + "/api/v1", s.URL + "/api/v1/"} {
			api := newClient(t, client.Config{URL: url, PublishableKey: c.publishable, SecretKey: c.secret})
			pong, err := api.Ping(ctx)
			if err != nil || !pong.OK || pong.KeyKind != c.kind || pong.Environment != "sandbox" || pong.Merchant.Name != "Shop" ||
				time.Since(pong.Timestamp).Abs() > time.Minute {
				t.Errorf("%s at %s: Ping is %+v, %v", c.what, url, pong, err)
			}
			if _, err := api.PaymentMethods(ctx, client.MethodFilter{}); err != nil {
				t.Errorf("%s: PaymentMethods is %v, want it allowed", c.what, err)
			}
			if _, err = api.Me(ctx); c.full {
				if err != nil {
					t.Errorf("%s: Me is %v, want it allowed", c.what, err)
				}
				continue
			}
			refused(t, err, client.CodeKeyKindNotAllowed, http.StatusForbidden)
		}
	}
}

func TestWrongKeysAndAddressesAreRefused(t *testing.T) {
	s, keys := service(t, nil)
	_, err := newClient(t, client.Config{URL: s.URL, PublishableKey: keys.Publishable, SecretKey: "sk_test_wrong"}).Ping(t.Context())
	if e := refused(t, err, client.CodeInvalidAPIKey, http.StatusUnauthorized); e.Type != "authentication_error" {
		t.Errorf("the type is %q, want authentication_error", e.Type)
	}
	for _, c := range []client.Config{
		{URL: s.URL}, {SecretKey: "sk_test_x"}, {URL: "pay.example.com", SecretKey: "sk_test_x"}, {URL: "ftp://pay.example.com", SecretKey: "sk_test_x"},
	} {
		if _, err := client.New(c); err == nil {
			t.Errorf("New(%+v) made a client, want an error", c)
		}
	}
}

func TestTokensAreRenewedWhenTheServiceCallsThemExpired(t *testing.T) {
	var ahead atomic.Int64 // how far the service's clock is ahead
	s, keys := service(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	api := newClient(t, client.Config{URL: s.URL, PublishableKey: keys.Publishable, SecretKey: keys.Secret})
	// Within the lifetime of a refresh token, and after it.
	for _, later := range []time.Duration{0, 16 * time.Minute, time.Hour, 40 * 24 * time.Hour} {
		ahead.Store(int64(later))
		if _, err := api.Me(t.Context()); err != nil {
			t.Errorf("%v after the first call Me is %v, want a renewed token", later, err)
		}
	}
}

// logins counts the calls that create tokens, and creates tokens with a given lifetime.
type logins struct {
	life             string // in seconds
	first, refreshed atomic.Int64
	refuseRefresh    bool
}

func (l *logins) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/v1/auth/token":
		l.first.Add(1)
	case "/api/v1/auth/refresh":
		l.refreshed.Add(1)
		if l.refuseRefresh {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"code":"invalid_token","message":"no"}}`)
			return
		}
	default:
		_, _ = io.WriteString(w, `{"ok":true}`)
		return
	}
	_, _ = io.WriteString(w, `{"accessToken":"a","refreshToken":"r","expiresIn":`+l.life+`}`)
}

func TestManyCallsAtOnceShareOneLogin(t *testing.T) {
	l := &logins{life: "900"}
	server := httptest.NewServer(l)
	defer server.Close()
	api := newClient(t, client.Config{URL: server.URL, PublishableKey: "pk", SecretKey: "sk"})
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := api.Ping(t.Context()); err != nil {
				t.Errorf("Ping is %v", err)
			}
		})
	}
	calls.Wait()
	if l.first.Load() != 1 || l.refreshed.Load() != 0 {
		t.Errorf("20 calls logged in %d times and refreshed %d times, want 1 and 0", l.first.Load(), l.refreshed.Load())
	}
}

func TestTokensAreRefreshedOrMadeWithTheKeys(t *testing.T) {
	cases := []struct {
		refuse           bool
		first, refreshed int64
	}{
		{false, 1, 2},
		{true, 3, 2}, // each refusal costs a login
	}
	for _, c := range cases {
		l := &logins{life: "0", refuseRefresh: c.refuse}
		server := httptest.NewServer(l)
		api := newClient(t, client.Config{URL: server.URL, PublishableKey: "pk", SecretKey: "sk"})
		for range 3 {
			if _, err := api.Ping(t.Context()); err != nil {
				t.Errorf("Ping is %v", err)
			}
		}
		server.Close()
		if l.first.Load() != c.first || l.refreshed.Load() != c.refreshed {
			t.Errorf("with refreshes refused %t: %d logins and %d refreshes, want %d and %d",
				c.refuse, l.first.Load(), l.refreshed.Load(), c.first, c.refreshed)
		}
	}
}

func TestWaitingForALoginCanBeCanceled(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	}))
	defer server.Close()
	defer close(answer)
	api := newClient(t, client.Config{URL: server.URL, PublishableKey: "pk", SecretKey: "sk"})
	var first sync.WaitGroup
	defer first.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first.Go(func() { _, _ = api.Ping(ctx) })
	<-asked
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := api.Ping(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("the call that gave up ended with %v, want context.Canceled", err)
	}
}

// If an access token has expired, its login has not ended: the refresh token is still valid.
func TestLogoutEndsALoginWhoseAccessTokenIsOver(t *testing.T) {
	var ahead atomic.Int64 // how far the service's clock is ahead
	s, keys := service(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	api := newClient(t, client.Config{URL: s.URL, PublishableKey: keys.Publishable, SecretKey: keys.Secret})
	if _, err := api.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(16 * time.Minute))
	if err := api.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	made, ended := 0, 0
	entries, err := s.App.Audit(t.Context(), "", "", time.Time{}, 100)
	for _, e := range entries {
		switch e.Act {
		case audit.LoginCreated:
			made++
		case audit.LoginRevoked:
			ended++
		}
	}
	if err != nil || made != 1 || ended != 1 {
		t.Errorf("%d logins were made and %d ended, %v; want the one", made, ended, err)
	}
}
