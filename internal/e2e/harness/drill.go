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

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/reconcile"
)

// Expires is the shopper's deadline.
func (d *Drill) Expires(t *testing.T, id string) time.Time {
	t.Helper()
	shown, err := d.App.Sessions.Shown(ctx, id)
	Must(t, err)
	if shown.Status != pay.Pending {
		t.Fatalf("the payment is %s, want pending", shown.Status)
	}
	return shown.Times.Expires
}

// Fault is how a provider misbehaves: next does what was asked for.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Line stands before an upstream and misbehaves as it is told.
type Line struct {
	*providertest.Upstream
	fault          atomic.Pointer[Fault]
	ChargesAsked   atomic.Int64 // that were asked for
	QuestionsAsked atomic.Int64 // questions about charges
}

// ServeHTTP counts the request, and answers it as the line was told.
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

// Fails lets the upstream misbehave; nil ends it.
func (l *Line) Fails(f Fault) {
	if f == nil {
		l.fault.Store(nil)
		return
	}
	l.fault.Store(&f)
}

// Refuses is a provider that is too busy.
func Refuses(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(w, `{"error":"too busy"}`, http.StatusTooManyRequests)
}

// CutsAfter does what was asked for, and hangs up without an answer.
func CutsAfter(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Gateway answers in place of a provider that cannot be reached.
func Gateway(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(w, "<html>Bad Gateway</html>", http.StatusBadGateway)
}

// Drill is a service with two provider accounts that a test breaks: acme-1 is
// tried first.
type Drill struct {
	*Instance
	Live  Client
	Lines map[string]*Line
	mu    sync.Mutex
	IDs   []string // of all payments that were made
}

// Drilled runs a test on each engine against a drill.
func Drilled(t *testing.T, test func(t *testing.T, d *Drill)) {
	t.Helper()
	Plainly(t, func(t *testing.T, s *Instance) { test(t, DrilledBy(t, s)) })
}

// DrilledBy opens the two accounts of a drill.
func DrilledBy(t *testing.T, s *Instance) *Drill {
	t.Helper()
	s.Clock.Freeze()
	made, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: tenant.Trusted, RefundFees: tenant.FeesReturned})
	Must(t, err)
	d := &Drill{Instance: s, Live: Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}.Production(), Lines: map[string]*Line{}}
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &Line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := httptest.NewServer(l)
		t.Cleanup(server.Close)
		l.Next("paid")
		s.OpenAccount(t, id, l.Upstream, func(a *acquiring.NewAccount) { a.BaseURL, a.Priority = server.URL, i+1 })
		d.Lines[id] = l
	}
	return d
}

// Pay makes payments, some of them at a time. One that nobody takes is refused.
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

// Pass lets time pass, and the sweep look at what is due.
func (d *Drill) Pass(t *testing.T, time time.Duration) {
	t.Helper()
	d.Clock.Advance(time)
	_, err := d.App.Cascade.Sweep(ctx)
	Must(t, err)
}

// Audit compares the providers' books with ours, line by line, as cascada reconcile
// does. A completed payment is one charge; the charges beside it wait in suspense, each
// with an inquiry, and count as charged twice where the payment was paid too. It
// returns how many payments are completed.
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
		t.Errorf("the providers have %d charges, we have %d payments and %d inquiries", charges, completed, inquiries)
	}
	balances, err := d.App.Settlements.Balances(ctx, tenant.Scope{Merchant: d.Live.Merchant.ID, Shop: d.Live.Shop.ID, Live: true})
	Must(t, err)
	if balances[ledger.Receivable] != int64(-10_00*charges) || balances[ledger.Suspense] != int64(10_00*inquiries) {
		t.Errorf("the providers owe %d cents for %d charges, and %d are in suspense for %d inquiries",
			-balances[ledger.Receivable], charges, balances[ledger.Suspense], inquiries)
	}
	if total := d.Live.Total(t, nil); total != fmt.Sprint(len(d.IDs)) {
		t.Errorf("%d payments were made and %s are listed", len(d.IDs), total)
	}
	d.Clean(t)
	return completed
}

// TellsOther does what was asked for, and says that it was of 50 BRL.
func TellsOther(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	_, _ = io.WriteString(w, `{"status":"paid","amount":"50","currency":"BRL"}`)
}

// Rule is the operator's word on a payment. The service may query its provider meanwhile: the operator reads
// the payment again then.
func (d *Drill) Rule(id string, w pay.Word, force bool) (pay.Payment, pay.OutcomeKind, error) {
	for {
		p, said, err := d.App.Payments.Rule(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, base.Ruled{ID: id, Word: w, Note: "the report of today", Force: force})
		refused := (*problem.Error)(nil)
		if !errors.As(err, &refused) || refused.Details.Reason != "changed_meanwhile" {
			return p, said, err
		}
	}
}
