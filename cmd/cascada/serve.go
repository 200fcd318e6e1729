package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	supervisor "github.com/coreos/go-systemd/v22/daemon"
)

type serveCmd struct {
	cli.DatabaseFlags
	Listen    string            `default:"127.0.0.1:8080" env:"CASCADA_LISTEN" help:"Address of the API (${env}, default ${default})."`
	Metrics   string            `env:"CASCADA_METRICS" placeholder:"ADDR" help:"Address of /metrics, such as 127.0.0.1:9464; none by default (${env})."`
	Pprof     string            `env:"CASCADA_PPROF" placeholder:"ADDR" help:"Address of /debug/pprof/, such as 127.0.0.1:6060; none by default. Profiles hold parts of the memory (${env})."`
	Admin     string            `env:"CASCADA_ADMIN" placeholder:"ADDR" help:"Address of the admin API, such as 127.0.0.1:9465; none by default (${env}). cascada operator add gives tokens."`
	PublicURL cli.PublicURL     `env:"CASCADA_PUBLIC_URL" placeholder:"URL" help:"Where the service is reached, such as https://pay.example.com; default http://LISTEN. With https no demo merchant is made (${env})."`
	Fault     map[string]string `name:"sandbox-fault" placeholder:"PROVIDER=FAULT" help:"Make a simulated provider misbehave, for tests; once for each: sandbox-1, -2 or -3 = decline, error, timeout, slow, unavailable, duplicate, out_of_order, wrong_amount, bad_signature, refund_decline, refund_error, refund_timeout or refund_pending."`
	CoolDown  time.Duration     `name:"wallet-cool-down" default:"${wallet_cool_down}" env:"CASCADA_WALLET_COOL_DOWN" placeholder:"DURATION" help:"How long a new production wallet cannot be withdrawn to (${env}, default ${default})."`
	Routing   string            `default:"priority" enum:"priority,least_cost,success_rate" env:"CASCADA_ROUTING" help:"What a payment's provider accounts are ordered by while no rules are applied (cascada route): priority, least_cost or success_rate (${env}, default ${default})."`
	Private   bool              `name:"allow-private-webhooks" env:"CASCADA_ALLOW_PRIVATE_WEBHOOKS" help:"Let sandbox webhooks go to loopback addresses. For a developer's machine alone: whoever has a sandbox key reads what services of this machine answer (${env})."`
	Webhooks  cli.AtMost        `name:"webhooks-per-shop" default:"50" env:"CASCADA_WEBHOOKS_PER_SHOP" help:"How many webhooks a shop has in an environment at most (${env}, default ${default})."`
	Conns     cli.AtMost        `name:"max-connections" default:"8192" env:"CASCADA_MAX_CONNECTIONS" help:"How many connections of clients may be open, half of the process's file descriptors at most; one address has half of them at most (${env}, default ${default})."`
	Drain     time.Duration     `name:"drain-delay" default:"0s" env:"CASCADA_DRAIN_DELAY" placeholder:"DURATION" help:"How long requests are still taken after SIGTERM while /readyz says 503, for the balancer in front to see it (${env}, default ${default})."`
	Prove     bool              `name:"prove-webhooks" env:"CASCADA_PROVE_WEBHOOKS" help:"Ask each production webhook to answer a challenge before it is saved (${env})."`
	Demo      bool              `default:"true" negatable:"" env:"CASCADA_DEMO" help:"Make a demo merchant on an empty database and print its keys, unless the public URL is https (${env}, default ${default})."`
	limitFlags
	feedFlags
	retentionFlags
	mailFlags
	logFlags
}

// retentionFlags say how long personal data is kept.
type retentionFlags struct {
	Shoppers      days `name:"retain-shoppers" default:"1825" env:"CASCADA_RETAIN_SHOPPERS" placeholder:"DAYS" help:"How many days after a payment was made its shopper is taken out of it; 0: never (${env}, default ${default})."`
	Evidence      days `name:"retain-evidence" default:"730" env:"CASCADA_RETAIN_EVIDENCE" placeholder:"DAYS" help:"How many days after a claim was opened its evidence goes, when it is over; 0: never (${env}, default ${default})."`
	Notifications days `name:"retain-notifications" default:"180" env:"CASCADA_RETAIN_NOTIFICATIONS" placeholder:"DAYS" help:"How many days the bodies of providers' notifications are kept; 0: for ever (${env}, default ${default})."`
	Addresses     days `name:"retain-addresses" default:"365" env:"CASCADA_RETAIN_ADDRESSES" placeholder:"DAYS" help:"How many days the audit log and the uses of keys keep IP addresses; 0: for ever (${env}, default ${default})."`
}

func (f retentionFlags) config() privacy.Retention {
	return privacy.Retention{Shoppers: f.Shoppers.duration(), Evidence: f.Evidence.duration(), Notifications: f.Notifications.duration(), Addresses: f.Addresses.duration()}
}

// days is a time that data is kept.
type days int

func (d days) duration() time.Duration { return time.Duration(d) * 24 * time.Hour }

// Validate is asked by kong.
func (d days) Validate() error {
	if d < 0 || d > 36500 {
		return errors.New("want 0 to 36500 days")
	}
	return nil
}

// config is what the flags say.
func (c *serveCmd) config(log *slog.Logger, adapters cli.Registry) daemon.Config {
	config := c.Config(log)
	config.Listen, config.Metrics, config.Pprof, config.Admin = c.Listen, c.Metrics, c.Pprof, c.Admin
	config.PublicURL, config.Faults, config.WalletCoolDown = strings.TrimSuffix(string(c.PublicURL), "/"), c.Fault, c.CoolDown
	config.Limits, config.Proxies, config.Connections = c.limits(), c.TrustedProxies, int(c.Conns)
	config.FX, config.Adapters, config.Routing = c.feedFlags.config(), adapters, c.Routing
	config.AllowPrivateWebhooks, config.WebhooksPerShop, config.ProveWebhooks = c.Private, int(c.Webhooks), c.Prove
	config.Retention = c.retentionFlags.config()
	config.Mail, config.Version, config.DrainDelay = c.mailFlags.config(), buildVersion(), c.Drain
	config.Traces, config.Demo = c.Traces, c.Demo
	return config
}

func (c *serveCmd) Run(ctx context.Context, adapters cli.Registry) error {
	log, access := c.logs(os.Stderr)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	if c.RateLimit == "off" {
		log.Warn("rate limits are off: this is for load tests")
	}
	config := c.config(log, adapters)
	config.Access = access
	s, err := daemon.Start(ctx, config)
	if err != nil && ctx.Err() != nil { // it failed because it was told to end
		log.Info("stopped before it was ready", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	log.Info("cascada is ready", "url", s.URL, "database", kind(c.Database), "version", buildVersion())
	notify(log, supervisor.SdNotifyReady)
	if c.Demo && !daemon.Production(s.URL) {
		if err := demo(ctx, s, cli.Stdout); err != nil && ctx.Err() == nil {
			s.Shutdown()
			return err
		}
	}
	select {
	case <-ctx.Done():
		stop() // a second signal ends at once
		log.Info("draining", "delay", c.Drain)
		notify(log, supervisor.SdNotifyStopping)
		s.Drain(context.WithoutCancel(ctx))
	case err = <-s.Failed():
	}
	return errors.Join(err, end(s, log))
}

// endTimeout is how long the end may take: requests have 25 s, and a loop that does not go on, or a
// database that does not answer, may hold up the rest for good.
const endTimeout = 45 * time.Second

// end shuts the service down, or gives up.
func end(s *daemon.Service, log *slog.Logger) error {
	done := make(chan struct{})
	go func() {
		s.Shutdown()
		close(done)
	}()
	select {
	case <-done:
		log.Info("stopped")
		return nil
	case <-time.After(endTimeout):
		return fmt.Errorf("the service did not end within %s: it is broken off; what it had in hand is found out by another process", endTimeout)
	}
}

// notify says to systemd, where it started the service, how that is.
func notify(log *slog.Logger, state string) {
	if _, err := supervisor.SdNotify(false, state); err != nil {
		log.Error("systemd was not told", "state", state, "error", err)
	}
}

// kind names a database without its credentials.
func kind(database string) string {
	if strings.HasPrefix(database, "sqlite:") {
		return database
	}
	return "postgres"
}

// demo makes a merchant on an empty database and shows how to use it.
func demo(ctx context.Context, s *daemon.Service, out io.Writer) error {
	o, made, err := s.App.Onboarding.CreateDemo(ctx, onboarding.NewMerchant{
		Name: "Demo Shop", Email: "demo@example.com", Industry: "retail", Tier: tenant.Standard,
	})
	if err != nil {
		return fmt.Errorf("make a demo merchant: %w", err)
	}
	if !made {
		return nil
	}
	api := s.URL + "/api/v1"
	_, err = fmt.Fprintf(out, `
A demo merchant was made. Its sandbox keys, shown this once:

  publishable  %[1]s
  secret       %[2]s

Paste these lines into another shell to take a payment:

  TOKEN=$(curl -s %[3]s/auth/token -H 'Content-Type: application/json' -d '{"apiKey":"%[1]s","secretKey":"%[2]s"}' | sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
  ID=$(curl -s %[3]s/payments -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725","merchantOrderId":"order-1"}' | tee /dev/stderr | sed 's/.*"transactionId":"\([^"]*\)".*/\1/')
  curl -s %[3]s/payments/$ID/simulate -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"action":"paid"}'
  curl -s %[3]s/me/balance -H "Authorization: Bearer $TOKEN"

Or open this page and pay as a shopper does:

  %[4]s/demo

`, o.Sandbox.Publishable, o.Sandbox.Secret, api, s.URL)
	return err
}
