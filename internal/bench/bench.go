// Package bench measures a running service over HTTP: payments a second, how
// long each took, what they cost, and whether every event was delivered.
//
// The load is a closed loop unless a rate is given: each connection sends its
// next payment when the reply to the last one is in. So the latency is that of a service with one caller for
// each connection, who always waits for the reply; payments that arrive independently of the service have
// another one. The generator shares the machine with the server, so its hot path is a raw connection,
// prebuilt requests and a reader that skips unused bytes; it reports its own CPU time.
//
// It is not a test of the network, of TLS, or of a provider: the sandbox's
// providers answer at once.
package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Shop is the credentials of a shop whose payments are measured. Use it for nothing else,
// or the payments that it lists in the end differ from those counted.
type Shop struct{ Publishable, Secret string }

// Auth is how a payment's request authenticates.
type Auth string

// The ways to authenticate.
const (
	Token Auth = "token" // an access token from /auth/token, made before the run
	Key   Auth = "key"   // the raw secret key
)

// Config is one run.
type Config struct {
	URL         string // the service's address; http only
	Shops       []Shop // created in turn by each connection
	Connections int
	Warmup      time.Duration // not measured
	Duration    time.Duration // measured
	Method      string        // paymentMethodId
	Amount      string        // USD
	Idempotency bool          // send a unique Idempotency-Key with each request
	Rate        float64       // payments a second, evenly spaced; 0: as many as the connections can send
	Webhooks    bool          // subscribe every shop, and wait for the events
	DeadPercent int           // share of the endpoints: half refuse, half never answer
	SlowPercent int           // share of the endpoints: they answer after 9 s
	VerifyAll   bool          // verify every delivery's signature, not a sample
	// Progress, if set, is called with the state of the run, each ProgressEvery.
	Progress      func(Progress)
	ProgressEvery time.Duration
	Auth          Auth
	ServerPID     int // 0: the server process is not measured
	// WAL returns how many bytes the database has written to its log since its creation. Nil
	// if there is no such log.
	WAL func(context.Context) (int64, error)
}

// checked returns the configuration with its URL in a normal form.
func (c Config) checked() (Config, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return c, fmt.Errorf("the address must be http://host:port, got %q", c.URL)
	}
	if u.Port() == "" {
		u.Host += ":80"
	}
	c.URL = "http://" + u.Host
	switch {
	case len(c.Shops) == 0:
		return c, errors.New("a run needs at least one shop")
	case c.Connections < 1 || c.Connections > maxConnections:
		return c, fmt.Errorf("connections must be from 1 to %d, got %d", maxConnections, c.Connections)
	case c.Rate < 0:
		return c, errors.New("the rate must not be below 0")
	case c.DeadPercent < 0 || c.SlowPercent < 0 || c.DeadPercent+c.SlowPercent > 90:
		return c, errors.New("at most 90 % of the endpoints can be dead or slow")
	case c.DeadPercent+c.SlowPercent > 0 && (!c.Webhooks || len(c.Shops) < 3):
		return c, errors.New("dead and slow endpoints need webhooks, and at least 3 merchants")
	case c.VerifyAll && !c.Webhooks:
		return c, errors.New("verifying every delivery needs webhooks")
	case c.Progress != nil && c.ProgressEvery <= 0:
		return c, errors.New("the time between two lines of progress must be above 0")
	case c.Duration <= 0 || c.Warmup < 0:
		return c, errors.New("the duration must be above 0, and the warm-up must not be negative")
	}
	return c, nil
}

const (
	maxConnections = 0xffff // four hex digits of an order id
	// graceTime is how long open requests may take after the end.
	graceTime = 30 * time.Second
	// awaitTime is how long events may take to arrive after the end.
	awaitTime = 30 * time.Second
	awaitPoll = 100 * time.Millisecond
	// firstEvents is the version of the events that every service knows.
	firstEvents = "2026-11-21"
)

// Check refuses a run that would measure nothing.
func (c Config) Check() error {
	_, err := c.checked()
	return err
}

// Run puts load on the service and returns the measurements.
func Run(ctx context.Context, c Config) (r Result, err error) {
	if c, err = c.checked(); err != nil {
		return r, err
	}
	shops, apiVersion, err := login(ctx, c)
	if err != nil {
		return r, err
	}
	var s *sink
	if c.Webhooks {
		if s, err = listen(c.kinds()); err != nil {
			return r, err
		}
		s.verifyAll = c.VerifyAll
		defer s.close()
		// Also after an interrupt: otherwise the server would retry for days to reach a sink that
		// is gone.
		defer func() { err = errors.Join(err, unsubscribe(context.WithoutCancel(ctx), shops)) }()
		if err := subscribe(ctx, shops, s); err != nil {
			return r, err
		}
	}
	measured, err := load(ctx, c, shops, s)
	if err != nil {
		return r, err
	}
	r = measured.result(c)
	r.Settings = c.settings(apiVersion)
	if s != nil {
		r.Webhooks = s.await(ctx, measured)
	}
	r.Listed, err = listed(ctx, shops)
	return r, err
}

// login gets each shop's credential for the hot path and checks it.
func login(ctx context.Context, c Config) (shops []*shop, apiVersion string, err error) {
	for _, keys := range c.Shops {
		s := &shop{url: c.URL, secret: keys.Secret, bearer: keys.Secret}
		if c.Auth == Token {
			if s.bearer, err = token(ctx, c, keys); err != nil {
				return nil, "", err
			}
		}
		shops = append(shops, s)
	}
	var pong struct {
		APIVersion string `json:"apiVersion"`
	}
	err = shops[0].call(ctx, http.MethodGet, "/ping", nil, &pong)
	return shops, pong.APIVersion, err
}

// subscribe sends the shops' events to the sink, but only those that every version knows,
// because results of two versions are compared.
func subscribe(ctx context.Context, shops []*shop, s *sink) error {
	for i, shop := range shops {
		var made struct{ ID, Secret string }
		wanted := map[string]any{"url": s.url(i), "events": []string{"*"}, "eventsVersion": firstEvents, "description": "cascada bench"}
		if err := shop.call(ctx, http.MethodPost, "/webhooks", wanted, &made); err != nil {
			return fmt.Errorf("subscribe (a server reaches a sink on loopback only with --allow-private-webhooks): %w", err)
		}
		shop.webhook = made.ID
		s.expect(made.Secret)
	}
	return nil
}

// unsubscribe ends the subscriptions that were made.
func unsubscribe(ctx context.Context, shops []*shop) error {
	for _, shop := range shops {
		if shop.webhook == "" {
			continue
		}
		if err := shop.call(ctx, http.MethodDelete, "/webhooks/"+shop.webhook, nil, nil); err != nil {
			return fmt.Errorf("unsubscribe: %w", err)
		}
	}
	return nil
}

// listed counts the payments by the service's own lists.
func listed(ctx context.Context, shops []*shop) (int64, error) {
	var total int64
	for _, shop := range shops {
		n, err := shop.total(ctx, "/payments")
		if err != nil {
			return 0, fmt.Errorf("count what the service lists: %w", err)
		}
		total += n
	}
	return total, nil
}

// measured is the counts of a run.
type measured struct {
	from, until   time.Time // the measured window
	workers       []*worker
	before, after sample
	progress      *progress // nil if there is no progress to report
}

// load runs the connections and takes samples at both ends of the window.
func load(ctx context.Context, c Config, shops []*shop, s *sink) (*measured, error) {
	templates := make([]template, 0, len(shops))
	for _, shop := range shops {
		templates = append(templates, newTemplate(c, shop.bearer))
	}
	began := time.Now()
	m := &measured{from: began.Add(c.Warmup)}
	m.until = m.from.Add(c.Duration)
	if s != nil {
		s.window(m.from, m.until)
	}
	run := runName(began)
	if c.Progress != nil {
		p := &progress{began: began, sink: s}
		m.progress = p
		defer p.print(c)()
	}
	var working sync.WaitGroup
	for i := range c.Connections {
		w := newWorker(i, run, strings.TrimPrefix(c.URL, "http://"), templates, m, c)
		w.pace = newPace(c, i, began)
		m.workers = append(m.workers, w)
		working.Go(func() { w.work(ctx) })
	}
	err := m.watch(ctx, c)
	working.Wait()
	return m, errors.Join(err, context.Cause(ctx))
}

// watch takes the samples.
func (m *measured) watch(ctx context.Context, c Config) (err error) {
	for _, at := range []struct {
		time time.Time
		into *sample
	}{{m.from, &m.before}, {m.until, &m.after}} {
		select {
		case <-time.After(time.Until(at.time)):
		case <-ctx.Done():
			return nil // load returns the error
		}
		var sampleErr error
		*at.into, sampleErr = readSample(ctx, c)
		err = errors.Join(err, sampleErr)
	}
	return err
}

func (c Config) settings(apiVersion string) Settings {
	return Settings{
		URL: c.URL, Merchants: len(c.Shops), Connections: c.Connections,
		Warmup: c.Warmup.String(), Duration: c.Duration.String(), Method: c.Method, Amount: c.Amount,
		Idempotency: c.Idempotency, Webhooks: c.Webhooks, Auth: c.Auth, Rate: c.Rate, DeadPercent: c.DeadPercent, SlowPercent: c.SlowPercent,
		APIVersion: apiVersion, ServerBuild: build(c.ServerPID), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
}
