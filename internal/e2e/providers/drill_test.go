package providers

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// flaky is a proxy in front of an upstream. It refuses some charges. For others it closes the
// connection after the upstream made them.
type flaky struct {
	http.Handler
	refuses, breaks int // percent of the charges
}

func (f flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	roll := rand.IntN(100)
	switch {
	case r.URL.Path != "/charges":
		f.Handler.ServeHTTP(w, r)
	case roll < f.refuses:
		http.Error(w, `{"error":"too busy"}`, http.StatusTooManyRequests)
	case roll < f.refuses+f.breaks:
		f.Handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		f.Handler.ServeHTTP(w, r)
	}
}

// Of three providers, one refuses half of its charges, and one closes the connection after 5 % of
// the charges it made. No shopper is charged twice, no payment is lost, and the providers' books
// equal ours. CASCADA_DRILL sets the number of payments.
//
//	CASCADA_DRILL=10000 go test ./internal/e2e/providers -run ThreeProviders -v
func TestThreeProvidersOfWhichTwoFail(t *testing.T) {
	n := 200
	if text := os.Getenv("CASCADA_DRILL"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		harness.Must(t, err)
	}
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		made, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted, RefundFees: merchants.FeesReturned})
		harness.Must(t, err)
		live := harness.Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}.Production()
		upstreams := map[string]*providertest.Upstream{}
		for i, f := range []flaky{{refuses: 50}, {breaks: 5}, {}} {
			id := fmt.Sprintf("acme-%d", i+1)
			u := providertest.NewUpstream(t, "key-1")
			u.Next("paid")
			f.Handler = u
			line := providertest.StartServer(t, f)
			t.Cleanup(line.Close)
			upstreams[id] = u
			s.OpenAccount(t, id, u, func(a *accounts.NewAccount) { a.BaseURL, a.Priority = line.URL, i+1 })
		}
		body := live.PixOrder(t)
		ids := make([]string, n)
		began := time.Now()
		var all sync.WaitGroup
		for lane := range 16 {
			all.Go(func() {
				for i := lane; i < n; i += 16 {
					r := live.Post(t, "/payments", body, fmt.Sprintf("Idempotency-Key: %d", i)).Want(t, http.StatusCreated)
					ids[i] = r.Text(t, "transactionId")
				}
			})
		}
		all.Wait()
		took := time.Since(began)
		unknown := live.Total(t, map[string][]string{"status": {"processing"}})
		s.Clock.Advance(time.Minute)
		s.Sweep(t, "every outcome is known", func() bool {
			return live.Total(t, map[string][]string{"status": {"processing"}}) == "0"
		})

		charges := 0
		for id, u := range upstreams {
			charges += harness.Reconciled(t, s, id, u).Charges
		}
		completed, failovers := 0, 0
		for _, id := range ids {
			shown, err := s.App.Sessions.Shown(ctx, id)
			harness.Must(t, err)
			if shown.Status == pay.Completed {
				completed++
			}
			if len(shown.Attempts) > 1 {
				failovers++
			}
		}
		if charges != completed || live.Total(t, nil) != fmt.Sprint(n) {
			t.Errorf("the providers have %d charges, want %d: one for each completed payment; there are %s payments, want %d", charges, completed, live.Total(t, nil), n)
		}
		if t.Failed() {
			return
		}
		engine, _, _ := strings.Cut(s.Database, ":")
		t.Logf("%s: %d payments, %.2f %% approved, %d with a failover, %s with an outcome that was unknown at first, "+
			"0 charged twice, 0 lost, the books are equal; %.0f a second", engine, n, 100*float64(completed)/float64(n), failovers, unknown, float64(n)/took.Seconds())
	})
}
