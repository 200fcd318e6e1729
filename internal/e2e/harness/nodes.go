package harness

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/vault"
)

// Nodes are two nodes on one PostgreSQL, with two provider accounts: acme-1 is tried first.
type Nodes struct {
	A, B  *Instance
	Clock *Clock
	Live  Client   // calls node A, with a production key
	Lines [2]*Line // acme-1, acme-2
}

// TwoNodes starts two nodes that share a database. Node B's time is the clock's. Node A's time is
// what now makes of the clock.
func TwoNodes(t *testing.T, now func(c *Clock) time.Time) *Nodes {
	t.Helper()
	t.Parallel()
	database := dbtest.Postgres(t)
	n := &Nodes{Clock: &Clock{}}
	node := func(now func() time.Time) *Instance {
		return StartWith(t, database, n.Clock, func(d *daemon.Config) {
			d.FX = daemon.FX{StaleAfter: Century, MaxAge: Century}
			d.Adapters = []provider.Adapter{providertest.Plain()}
			d.Now = now
		})
	}
	n.A, n.B = node(func() time.Time { return now(n.Clock) }), node(n.Clock.Now)
	n.A.Rate(t, "BRL 5.4", "MXN 18.35")
	made, err := n.A.App.Onboarding.CreateMerchant(ctx, n.A.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted})
	Must(t, err)
	n.Live = Client{Onboarded: made, Instance: n.A, Credential: made.Sandbox.Secret}.Production()
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &Line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := providertest.StartServer(t, l)
		t.Cleanup(server.Close)
		l.Next("paid")
		n.A.OpenAccount(t, id, l.Upstream, func(account *accounts.NewAccount) { account.BaseURL, account.Priority = server.URL, i+1 })
		n.Lines[i] = l
	}
	Eventually(t, "node B knows the accounts", func() bool {
		_, known := n.B.App.Providers.Upstream("acme-2")
		return known
	})
	return n
}

// Charged returns how many charges the providers have.
func (n *Nodes) Charged() int { return len(n.Lines[0].Charges()) + len(n.Lines[1].Charges()) }

// CalledBy reports whether a function whose name has this ending is on the stack.
func CalledBy(function string) bool {
	pcs := make([]uintptr, 40)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, function) {
			return true
		}
		if !more {
			return false
		}
	}
}

// Teller is a provider that reads every notification as the notice Tells.
type Teller struct {
	provider.Provider
	Tells pay.Notice
}

// Notices returns the test's notice.
func (p *Teller) Notices(context.Context, provider.Notification) ([]pay.Notice, error) {
	return []pay.Notice{p.Tells}, nil
}

// Bank is a provider that records by reference what it paid back. The test decides what it answers:
// Answer to a request to refund, and OnQuery to a query. known is whether it paid this reference
// back. does is whether it pays back now.
type Bank struct {
	*sandbox.Provider
	Answer  func(r provider.RefundRequest, known bool) (does bool, o pay.Outcome)
	OnQuery func(known bool) pay.Outcome

	mu    sync.Mutex       // owns what follows
	Paid  map[string]int64 // minor units, by reference
	calls int
}

// Refund answers with Answer, and pays back if that says so.
func (b *Bank) Refund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	b.mu.Lock()
	b.calls++
	_, known := b.Paid[r.Reference]
	b.mu.Unlock()
	does, o := b.Answer(r, known)
	if does {
		b.Pay(r)
	}
	return o
}

// Pay pays a reference back. It does so once, however often it is called.
func (b *Bank) Pay(r provider.RefundRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Paid[r.Reference] = r.Local.Minor
}

// QueryRefund answers with OnQuery.
func (b *Bank) QueryRefund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.Paid[r.Reference]
	return b.OnQuery(known)
}

// Total returns how much the bank paid back, in minor units, in how many refunds, and how often it
// was called.
func (b *Bank) Total() (sum int64, refunds, calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.Paid {
		sum += n
	}
	return sum, len(b.Paid), b.calls
}

// Honest is an OnQuery that tells the truth.
func Honest(known bool) pay.Outcome {
	if known {
		return pay.Outcome{Kind: pay.Approved}
	}
	return pay.Outcome{Kind: pay.Missing}
}

// Node opens a node without a listener and loops, with one provider account, sandbox-1.
func Node(t *testing.T, database string, c *Clock, b provider.Provider, log *Faults) *app.App {
	t.Helper()
	return NodeAt(t, database, c, c.Now, b, log)
}

// NodeAt is Node with another clock for its leases.
func NodeAt(t *testing.T, database string, c *Clock, lease func() time.Time, b provider.Provider, log *Faults) *app.App {
	t.Helper()
	return NodeOf(t, database, c, log, func(config *app.Config) {
		config.LeaseClock, config.Providers, config.Sandbox = lease, map[string]provider.Provider{"sandbox-1": b}, []string{"sandbox-1"}
	})
}

// NodeOf opens a node without a listener and loops. configure sets its providers.
func NodeOf(t *testing.T, database string, c *Clock, log *Faults, configure func(*app.Config)) *app.App {
	t.Helper()
	secrets, err := vault.New(bytes.Repeat([]byte{7}, vault.KeySize))
	Must(t, err)
	config := app.Config{
		Config:     base.Config{Log: slog.New(log), Vault: secrets, Now: c.Now, NewID: id.New, CheckoutURL: "http://127.0.0.1"},
		LeaseClock: c.Now, InboxURL: "http://127.0.0.1/inbox",
		Sender: sender.New(sender.Config{Now: c.Now}),
	}
	configure(&config)
	a, err := app.Open(ctx, database, config)
	Must(t, err)
	t.Cleanup(a.Close)
	return a
}

// Acme makes a merchant and returns the principal of its sandbox key.
func Acme(t *testing.T, a *app.App) base.Principal {
	t.Helper()
	o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Standard, RefundFees: merchants.FeesReturned})
	Must(t, err)
	who, err := a.Access.Authenticate(ctx, base.Principal{}, o.Sandbox.Secret)
	Must(t, err)
	return who
}

// PaidCard makes a card payment of 25.50 USD for a new merchant. It returns the scope and the id.
func PaidCard(t *testing.T, a *app.App) (merchants.Scope, string) {
	t.Helper()
	p, _, err := a.Payments.Create(ctx, Acme(t, a), payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	Must(t, err)
	return p.Scope, p.ID
}

// Sound fails the test for each broken invariant and each logged fault.
func Sound(t *testing.T, a *app.App, log *Faults) {
	t.Helper()
	broken, err := a.Check(ctx)
	Must(t, err)
	for _, b := range broken {
		t.Errorf("an invariant is broken: %s", b)
	}
	log.Report(t)
}

// ClaimsOf selects the claims of a payment.
func ClaimsOf(payment string) lists.ClaimFilter {
	return lists.ClaimFilter{Page: lists.Page{Limit: 10}, Payment: payment}
}

// Till is a provider whose answers to charges and queries come from the test.
type Till struct {
	*sandbox.Provider
	OnCharge func(ctx context.Context, r provider.Request) pay.Outcome
	OnQuery  func(ctx context.Context, r provider.Request) pay.Outcome
}

// Charge answers with OnCharge.
func (p *Till) Charge(ctx context.Context, r provider.Request) pay.Outcome { return p.OnCharge(ctx, r) }

// Query answers with OnQuery.
func (p *Till) Query(ctx context.Context, r provider.Request) pay.Outcome { return p.OnQuery(ctx, r) }

// Cancel ends nothing, and answers with OnQuery.
func (p *Till) Cancel(ctx context.Context, r provider.Request) pay.Outcome { return p.OnQuery(ctx, r) }
