package claims

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator resolves a payment of unknown outcome. While the query for that hangs, another node
// learns that the shopper has a voucher to pay. The operator's resolution must not end the payment
// for good.
func TestOperatorEndsNothingThatBecamePendingMeanwhile(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	paid, operator := false, false
	asked, slow := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		mu.Lock()
		his := operator
		operator = false
		done := paid
		mu.Unlock()
		switch {
		case his:
			close(asked)
			<-slow
			return pay.Outcome{Kind: pay.Unknown}
		case done:
			return pay.Outcome{Kind: pay.Approved}
		}
		return pay.Outcome{Kind: pay.Awaiting, FormURL: "https://bank.example/voucher"}
	}
	first, second := s.node(t, p), s.node(t, p)
	who := harness.Acme(t, first)
	made, _, err := first.Payments.Create(ctx, who, order("sbx_cash"))
	harness.Must(t, err)
	s.clock.Advance(time.Minute)
	mu.Lock()
	operator = true
	mu.Unlock()
	var all sync.WaitGroup
	var ruled error
	all.Go(func() { ruled = notCharged(first, made.ID) })
	harness.Soon(t, "the call that the test holds to begin", asked)
	_, err = second.Cascade.Sweep(ctx)
	harness.Must(t, err)
	between, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if between.Status != pay.Pending {
		t.Fatalf("after the other node's query the payment is %s, want pending", between.Status)
	}
	close(slow)
	all.Wait()
	mu.Lock()
	paid = true
	mu.Unlock()
	s.sweep(t, second.Cascade.Sweep, 200, 6*time.Hour)
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if got.Status != pay.Completed && len(got.Strays) == 0 {
		t.Errorf("the shopper has paid, but the payment is %s (%+v) with the strays %+v; the operator resolved it (%v) while it was pending", got.Status, got.End.Failure, got.Strays, ruled)
	}
}
