package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/daemon"
	supervisor "github.com/coreos/go-systemd/v22/daemon"
)

type serveCmd struct {
	cli.DatabaseFlags
	Listen    string            `default:"127.0.0.1:8080" env:"CASCADA_LISTEN" help:"Address of the API (${env}, default ${default})."`
	Metrics   string            `env:"CASCADA_METRICS" placeholder:"ADDR" help:"Address of /metrics, such as 127.0.0.1:9464; none by default (${env})."`
	Pprof     string            `env:"CASCADA_PPROF" placeholder:"ADDR" help:"Address of /debug/pprof/, such as 127.0.0.1:6060; none by default. Profiles hold parts of the memory (${env})."`
	Admin     string            `env:"CASCADA_ADMIN" placeholder:"ADDR" help:"Address of the admin API, such as 127.0.0.1:9465; none by default (${env}). cascada operator add creates tokens for it."`
	Console   string            `env:"CASCADA_CONSOLE" placeholder:"ADDR" help:"Address of the operator's console, such as 127.0.0.1:9466 (${env}). By default it is at the address of the API; with an address of its own it is only there."`
	PublicURL cli.PublicURL     `env:"CASCADA_PUBLIC_URL" placeholder:"URL" help:"Public URL of the service, such as https://pay.example.com; default http://LISTEN. With https no demo merchant is created (${env})."`
	Fault     map[string]string `name:"sandbox-fault" placeholder:"PROVIDER=FAULT" help:"Make a simulated provider fail, for tests. Repeat the flag for each: sandbox-1, sandbox-2 or sandbox-3 = decline, error, timeout, slow, unavailable, duplicate, out_of_order, wrong_amount, bad_signature, evidence_refused, evidence_timeout, refund_decline, refund_error, refund_timeout or refund_pending."`
	CoolDown  time.Duration     `name:"wallet-cool-down" default:"${wallet_cool_down}" env:"CASCADA_WALLET_COOL_DOWN" placeholder:"DURATION" help:"How long a new production wallet cannot receive withdrawals (${env}, default ${default})."`
	Routing   string            `default:"priority" enum:"priority,least_cost,success_rate" env:"CASCADA_ROUTING" help:"Order of a payment's provider accounts while no routing rules are applied (cascada route): priority, least_cost or success_rate (${env}, default ${default})."`
	Private   bool              `name:"allow-private-webhooks" env:"CASCADA_ALLOW_PRIVATE_WEBHOOKS" help:"Let sandbox webhooks go to loopback addresses. Only for a developer's machine: anyone with a sandbox key can read what services on this machine answer (${env})."`
	Webhooks  cli.AtMost        `name:"webhooks-per-shop" default:"50" env:"CASCADA_WEBHOOKS_PER_SHOP" help:"Largest number of webhooks of a shop in an environment (${env}, default ${default})."`
	Conns     cli.AtMost        `name:"max-connections" default:"8192" env:"CASCADA_MAX_CONNECTIONS" help:"Largest number of open client connections, but never more than half of the process's file descriptors. One IP address may have half of them (${env}, default ${default})."`
	Drain     time.Duration     `name:"drain-delay" default:"0s" env:"CASCADA_DRAIN_DELAY" placeholder:"DURATION" help:"How long requests are still accepted after SIGTERM while /readyz answers 503, so that the load balancer notices (${env}, default ${default})."`
	Prove     bool              `name:"prove-webhooks" env:"CASCADA_PROVE_WEBHOOKS" help:"Save a production webhook only after its endpoint has answered a challenge (${env})."`
	Sandbox   bool              `default:"true" negatable:"" env:"CASCADA_SANDBOX" help:"Give every merchant a sandbox. Without it test keys are refused, and the dashboard shows production alone (${env}, default ${default})."`
	Demo      bool              `default:"true" negatable:"" env:"CASCADA_DEMO" help:"Create a demo merchant in an empty database and print its keys, unless the public URL is https (${env}, default ${default})."`
	limitFlags
	feedFlags
	retentionFlags
	mailFlags
	oidcFlags
	logFlags
}

// retentionFlags say how long personal data is kept.
type retentionFlags struct {
	Shoppers      days `name:"retain-shoppers" default:"1825" env:"CASCADA_RETAIN_SHOPPERS" placeholder:"DAYS" help:"Days from a payment's creation until its shopper is erased from it; 0: never (${env}, default ${default})."`
	Evidence      days `name:"retain-evidence" default:"730" env:"CASCADA_RETAIN_EVIDENCE" placeholder:"DAYS" help:"Days from a claim's creation until its evidence is erased, if the claim has ended; 0: never (${env}, default ${default})."`
	Notifications days `name:"retain-notifications" default:"180" env:"CASCADA_RETAIN_NOTIFICATIONS" placeholder:"DAYS" help:"Days that the bodies of providers' notifications are kept; 0: for ever (${env}, default ${default})."`
	Addresses     days `name:"retain-addresses" default:"365" env:"CASCADA_RETAIN_ADDRESSES" placeholder:"DAYS" help:"Days that the audit log and the records of key use keep IP addresses; 0: for ever (${env}, default ${default})."`
}

func (f retentionFlags) config() privacy.Retention {
	return privacy.Retention{Shoppers: f.Shoppers.duration(), Evidence: f.Evidence.duration(), Notifications: f.Notifications.duration(), Addresses: f.Addresses.duration()}
}

// days is how long data is kept.
type days int

func (d days) duration() time.Duration { return time.Duration(d) * 24 * time.Hour }

// Validate is called by kong.
func (d days) Validate() error {
	if d < 0 || d > 36500 {
		return errors.New("want 0 to 36500 days")
	}
	return nil
}

// config returns the configuration that the flags give.
func (c *serveCmd) config(log *slog.Logger, adapters cli.Registry) daemon.Config {
	config := configOf(c.Config(log))
	config.Listen, config.Metrics, config.Pprof, config.Admin, config.Console = c.Listen, c.Metrics, c.Pprof, c.Admin, c.Console
	config.PublicURL, config.Faults, config.WalletCoolDown = strings.TrimSuffix(string(c.PublicURL), "/"), c.Fault, c.CoolDown
	config.Limits, config.Proxies, config.Connections = c.limits(), c.TrustedProxies, int(c.Conns)
	config.FX, config.Adapters, config.Routing = c.feedFlags.config(), adapters, c.Routing
	config.AllowPrivateWebhooks, config.WebhooksPerShop, config.ProveWebhooks = c.Private, int(c.Webhooks), c.Prove
	config.Retention, config.NoSandbox = c.retentionFlags.config(), !c.Sandbox
	config.Mail, config.Version, config.DrainDelay = c.mailFlags.config(), buildVersion(), c.Drain
	config.Traces, config.Demo, config.OIDC = c.Traces, c.Demo, c.oidcFlags.config()
	return config
}

func (c *serveCmd) Run(ctx context.Context, adapters cli.Registry) error {
	log, access := c.logs(os.Stderr)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a node keeps running when nobody reads its output
	if c.RateLimit == "off" {
		log.Warn("rate limits are off: this is for load tests")
	}
	config := c.config(log, adapters)
	config.Access = access
	s, err := daemon.Start(ctx, config)
	if err != nil && ctx.Err() != nil { // it was told to stop while it started
		log.Info("stopped before it was ready", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	log.Info("cascada is ready", "url", s.URL, "database", kind(c.Database), "version", buildVersion())
	notify(log, supervisor.SdNotifyReady)
	var group sync.WaitGroup
	if c.Demo && !daemon.Production(s.URL) {
		d, err := newDemo(s, cli.Stdout)
		if err != nil {
			s.Shutdown()
			return err
		}
		group.Go(func() { d.run(ctx, log) })
	}
	select {
	case <-ctx.Done():
		stop() // a second signal ends the process at once
		log.Info("draining", "delay", c.Drain)
		notify(log, supervisor.SdNotifyStopping)
		s.Drain(context.WithoutCancel(ctx))
	case err = <-s.Failed():
		stop()
	}
	return errors.Join(err, end(s, &group, log))
}

// endTimeout is the longest that a shutdown may take: requests have 25 s, and a stuck loop or a
// database that does not answer could delay the rest for ever.
const endTimeout = 45 * time.Second

// end waits for what uses the service and shuts it down, or gives up after endTimeout.
func end(s *daemon.Service, users *sync.WaitGroup, log *slog.Logger) error {
	done := make(chan struct{})
	go func() {
		users.Wait()
		s.Shutdown()
		close(done)
	}()
	select {
	case <-done:
		log.Info("stopped")
		return nil
	case <-time.After(endTimeout):
		return fmt.Errorf("the service did not shut down within %s, so it was stopped; another process recovers the work that it had begun", endTimeout)
	}
}

// notify reports the state of the service to systemd, if systemd started it.
func notify(log *slog.Logger, state string) {
	if _, err := supervisor.SdNotify(false, state); err != nil {
		log.Error("systemd could not be notified", "state", state, "error", err)
	}
}

// kind names a database for the log, without credentials.
func kind(database string) string {
	if strings.HasPrefix(database, "sqlite:") {
		return database
	}
	return "postgres"
}
