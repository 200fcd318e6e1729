package e2e

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

	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

const tooMany = "429 rate_limited rate_limit_error"

// limited runs a test against a service that keeps its limits, with a clock that
// stands still.
func limited(t *testing.T, configure func(*daemon.Limits), test func(t *testing.T, s *service), proxies ...netip.Prefix) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, startLimited(t, database, configure, proxies...))
	})
}

func startLimited(t *testing.T, database string, configure func(*daemon.Limits), proxies ...netip.Prefix) *service {
	t.Helper()
	c := &clock{}
	c.freeze()
	l := daemon.DefaultLimits()
	configure(&l)
	return startWith(t, database, c, func(config *daemon.Config) { config.Limits, config.Proxies = &l, proxies })
}

// few are limits small enough to be used up in a moment.
func few(l *daemon.Limits) {
	l.Tiers = map[tenant.Tier]int{tenant.Starter: 1, tenant.Standard: 2, tenant.Premium: 4, tenant.Trusted: 8}
	l.Sandbox = 3
}

// of makes a merchant of a tier.
func (s *service) of(t *testing.T, tier tenant.Tier) shop {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Industry: "retail", Tier: tier})
	must(t, err)
	return shop{Onboarded: o, service: s, credential: o.Sandbox.Secret}
}

// stands fails the test unless the reply has the status and says so of the
// limit: limit, remaining, reset, and Retry-After where there is one.
func (r reply) stands(t *testing.T, status int, want string) {
	t.Helper()
	var got []string
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		if v := r.header.Get(name); v != "" {
			got = append(got, v)
		}
	}
	if r.status != status || strings.Join(got, " ") != want {
		t.Errorf("want %d and %q, got %q: %s", status, want, strings.Join(got, " "), r)
	}
	if status == http.StatusTooManyRequests {
		r.refused(t, tooMany)
	}
}

func TestTierLimitsRefillExactly(t *testing.T) {
	limited(t, few, func(t *testing.T, s *service) {
		o := s.of(t, tenant.Standard).live()                                // 2 a second, 4 at once
		for _, want := range []string{"4 3 1", "4 2 1", "4 1 2", "4 0 2"} { // full in 0.5, 1, 1.5 and 2 seconds
			o.get(t, "/ping").stands(t, http.StatusOK, want)
		}
		o.get(t, "/ping").stands(t, http.StatusTooManyRequests, "4 0 2 1")
		s.clock.advance(500*time.Millisecond - 1)
		o.get(t, "/ping").stands(t, http.StatusTooManyRequests, "4 0 2 1")
		s.clock.advance(1)
		o.get(t, "/ping").stands(t, http.StatusOK, "4 0 2")
		o.get(t, "/ping").stands(t, http.StatusTooManyRequests, "4 0 2 1")
		s.clock.advance(time.Minute)
		o.get(t, "/ping").stands(t, http.StatusOK, "4 3 1")
	})
}

func TestTiersEnvironmentsAndMerchantsAreLimitedApart(t *testing.T) {
	limited(t, few, func(t *testing.T, s *service) {
		for _, c := range []struct {
			tier       tenant.Tier
			live, test int
		}{{tenant.Starter, 2, 6}, {tenant.Standard, 4, 6}, {tenant.Premium, 8, 8}, {tenant.Trusted, 16, 16}} {
			o := s.of(t, c.tier)
			for range 2 { // another merchant of the tier has its own
				for i, who := range []shop{o, o.live()} {
					taken, want := 0, []int{c.test, c.live}[i]
					for who.get(t, "/me").status == http.StatusOK {
						taken++
					}
					if taken != want {
						t.Errorf("%s, %.7s…: %d requests at once, want %d", c.tier, who.credential, taken, want)
					}
				}
				o = s.of(t, c.tier)
			}
		}
	})
}

func TestDefaultLimitsAreTheDocumentedOnes(t *testing.T) {
	limited(t, func(*daemon.Limits) {}, func(t *testing.T, s *service) {
		for tier, want := range map[tenant.Tier][2]string{
			tenant.Starter: {"50 49 1", "200 199 1"}, tenant.Standard: {"200 199 1", "200 199 1"},
			tenant.Premium: {"1000 999 1", "1000 999 1"}, tenant.Trusted: {"4000 3999 1", "4000 3999 1"},
		} {
			o := s.of(t, tier)
			o.live().get(t, "/ping").stands(t, http.StatusOK, want[0])
			o.get(t, "/ping").stands(t, http.StatusOK, want[1])
		}
	})
}

// Everything a merchant sends is counted, however it is answered, and every
// answer tells so. A refused request does nothing.
func TestEveryAnswerToAMerchantTellsItsLimit(t *testing.T) {
	limited(t, few, func(t *testing.T, s *service) {
		o := s.of(t, tenant.Trusted) // 16 at once
		token := o.pair(t).text(t, "accessToken")
		left := 15
		for _, c := range []struct {
			as                 string
			method, path, body string
			status             int
		}{
			{o.credential, http.MethodPost, "/payments", card, http.StatusCreated},
			{token, http.MethodGet, "/payments", "", http.StatusOK},
			{token, http.MethodGet, "/payments/TXN-NOBODY", "", http.StatusNotFound},
			{o.credential, http.MethodPost, "/payments", `{}`, http.StatusBadRequest},
			{o.credential, http.MethodPost, "/payments", oneMiB(`{}`) + " ", http.StatusRequestEntityTooLarge},
			{o.Sandbox.Publishable, http.MethodGet, "/me", "", http.StatusForbidden},
			{o.Sandbox.Publishable, http.MethodGet, "/ping", "", http.StatusOK},
			{o.credential, http.MethodHead, "/ping", "", http.StatusOK},
		} {
			r := o.as(c.as).call(t, c.method, c.path, c.body)
			if got := r.header.Get("RateLimit-Remaining"); r.status != c.status || got != fmt.Sprint(left) {
				t.Errorf("want %d with %d left, got %q: %s", c.status, left, got, r)
			}
			left--
		}
		r := o.post(t, "/payments", card, "Content-Type: text/plain")
		r.refused(t, "415 content_type_required invalid_request_error")
		if r.header.Get("RateLimit-Remaining") != fmt.Sprint(left) {
			t.Errorf("want %d left: %s", left, r)
		}
		for range left {
			o.get(t, "/ping").want(t, http.StatusOK)
		}
		o.post(t, "/payments", card, "Idempotency-Key: limited").stands(t, http.StatusTooManyRequests, "16 0 2 1")
		s.clock.advance(time.Minute)
		o.post(t, "/payments", card, "Idempotency-Key: limited").want(t, http.StatusCreated) // nothing was kept of the refusal
		if n := o.total(t, nil); n != "2" {
			t.Errorf("there are %s payments, want 2", n)
		}
	})
}

func TestHotPollingOfOnePaymentIsLimited(t *testing.T) {
	limited(t, func(*daemon.Limits) {}, func(t *testing.T, s *service) {
		o, stranger := s.of(t, tenant.Standard), s.of(t, tenant.Standard)
		hot, cold := o.create(t, card), o.create(t, card)
		for i := range 5 { // by either name
			path := []string{"/payments/", "/transactions/"}[i%2]
			o.get(t, path+hot).want(t, http.StatusOK)
		}
		o.get(t, "/payments/"+hot).stands(t, http.StatusTooManyRequests, "5 0 25 5")
		o.get(t, "/transactions/"+hot).stands(t, http.StatusTooManyRequests, "5 0 25 5")
		s.clock.advance(5*time.Second - 1)
		o.get(t, "/payments/"+hot).stands(t, http.StatusTooManyRequests, "5 0 21 1")
		o.get(t, "/payments/"+cold).want(t, http.StatusOK)
		o.get(t, "/payments").want(t, http.StatusOK)
		// The same id is another bucket for another merchant and environment.
		stranger.get(t, "/payments/"+hot).refused(t, "404 transaction_not_found invalid_request_error")
		o.live().get(t, "/payments/"+hot).refused(t, "404 transaction_not_found invalid_request_error")
		s.clock.advance(1)
		o.get(t, "/payments/"+hot).want(t, http.StatusOK)
		o.get(t, "/payments/"+hot).stands(t, http.StatusTooManyRequests, "5 0 25 5")
		// Writing is not polling.
		o.simulate(t, hot, "refunded").want(t, http.StatusOK)
		// Once every 30 seconds is safe for ever.
		for range 10 {
			s.clock.advance(30 * time.Second)
			o.get(t, "/payments/"+hot).want(t, http.StatusOK)
		}
	})
}

func loginBody(key, secret string) string {
	return fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, key, secret)
}

func TestFailedLoginsOfAnAddressAreLimited(t *testing.T) {
	limited(t, func(l *daemon.Limits) { l.Open = 1000 }, func(t *testing.T, s *service) {
		o := s.of(t, tenant.Starter)
		good := loginBody(o.Sandbox.Publishable, o.Sandbox.Secret)
		for range 30 { // successes do not count
			o.post(t, "/auth/token", good).want(t, http.StatusOK)
		}
		for i := range 10 { // of any key
			o.post(t, "/auth/token", loginBody(fmt.Sprint("pk_test_", i), "sk_test_x")).refused(t, "401 invalid_api_key authentication_error")
		}
		o.post(t, "/auth/token", loginBody("pk_test_x", "sk_test_x")).stands(t, http.StatusTooManyRequests, "10 0 60 6")
		o.post(t, "/auth/token", good).stands(t, http.StatusTooManyRequests, "10 0 60 6")
		// Another X-Forwarded-For is not another address, unless a trusted proxy says so.
		for _, header := range []string{"X-Forwarded-For: 198.51.100.7", "X-Real-Ip: 198.51.100.7", "Forwarded: for=198.51.100.7"} {
			o.post(t, "/auth/token", good, header).stands(t, http.StatusTooManyRequests, "10 0 60 6")
		}
		s.clock.advance(6*time.Second - 1)
		o.post(t, "/auth/token", good).stands(t, http.StatusTooManyRequests, "10 0 55 1")
		s.clock.advance(1)
		o.post(t, "/auth/token", good).want(t, http.StatusOK)
		o.post(t, "/auth/token", loginBody("pk_test_x", "sk_test_x")).refused(t, "401 invalid_api_key authentication_error")
		o.post(t, "/auth/token", good).stands(t, http.StatusTooManyRequests, "10 0 60 6")
		o.get(t, "/ping").want(t, http.StatusOK) // credentials that are good already are another matter
	})
}

func TestFailedLoginsOfAKeyAreLimitedAndDoNotLockItsOwnerOut(t *testing.T) {
	limited(t, func(*daemon.Limits) {}, func(t *testing.T, s *service) {
		o := s.of(t, tenant.Starter)
		bad := loginBody(o.Sandbox.Publishable, "sk_test_guess")
		from := func(i int) string { return fmt.Sprintf("X-Forwarded-For: 6.6.6.6, 198.51.100.%d", i) }
		for i := range 10 {
			o.post(t, "/auth/token", bad, from(i)).refused(t, "401 invalid_api_key authentication_error")
		}
		for i := range 10 {
			o.post(t, "/auth/token", bad, from(100+i)).stands(t, http.StatusTooManyRequests, "10 0 60 6")
		}
		o.post(t, "/auth/token", loginBody(o.Sandbox.Publishable, o.Sandbox.Secret), from(200)).want(t, http.StatusOK)
		o.post(t, "/auth/token", loginBody(o.Live.Publishable, "sk_live_guess"), from(201)).refused(t, "401 invalid_api_key authentication_error")
		// IPv6: the 64 bits of a subscriber are one address.
		for i := range 10 {
			o.post(t, "/auth/token", loginBody(fmt.Sprint("pk_", i), "x"), fmt.Sprintf("X-Forwarded-For: 2001:db8::%d", i)).refused(t, "401 invalid_api_key authentication_error")
		}
		o.post(t, "/auth/token", loginBody("pk_x", "x"), "X-Forwarded-For: 2001:db8::ffff").stands(t, http.StatusTooManyRequests, "10 0 60 6")
		o.post(t, "/auth/token", loginBody("pk_x", "x"), "X-Forwarded-For: 2001:db8:0:1::1").refused(t, "401 invalid_api_key authentication_error")
	}, netip.MustParsePrefix("127.0.0.0/8"))
}

func TestFloodOfBadCredentialsIsLimited(t *testing.T) {
	limited(t, func(l *daemon.Limits) { l.Refused = 2 }, func(t *testing.T, s *service) { // 10 at once
		o, unseen := s.of(t, tenant.Standard), s.of(t, tenant.Standard)
		token := s.of(t, tenant.Standard).pair(t).text(t, "accessToken")
		o.get(t, "/ping").want(t, http.StatusOK)
		for i := range 10 {
			bad := []string{"", "sk_test_x", "pk_live_x", "nonsense", altered(token, 2)}[i%5]
			r := o.as(bad).get(t, "/me")
			if r.status != http.StatusUnauthorized || r.header.Get("RateLimit-Limit") != "" {
				t.Errorf("want 401: %s", r)
			}
		}
		for _, bad := range []string{"", "sk_test_x", "nonsense", altered(token, 2)} {
			o.as(bad).get(t, "/me").stands(t, http.StatusTooManyRequests, "10 0 5 1")
		}
		o.refresh(t, "rt_nonsense").stands(t, http.StatusTooManyRequests, "10 0 5 1")
		// Whoever shares the address is let in: tokens, and keys that were seen good.
		o.get(t, "/me").want(t, http.StatusOK)
		o.as(token).get(t, "/me").want(t, http.StatusOK)
		unseen.get(t, "/me").stands(t, http.StatusTooManyRequests, "10 0 5 1")
		s.clock.advance(500 * time.Millisecond)
		unseen.get(t, "/me").want(t, http.StatusOK)
		o.as("nonsense").get(t, "/me").refused(t, "401 invalid_token authentication_error")
		o.as("nonsense").get(t, "/me").stands(t, http.StatusTooManyRequests, "10 0 5 1")
	})
}

// A provider is always heard: its confirmations are money.
func TestNotificationsAreNotLimited(t *testing.T) {
	limited(t, func(l *daemon.Limits) { few(l); l.Open, l.Refused, l.Logins = 1, 1, 1 }, func(t *testing.T, s *service) {
		o := s.of(t, tenant.Trusted)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for range 30 {
			r := s.send(t, request{method: http.MethodPost, path: apiPath + "/providers/sandbox-1/notifications", body: note(id, paid50)})
			r.refused(t, "401 invalid_token authentication_error")
		}
		s.notify(t, "sandbox-1", note(id, paid50)).want(t, http.StatusOK)
		if got := o.status(t, id); got != "completed" {
			t.Errorf("the payment is %s", got)
		}
	})
}

func TestOpenRoutesAreLimitedByAddress(t *testing.T) {
	limited(t, func(l *daemon.Limits) { l.Open = 2 }, func(t *testing.T, s *service) { // 10 at once
		o := s.of(t, tenant.Starter)
		good := loginBody(o.Sandbox.Publishable, o.Sandbox.Secret)
		for range 10 {
			o.post(t, "/auth/token", good).stands(t, http.StatusOK, "")
		}
		o.post(t, "/auth/token", good).stands(t, http.StatusTooManyRequests, "10 0 5 1")
		o.refresh(t, "rt_x").stands(t, http.StatusTooManyRequests, "10 0 5 1")
		o.get(t, "/ping").want(t, http.StatusOK)
		s.clock.advance(500 * time.Millisecond)
		o.post(t, "/auth/token", good).want(t, http.StatusOK)
		// A session's token is no name to be counted under, and its pages have more.
		token := o.session(t, checkout)
		nobody := shop{service: s}
		nobody.get(t, "/checkout/sessions/"+token).stands(t, http.StatusTooManyRequests, "10 0 5 1")
		nobody.post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_card"}`).stands(t, http.StatusTooManyRequests, "10 0 5 1")
		for range 50 {
			if res, _ := s.raw(t, http.MethodGet, "/checkout/"+token, "", nil); res.StatusCode != http.StatusOK {
				t.Errorf("the page answers %d", res.StatusCode)
			}
		}
		if res, _ := s.raw(t, http.MethodPost, "/checkout/"+token, "", nil); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "1" {
			t.Errorf("the page answers %d %v, want 429", res.StatusCode, res.Header)
		}
		if n := o.total(t, nil); n != "0" {
			t.Errorf("%s payments were made, want none", n)
		}
	})
}

func TestRaceTakesNoMoreThanTheLimit(t *testing.T) {
	limited(t, few, func(t *testing.T, s *service) {
		o := s.of(t, tenant.Trusted) // 16 at once
		var created atomic.Int64
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				if r := o.post(t, "/payments", card); r.status == http.StatusCreated {
					created.Add(1)
				} else {
					r.refused(t, tooMany)
				}
			})
		}
		all.Wait()
		s.clock.advance(time.Minute)
		if n := o.total(t, nil); created.Load() != 16 || n != "16" {
			t.Errorf("%d payments were replied and %s written, want 16", created.Load(), n)
		}
	})
}

func TestLimitsCanBeLifted(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, card)
		for range 20 {
			o.get(t, "/payments/"+id).stands(t, http.StatusOK, "")
			o.post(t, "/auth/token", loginBody("pk_test_x", "x")).stands(t, http.StatusUnauthorized, "")
		}
	})
}

func TestNodesShareTheirLimitsInRedis(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	redis := dbtest.Redis(t)
	slow := func(l *daemon.Limits) { l.Redis, l.Poll = redis.URL, time.Hour } // nothing comes back while the test runs
	a, b := startLimited(t, database, slow), startLimited(t, database, slow)
	o := a.shop(t)
	id := o.create(t, card)
	there := o
	there.service = b
	read := func(n int) (taken int) {
		for i := range n {
			if r := []shop{o, there}[i%2].get(t, "/payments/"+id); r.status == http.StatusOK {
				taken++
			} else {
				r.refused(t, tooMany)
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
	eventually(t, "a node has found Redis again", func() bool { return o.get(t, "/payments/"+id).status == http.StatusOK })
	eventually(t, "the nodes share their limits again", func() bool {
		other := o.create(t, card)
		id = other
		return read(12) == 5
	})
}

// Who goes on over a limit is in the log, once a second.
func TestRequestsOverALimitAreTold(t *testing.T) {
	t.Parallel()
	log, c, l := &lines{}, &clock{}, daemon.DefaultLimits()
	c.freeze()
	few(&l)
	s := startWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) { config.Limits, config.Log = &l, slog.New(log) })
	o := s.of(t, tenant.Standard).live()
	over := func() {
		for range 20 {
			o.get(t, "/ping")
		}
	}
	over()
	if n := log.told("requests are over a limit"); n != 1 || log.told("address=127.0.0.1") == 0 {
		t.Errorf("%d lines tell of 16 requests over the limit, want one with the address", n)
	}
	c.advance(time.Second)
	over()
	if n := log.told("more_of_them=15"); n != 1 {
		t.Errorf("a second later %d lines tell of 15 more, want one", n)
	}
}
