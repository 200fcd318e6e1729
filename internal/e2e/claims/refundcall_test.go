package claims

import (
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// A node that dies during the call to the provider leaves an intent. Another node finishes it once
// the lease has ended, and not before.
func TestRefundOfADeadNodeIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	for _, reached := range []bool{true, false} {
		dbtest.Each(t, func(t *testing.T, database string) {
			clock, log := &harness.Clock{}, &harness.Faults{}
			b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
			called, died := make(chan struct{}), make(chan struct{})
			b.Answer = func(r provider.RefundRequest, _ bool) (bool, pay.Outcome) {
				if _, _, calls := b.Total(); calls > 1 {
					return true, pay.Outcome{Kind: pay.Approved}
				}
				if reached {
					b.Pay(r)
				}
				close(called)
				<-died // in this time the other node takes over
				return reached, pay.Outcome{Kind: pay.Approved}
			}
			first, second := harness.Node(t, database, clock, b, log), harness.Node(t, database, clock, b, log)
			scope, payment := harness.PaidCard(t, first)
			var all sync.WaitGroup
			all.Go(func() {
				if _, _, err := first.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment}); err != nil {
					t.Error(err)
				}
			})
			harness.Soon(t, "the call that the test holds to begin", called)
			list, _, err := second.Claims.List(ctx, scope, harness.ClaimsOf(payment))
			harness.Must(t, err)
			if len(list) != 1 || list[0].Status != pay.ClaimPending || list[0].Call.State != pay.Sending {
				t.Fatalf("during the call the claims are %+v, want one that is sending", list)
			}
			clock.Advance(44 * time.Second)
			if n, err := second.Claims.Sweep(ctx); n != 0 || err != nil {
				t.Errorf("the other node took over %d claims before the lease ended (%v)", n, err)
			}
			clock.Advance(2 * time.Second)
			harness.Eventually(t, "the other node has the claim approved", func() bool {
				clock.Advance(time.Minute)
				_, err := second.Claims.Sweep(ctx)
				harness.Must(t, err)
				c, err := second.Claims.Get(ctx, scope, list[0].ID)
				harness.Must(t, err)
				return c.Status == pay.ClaimApproved
			})
			close(died) // the first node's call returns after all
			all.Wait()
			c, err := second.Claims.Get(ctx, scope, list[0].ID)
			harness.Must(t, err)
			if sum, n, _ := b.Total(); c.Status != pay.ClaimApproved || sum != 2550 || n != 1 {
				t.Errorf("the claim is %s, and the bank paid %d in %d refunds; want approved, and 2550 in one", c.Status, sum, n)
			}
			harness.Sound(t, second, log)
		})
	}
}
