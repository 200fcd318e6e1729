// Package daemon is the running service: its configuration, wiring, start and shutdown.
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
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/checkout"
	"github.com/cascadapay/cascada/internal/dashboard"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/evidencelink"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adapters"
	"github.com/cascadapay/cascada/internal/provider/payouts/simulated"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/vault"
	"github.com/cascadapay/cascada/internal/verify"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/work"
)

// Config is the configuration of the service.
type Config struct {
	Listen    string // host:port
	Metrics   string // host:port of /metrics; empty for none
	Pprof     string // host:port of /debug/pprof/; empty for none
	Admin     string // host:port of the admin API; empty for none
	Console   string // host:port of the operator's console; empty: it is at Listen
	Database  string // sqlite:PATH or postgres://…
	PublicURL string // the service's public address; empty: http://Listen
	// MasterKey is the master keys, newest last, each 32 bytes in base64, separated by white
	// space or commas. If it is empty, they are in MasterKeyFile; if that is empty too, in the
	// default file.
	MasterKey, MasterKeyFile string
	Existing                 bool           // create neither a database file nor a key file
	Migrate                  bool           // migrate an older database, as Start always does; otherwise Open refuses it
	Migrations               fs.FS          // the migrations of a later version, for tests
	Operator                 string         // who runs a command, for the audit log; empty for a service
	Limits                   *Limits        // limits on requests; nil: none
	Proxies                  []netip.Prefix // proxies whose X-Forwarded-For is trusted, by limits and the audit log
	Log                      *slog.Logger
	Access                   *slog.Logger // gets a line for each request; nil: no access log
	Version                  string       // the program's version
	Demo                     bool         // /demo opens a checkout of the demo merchant, unless PublicURL is https
	// Traces is the address of an OpenTelemetry collector; if it is empty, OpenTelemetry's own
	// variables apply, or there are no traces.
	Traces string
	// AllowPrivateWebhooks lets sandbox webhooks go to loopback addresses. It is for a
	// developer's machine: merchants can read the replies of the services there.
	AllowPrivateWebhooks bool
	// Connections is the most open connections; 0 means 8192. It is never more than half of
	// the process's descriptors.
	Connections int
	// WebhooksPerShop is the most endpoints of a shop in an environment; 0 means 50.
	WebhooksPerShop int
	ProveWebhooks   bool // owners of production endpoints have to prove themselves
	// WalletCoolDown is how long a new production wallet receives no payouts; 0 means pay.WalletCoolDown.
	WalletCoolDown time.Duration
	// NoSandbox switches every merchant's sandbox off.
	NoSandbox bool
	// Retention is how long personal data is kept; zero values: for ever.
	Retention privacy.Retention
	// Faults makes simulated providers misbehave, by account.
	Faults map[string]string
	FX     FX
	Mail   Mail
	OIDC   OIDC
	// Adapters are the providers at which accounts may be opened; nil: all.
	Adapters []provider.Adapter
	// DrainDelay is how long Drain still accepts requests while /readyz returns 503, so that a
	// balancer looks elsewhere before the listener closes.
	DrainDelay time.Duration
	StuckAfter time.Duration    // how long one look of a loop may take before the process counts as stuck; 0: a minute
	Routing    string           // the order of accounts (routing.Order); empty: priority
	Now        func() time.Time // nil: the system's clock, and the database's for the leases of nodes
	HashMemory uint32           // of a password's hash, in KiB, for tests; 0: what is safe

	meter  base.Meter    // only for a service
	tracer *trace.Tracer // only for a service; nil: no traces
}

// clock is the clock of the service.
func (c Config) clock() func() time.Time {
	if c.Now == nil {
		return time.Now
	}
	return c.Now
}

// drainTimeout is how long open requests may take after SIGTERM.
const drainTimeout = 25 * time.Second

// Open returns the use cases over a database, as the commands of the CLI need them. The
// caller must close it.
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
	company, err := c.OIDC.open(c.PublicURL, c.Now)
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
			Meter: c.meter, Tracer: c.tracer, HashMemory: c.HashMemory, NoSandbox: c.NoSandbox,
		},
		Schema: schema, Migrations: c.Migrations,
		Providers: providers, Sandbox: sandbox.Accounts(), Adapters: c.Adapters, Client: provider.NewClient(), Routing: order,
		SandboxPayout: simulated.Provider{}, WalletCoolDown: c.WalletCoolDown, Retention: c.Retention,
		InboxURL: c.PublicURL + "/inbox", AllowPrivate: c.AllowPrivateWebhooks, MaxWebhooks: c.WebhooksPerShop, ProveWebhooks: c.ProveWebhooks,
		Version: c.Version, LeaseClock: leases, FX: rates, Mailer: mailer, Identity: company, IdentityName: c.OIDC.Name,
		Sender: sender.New(sender.Config{AllowPrivate: c.AllowPrivateWebhooks, Now: c.Now}),
	})
}

// OpenBooks opens a database to check it: it starts and changes nothing.
func OpenBooks(ctx context.Context, c Config) (*books.Books, error) {
	masters, err := masterKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	secrets, err := vault.New(masters...)
	if err != nil {
		return nil, err
	}
	return books.OpenBooks(ctx, c.Database, secrets, c.Migrations)
}

// Service is a running service.
type Service struct {
	URL      string // the public address
	AdminURL string // the address of the admin API, "" without one
	// ConsoleURL is the address of the operator's console on its own listener, "" without one.
	ConsoleURL string
	App        *app.App

	log          *slog.Logger
	verification http.Handler
	servers      []*http.Server
	front        front
	endStreams   func() // ends streams of live updates; nil until they are wired
	drainDelay   time.Duration
	pulse        *work.Pulse
	redis        *limit.Redis // for the limits; nil without one
	tracer       *trace.Tracer
	loops        sync.WaitGroup
	stop         context.CancelFunc // ends the loops
	draining     atomic.Bool
	ended        sync.Once
	failed       chan error
}

// Start opens the database and the listener and returns when the service is ready. End it
// with Shutdown.
func Start(ctx context.Context, c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	tune(c.Database, c.Log)
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
	// The pauses between two tries to open an unreachable database at the start.
	minOpenPause = 250 * time.Millisecond
	maxOpenPause = 5 * time.Second
)

// await opens the use cases of a node as soon as the database is reachable.
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

// openNode opens the use cases of a node.
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
	s := &Service{URL: c.PublicURL, log: c.Log, failed: make(chan error, 4), redis: redis, tracer: c.tracer, drainDelay: c.DrainDelay, pulse: work.NewPulse(c.clock())}
	s.front.starting = starting(c.Log)
	bounded := web.Bound(l.api.(*net.TCPListener), c.connections(), c.Proxies)
	metrics.connected(bounded)
	s.serve(bounded, &s.front) // it answers that the service starts
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

// wire connects all parts of the service and starts them.
func (s *Service) wire(c Config, l listeners, metrics *metrics, limits *gate.Limits) error {
	a := s.App
	c.Now = c.clock()
	s.verification = verify.New(a.Verifications, c.Log)
	metrics.watch(s.redis)
	gate := gate.New(limits, c.Proxies, a.Access, c.Log, c.Now)
	metrics.of(a, gate, c.Version)
	eye := newObserver(c, metrics)
	eye.log, eye.now = a.Requests, a.Now
	jsonAPI, err := api.New(APIUses(a), c.Log, c.PublicURL+api.Base, gate)
	if err != nil {
		return err
	}
	docs, err := newDocs(c, jsonAPI.Document)
	if err != nil {
		return err
	}
	home, err := newHome(c, a)
	if err != nil {
		return err
	}
	pages, err := checkout.New(CheckoutUses(a), c.Log, c.PublicURL, gate.Address)
	if err != nil {
		return err
	}
	staff, err := dashboard.New(dashboard.Config{App: a, Gate: gate, Log: c.Log, Now: c.Now, URL: c.PublicURL, Version: c.Version, Preview: pages.Preview, Loops: s.pulse.Done})
	if err != nil {
		return err
	}
	s.endStreams = func() { pages.End(); staff.End() }
	if l.pprof != nil {
		s.serve(l.pprof, profiles())
		s.warnIfPublic(c.Pprof, "profiles hold parts of the memory")
	}
	if l.admin != nil {
		if err := s.openAdmin(c, l.admin, gate, eye); err != nil {
			return err
		}
	}
	if l.console != nil {
		s.openConsole(c, l.console, staff, gate, eye)
	}
	if c.Mail.URL == "" && strings.HasPrefix(c.PublicURL, "https://") {
		c.Log.Warn("no e-mails are sent, not even when a wallet is added: set --smtp-url and --mail-from")
	}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	for _, loop := range a.Loops() {
		loop = s.pulse.Of(metrics.loop(loop))
		s.loops.Go(func() { loop.Run(running, c.Log) })
	}
	s.loops.Go(func() { s.feel(running, c.StuckAfter) })
	s.front.open(eye.see(s.handler(jsonAPI, docs, home, staff, pages, gate)))
	return nil
}

// listeners are the service's addresses. They are opened before anything is created, so
// that a start that finds one in use leaves nothing behind. Unused ones are nil.
type listeners struct{ api, metrics, pprof, admin, console net.Listener }

func listen(c Config) (l listeners, err error) {
	for _, want := range []struct {
		to            *net.Listener
		address, what string
	}{
		{&l.api, c.Listen, "listen"}, {&l.metrics, c.Metrics, "listen for metrics"}, {&l.pprof, c.Pprof, "listen for profiles"},
		{&l.admin, c.Admin, "listen for the admin API"}, {&l.console, c.Console, "listen for the operator's console"},
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

// close closes those that no server has closed yet.
func (l listeners) close() (err error) {
	for _, one := range []net.Listener{l.api, l.metrics, l.pprof, l.admin, l.console} {
		if one == nil {
			continue
		}
		if closed := one.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	return err
}

// handler serves everything on the public listener.
func (s *Service) handler(jsonAPI, docs, home, staff http.Handler, pages *checkout.Pages, gate *gate.Gate) http.Handler {
	mux := http.NewServeMux()
	pages.Register(mux, gate.Pages)
	s.tellHealth(mux)
	docs, home, staff, verification := gate.Pages(docs), gate.Pages(home), gate.Staff(staff), gate.Pages(s.verification)
	mux.Handle("GET /{$}", home)
	mux.Handle("/demo", home)
	mux.Handle(frame.Base, staff)
	mux.Handle(frame.Base+"/", staff)
	for _, path := range docsPaths {
		mux.Handle(path, docs)
	}
	mux.Handle("/kyc", verification)
	mux.Handle("/kyc/", verification)
	mux.Handle(evidencelink.Base, gate.Pages(evidencelink.New(s.App.ClaimLists, s.log)))
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

// onlyHTTPS tells browsers of an https service to keep using https.
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

// Failed receives the error of a listener that ended by itself.
func (s *Service) Failed() <-chan error { return s.failed }

// Drain makes /readyz return 503. It returns after the delay that a balancer needs to see
// that, or when ctx ends. Meanwhile requests are still accepted.
func (s *Service) Drain(ctx context.Context) {
	s.draining.Store(true)
	select {
	case <-ctx.Done():
	case <-time.After(s.drainDelay):
	}
}

// Shutdown lets open requests finish, then the loops and deliveries, then writes the queued
// changes. Streams of live updates end at once.
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
			s.log.Warn("redis was not closed cleanly", "error", err)
		}
	}
	if err := s.tracer.Close(); err != nil {
		s.log.Warn("the last traces were not sent", "error", err)
	}
}
