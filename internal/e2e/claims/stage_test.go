package claims

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/provider"
)

// stage is what the nodes of a test share: a database, a clock that only the test moves, a log. The test plays their
// provider.
type stage struct {
	database string
	clock    *harness.Clock
	log      *harness.Faults
}

func newStage(t *testing.T) stage {
	t.Helper()
	s := stage{dbtest.SQLite(t), &harness.Clock{}, &harness.Faults{}}
	s.clock.Freeze()
	return s
}

// node opens a node with the provider.
func (s stage) node(t *testing.T, p provider.Provider) *app.App {
	t.Helper()
	return harness.Node(t, s.database, s.clock, p, s.log)
}

// sweep lets a time pass and sweeps once, as many times as it is told.
func (s stage) sweep(t *testing.T, once func(context.Context) (int, error), times int, every time.Duration) {
	t.Helper()
	for range times {
		s.clock.Advance(every)
		_, err := once(ctx)
		harness.Must(t, err)
	}
}

// takeOver ends the leases of other nodes' calls, and makes a node query about their payments.
func (s stage) takeOver(t *testing.T, a *app.App) {
	t.Helper()
	s.clock.Advance(10 * time.Second)
	harness.Must(t, a.Cascade.ReleaseOrphans(ctx))
	_, err := a.Cascade.Sweep(ctx)
	harness.Must(t, err)
}

// order asks for 25.50 USD over a rail of the sandbox.
func order(rail string) payments.NewPayment {
	return payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: rail}
}

// underway requests a payment for a new merchant, and returns when its call has reached the provider. answered waits until
// the request is answered.
func underway(t *testing.T, a *app.App, rail string, reached <-chan struct{}) (who base.Principal, answered func()) {
	t.Helper()
	who = harness.Acme(t, a)
	var request sync.WaitGroup
	request.Go(func() { _, _, _ = a.Payments.Create(ctx, who, order(rail)) })
	harness.Soon(t, "the call that the test holds to begin", reached)
	return who, request.Wait
}

// only returns a merchant's payment, and fails the test unless it has exactly one.
func only(t *testing.T, a *app.App, who base.Principal) pay.Payment {
	t.Helper()
	scope, err := a.Narrow(ctx, who, "", "")
	harness.Must(t, err)
	list, _, err := a.Payments.List(ctx, scope, lists.PaymentFilter{Page: lists.Page{Limit: 10}})
	harness.Must(t, err)
	if len(list) != 1 {
		t.Fatalf("the merchant has %d payments, want one", len(list))
	}
	return list[0]
}

// refunded opens a refund of 20 USD of a card payment of 25.50 USD.
func refunded(t *testing.T, a *app.App) pay.Refund {
	t.Helper()
	scope, payment := harness.PaidCard(t, a)
	r, _, err := a.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
	harness.Must(t, err)
	return r
}

// ana is an operator.
var ana = audit.Actor{Kind: audit.ByOperator, ID: "ana"}

// notCharged resolves a payment as not charged.
func notCharged(a *app.App, id string) error {
	_, _, err := a.Payments.Resolve(ctx, ana, base.Resolution{ID: id, Word: pay.WordNotCharged, Note: "not in their books"})
	return err
}

// notPaid resolves a withdrawal as not paid.
func notPaid(ctx context.Context, a *app.App, w pay.Withdrawal) error {
	_, _, err := a.Payouts.ResolveWithdrawal(ctx, ana, base.Resolution{ID: w.ID, Word: pay.WordNotPaid, Note: "not in their list"})
	return err
}
