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

// Patience is how long a test waits for what happens by itself.
const Patience = time.Minute

// Instance is a running daemon with a clock that the test moves.
type Instance struct {
	*daemon.Service
	Clock    *Clock
	Spec     *Spec
	Vault    *vault.Vault
	Log      *Faults
	Database string
	Ended    sync.Once
}

// Each runs a test against a new service on each engine, and proves the
// database and the log after it.
func Each(t *testing.T, test func(t *testing.T, s *Instance)) {
	t.Helper()
	t.Parallel() // tests wait for different things
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, Start(t, database, &Clock{}))
	})
}

// Alone runs a test of what the database has no part in.
func Alone(t *testing.T, test func(t *testing.T, s *Instance)) {
	t.Helper()
	t.Parallel()
	test(t, Start(t, dbtest.SQLite(t), &Clock{}))
}

func Start(t *testing.T, database string, c *Clock) *Instance {
	t.Helper()
	s := StartWith(t, database, c, func(config *daemon.Config) {
		config.FX = daemon.FX{StaleAfter: Century, MaxAge: Century} // tests move the clock
	})
	s.Rate(t, "BRL 5.4", "MXN 18.35", "COP 4120.5", "CLP 945", "PEN 3.38", "ARS 1435") // which production needs
	return s
}

const Century = 100 * 365 * 24 * time.Hour

// rate sets exchange rates as the operator does.
func (s *Instance) Rate(t *testing.T, rates ...string) {
	t.Helper()
	var readings []pay.Reading
	for _, r := range rates {
		currency, text, _ := strings.Cut(r, " ")
		rate, err := money.ParseRate(text)
		Must(t, err)
		readings = append(readings, pay.Reading{Currency: money.Currency(currency), Rate: rate, Source: "a test", At: s.Clock.Now()})
	}
	_, err := s.App.Rates.SetRates(ctx, readings, true)
	Must(t, err)
}

// StartWith starts a service with another configuration.
func StartWith(t *testing.T, database string, c *Clock, configure func(*daemon.Config)) *Instance {
	t.Helper()
	master := bytes.Repeat([]byte{7}, vault.KeySize)
	s := &Instance{Clock: c, Log: &Faults{}, Database: database}
	config := daemon.Config{
		Listen: "127.0.0.1:0", Database: database, MasterKey: base64.StdEncoding.EncodeToString(master),
		Now: s.Clock.Now, Log: slog.New(s.Log), AllowPrivateWebhooks: true,
	}
	configure(&config)
	var err error
	s.Service, err = daemon.Start(ctx, config)
	Must(t, err)
	s.Vault = s.App.Vault
	up(t)
	t.Cleanup(func() { s.End(t) })
	Published.Do(func() {
		Published.Spec = ReadSpec(t, strings.Replace(s.URL, "[::]", "127.0.0.1", 1)+"/api/openapi.json", APIPath, &witnessed)
	})
	if s.Spec = Published.Spec; s.Spec == nil {
		t.Fatal("the OpenAPI document could not be read")
	}
	return s
}

// End stops the service, unless the test did so.
func (s *Instance) End(t *testing.T) {
	s.Ended.Do(func() {
		s.Clean(t)
		s.Shutdown()
		s.Log.report(t)
	})
}

// Clean fails the test when an invariant of the database is broken.
func (s *Instance) Clean(t *testing.T) {
	t.Helper()
	broken, err := s.App.Check(ctx)
	Must(t, err)
	for _, b := range broken {
		t.Errorf("broken: %s", b)
	}
}

// shop makes a merchant of the standard tier, whose terms the tests' figures
// follow from, with a shop and keys.
func (s *Instance) NewShop(t *testing.T) Client {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{
		Name: "Acme", Email: "ops@acme.example", Industry: "retail", Tier: tenant.Standard, RefundFees: tenant.FeesReturned,
	})
	Must(t, err)
	return Client{Onboarded: o, Instance: s, Credential: o.Sandbox.Secret}
}

// Sweep lets the reconciliation look at what is due until done says so.
func (s *Instance) Sweep(t *testing.T, what string, done func() bool) {
	t.Helper()
	Eventually(t, what, func() bool {
		_, err := s.App.Cascade.Sweep(ctx)
		Must(t, err)
		return done()
	})
}

// Eventually waits until done says so.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(Patience); !done(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain until %s", Patience, what)
		}
	}
}

func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Clock is the system's clock, moved forward by the test.
type Clock struct {
	offset atomic.Int64
	frozen atomic.Int64 // nanoseconds since 1970 when it stands still, else 0
}

func (c *Clock) Now() time.Time {
	at := time.Now()
	if still := c.frozen.Load(); still != 0 {
		at = time.Unix(0, still)
	}
	return at.Add(time.Duration(c.offset.Load()))
}

// Freeze stops the clock, so that it moves by the test alone.
func (c *Clock) Freeze() { c.frozen.Store(time.Now().UnixNano()) }

func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// Faults is a log that keeps what a person on call would be woken by.
type Faults struct {
	Mu    sync.Mutex // owns what follows
	Lines []string
	muted bool
}

func (f *Faults) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (f *Faults) WithAttrs([]slog.Attr) slog.Handler           { return f }
func (f *Faults) WithGroup(string) slog.Handler                { return f }

func (f *Faults) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Lines = append(f.Lines, line.String())
	return nil
}

func (f *Faults) report(t *testing.T) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.muted {
		return
	}
	for _, line := range f.Lines {
		t.Errorf("the service logged a fault: %s", line)
	}
}

// Mute reports no fault of this test, nor one that is logged while the service stops.
func (f *Faults) Mute() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.muted = true
}

// Forget removes all lines, where faults were to be.
func (f *Faults) Forget() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Lines = nil
}

func (f *Faults) Empty() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.Lines) == 0
}

// Take removes the lines that tell of something, of which there must be some.
func (f *Faults) Take(t *testing.T, of string) {
	t.Helper()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	kept := slices.DeleteFunc(f.Lines, func(line string) bool { return strings.Contains(line, of) })
	if len(kept) == len(f.Lines) {
		t.Errorf("the log tells nothing of %s", of)
	}
	f.Lines = kept
}

func TestRestartLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		before := Start(t, database, &Clock{})
		o := before.NewShop(t)
		endpoint := before.Receive(t)
		endpoint.Answers(Respond(http.StatusInternalServerError))
		secret := o.Subscribe(t, endpoint.URL, `"*"`).Text(t, "secret")
		token := Pair(t, o).Text(t, "accessToken")
		pending := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		unknown := o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
		first := o.Post(t, "/payments", Card, "Idempotency-Key: restart").Want(t, http.StatusCreated)
		methods := o.Production().Get(t, "/payment-methods")
		endpoint.Await(t, 1)
		before.End(t)

		after := Start(t, database, before.Clock)
		o.Instance, endpoint.Instance = after, after
		Same(t, first, o.Post(t, "/payments", Card, "Idempotency-Key: restart"))
		o.As(token).Get(t, "/payments/"+pending).Want(t, http.StatusOK)
		o.Production().Get(t, "/payment-methods").Is(t, http.StatusOK, string(methods.Body)) // ids are for life
		o.Simulate(t, pending, "paid").Want(t, http.StatusOK)
		endpoint.Answers(Respond(http.StatusOK))
		after.Clock.Advance(31 * time.Second)
		after.Sweep(t, "the provider was asked", func() bool { return o.Status(t, unknown) == "completed" })
		Eventually(t, "nothing waits to be sent", func() bool {
			_, err := after.App.Webhooks.Dispatch(ctx)
			Must(t, err)
			return after.Due(t).IsZero()
		})
		told := map[string]bool{}
		for _, d := range endpoint.Deliveries() {
			told[d.Text("type")+" "+d.Text("data.object.id")] = true
		}
		for _, want := range []string{
			"payment.completed " + first.Text(t, "transactionId"), "payment.completed " + unknown,
			"payment.completed " + pending, "payment.captured " + pending,
		} {
			if !told[want] {
				t.Errorf("the endpoint was not told %s, only %v", want, told)
			}
		}
		list := endpoint.Deliveries()
		list[len(list)-1].Verify(t, after, secret)
	})
}

func TestServiceTellsThatItIsUp(t *testing.T) {
	Each(t, func(t *testing.T, s *Instance) {
		for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
			r := s.Send(t, Request{Method: http.MethodGet, Path: path})
			if r.Status != http.StatusOK || string(r.Body) != want {
				t.Errorf("want 200 %q, got %s", want, r)
			}
		}
	})
}
