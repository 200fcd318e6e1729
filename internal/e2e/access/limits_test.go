package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// merchantOf makes a merchant of a tier.
func merchantOf(t *testing.T, s *harness.Instance, tier merchants.Tier) harness.Client {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Industry: "retail", Tier: tier})
	harness.Must(t, err)
	return harness.Client{Onboarded: o, Instance: s, Credential: o.Sandbox.Secret}
}

// stands fails the test unless the reply has the status, and want are its rate limit headers: limit,
// remaining, reset, and Retry-After if there is one.
func stands(t *testing.T, r harness.Reply, status int, want string) {
	t.Helper()
	var got []string
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		if v := r.Header.Get(name); v != "" {
			got = append(got, v)
		}
	}
	if r.Status != status || strings.Join(got, " ") != want {
		t.Errorf("want %d and %q, got %q: %s", status, want, strings.Join(got, " "), r)
	}
	if status == http.StatusTooManyRequests {
		r.Refused(t, harness.TooMany)
	}
}

func TestTierLimitsRefillExactly(t *testing.T) {
	harness.Limited(t, harness.Few, func(t *testing.T, s *harness.Instance) {
		o := merchantOf(t, s, merchants.Standard).Production()              // 2 a second, 4 at once
		for _, want := range []string{"4 3 1", "4 2 1", "4 1 2", "4 0 2"} { // full in 0.5, 1, 1.5 and 2 seconds
			stands(t, o.Get(t, "/ping"), http.StatusOK, want)
		}
		stands(t, o.Get(t, "/ping"), http.StatusTooManyRequests, "4 0 2 1")
		s.Clock.Advance(500*time.Millisecond - 1)
		stands(t, o.Get(t, "/ping"), http.StatusTooManyRequests, "4 0 2 1")
		s.Clock.Advance(1)
		stands(t, o.Get(t, "/ping"), http.StatusOK, "4 0 2")
		stands(t, o.Get(t, "/ping"), http.StatusTooManyRequests, "4 0 2 1")
		s.Clock.Advance(time.Minute)
		stands(t, o.Get(t, "/ping"), http.StatusOK, "4 3 1")
	})
}

func TestTiersEnvironmentsAndMerchantsAreLimitedApart(t *testing.T) {
	harness.Limited(t, harness.Few, func(t *testing.T, s *harness.Instance) {
		for _, c := range []struct {
			tier       merchants.Tier
			live, test int
		}{{merchants.Starter, 2, 6}, {merchants.Standard, 4, 6}, {merchants.Premium, 8, 8}, {merchants.Trusted, 16, 16}} {
			o := merchantOf(t, s, c.tier)
			for range 2 { // another merchant of the tier has its own limits
				for i, who := range []harness.Client{o, o.Production()} {
					taken, want := 0, []int{c.test, c.live}[i]
					for who.Get(t, "/me").Status == http.StatusOK {
						taken++
					}
					if taken != want {
						t.Errorf("%s, %.7s…: %d requests at once are accepted, want %d", c.tier, who.Credential, taken, want)
					}
				}
				o = merchantOf(t, s, c.tier)
			}
		}
	})
}

func TestDefaultLimitsAreTheDocumentedOnes(t *testing.T) {
	harness.Limited(t, func(*daemon.Limits) {}, func(t *testing.T, s *harness.Instance) {
		for tier, want := range map[merchants.Tier][2]string{
			merchants.Starter: {"50 49 1", "200 199 1"}, merchants.Standard: {"200 199 1", "200 199 1"},
			merchants.Premium: {"1000 999 1", "1000 999 1"}, merchants.Trusted: {"4000 3999 1", "4000 3999 1"},
		} {
			o := merchantOf(t, s, tier)
			stands(t, o.Production().Get(t, "/ping"), http.StatusOK, want[0])
			stands(t, o.Get(t, "/ping"), http.StatusOK, want[1])
		}
	})
}

// Every request of a merchant counts, whatever its reply is, and every reply has the limit's
// headers. A request over the limit does nothing.
func TestEveryAnswerToAMerchantTellsItsLimit(t *testing.T) {
	harness.Limited(t, harness.Few, func(t *testing.T, s *harness.Instance) {
		o := merchantOf(t, s, merchants.Trusted) // 16 at once
		token := harness.Pair(t, o).Text(t, "accessToken")
		left := 15 // requests with a secret key alone count
		for _, c := range []struct {
			as                 string
			method, path, body string
			status             int
		}{
			{o.Credential, http.MethodPost, "/payments", harness.Card, http.StatusCreated},
			{token, http.MethodGet, "/payments", "", http.StatusOK},
			{token, http.MethodGet, "/payments/TXN-NOBODY", "", http.StatusNotFound},
			{o.Credential, http.MethodPost, "/payments", `{}`, http.StatusBadRequest},
			{o.Credential, http.MethodPost, "/payments", harness.OneMiB(`{}`) + " ", http.StatusRequestEntityTooLarge},
			{o.Sandbox.Publishable, http.MethodGet, "/me", "", http.StatusForbidden},
			{o.Sandbox.Publishable, http.MethodGet, "/ping", "", http.StatusOK},
			{o.Credential, http.MethodHead, "/ping", "", http.StatusOK},
		} {
			r := o.As(c.as).Call(t, c.method, c.path, c.body)
			if c.as == o.Sandbox.Publishable { // anybody may have it: it has a limit for each address, and costs the merchant nothing
				if got := r.Header.Get("RateLimit-Remaining"); r.Status != c.status || got == "" || got == fmt.Sprint(left) {
					t.Errorf("want %d and a limit of its own, got %q: %s", c.status, got, r)
				}
				continue
			}
			if got := r.Header.Get("RateLimit-Remaining"); r.Status != c.status || got != fmt.Sprint(left) {
				t.Errorf("want %d with %d left, got %q: %s", c.status, left, got, r)
			}
			left--
		}
		r := o.Post(t, "/payments", harness.Card, "Content-Type: text/plain")
		r.Refused(t, "415 content_type_required invalid_request_error")
		if r.Header.Get("RateLimit-Remaining") != fmt.Sprint(left) {
			t.Errorf("want %d left: %s", left, r)
		}
		for range left {
			o.Get(t, "/ping").Want(t, http.StatusOK)
		}
		stands(t, o.Post(t, "/payments", harness.Card, "Idempotency-Key: limited"), http.StatusTooManyRequests, "16 0 2 1")
		s.Clock.Advance(time.Minute)
		o.Post(t, "/payments", harness.Card, "Idempotency-Key: limited").Want(t, http.StatusCreated) // the refusal did not use the key up
		if n := o.Total(t, nil); n != "2" {
			t.Errorf("there are %s payments, want 2", n)
		}
	})
}

func TestHotPollingOfOnePaymentIsLimited(t *testing.T) {
	harness.Limited(t, func(*daemon.Limits) {}, func(t *testing.T, s *harness.Instance) {
		o, stranger := merchantOf(t, s, merchants.Standard), merchantOf(t, s, merchants.Standard)
		hot, cold := o.Create(t, harness.Card), o.Create(t, harness.Card)
		for i := range 5 { // both paths share the limit
			path := []string{"/payments/", "/transactions/"}[i%2]
			o.Get(t, path+hot).Want(t, http.StatusOK)
		}
		stands(t, o.Get(t, "/payments/"+hot), http.StatusTooManyRequests, "5 0 25 5")
		stands(t, o.Get(t, "/transactions/"+hot), http.StatusTooManyRequests, "5 0 25 5")
		s.Clock.Advance(5*time.Second - 1)
		stands(t, o.Get(t, "/payments/"+hot), http.StatusTooManyRequests, "5 0 21 1")
		o.Get(t, "/payments/"+cold).Want(t, http.StatusOK)
		o.Get(t, "/payments").Want(t, http.StatusOK)
		// Other merchants and environments have their own bucket for the same id.
		stranger.Get(t, "/payments/"+hot).Refused(t, "404 transaction_not_found invalid_request_error")
		o.Production().Get(t, "/payments/"+hot).Refused(t, "404 transaction_not_found invalid_request_error")
		s.Clock.Advance(1)
		o.Get(t, "/payments/"+hot).Want(t, http.StatusOK)
		stands(t, o.Get(t, "/payments/"+hot), http.StatusTooManyRequests, "5 0 25 5")
		// A POST does not count.
		o.Simulate(t, hot, "refunded").Want(t, http.StatusOK)
		// A read every 30 seconds is never limited.
		for range 10 {
			s.Clock.Advance(30 * time.Second)
			o.Get(t, "/payments/"+hot).Want(t, http.StatusOK)
		}
	})
}

func TestFailedLoginsOfAnAddressAreLimited(t *testing.T) {
	harness.Limited(t, func(l *daemon.Limits) { l.Open = 1000 }, func(t *testing.T, s *harness.Instance) {
		o := merchantOf(t, s, merchants.Starter)
		good := harness.LoginBody(o.Sandbox.Publishable, o.Sandbox.Secret)
		for range 30 { // logins that succeed do not count
			o.Post(t, "/auth/token", good).Want(t, http.StatusOK)
		}
		for i := range 10 { // failed logins count, whatever the key
			o.Post(t, "/auth/token", harness.LoginBody(fmt.Sprint("pk_test_", i), "sk_test_x")).Refused(t, "401 invalid_api_key authentication_error")
		}
		stands(t, o.Post(t, "/auth/token", harness.LoginBody("pk_test_x", "sk_test_x")), http.StatusTooManyRequests, "10 0 60 6")
		stands(t, o.Post(t, "/auth/token", good), http.StatusTooManyRequests, "10 0 60 6")
		// A client cannot name another address in a header: only a trusted proxy can.
		for _, header := range []string{"X-Forwarded-For: 198.51.100.7", "X-Real-Ip: 198.51.100.7", "Forwarded: for=198.51.100.7"} {
			stands(t, o.Post(t, "/auth/token", good, header), http.StatusTooManyRequests, "10 0 60 6")
		}
		s.Clock.Advance(6*time.Second - 1)
		stands(t, o.Post(t, "/auth/token", good), http.StatusTooManyRequests, "10 0 55 1")
		s.Clock.Advance(1)
		o.Post(t, "/auth/token", good).Want(t, http.StatusOK)
		o.Post(t, "/auth/token", harness.LoginBody("pk_test_x", "sk_test_x")).Refused(t, "401 invalid_api_key authentication_error")
		stands(t, o.Post(t, "/auth/token", good), http.StatusTooManyRequests, "10 0 60 6")
		o.Get(t, "/ping").Want(t, http.StatusOK) // the limit is for logins only
	})
}

func TestFailedLoginsOfAKeyAreLimitedAndDoNotLockItsOwnerOut(t *testing.T) {
	harness.Limited(t, func(*daemon.Limits) {}, func(t *testing.T, s *harness.Instance) {
		o := merchantOf(t, s, merchants.Starter)
		bad := harness.LoginBody(o.Sandbox.Publishable, "sk_test_guess")
		from := func(i int) string { return fmt.Sprintf("X-Forwarded-For: 6.6.6.6, 198.51.100.%d", i) }
		for i := range 10 {
			o.Post(t, "/auth/token", bad, from(i)).Refused(t, "401 invalid_api_key authentication_error")
		}
		for i := range 10 {
			stands(t, o.Post(t, "/auth/token", bad, from(100+i)), http.StatusTooManyRequests, "10 0 60 6")
		}
		o.Post(t, "/auth/token", harness.LoginBody(o.Sandbox.Publishable, o.Sandbox.Secret), from(200)).Want(t, http.StatusOK)
		o.Post(t, "/auth/token", harness.LoginBody(o.Live.Publishable, "sk_live_guess"), from(201)).Refused(t, "401 invalid_api_key authentication_error")
		// IPv6: addresses with the same first 64 bits count as one.
		for i := range 10 {
			o.Post(t, "/auth/token", harness.LoginBody(fmt.Sprint("pk_", i), "x"), fmt.Sprintf("X-Forwarded-For: 2001:db8::%d", i)).Refused(t, "401 invalid_api_key authentication_error")
		}
		stands(t, o.Post(t, "/auth/token", harness.LoginBody("pk_x", "x"), "X-Forwarded-For: 2001:db8::ffff"), http.StatusTooManyRequests, "10 0 60 6")
		o.Post(t, "/auth/token", harness.LoginBody("pk_x", "x"), "X-Forwarded-For: 2001:db8:0:1::1").Refused(t, "401 invalid_api_key authentication_error")
	}, netip.MustParsePrefix("127.0.0.0/8"))
}

func TestFloodOfBadCredentialsIsLimited(t *testing.T) {
	harness.Limited(t, func(l *daemon.Limits) { l.Refused = 2 }, func(t *testing.T, s *harness.Instance) { // 10 at once
		o, unseen := merchantOf(t, s, merchants.Standard), merchantOf(t, s, merchants.Standard)
		token := harness.Pair(t, merchantOf(t, s, merchants.Standard)).Text(t, "accessToken")
		o.Get(t, "/ping").Want(t, http.StatusOK)
		for i := range 10 {
			bad := []string{"", "sk_test_x", "pk_live_x", "nonsense", altered(token, 2)}[i%5]
			r := o.As(bad).Get(t, "/me")
			if r.Status != http.StatusUnauthorized || r.Header.Get("RateLimit-Limit") != "" {
				t.Errorf("want 401: %s", r)
			}
		}
		for _, bad := range []string{"", "sk_test_x", "nonsense", altered(token, 2)} {
			stands(t, o.As(bad).Get(t, "/me"), http.StatusTooManyRequests, "10 0 5 1")
		}
		stands(t, refreshLogin(t, o, "rt_nonsense"), http.StatusTooManyRequests, "10 0 5 1")
		// Good clients at the same address are served: tokens, and keys that this node has seen before.
		o.Get(t, "/me").Want(t, http.StatusOK)
		o.As(token).Get(t, "/me").Want(t, http.StatusOK)
		stands(t, unseen.Get(t, "/me"), http.StatusTooManyRequests, "10 0 5 1")
		s.Clock.Advance(500 * time.Millisecond)
		unseen.Get(t, "/me").Want(t, http.StatusOK)
		o.As("nonsense").Get(t, "/me").Refused(t, "401 invalid_token authentication_error")
		stands(t, o.As("nonsense").Get(t, "/me"), http.StatusTooManyRequests, "10 0 5 1")
	})
}

// The limits for merchants and for addresses do not refuse a provider's notifications: these report
// money.
func TestNotificationsAreNotLimited(t *testing.T) {
	harness.Limited(t, func(l *daemon.Limits) { harness.Few(l); l.Open, l.Refused, l.Logins = 1, 1, 1 }, func(t *testing.T, s *harness.Instance) {
		o := merchantOf(t, s, merchants.Trusted)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for range 30 {
			r := s.Send(t, harness.Request{Method: http.MethodPost, Path: harness.APIPath + "/providers/sandbox-1/notifications", Body: harness.NoticeBody(id, harness.Paid50)})
			r.Refused(t, "401 invalid_token authentication_error")
		}
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK)
		if got := o.Status(t, id); got != "completed" {
			t.Errorf("the payment is %s, want completed", got)
		}
	})
}

func TestOpenRoutesAreLimitedByAddress(t *testing.T) {
	harness.Limited(t, func(l *daemon.Limits) { l.Open = 2 }, func(t *testing.T, s *harness.Instance) { // 10 at once
		o := merchantOf(t, s, merchants.Starter)
		good := harness.LoginBody(o.Sandbox.Publishable, o.Sandbox.Secret)
		for range 10 {
			stands(t, o.Post(t, "/auth/token", good), http.StatusOK, "")
		}
		stands(t, o.Post(t, "/auth/token", good), http.StatusTooManyRequests, "10 0 5 1")
		stands(t, refreshLogin(t, o, "rt_x"), http.StatusTooManyRequests, "10 0 5 1")
		o.Get(t, "/ping").Want(t, http.StatusOK)
		s.Clock.Advance(500 * time.Millisecond)
		o.Post(t, "/auth/token", good).Want(t, http.StatusOK)
		// Requests with a session's token count under the address. Pages have a larger limit.
		token := o.Session(t, harness.CheckoutBody)
		nobody := harness.Client{Instance: s}
		stands(t, nobody.Get(t, "/checkout/sessions/"+token), http.StatusTooManyRequests, "10 0 5 1")
		stands(t, nobody.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_card"}`), http.StatusTooManyRequests, "10 0 5 1")
		for range 50 {
			if res, _ := harness.Raw(t, s, http.MethodGet, "/checkout/"+token, "", nil); res.StatusCode != http.StatusOK {
				t.Errorf("the page returns %d, want 200", res.StatusCode)
			}
		}
		if res, _ := harness.Raw(t, s, http.MethodPost, "/checkout/"+token, "", nil); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "1" {
			t.Errorf("the page returns %d %v, want 429", res.StatusCode, res.Header)
		}
		if n := o.Total(t, nil); n != "0" {
			t.Errorf("%s payments were made, want none", n)
		}
	})
}

func TestRaceTakesNoMoreThanTheLimit(t *testing.T) {
	harness.Limited(t, harness.Few, func(t *testing.T, s *harness.Instance) {
		o := merchantOf(t, s, merchants.Trusted) // 16 at once
		var created atomic.Int64
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				if r := o.Post(t, "/payments", harness.Card); r.Status == http.StatusCreated {
					created.Add(1)
				} else {
					r.Refused(t, harness.TooMany)
				}
			})
		}
		all.Wait()
		s.Clock.Advance(time.Minute)
		if n := o.Total(t, nil); created.Load() != 16 || n != "16" {
			t.Errorf("%d replies are 201 and %s payments are listed, want 16", created.Load(), n)
		}
	})
}

func TestLimitsCanBeLifted(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, harness.Card)
		for range 20 {
			stands(t, o.Get(t, "/payments/"+id), http.StatusOK, "")
			stands(t, o.Post(t, "/auth/token", harness.LoginBody("pk_test_x", "x")), http.StatusUnauthorized, "")
		}
	})
}

func TestNodesShareTheirLimitsInRedis(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	redis := dbtest.Redis(t)
	slow := func(l *daemon.Limits) { l.Redis, l.Poll = redis.URL, time.Hour } // no reads are allowed again while the test runs
	a, b := harness.StartLimited(t, database, slow), harness.StartLimited(t, database, slow)
	o := a.NewShop(t)
	id := o.Create(t, harness.Card)
	there := o
	there.Instance = b
	read := func(n int) (taken int) {
		for i := range n {
			if r := []harness.Client{o, there}[i%2].Get(t, "/payments/"+id); r.Status == http.StatusOK {
				taken++
			} else {
				r.Refused(t, harness.TooMany)
			}
		}
		return taken
	}
	if n := read(12); n != 5 {
		t.Errorf("two nodes allowed %d reads, want 5 together", n)
	}
	redis.Kill(t)
	if n := read(20); n != 10 {
		t.Errorf("without Redis two nodes allowed %d reads, want 5 each", n)
	}
	redis.Start(t) // empty, as after a failover
	harness.Eventually(t, "a node uses Redis again", func() bool { return o.Get(t, "/payments/"+id).Status == http.StatusOK })
	harness.Eventually(t, "the nodes share their limits again", func() bool {
		other := o.Create(t, harness.Card)
		id = other
		return read(12) == 5
	})
}

// The log has one line a second about an address that goes on over a limit.
func TestRequestsOverALimitAreTold(t *testing.T) {
	t.Parallel()
	log, c, l := &lines{}, &harness.Clock{}, daemon.DefaultLimits()
	c.Freeze()
	harness.Few(&l)
	s := harness.StartWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) { config.Limits, config.Log = &l, slog.New(log) })
	o := merchantOf(t, s, merchants.Standard).Production()
	over := func() {
		for range 20 {
			o.Get(t, "/ping")
		}
	}
	over()
	if n := log.told("requests are over a limit"); n != 1 || log.told("address=127.0.0.1") == 0 {
		t.Errorf("%d lines about 16 requests over the limit, want one with the address", n)
	}
	c.Advance(time.Second)
	over()
	if n := log.told("more_of_them=15"); n != 1 {
		t.Errorf("a second later %d lines about 15 more, want one", n)
	}
}
