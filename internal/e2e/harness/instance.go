package harness

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/apptest"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/vault"
)

// Plainly runs a test on each engine against a service that has the adapter of the plain provider,
// and rates of BRL and MXN.
func Plainly(t *testing.T, test func(t *testing.T, s *Instance)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := StartWith(t, database, &Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: Century, MaxAge: Century}
			c.Adapters = []provider.Adapter{providertest.Plain()}
		})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		test(t, s)
	})
}

// StartLimited starts a service that enforces its limits, with a frozen clock. configure changes
// the default limits. Only the proxies are believed about a client's address.
func StartLimited(t *testing.T, database string, configure func(*daemon.Limits), proxies ...netip.Prefix) *Instance {
	t.Helper()
	c := &Clock{}
	c.Freeze()
	l := daemon.DefaultLimits()
	configure(&l)
	return StartWith(t, database, c, func(config *daemon.Config) { config.Limits, config.Proxies = &l, proxies })
}

// Faults is a log that keeps errors only.
type Faults = apptest.Faults

// Instance is a running service with a clock that the test moves.
type Instance struct {
	*daemon.Service
	Clock    *Clock
	Spec     *Spec
	Vault    *vault.Vault
	Log      *Faults
	Database string    // its URL
	Ended    sync.Once // done by End
}

// Each runs a test against a new service on each engine. After the test it proves the invariants
// and that no fault was logged. See Start.
func Each(t *testing.T, test func(t *testing.T, s *Instance)) {
	t.Helper()
	t.Parallel() // tests mostly wait
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, Start(t, database, &Clock{}))
	})
}

// Alone runs a test against a new service on SQLite only. It is for what does not depend on the
// database.
func Alone(t *testing.T, test func(t *testing.T, s *Instance)) {
	t.Helper()
	t.Parallel()
	test(t, Start(t, dbtest.SQLite(t), &Clock{}))
}

// Start starts a service that has exchange rates. They do not go stale, however far the clock
// moves.
func Start(t *testing.T, database string, c *Clock) *Instance {
	t.Helper()
	s := StartWith(t, database, c, func(config *daemon.Config) {
		config.FX = daemon.FX{StaleAfter: Century, MaxAge: Century} // tests move the clock
	})
	s.Rate(t, "BRL 5.4", "MXN 18.35", "COP 4120.5", "CLP 945", "PEN 3.38", "ARS 1435") // production has none of its own
	return s
}

// cheapHash is the memory of a password's hash in tests, in KiB. A service's own takes 300 times as much, and as long.
const cheapHash = 64

// Century is longer than any test moves the clock.
const Century = 100 * 365 * 24 * time.Hour

// Rate sets exchange rates as the operator does. "BRL 5.4" means that one US dollar buys 5.40 BRL.
func (s *Instance) Rate(t *testing.T, all ...string) {
	t.Helper()
	var readings []rates.Reading
	for _, r := range all {
		currency, text, _ := strings.Cut(r, " ")
		rate, err := money.ParseRate(text)
		Must(t, err)
		readings = append(readings, rates.Reading{Currency: money.Currency(currency), Rate: rate, Source: "a test", At: s.Clock.Now()})
	}
	_, err := s.App.Rates.SetRates(ctx, s.App.Rates.Self(), readings, true)
	Must(t, err)
}

// StartWith starts a service. configure changes its configuration, which has no limits and no
// exchange rates. The service ends with the test.
func StartWith(t *testing.T, database string, c *Clock, configure func(*daemon.Config)) *Instance {
	t.Helper()
	master := bytes.Repeat([]byte{7}, vault.KeySize)
	s := &Instance{Clock: c, Log: &Faults{}, Database: database}
	config := daemon.Config{
		Listen: "127.0.0.1:0", Database: database, MasterKey: base64.StdEncoding.EncodeToString(master),
		Now: s.Clock.Now, Log: slog.New(s.Log), AllowPrivateWebhooks: true, HashMemory: cheapHash,
	}
	configure(&config)
	var err error
	s.Service, err = daemon.Start(ctx, config)
	Must(t, err)
	s.Vault = s.App.Vault
	up(t)
	t.Cleanup(func() { s.End(t) })
	Published.Do(func() {
		Published.Spec = readSpec(t, strings.Replace(s.URL, "[::]", "127.0.0.1", 1)+"/api/openapi.json", APIPath, &witnessed)
		c.Advance(5 * time.Second) // if the service has limits, its buckets are full again
	})
	if s.Spec = Published.Spec; s.Spec == nil {
		t.Fatal("the OpenAPI document could not be read")
	}
	return s
}

// End proves the invariants, stops the service and fails the test for each logged fault. A second
// call does nothing.
func (s *Instance) End(t *testing.T) {
	s.Ended.Do(func() {
		s.Clean(t)
		s.Shutdown()
		s.Log.Report(t)
	})
}

// Clean fails the test for each broken invariant.
func (s *Instance) Clean(t *testing.T) {
	t.Helper()
	broken, err := s.App.Check(ctx)
	// After an outage the database may still refuse a first statement.
	for range 5 {
		if !app.Away(err) {
			break
		}
		time.Sleep(200 * time.Millisecond)
		broken, err = s.App.Check(ctx)
	}
	Must(t, err)
	for _, b := range broken {
		t.Errorf("an invariant is broken: %s", b)
	}
}

// NewShop makes a merchant of the standard tier with a shop and keys, and returns the shop with its
// secret sandbox key. The tests' figures depend on this tier's terms.
func (s *Instance) NewShop(t *testing.T) Client {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{
		Name: "Acme", Email: "ops@acme.example", Industry: "retail", Tier: merchants.Standard, RefundFees: merchants.FeesReturned,
	})
	Must(t, err)
	return Client{Onboarded: o, Instance: s, Credential: o.Sandbox.Secret}
}

// Sweep runs the sweep until done returns true. what is as in Eventually.
func (s *Instance) Sweep(t *testing.T, what string, done func() bool) {
	t.Helper()
	Eventually(t, what, func() bool {
		_, err := s.App.Cascade.Sweep(ctx)
		Must(t, err)
		return done()
	})
}
