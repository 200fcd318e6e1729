package harness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Expires returns when a pending payment expires. It ends the test if the payment is not pending.
func (d *Drill) Expires(t *testing.T, id string) time.Time {
	t.Helper()
	shown, err := d.App.Sessions.Shown(ctx, id)
	Must(t, err)
	if shown.Status != pay.Pending {
		t.Fatalf("the payment is %s, want pending", shown.Status)
	}
	return shown.Times.Expires
}

// Fault answers a request in place of a provider. next is the provider that works.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Line is a proxy in front of an upstream. It injects faults and counts requests.
type Line struct {
	*providertest.Upstream
	fault          atomic.Pointer[Fault]
	ChargesAsked   atomic.Int64 // requests to charge
	QuestionsAsked atomic.Int64 // queries: all GET requests
}

// ServeHTTP counts the request and lets the fault, or else the upstream, answer it.
func (l *Line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.Path == "/charges" {
		l.ChargesAsked.Add(1)
	}
	if r.Method == http.MethodGet {
		l.QuestionsAsked.Add(1)
	}
	if f := l.fault.Load(); f != nil {
		(*f)(w, r, l.Upstream)
		return
	}
	l.Upstream.ServeHTTP(w, r)
}

// Fails sets the fault. nil removes it.
func (l *Line) Fails(f Fault) {
	if f == nil {
		l.fault.Store(nil)
		return
	}
	l.fault.Store(&f)
}

// Refuses is a Fault: 429, and nothing is done.
func Refuses(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(w, `{"error":"too busy"}`, http.StatusTooManyRequests)
}

// CutsAfter is a Fault: the provider does what was requested, but the connection ends without an
// answer.
func CutsAfter(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Gateway is a Fault: 502 with an HTML page, and nothing is done.
func Gateway(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(w, "<html>Bad Gateway</html>", http.StatusBadGateway)
}

// Drill is a service with two provider accounts that a test breaks, acme-1 and acme-2. acme-1 is
// tried first.
type Drill struct {
	*Instance
	Live  Client           // with the production key
	Lines map[string]*Line // by account
	mu    sync.Mutex       // owns IDs while Pay runs
	IDs   []string         // of all payments that Pay made
}

// Drilled runs a test on each engine against a drill.
func Drilled(t *testing.T, test func(t *testing.T, d *Drill)) {
	t.Helper()
	Plainly(t, func(t *testing.T, s *Instance) { test(t, DrilledBy(t, s)) })
}

// DrilledBy makes a drill of a service: it freezes the clock, makes a merchant, and opens the two
// accounts.
func DrilledBy(t *testing.T, s *Instance) *Drill {
	t.Helper()
	s.Clock.Freeze()
	made, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted, RefundFees: merchants.FeesReturned})
	Must(t, err)
	d := &Drill{Instance: s, Live: Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}.Production(), Lines: map[string]*Line{}}
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &Line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := providertest.StartServer(t, l)
		t.Cleanup(server.Close)
		l.Next("paid")
		s.OpenAccount(t, id, l.Upstream, func(a *accounts.NewAccount) { a.BaseURL, a.Priority = server.URL, i+1 })
		d.Lines[id] = l
	}
	return d
}

// Pay makes n payments of 10 USD over Pix, atATime of them at a time. It accepts 201, and 422 if no
// account accepts the payment.
func (d *Drill) Pay(t *testing.T, n, atATime int) {
	t.Helper()
	order := d.Live.PixOrder(t)
	var all sync.WaitGroup
	for lane := range atATime {
		all.Go(func() {
			for i := lane; i < n; i += atATime {
				r := d.Live.Post(t, "/payments", order)
				at := "transactionId"
				if r.Status != http.StatusCreated {
					r.Want(t, http.StatusUnprocessableEntity)
					at = "error.details.transactionId"
				}
				id := r.Text(t, at)
				d.mu.Lock()
				d.IDs = append(d.IDs, id)
				d.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// PassOnce moves the clock forward and runs the sweep once. It is for a provider that fails: a sweep may have a
// payment until its lease ends, and Pass would wait in vain.
func (d *Drill) PassOnce(t *testing.T, by time.Duration) {
	t.Helper()
	d.Clock.Advance(by)
	_, err := d.App.Cascade.Sweep(ctx)
	Must(t, err)
}

// Pass is PassOnce, and then waits until no sweep has a payment of the drill: the service sweeps too. Without the wait, a
// test may see a payment as it was before, or a payment may be queried once more when the lease ends.
func (d *Drill) Pass(t *testing.T, by time.Duration) {
	t.Helper()
	d.PassOnce(t, by)
	Eventually(t, "no sweep has a payment", func() bool {
		for _, id := range d.IDs {
			p, err := d.App.Store.Payments().Any(ctx, id)
			Must(t, err)
			if p.Work.DueAt.Equal(d.Clock.Now().Add(pay.SweepLease).Truncate(time.Microsecond)) {
				return false
			}
		}
		return true
	})
}

// Audit compares the providers' books with ours line by line, and returns how many payments are
// completed. Each completed payment is one charge. Every other charge must be in suspense with an
// inquiry; inquiries is their number. but is as in Reconciled: such a charge of a completed payment
// is the discrepancy ChargedTwice.
func (d *Drill) Audit(t *testing.T, inquiries int, but ...reconcile.Discrepancy) (completed int) {
	t.Helper()
	charges := 0
	for id, l := range d.Lines {
		charges += Reconciled(t, d.Instance, id, l.Upstream, but...).Lines
	}
	for _, id := range d.IDs {
		if d.Live.Status(t, id) == "completed" {
			completed++
		}
	}
	if charges != completed+inquiries {
		t.Errorf("the providers have %d charges, want as many as %d completed payments and %d inquiries", charges, completed, inquiries)
	}
	balances, err := d.App.Settlements.Balances(ctx, merchants.Scope{Merchant: d.Live.Merchant.ID, Shop: d.Live.Shop.ID, Live: true})
	Must(t, err)
	if balances[ledger.Receivable] != int64(-10_00*charges) || balances[ledger.Suspense] != int64(10_00*inquiries) {
		t.Errorf("the providers owe %d cents for %d charges, and %d cents are in suspense for %d inquiries; want 1000 cents each",
			-balances[ledger.Receivable], charges, balances[ledger.Suspense], inquiries)
	}
	if total := d.Live.Total(t, nil); total != fmt.Sprint(len(d.IDs)) {
		t.Errorf("%d payments were made, but %s are listed", len(d.IDs), total)
	}
	d.Clean(t)
	return completed
}

// TellsOther is a Fault: the provider does what was requested, but answers that 50 BRL were paid.
func TellsOther(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	_, _ = io.WriteString(w, `{"status":"paid","amount":"50","currency":"BRL"}`)
}

// Rule resolves a payment as the operator does. If a query changes the payment at the same time,
// it tries again.
func (d *Drill) Rule(id string, w pay.Word, force bool) (pay.Payment, pay.OutcomeKind, error) {
	for {
		p, said, err := d.App.Payments.Resolve(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, base.Resolution{ID: id, Word: w, Note: "the report of today", Force: force})
		refused := (*problem.Error)(nil)
		if !errors.As(err, &refused) || refused.Details.Reason != "changed_meanwhile" {
			return p, said, err
		}
	}
}
