// Package daemon is the running service: configuration, wiring in one place,
// start and shutdown.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/apireference"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/checkout"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/payout/simulated"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adapters"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/routing"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/vault"
	"github.com/cascadapay/cascada/internal/verify"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/webhook"
	"github.com/cascadapay/cascada/internal/work"
)

// Config is how the service runs.
type Config struct {
	Listen    string // host:port
	Metrics   string // host:port of /metrics; empty for none
	Pprof     string // host:port of /debug/pprof/; empty for none
	Admin     string // host:port of the admin API; empty for none
	Database  string // sqlite:PATH or postgres://…
	PublicURL string // where the service is reached; empty: http://Listen
	// MasterKey is the master keys, newest last, each 32 bytes in base64, with white space or
	// commas between; empty: they are in MasterKeyFile, which "" stands for the usual one of.
	MasterKey, MasterKeyFile string
	Existing                 bool           // make neither a database file nor a key file
	Migrate                  bool           // bring an older database up to date, as Start does in any case; Open refuses it
	Migrations               fs.FS          // what the next version of the program would bring, for tests
	Operator                 string         // who runs a command, for the audit log; empty for a service
	Limits                   *Limits        // how many requests are taken; nil: all
	Proxies                  []netip.Prefix // whose X-Forwarded-For is believed, by limits and the audit log
	Log                      *slog.Logger
	Access                   *slog.Logger // gets a line for each request; nil: nobody does
	Version                  string       // of the program
	Demo                     bool         // /demo opens a checkout of the demo merchant, unless PublicURL is https
	// Traces is the address of a collector of OpenTelemetry; empty: OpenTelemetry's own
	// variables say where traces go, or that there are none.
	Traces string
	// AllowPrivateWebhooks lets sandbox webhooks go to loopback addresses. It is for a
	// developer's machine: a tenant reads the replies of what listens there.
	AllowPrivateWebhooks bool
	// Connections is how many may be open at a time; 0 means 8192. No more than half of the
	// process's descriptors are.
	Connections int
	// WebhooksPerShop is how many endpoints a shop has in an environment at most; 0 means 50.
	WebhooksPerShop int
	ProveWebhooks   bool // production endpoints prove whose they are
	// WalletCoolDown is how long a new production wallet cannot be paid to; 0
	// means a day.
	WalletCoolDown time.Duration
	// Retention is how long personal data is kept; zero values: for ever.
	Retention privacy.Retention
	// Faults makes simulated providers misbehave, by account.
	Faults map[string]string
	FX     FX
	Mail   Mail
	// Adapters are the providers that accounts may be opened at; nil: all there
	// are.
	Adapters []provider.Adapter
	// DrainDelay is how long Drain goes on taking requests while /readyz says 503, so that a
	// balancer looks elsewhere before the listener closes.
	DrainDelay time.Duration
	// StuckAfter is how long a loop may take for one look before the process is held for
	// broken; 0 means a minute.
	StuckAfter time.Duration
	Routing    string           // what accounts are ordered by (routing.Order); empty: priority
	Now        func() time.Time // nil: the system's clock, and the database's for the leases of nodes

	meter  base.Meter    // of a service
	tracer *trace.Tracer // of a service; nil: there are no traces
}

// drainTimeout is how long requests under way may take after SIGTERM.
const drainTimeout = 25 * time.Second

// manyConnections is how many are open where nobody says more: some 20 KB each.
const manyConnections = 8192

// connections is how many clients' connections may be open: the database, the providers and the
// webhooks need descriptors too.
func (c Config) connections() int {
	n := c.Connections
	if n == 0 {
		n = manyConnections
	}
	if have := descriptors(); have > 0 {
		n = min(n, have/2)
	}
	return n
}

// Open returns the use cases over a database: what the commands of the CLI
// need. Close it.
func Open(ctx context.Context, c Config) (*app.App, error) {
	leases := c.Now
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := c.checkFaults(); err != nil {
		return nil, err
	}
	rates, err := c.FX.open()
	if err != nil {
		return nil, err
	}
	if c.Adapters == nil {
		c.Adapters = adapters.All()
	}
	order, err := routing.ParseOrder(c.Routing)
	if err != nil {
		return nil, err
	}
	mailer, err := c.Mail.open()
	if err != nil {
		return nil, err
	}
	masters, err := masterKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	secrets, err := vault.New(masters...)
	if err != nil {
		return nil, err
	}
	providers := map[string]provider.Provider{}
	for _, account := range sandbox.Accounts() {
		simulated := sandbox.New(account, sync.OnceValue(func() []byte { return secrets.Key("provider/" + account) }))
		if err := simulated.SetFault(sandbox.Fault(c.Faults[account])); err != nil {
			return nil, err
		}
		providers[account] = simulated
	}
	schema := app.MakeSchema
	switch {
	case c.Migrate:
		schema = app.MigrateSchema
	case c.Existing:
		schema = app.KeepSchema
	}
	return app.Open(ctx, c.Database, app.Config{
		Config: base.Config{
			Log: c.Log, Vault: secrets, Now: c.Now, NewID: new(id.Maker).New, CheckoutURL: c.PublicURL, Operator: c.Operator,
			Meter: c.meter, Tracer: c.tracer,
		},
		Schema: schema, Migrations: c.Migrations,
		Providers: providers, Sandbox: sandbox.Accounts(), Adapters: c.Adapters, Client: provider.NewClient(), Routing: order,
		SandboxPayout: simulated.Provider{}, WalletCoolDown: c.WalletCoolDown, Retention: c.Retention,
		InboxURL: c.PublicURL + "/inbox", AllowPrivate: c.AllowPrivateWebhooks, MaxWebhooks: c.WebhooksPerShop, ProveWebhooks: c.ProveWebhooks,
		LeaseClock: leases, FX: rates, Mailer: mailer,
		Sender: webhook.NewSender(webhook.Config{AllowPrivate: c.AllowPrivateWebhooks, Now: c.Now}),
	})
}

// OpenBooks opens a database to be proved: nothing is started and nothing changed.
func OpenBooks(ctx context.Context, c Config) (*app.Books, error) {
	masters, err := masterKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	secrets, err := vault.New(masters...)
	if err != nil {
		return nil, err
	}
	return app.OpenBooks(ctx, c.Database, secrets, c.Migrations)
}

// Service is a running service.
type Service struct {
	URL      string // where it is reached
	AdminURL string // where the admin API is, "" without one
	App      *app.App

	log          *slog.Logger
	verification http.Handler
	servers      []*http.Server
	front        front
	endStreams   func() // of live updates; nil until there are any
	drainDelay   time.Duration
	pulse        *work.Pulse
	redis        *limit.Redis // of the limits; nil without one
	tracer       *trace.Tracer
	loops        sync.WaitGroup
	stop         context.CancelFunc // ends the loops
	draining     atomic.Bool
	ended        sync.Once
	failed       chan error
}

// Start opens the database and the listener and returns when the service is
// ready. End it with Shutdown.
func Start(ctx context.Context, c Config) (*Service, error) {
	tune(c.Database)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = slog.New(ofRequests{c.Log.Handler()})
	if c.Limits != nil {
		if err := c.Limits.check(); err != nil {
			return nil, err
		}
	}
	if err := c.checkPauses(); err != nil {
		return nil, err
	}
	if c.Connections < 0 {
		return nil, errors.New("max connections: want a number above zero")
	}
	l, err := listen(c)
	if err != nil {
		return nil, err
	}
	if c.PublicURL == "" {
		c.PublicURL = "http://" + l.api.Addr().String()
	}
	service, err := start(ctx, c, l)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return service, nil
}

const (
	// The pauses between two tries to open a database that is away at the start.
	minOpenPause = 250 * time.Millisecond
	maxOpenPause = 5 * time.Second
)

// await opens the use cases of a process that serves, as soon as the database is there.
func await(ctx context.Context, c Config) (*app.App, error) {
	for pause := minOpenPause; ; pause = min(2*pause, maxOpenPause) {
		a, err := openNode(ctx, c)
		if err == nil || !app.Away(err) {
			return a, err
		}
		c.Log.Warn("the database cannot be reached: the start waits for it", "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// openNode opens the use cases of a process that serves.
func openNode(ctx context.Context, c Config) (*app.App, error) {
	c.Migrate = true
	a, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := a.Serve(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func start(ctx context.Context, c Config, l listeners) (*Service, error) {
	metrics := newMetrics()
	c.meter = metrics.meter()
	var err error
	if c.tracer, err = trace.Open(ctx, trace.Config{Endpoint: c.Traces, Version: c.Version, Log: c.Log, Sent: metrics.sent}); err != nil {
		return nil, err
	}
	limits, redis, err := openLimits(context.WithoutCancel(ctx), c.Limits, c.Log)
	if err != nil {
		return nil, errors.Join(err, c.tracer.Close())
	}
	s := &Service{URL: c.PublicURL, log: c.Log, failed: make(chan error, 4), redis: redis, tracer: c.tracer, drainDelay: c.DrainDelay, pulse: work.NewPulse()}
	s.front.starting = starting(c.Log)
	bounded := web.Bound(l.api.(*net.TCPListener), c.connections(), c.Proxies)
	metrics.connected(bounded)
	s.serve(bounded, &s.front) // it says that it starts
	if l.metrics != nil {
		s.serve(l.metrics, metrics.handler())
		s.warnIfPublic(c.Metrics, "metrics name provider accounts and what they refuse")
	}
	if s.App, err = await(ctx, c); err != nil {
		s.Shutdown()
		return nil, err
	}
	if err := s.wire(c, l, metrics, limits); err != nil {
		s.Shutdown()
		return nil, err
	}
	return s, nil
}

// wire puts together what serves, and lets it begin.
func (s *Service) wire(c Config, l listeners, metrics *metrics, limits *gate.Limits) error {
	a := s.App
	if c.Now == nil {
		c.Now = time.Now
	}
	s.verification = verify.New(a, c.Log)
	metrics.watch(s.redis)
	gate := gate.New(limits, c.Proxies, a, c.Log, c.Now)
	metrics.of(a, gate, c.Version)
	eye := newObserver(c, metrics)
	jsonAPI, err := api.New(a, c.Log, c.PublicURL+api.Base, gate)
	if err != nil {
		return err
	}
	page, err := apireference.New(jsonAPI.Document)
	if err != nil {
		return err
	}
	home, err := newHome(c, a)
	if err != nil {
		return err
	}
	pages, err := checkout.New(a, c.Log, c.PublicURL, gate.Address)
	if err != nil {
		return err
	}
	s.endStreams = pages.End
	if l.pprof != nil {
		s.serve(l.pprof, profiles())
		s.warnIfPublic(c.Pprof, "profiles hold parts of the memory")
	}
	if l.admin != nil {
		if err := s.openAdmin(c, l.admin, eye); err != nil {
			return err
		}
	}
	if c.Mail.URL == "" && strings.HasPrefix(c.PublicURL, "https://") {
		c.Log.Warn("no e-mails are sent: no merchant is written to when somebody adds a wallet; set --smtp-url and --mail-from")
	}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	for _, loop := range a.Loops() {
		loop = s.pulse.Of(metrics.loop(loop))
		s.loops.Go(func() { loop.Run(running, c.Log) })
	}
	s.loops.Go(func() { s.feel(running, c.StuckAfter) })
	s.front.open(eye.see(s.handler(jsonAPI, page, home, pages, gate)))
	return nil
}

// listeners are the service's addresses. They are taken before anything is made:
// a start that finds one taken leaves nothing behind. Those that are not wanted
// are nil.
type listeners struct{ api, metrics, pprof, admin net.Listener }

func listen(c Config) (l listeners, err error) {
	for _, want := range []struct {
		to            *net.Listener
		address, what string
	}{
		{&l.api, c.Listen, "listen"}, {&l.metrics, c.Metrics, "listen for metrics"}, {&l.pprof, c.Pprof, "listen for profiles"},
		{&l.admin, c.Admin, "listen for the admin API"},
	} {
		if want.address == "" && want.to != &l.api {
			continue
		}
		if *want.to, err = net.Listen("tcp", want.address); err != nil {
			return l, errors.Join(fmt.Errorf("%s: %w", want.what, err), l.close())
		}
	}
	return l, nil
}

// close ends those that no server has closed yet.
func (l listeners) close() (err error) {
	for _, one := range []net.Listener{l.api, l.metrics, l.pprof, l.admin} {
		if one == nil {
			continue
		}
		if closed := one.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	return err
}

// handler is everything on the public listener.
func (s *Service) handler(jsonAPI, page, home http.Handler, pages *checkout.Pages, gate *gate.Gate) http.Handler {
	mux := http.NewServeMux()
	pages.Register(mux, gate.Pages)
	s.tellHealth(mux)
	page, home, verification := gate.Pages(page), gate.Pages(home), gate.Pages(s.verification)
	mux.Handle("GET /{$}", home)
	mux.Handle("/demo", home)
	mux.Handle("/docs", page)
	mux.Handle("/docs/", page)
	mux.Handle("/kyc", verification)
	mux.Handle("/kyc/", verification)
	mux.Handle("/", jsonAPI)
	routes, secure := web.Routed(mux), strings.HasPrefix(s.URL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if secure {
			w.Header()["Strict-Transport-Security"] = onlyHTTPS
		}
		if !web.Straight(r) {
			jsonAPI.ServeHTTP(w, r)
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// onlyHTTPS is for browsers that came to a service whose address is https: they come back so.
var onlyHTTPS = []string{"max-age=31536000"}

func (s *Service) serve(l net.Listener, h http.Handler) {
	server := web.Server(h, s.log)
	s.servers = append(s.servers, server)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
}

// warnIfPublic says so where others reach what asks for no credentials.
func (s *Service) warnIfPublic(listen, why string) {
	if !loopback(listen) {
		s.log.Warn("a listener without credentials can be reached from other machines: let nobody else in", "address", listen, "why", why)
	}
}

// Failed tells of a listener that ended by itself.
func (s *Service) Failed() <-chan error { return s.failed }

// Drain makes /readyz say 503, and returns after the delay that a balancer has to see it, or when
// ctx ends. Requests are taken all the while.
func (s *Service) Drain(ctx context.Context) {
	s.draining.Store(true)
	select {
	case <-ctx.Done():
	case <-time.After(s.drainDelay):
	}
}

// Shutdown lets the requests under way finish, then the loops and deliveries,
// then writes what is queued. Streams of live updates end at once.
func (s *Service) Shutdown() { s.ended.Do(s.shutdown) }

func (s *Service) shutdown() {
	s.draining.Store(true)
	if s.endStreams != nil {
		s.endStreams()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			s.log.Warn("requests were cut off", "error", err)
			server.Close()
		}
	}
	if s.stop != nil {
		s.stop()
	}
	s.loops.Wait()
	if s.App != nil {
		s.App.Close()
	}
	if s.redis != nil {
		if err := s.redis.Close(); err != nil {
			s.log.Warn("redis was not left in good order", "error", err)
		}
	}
	if err := s.tracer.Close(); err != nil {
		s.log.Warn("the last traces were not sent", "error", err)
	}
}
