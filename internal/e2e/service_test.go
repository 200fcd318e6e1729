package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

func TestMain(m *testing.M) {
	watchTime()
	dbtest.Only = os.Getenv("E2E_ENGINE") // the Makefile says why
	if os.Getenv("GOGC") == "" {          // hundreds of services in one process are no node
		_ = os.Setenv("GOGC", "400") // the daemon leaves it so
		debug.SetGCPercent(400)
	}
	dbtest.Prepare = func(ctx context.Context, database string) error {
		s, err := store.Open(ctx, database, store.Options{})
		if err == nil {
			s.Close()
		}
		return err
	}
	dbtest.Main(suite{m}, func() {
		if chromium.end != nil {
			chromium.end()
		}
	})
}

var ctx = context.Background()

// patience is how long a test waits for what happens by itself.
const patience = time.Minute

// service is a running daemon with a clock that the test moves.
type service struct {
	*daemon.Service
	clock    *clock
	spec     *spec
	vault    *vault.Vault
	log      *faults
	database string
	ended    sync.Once
}

// each runs a test against a new service on each engine, and proves the
// database and the log after it.
func each(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	t.Parallel() // tests wait for different things
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, start(t, database, &clock{}))
	})
}

// alone runs a test of what the database has no part in.
func alone(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	t.Parallel()
	test(t, start(t, dbtest.SQLite(t), &clock{}))
}

func start(t *testing.T, database string, c *clock) *service {
	t.Helper()
	s := startWith(t, database, c, func(config *daemon.Config) {
		config.FX = daemon.FX{StaleAfter: century, MaxAge: century} // tests move the clock
	})
	s.rate(t, "BRL 5.4", "MXN 18.35", "COP 4120.5", "CLP 945", "PEN 3.38", "ARS 1435") // which production needs
	return s
}

const century = 100 * 365 * 24 * time.Hour

// rate sets exchange rates as the operator does.
func (s *service) rate(t *testing.T, rates ...string) {
	t.Helper()
	var readings []pay.Reading
	for _, r := range rates {
		currency, text, _ := strings.Cut(r, " ")
		rate, err := money.ParseRate(text)
		must(t, err)
		readings = append(readings, pay.Reading{Currency: money.Currency(currency), Rate: rate, Source: "a test", At: s.clock.now()})
	}
	_, err := s.App.Rates.SetRates(ctx, readings, true)
	must(t, err)
}

// startWith starts a service with another configuration.
func startWith(t *testing.T, database string, c *clock, configure func(*daemon.Config)) *service {
	t.Helper()
	master := bytes.Repeat([]byte{7}, vault.KeySize)
	s := &service{clock: c, log: &faults{}, database: database}
	config := daemon.Config{
		Listen: "127.0.0.1:0", Database: database, MasterKey: base64.StdEncoding.EncodeToString(master),
		Now: s.clock.now, Log: slog.New(s.log), AllowPrivateWebhooks: true,
	}
	configure(&config)
	var err error
	s.Service, err = daemon.Start(ctx, config)
	must(t, err)
	s.vault = s.App.Vault
	up(t)
	t.Cleanup(func() { s.end(t) })
	published.Do(func() {
		published.spec = readSpec(t, strings.Replace(s.URL, "[::]", "127.0.0.1", 1)+"/api/openapi.json", apiPath, &witnessed)
	})
	if s.spec = published.spec; s.spec == nil {
		t.Fatal("the OpenAPI document could not be read")
	}
	return s
}

// end stops the service, unless the test did so.
func (s *service) end(t *testing.T) {
	s.ended.Do(func() {
		s.clean(t)
		s.Shutdown()
		s.log.report(t)
	})
}

// clean fails the test when an invariant of the database is broken.
func (s *service) clean(t *testing.T) {
	t.Helper()
	broken, err := s.App.Check(ctx)
	must(t, err)
	for _, b := range broken {
		t.Errorf("broken: %s", b)
	}
}

// shop makes a merchant of the standard tier, whose terms the tests' figures
// follow from, with a shop and keys.
func (s *service) shop(t *testing.T) shop {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{
		Name: "Acme", Email: "ops@acme.example", Industry: "retail", Tier: tenant.Standard, RefundFees: tenant.FeesReturned,
	})
	must(t, err)
	return shop{Onboarded: o, service: s, credential: o.Sandbox.Secret}
}

// sweep lets the reconciliation look at what is due until done says so.
func (s *service) sweep(t *testing.T, what string, done func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		_, err := s.App.Cascade.Sweep(ctx)
		must(t, err)
		return done()
	})
}

// eventually waits until done says so.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); !done(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain until %s", patience, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clock is the system's clock, moved forward by the test.
type clock struct {
	offset atomic.Int64
	frozen atomic.Int64 // nanoseconds since 1970 when it stands still, else 0
}

func (c *clock) now() time.Time {
	at := time.Now()
	if still := c.frozen.Load(); still != 0 {
		at = time.Unix(0, still)
	}
	return at.Add(time.Duration(c.offset.Load()))
}

// freeze stops the clock, so that it moves by the test alone.
func (c *clock) freeze() { c.frozen.Store(time.Now().UnixNano()) }

func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// faults is a log that keeps what a person on call would be woken by.
type faults struct {
	mu    sync.Mutex // owns what follows
	lines []string
	muted bool
}

func (f *faults) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (f *faults) WithAttrs([]slog.Attr) slog.Handler           { return f }
func (f *faults) WithGroup(string) slog.Handler                { return f }

func (f *faults) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, line.String())
	return nil
}

func (f *faults) report(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.muted {
		return
	}
	for _, line := range f.lines {
		t.Errorf("the service logged a fault: %s", line)
	}
}

// mute reports no fault of this test, nor one that is logged while the service stops.
func (f *faults) mute() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.muted = true
}

// forget removes all lines, where faults were to be.
func (f *faults) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = nil
}

func (f *faults) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.lines) == 0
}

// take removes the lines that tell of something, of which there must be some.
func (f *faults) take(t *testing.T, of string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := slices.DeleteFunc(f.lines, func(line string) bool { return strings.Contains(line, of) })
	if len(kept) == len(f.lines) {
		t.Errorf("the log tells nothing of %s", of)
	}
	f.lines = kept
}

func TestRestartLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		before := start(t, database, &clock{})
		o := before.shop(t)
		endpoint := before.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		secret := o.subscribe(t, endpoint.URL, `"*"`).text(t, "secret")
		token := o.pair(t).text(t, "accessToken")
		pending := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		unknown := o.create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
		first := o.post(t, "/payments", card, "Idempotency-Key: restart").want(t, http.StatusCreated)
		methods := o.live().get(t, "/payment-methods")
		endpoint.await(t, 1)
		before.end(t)

		after := start(t, database, before.clock)
		o.service, endpoint.service = after, after
		same(t, first, o.post(t, "/payments", card, "Idempotency-Key: restart"))
		o.as(token).get(t, "/payments/"+pending).want(t, http.StatusOK)
		o.live().get(t, "/payment-methods").is(t, http.StatusOK, string(methods.body)) // ids are for life
		o.simulate(t, pending, "paid").want(t, http.StatusOK)
		endpoint.answers(respond(http.StatusOK))
		after.clock.advance(31 * time.Second)
		after.sweep(t, "the provider was asked", func() bool { return o.status(t, unknown) == "completed" })
		eventually(t, "nothing waits to be sent", func() bool {
			_, err := after.App.Webhooks.Dispatch(ctx)
			must(t, err)
			return after.due(t).IsZero()
		})
		told := map[string]bool{}
		for _, d := range endpoint.deliveries() {
			told[d.text("type")+" "+d.text("data.object.id")] = true
		}
		for _, want := range []string{
			"payment.completed " + first.text(t, "transactionId"), "payment.completed " + unknown,
			"payment.completed " + pending, "payment.captured " + pending,
		} {
			if !told[want] {
				t.Errorf("the endpoint was not told %s, only %v", want, told)
			}
		}
		list := endpoint.deliveries()
		list[len(list)-1].verify(t, after, secret)
	})
}

func TestServiceTellsThatItIsUp(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
			r := s.send(t, request{method: http.MethodGet, path: path})
			if r.status != http.StatusOK || string(r.body) != want {
				t.Errorf("want 200 %q, got %s", want, r)
			}
		}
	})
}
