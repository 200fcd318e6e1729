package claims

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// Of two requests with one Idempotency-Key at once, the second gets the first one's refund, and not
// the error that nothing is left to refund.
func TestRepeatOfARefundThatIsBeingWrittenIsAnsweredAsTheFirst(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Approved} }
	var armed atomic.Bool
	held, hold := make(chan struct{}), make(chan struct{})
	a := harness.NodeOf(t, database, clock, log, func(config *app.Config) {
		config.Providers, config.Sandbox = map[string]provider.Provider{"sandbox-1": b}, []string{"sandbox-1"}
		config.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
			if change.Once != nil && armed.CompareAndSwap(true, false) { // the database is slow
				close(held)
				<-hold
			}
			return commit()
		}
	})
	scope, payment := harness.PaidCard(t, a)
	n := claims.NewRefund{Payment: payment, Idempotency: base.Idempotency{Route: "POST /payments/" + payment + "/refund", Key: "k1", Hash: "h"}}
	armed.Store(true)
	var all sync.WaitGroup
	var one, two pay.Refund
	var oneErr, twoErr error
	all.Go(func() { one, _, oneErr = a.Claims.Refund(ctx, scope, n) })
	harness.Soon(t, "the first refund to be written", held)
	all.Go(func() { two, _, twoErr = a.Claims.Refund(ctx, scope, n) })
	time.Sleep(200 * time.Millisecond) // by then the second request has found no key, and waits
	close(hold)
	all.Wait()
	harness.Must(t, oneErr)
	if twoErr != nil || two.ID != one.ID {
		t.Errorf("the first request made %s, but the second one gets %q with the error %v", one.ID, two.ID, twoErr)
	}
}
