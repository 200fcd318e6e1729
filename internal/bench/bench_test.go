package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// running starts a service with merchants, and returns the configuration of a short run against it.
func running(t *testing.T, merchants int) (*daemon.Service, Config) {
	t.Helper()
	s, c := started(t, merchants)
	t.Cleanup(s.Shutdown)
	return s, c
}

// started is running for a test that stops the service itself.
func started(t *testing.T, all int) (*daemon.Service, Config) {
	t.Helper()
	s, err := daemon.Start(t.Context(), daemon.Config{Listen: "127.0.0.1:0", Database: dbtest.SQLite(t), AllowPrivateWebhooks: true})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		URL: s.URL, Connections: 4, Warmup: 50 * time.Millisecond, Duration: time.Second / 2,
		Method: "sbx_card", Amount: "25.50", Idempotency: true, Auth: Token,
	}
	for range all {
		o, err := s.App.Onboarding.CreateMerchant(t.Context(), s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Bench", Email: "b@example.com", Tier: merchants.Trusted})
		if err != nil {
			t.Fatal(err)
		}
		c.Shops = append(c.Shops, Shop(o.Sandbox))
	}
	return s, c
}

func TestRunCountsAcceptedPayments(t *testing.T) {
	for _, merchants := range []int{1, 7} {
		s, c := running(t, merchants)
		for _, auth := range []Auth{Token, Key} {
			c.Auth, c.Webhooks, c.ServerPID = auth, auth == Token, os.Getpid()
			before, err := listedAlready(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if r.Payments == 0 || r.Created < r.Payments || r.Listed-before != r.Created || r.Statuses["completed"] != r.Created || len(r.Errors) > 0 {
				t.Errorf("%d merchants: %d measured, %d accepted %v, %d listed, errors %v", merchants, r.Payments, r.Created, r.Statuses, r.Listed-before, r.Errors)
			}
			if r.P50Ms <= 0 || r.P50Ms > r.P95Ms || r.P95Ms > r.P99Ms || r.P99Ms > r.MaxMs || r.PerSecond <= 0 ||
				r.BytesSent < r.Payments*300 || r.BytesReceived < r.Payments*300 || r.GeneratorUs <= 0 {
				t.Errorf("the figures are %+v", r)
			}
			if runtime.GOOS == "linux" && (r.ServerCPUUs <= 0 || r.ServerRSS == 0 || r.MachineBusy <= 0) {
				t.Errorf("the server's figures are %+v", r)
			}
			if w := r.Webhooks; c.Webhooks && (w.Delivered != r.Created || w.Missing+w.Unexpected+w.Duplicates+w.Doubled+w.OtherEvents+w.SignaturesBad+w.Malformed != 0 ||
				w.SignaturesChecked < int64(min(merchants, int(r.Created)))/2 || w.DelayP50Ms <= 0) {
				t.Errorf("%d payments were accepted, with the events %+v", r.Created, w)
			}
			if p := r.Problems(); len(p) > 0 {
				t.Errorf("a clean run has the problems %q", p)
			}
			var table strings.Builder
			if err := r.Write(&table); err != nil || !strings.Contains(table.String(), "payments/s") {
				t.Errorf("the table is %s, %v", &table, err)
			}
		}
		if broken, err := s.App.Check(t.Context()); err != nil || len(broken) > 0 {
			t.Errorf("after the runs the database is broken: %v, %v", broken, err)
		}
		if subscriptions := subscriptions(t, c); subscriptions != 0 {
			t.Errorf("%d subscriptions are left, want none", subscriptions)
		}
	}
}

// listedAlready returns how many payments the service lists before a run.
func listedAlready(ctx context.Context, c Config) (int64, error) {
	shops, _, err := login(ctx, c)
	if err != nil {
		return 0, err
	}
	return listed(ctx, shops)
}

func subscriptions(t *testing.T, c Config) (n int64) {
	t.Helper()
	shops, _, err := login(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shops {
		listed, err := s.total(t.Context(), "/webhooks")
		if err != nil {
			t.Fatal(err)
		}
		n += listed
	}
	return n
}

func TestRefusedPaymentsAreErrors(t *testing.T) {
	_, c := running(t, 2)
	c.Warmup, c.Duration = 0, 100*time.Millisecond
	cases := []struct{ method, amount, reason, status string }{
		{"sbx_card", "25.51", "402 insufficient_funds", ""},
		{"sbx_card", "many", "400 amount_invalid", ""},
		{"sbx_lost", "25.50", "400 unsupported_method", ""},
		{"sbx_pix", "25.50", "", "pending"},
		{"sbx_spei", "25.50", "", "pending"},
	}
	for _, x := range cases {
		c.Method, c.Amount = x.method, x.amount
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if x.status != "" {
			if r.Statuses[x.status] != r.Created || r.Created == 0 || len(r.Errors) > 0 {
				t.Errorf("%s of %s: %v, errors %v, want all %s", x.method, x.amount, r.Statuses, r.Errors, x.status)
			}
			continue
		}
		if r.Payments != 0 || r.Created != 0 || len(r.Errors) != 1 || r.Errors[x.reason] == 0 || len(r.Problems()) == 0 {
			t.Errorf("%s of %s: %d accepted, errors %v, problems %q, want only %s", x.method, x.amount, r.Created, r.Errors, r.Problems(), x.reason)
		}
	}
}

func TestDeadAndSlowEndpointsAreNotCounted(t *testing.T) {
	_, c := running(t, 10)
	c.Webhooks, c.Rate, c.DeadPercent, c.SlowPercent = true, 200, 20, 10
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w := r.Webhooks
	if w.Delivered == 0 || w.Missing != 0 || w.Unexpected != 0 || w.SignaturesBad != 0 || w.Troubled == 0 || len(r.Problems()) > 0 {
		t.Errorf("the webhooks are %+v, problems %q", w, r.Problems())
	}
	// The events of three of ten merchants are not counted.
	if w.Delivered*10 > r.Created*8 || w.Delivered*10 < r.Created*6 {
		t.Errorf("%d of %d payments had events, want seven tenths", w.Delivered, r.Created)
	}
	if r.Payments > 3*200 { // payments that began before the two seconds count if they end in them; without a rate there are thousands
		t.Errorf("%d payments in two seconds at 200 a second", r.Payments)
	}
}

// The progress adds up to the result, and every signature was verified.
func TestRunReportsItsProgress(t *testing.T) {
	_, c := running(t, 2)
	c.Webhooks, c.VerifyAll, c.Rate, c.ProgressEvery = true, true, 200, 50*time.Millisecond
	var told []Progress
	c.Progress = func(p Progress) { told = append(told, p) }
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Webhooks.SignaturesChecked != r.Webhooks.Delivered || r.Webhooks.SignaturesBad > 0 || len(r.Problems()) > 0 {
		t.Errorf("the webhooks are %+v, problems %q", r.Webhooks, r.Problems())
	}
	var sum int64
	for _, p := range told {
		sum += p.Payments
		if p.Created != sum || p.Errors > 0 || p.Events > r.Created || p.P50Ms > p.P99Ms || p.P99Ms > p.MaxMs || p.MaxMs > 0 != (p.Payments > 0) {
			t.Errorf("after %d payments the progress is %+v", sum, p)
		}
	}
	if len(told) == 0 || sum == 0 || sum > r.Created || !strings.Contains(told[0].String(), "payments, p50") {
		t.Errorf("the progress has %d payments in %d lines, the result has %d", sum, len(told), r.Created)
	}
	c.Method = "sbx_lost"
	told = nil
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(told) == 0 || told[len(told)-1].Errors == 0 {
		t.Errorf("the progress of a run without accepted payments is %+v", told)
	}
}

func TestLostServerIsReported(t *testing.T) {
	s, c := started(t, 1)
	c.Duration, c.ProgressEvery = 2*time.Second, 10*time.Millisecond
	stopped, once := make(chan struct{}), new(sync.Once)
	c.Progress = func(p Progress) {
		if p.Created > 0 { // the run has begun
			once.Do(func() {
				go func() {
					defer close(stopped)
					s.Shutdown()
				}()
			})
		}
	}
	r, err := Run(t.Context(), c)
	once.Do(func() {
		defer close(stopped)
		s.Shutdown()
	})
	<-stopped
	if err == nil || r.Errors["connect refused"] == 0 {
		t.Errorf("the run ended with %v and the errors %v, want refused connections", err, r.Errors)
	}
	if _, err := Run(t.Context(), c); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a run without a server ended with %v, want a refused connection", err)
	}
}

func TestAnInterruptEndsARunAndItsSubscriptions(t *testing.T) {
	_, c := running(t, 2)
	c.Webhooks, c.Duration = true, time.Hour
	c.Auth = Key // no token lives that long
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the run ended with %v, want the interrupt", err)
	}
	if n := subscriptions(t, c); n != 0 {
		t.Errorf("%d subscriptions are left, want none", n)
	}
}

func TestARunThatCannotBeRightIsRefused(t *testing.T) {
	_, good := running(t, 1)
	cases := []struct {
		what   string
		change func(*Config)
	}{
		{"an invalid address", func(c *Config) { c.URL = "127.0.0.1:8080" }},
		{"TLS", func(c *Config) { c.URL = "https://127.0.0.1:8080" }},
		{"no shop", func(c *Config) { c.Shops = nil }},
		{"no connection", func(c *Config) { c.Connections = 0 }},
		{"too many connections", func(c *Config) { c.Connections = 1 << 16 }},
		{"no time", func(c *Config) { c.Duration = 0 }},
		{"a negative rate", func(c *Config) { c.Rate = -1 }},
		{"dead endpoints without webhooks", func(c *Config) { c.DeadPercent = 5 }},
		{"every delivery verified without webhooks", func(c *Config) { c.VerifyAll = true }},
		{"progress without end", func(c *Config) { c.Progress = func(Progress) {} }},
		{"only dead endpoints", func(c *Config) { c.Webhooks, c.DeadPercent, c.SlowPercent = true, 50, 50 }},
		{"invalid keys", func(c *Config) { c.Shops = []Shop{{"pk_test_x", "sk_test_x"}} }},
		{"a run longer than a token lives", func(c *Config) { c.Duration = time.Hour }},
	}
	for _, x := range cases {
		c := good
		x.change(&c)
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%s: the run was started, want it refused", x.what)
		}
	}
}

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	hundred := make([]uint32, 100)
	for i := range hundred {
		hundred[i] = uint32(i+1) * 1000
	}
	cases := []struct {
		values []uint32
		p      int
		want   float64
	}{
		{nil, 50, 0}, {[]uint32{7000}, 50, 7}, {[]uint32{7000}, 100, 7}, {[]uint32{1000, 2000}, 50, 1}, {[]uint32{1000, 2000}, 51, 2},
		{hundred, 1, 1}, {hundred, 50, 50}, {hundred, 95, 95}, {hundred, 99, 99}, {hundred, 100, 100},
	}
	for _, c := range cases {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("p%d of %d values is %v, want %v", c.p, len(c.values), got, c.want)
		}
	}
}

func TestTheProcessIsReadAsTheKernelTellsIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; { // some CPU time
		slices.Sort(make([]int, 100))
	}
	s, err := readSample(t.Context(), Config{ServerPID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if difference := (s.server - s.generator).Abs(); difference > 50*time.Millisecond {
		t.Errorf("/proc tells %v of CPU and getrusage %v", s.server, s.generator)
	}
	if s.rss < 1<<20 || s.busy <= 0 || s.idle <= 0 {
		t.Errorf("the sample is %+v", s)
	}
	if name := build(os.Getpid()); !strings.Contains(name, runtime.Version()) {
		t.Errorf("the build is %q, want one of %s", name, runtime.Version())
	}
	if _, err := readSample(t.Context(), Config{ServerPID: 1 << 30}); err == nil {
		t.Error("a missing process was read")
	}
	if _, err := readSample(t.Context(), Config{WAL: func(context.Context) (int64, error) { return 0, fmt.Errorf("gone") }}); err == nil {
		t.Error("a lost database was read")
	}
}
