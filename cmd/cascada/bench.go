package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/bench"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/jackc/pgx/v5"
)

type benchCmd struct {
	cli.DatabaseFlags
	URL         string        `name:"url" default:"http://127.0.0.1:8080" env:"CASCADA_URL" help:"Address of the running server (${env}, default ${default})."`
	Merchants   int           `default:"100" help:"New merchants, taken in turn; 1 is one hot merchant (default ${default})."`
	Connections int           `default:"64" help:"Connections, each with one payment under way (default ${default})."`
	Duration    time.Duration `default:"10s" help:"How long is measured (default ${default})."`
	Warmup      time.Duration `default:"2s" help:"How long the same load runs before that (default ${default})."`
	Method      string        `default:"sbx_card" placeholder:"ID" help:"paymentMethodId (default ${default})."`
	Amount      string        `default:"25.50" placeholder:"USD" help:"Amount of each payment (default ${default})."`
	Idempotency bool          `default:"true" negatable:"" help:"Send an Idempotency-Key of its own with each payment (default on)."`
	Webhooks    bool          `help:"Subscribe every merchant to all events at a sink on 127.0.0.1, and wait up to 30 s for them afterwards."`
	Rate        float64       `placeholder:"N" help:"Payments a second, sent at even times; by default as many as the connections take."`
	Dead        int           `name:"dead-endpoints" placeholder:"PERCENT" help:"With --webhooks: so many of the endpoints are dead; half refuse, half never answer."`
	Slow        int           `name:"slow-endpoints" placeholder:"PERCENT" help:"With --webhooks: so many of the endpoints answer after 9 s."`
	VerifyAll   bool          `name:"verify-all" help:"With --webhooks: verify every delivery's signature; by default one in 64."`
	Progress    time.Duration `placeholder:"DURATION" help:"Tell on standard error how it goes, each time this has passed."`
	Auth        bench.Auth    `default:"token" enum:"token,key" help:"token (from /auth/token) or key (the raw secret key)."`
	ServerPID   int           `name:"server-pid" placeholder:"PID" help:"Process of the server on this machine, to tell its CPU and memory."`
	JSON        bool          `name:"json" help:"Print JSON."`
}

// Help is what --help says below the summary.
func (benchCmd) Help() string {
	return `Measured is the whole way of a payment over HTTP: credentials, idempotency key, the
provider's call between two commits, ledger, event. Payments a second are replies 201
that came within the window; any other reply is an error and told. Latency is from the
first byte sent to the last one read. Afterwards it compares what it counted with what
the server lists and, with --webhooks, each payment with its event.

Without --rate the load is a closed loop: each connection sends its next payment when
the last one is answered. So latency is that under full load. With --rate payments are
sent at even times, and latency counts from when one should have been sent.

With --dead-endpoints and --slow-endpoints some merchants' endpoints get in the way; what
is told of webhooks is of the others.

Not measured: the network, TLS, a real provider's time (the sandbox answers at once) and
the reading endpoints. Server, database and load generator share this machine: the CPU
that the generator took is told too.

It makes merchants directly in --database, which must be the server's, with the server's
master key. What it made stays there: use a database that you can throw away.`
}

func (c *benchCmd) Run(ctx context.Context, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	if c.Merchants < 1 {
		return fmt.Errorf("merchants must be at least 1, got %d", c.Merchants)
	}
	config := bench.Config{
		URL: c.URL, Shops: make([]bench.Shop, c.Merchants), Connections: c.Connections, Warmup: c.Warmup, Duration: c.Duration, Method: c.Method,
		Amount: c.Amount, Idempotency: c.Idempotency, Webhooks: c.Webhooks, Auth: c.Auth, ServerPID: c.ServerPID,
		Rate: c.Rate, DeadPercent: c.Dead, SlowPercent: c.Slow, VerifyAll: c.VerifyAll,
	}
	if c.Progress != 0 {
		config.ProgressEvery = c.Progress
		config.Progress = func(p bench.Progress) { fmt.Fprintln(os.Stderr, p) }
	}
	if err := config.Check(); err != nil { // before there are merchants for nothing
		return err
	}
	var err error
	if config.Shops, err = c.shops(ctx, log); err != nil {
		return err
	}
	database := kind(c.Database)
	if !strings.HasPrefix(c.Database, "sqlite:") {
		conn, err := pgx.Connect(ctx, c.Database)
		if err != nil {
			return fmt.Errorf("connect for the figures of the WAL: %w", err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if database, err = describe(ctx, conn); err != nil {
			return err
		}
		config.WAL = func(ctx context.Context) (int64, error) { return written(ctx, conn) }
	}
	r, err := bench.Run(ctx, config)
	if r.Settings.URL == "" { // it ended before there was anything to tell
		return err
	}
	r.Settings.Database = database
	return errors.Join(err, c.print(r))
}

// shops makes the merchants. Their tier has the highest rate limits.
func (c *benchCmd) shops(ctx context.Context, log *slog.Logger) ([]bench.Shop, error) {
	a, err := c.Existing(ctx, log)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	shops := make([]bench.Shop, 0, c.Merchants)
	for i := range c.Merchants {
		o, err := a.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{
			Name: fmt.Sprintf("Bench %d", i+1), Email: "bench@example.com", Industry: "load test", Tier: tenant.Trusted,
		})
		if err != nil {
			return nil, fmt.Errorf("make merchant %d: %w", i+1, err)
		}
		shops = append(shops, bench.Shop{Publishable: o.Sandbox.Publishable, Secret: o.Sandbox.Secret})
	}
	return shops, nil
}

func (c *benchCmd) print(r bench.Result) error {
	if !c.JSON {
		if err := r.Write(cli.Stdout); err != nil {
			return err
		}
	} else if err := json.NewEncoder(cli.Stdout).Encode(r); err != nil {
		return err
	}
	if problems := r.Problems(); len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

const describeSQL = `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
	current_setting('full_page_writes'), current_setting('shared_buffers')`

// describe names what makes a PostgreSQL server fast or safe.
func describe(ctx context.Context, conn *pgx.Conn) (string, error) {
	var version, fsync, synchronous, fullPages, buffers string
	if err := conn.QueryRow(ctx, describeSQL).Scan(&version, &fsync, &synchronous, &fullPages, &buffers); err != nil {
		return "", fmt.Errorf("read the settings of PostgreSQL: %w", err)
	}
	return fmt.Sprintf("postgres %s, fsync %s, synchronous_commit %s, full_page_writes %s, shared_buffers %s",
		version, fsync, synchronous, fullPages, buffers), nil
}

const writtenSQL = `SELECT (pg_current_wal_lsn() - '0/0')::bigint`

// written is how much the server has written to its WAL, in bytes.
func written(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, writtenSQL).Scan(&n)
	return n, err
}
