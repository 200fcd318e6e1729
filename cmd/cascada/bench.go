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

	"github.com/cascadapay/cascada/internal/app"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/bench"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/jackc/pgx/v5"
)

type benchCmd struct {
	cli.DatabaseFlags
	URL         string        `name:"url" default:"http://127.0.0.1:8080" env:"CASCADA_URL" help:"Address of the running server (${env}, default ${default})."`
	Merchants   int           `default:"100" help:"How many merchants to create; payments go to them in turn. 1 puts all load on one merchant (default ${default})."`
	Connections int           `default:"64" help:"How many connections to use; each sends one payment at a time (default ${default})."`
	Duration    time.Duration `default:"10s" help:"How long to measure (default ${default})."`
	Warmup      time.Duration `default:"2s" help:"How long to run the same load before measuring (default ${default})."`
	Method      string        `default:"sbx_card" placeholder:"ID" help:"paymentMethodId of each payment (default ${default})."`
	Amount      string        `default:"25.50" placeholder:"USD" help:"Amount of each payment (default ${default})."`
	Idempotency bool          `default:"true" negatable:"" help:"Send a new Idempotency-Key with each payment (default on)."`
	Webhooks    bool          `help:"Subscribe every merchant to all events, with endpoints on 127.0.0.1. Afterwards wait up to 30 s for the last events."`
	Rate        float64       `placeholder:"N" help:"Payments per second, at even intervals; by default as many as the connections can send."`
	Dead        int           `name:"dead-endpoints" placeholder:"PERCENT" help:"With --webhooks: this percentage of the endpoints is dead; half of them refuse connections, half never answer."`
	Slow        int           `name:"slow-endpoints" placeholder:"PERCENT" help:"With --webhooks: this percentage of the endpoints answers after 9 s."`
	VerifyAll   bool          `name:"verify-all" help:"With --webhooks: verify the signature of every delivery; by default of one in 64."`
	Progress    time.Duration `placeholder:"DURATION" help:"Print the progress to standard error at this interval."`
	Auth        bench.Auth    `default:"token" enum:"token,key" help:"How requests authenticate: token (from /auth/token) or key (the secret key itself)."`
	ServerPID   int           `name:"server-pid" placeholder:"PID" help:"Process id of the server on this machine, to report its CPU and memory."`
	JSON        bool          `name:"json" help:"Print JSON."`
}

// Help returns what --help prints below the summary.
func (benchCmd) Help() string {
	return `The bench measures the whole path of a payment over HTTP: credentials, idempotency key,
the call to the provider between two commits, ledger and event. The throughput counts the
201 replies that arrive within the measured time; any other reply is reported as an error.
Latency runs from the first byte sent to the last byte read. Afterwards the bench compares
its own counts with what the server lists and, with --webhooks, each payment with its event.

Without --rate the load is a closed loop: each connection sends its next payment when the
last one is answered, so the latency is measured under full load. With --rate payments are sent
at even intervals, and the latency counts from the time when a payment is due to be sent.

With --dead-endpoints and --slow-endpoints some merchants' endpoints fail or are slow; the
webhook figures cover only the other endpoints.

Not measured: the network, TLS, the response time of a real provider (the sandbox answers
at once) and requests that only read. Server, database and load generator share this
machine, so the report includes the CPU time of the generator.

The bench creates its merchants directly in --database, which must be the server's database,
with the server's master key. They stay there: use a database that you can throw away.`
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
	if err := config.Check(); err != nil { // before any merchant is created
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
			return fmt.Errorf("connect to read the size of the WAL: %w", err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if database, err = describe(ctx, conn); err != nil {
			return err
		}
		config.WAL = func(ctx context.Context) (int64, error) { return written(ctx, conn) }
	}
	r, err := bench.Run(ctx, config)
	if r.Settings.URL == "" { // it ended before there was a result
		return err
	}
	r.Settings.Database = database
	return errors.Join(err, c.print(r))
}

// shops creates the merchants, in the tier with the highest rate limits.
func (c *benchCmd) shops(ctx context.Context, log *slog.Logger) ([]bench.Shop, error) {
	a, err := cli.Opener[*app.App](open).Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	shops := make([]bench.Shop, 0, c.Merchants)
	for i := range c.Merchants {
		o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), appmerchants.NewMerchant{
			Name: fmt.Sprintf("Bench %d", i+1), Email: "bench@example.com", Industry: "load test", Tier: merchants.Trusted,
		})
		if err != nil {
			return nil, fmt.Errorf("create merchant %d: %w", i+1, err)
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

// describe returns the settings that make a PostgreSQL server fast or safe.
func describe(ctx context.Context, conn *pgx.Conn) (string, error) {
	var version, fsync, synchronous, fullPages, buffers string
	if err := conn.QueryRow(ctx, describeSQL).Scan(&version, &fsync, &synchronous, &fullPages, &buffers); err != nil {
		return "", fmt.Errorf("read the settings of PostgreSQL: %w", err)
	}
	return fmt.Sprintf("postgres %s, fsync %s, synchronous_commit %s, full_page_writes %s, shared_buffers %s",
		version, fsync, synchronous, fullPages, buffers), nil
}

const writtenSQL = `SELECT (pg_current_wal_lsn() - '0/0')::bigint`

// written returns how many bytes the server has written to its WAL.
func written(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, writtenSQL).Scan(&n)
	return n, err
}
