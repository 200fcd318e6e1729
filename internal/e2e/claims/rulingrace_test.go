package claims

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator rejects a refund. After the service has read the claim for that, another node calls
// the provider again. The rejection is refused.
func TestOperatorRejectsNoRefundThatIsToldAgain(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	b.Answer = func(r provider.RefundRequest, _ bool) (bool, pay.Outcome) {
		if _, _, calls := b.Total(); calls == 1 {
			return false, pay.Outcome{Kind: pay.Unavailable} // the first call is not accepted
		}
		return true, pay.Outcome{Kind: pay.Unknown} // the refund is made, but the answer is lost
	}
	var armed atomic.Bool
	second := s.node(t, b)
	first := harness.NodeAt(t, s.database, s.clock, func() time.Time {
		if armed.CompareAndSwap(true, false) {
			_, err := second.Claims.Sweep(ctx)
			harness.Must(t, err)
		}
		return s.clock.Now()
	}, b, s.log)
	r := refunded(t, first)
	s.clock.Advance(2 * time.Minute)
	armed.Store(true)
	if _, err := harness.DecideClaim(first, r.ID, pay.Reject, "the shopper has kept the goods"); err == nil {
		t.Error("the operator can reject a refund that is being called again")
	}
	s.sweep(t, second.Claims.Sweep, 50, 3*time.Hour)
	got, err := second.Claims.Get(ctx, r.Scope, r.ID)
	harness.Must(t, err)
	list, err := second.Notices.Notifications(ctx, r.Payment, 10)
	harness.Must(t, err)
	if sum, _, calls := b.Total(); sum != 0 && !got.Status.Pays() {
		t.Errorf("after %d calls the bank paid %d, but the claim is %s, so that the merchant has the money too; notifications for the operator: %d", calls, sum, got.Status, len(list))
	}
	harness.Sound(t, second, s.log)
}

// The operator resolves a payment as not charged while another node calls again. He is refused.
func TestOperatorEndsNoPaymentThatIsCalledAgain(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	charges, queries := 0, 0
	charged := map[string]bool{}
	reached, wake := make(chan struct{}), make(chan struct{})
	asked, slow := make(chan struct{}), make(chan struct{})
	again := make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(_ context.Context, r provider.Request) pay.Outcome {
		mu.Lock()
		charges++
		n := charges
		mu.Unlock()
		if n == 1 { // the first node stalls here, and its call never leaves
			close(reached)
			<-wake
			return pay.Outcome{Kind: pay.Unknown}
		}
		mu.Lock()
		charged[r.Reference] = true
		mu.Unlock()
		close(again)
		return pay.Outcome{Kind: pay.Unknown} // the answer is lost
	}
	p.OnQuery = func(_ context.Context, r provider.Request) pay.Outcome {
		mu.Lock()
		queries++
		n, known := queries, charged[r.Reference]
		mu.Unlock()
		switch n {
		case 1: // the query of the node that takes over; the answer is slow
			close(asked)
			<-slow
		case 2: // the query for the operator; the answer comes after the second call
			close(slow)
			<-again
		}
		if known {
			return pay.Outcome{Kind: pay.Approved}
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	first, second := s.node(t, p), s.node(t, p)
	who, answered := underway(t, first, "sbx_card", reached)
	var all sync.WaitGroup
	s.clock.Advance(34 * time.Second)
	harness.Must(t, second.Cascade.ReleaseOrphans(ctx))
	all.Go(func() {
		if _, err := second.Cascade.Sweep(ctx); err != nil {
			t.Error(err)
		}
	})
	harness.Soon(t, "the call that the test holds to begin", asked)
	s.clock.Advance(2 * time.Second)
	made := only(t, second, who)
	if err := notCharged(second, made.ID); err == nil {
		t.Error("the operator can resolve a payment whose call may be on its way")
	}
	close(wake)
	answered()
	all.Wait()
	s.sweep(t, second.Cascade.Sweep, 50, 6*time.Hour)
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	mu.Lock()
	defer mu.Unlock()
	if len(charged) > 0 && got.Status != pay.Completed && len(got.Strays) == 0 {
		t.Errorf("the shopper is charged, but the payment is %s with the strays %+v after %d queries", got.Status, got.Strays, queries)
	}
}

// The operator resolves a payment as not charged. The second of two calls was refused, but the first
// one is still on its way. He is refused.
func TestOperatorEndsNoPaymentWhoseFirstCallIsOnItsWay(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	charges := 0
	charged := map[string]bool{}
	reached, arrives := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(_ context.Context, r provider.Request) pay.Outcome {
		mu.Lock()
		charges++
		n := charges
		mu.Unlock()
		if n == 1 {
			close(reached)
			<-arrives // the call is still in the network
			mu.Lock()
			defer mu.Unlock()
			charged[r.Reference] = true
			return pay.Outcome{Kind: pay.Unknown} // the answer is lost
		}
		return pay.Outcome{Kind: pay.Declined, Code: "processor_declined", Decline: "do_not_honor"}
	}
	p.OnQuery = func(_ context.Context, r provider.Request) pay.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if charged[r.Reference] {
			return pay.Outcome{Kind: pay.Approved}
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	first, second := s.node(t, p), s.node(t, p)
	who, answered := underway(t, first, "sbx_card", reached)
	s.takeOver(t, second) // the query finds no charge, so the node calls again and is refused
	made := only(t, second, who)
	s.clock.Advance(time.Second)
	if err := notCharged(second, made.ID); err == nil {
		t.Error("the operator can resolve a payment whose call may be on its way")
	}
	close(arrives)
	answered()
	s.sweep(t, second.Cascade.Sweep, 50, 6*time.Hour)
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if len(charged) > 0 && got.Status != pay.Completed && len(got.Strays) == 0 {
		t.Errorf("the shopper is charged, but the payment is %s with the strays %+v", got.Status, got.Strays)
	}
}

// While the operator resolves a payment, another node commits the next attempt and calls the next
// provider. The operator's word is about the attempt before, so it must not end the new one. The
// payment's version alone does not show that: the new one is the one that his word would write.
func TestOperatorsWordIsOfTheAttemptHeLookedAt(t *testing.T) {
	s := newStage(t)
	var moved, charged atomic.Bool
	called, answers := make(chan struct{}), make(chan struct{})
	var sweep sync.WaitGroup
	silent := func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	one := &harness.Till{Provider: sandbox.New("sandbox-1", nil), OnCharge: silent}
	one.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		if moved.Load() {
			return pay.Outcome{Kind: pay.Missing}
		}
		return pay.Outcome{Kind: pay.Unknown}
	}
	two := &harness.Till{Provider: sandbox.New("sandbox-2", nil)}
	two.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		charged.Store(true)
		close(called)
		<-answers
		return pay.Outcome{Kind: pay.Unknown} // the answer is lost
	}
	two.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		if charged.Load() {
			return pay.Outcome{Kind: pay.Approved}
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	both := func(c *app.Config) {
		c.Providers, c.Sandbox = map[string]provider.Provider{"sandbox-1": one, "sandbox-2": two}, []string{"sandbox-1", "sandbox-2"}
	}
	other := harness.NodeOf(t, s.database, s.clock, s.log, both)
	operator := harness.NodeOf(t, s.database, s.clock, s.log, func(c *app.Config) {
		both(c)
		c.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
			if len(change.Audit) > 0 && change.Audit[0].Act == audit.PaymentResolved && moved.CompareAndSwap(false, true) {
				sweep.Go(func() {
					if _, err := other.Cascade.Sweep(ctx); err != nil {
						t.Error(err)
					}
				})
				harness.Soon(t, "the call that the test holds to begin", called)
			}
			return commit()
		}
	})
	who := harness.Acme(t, other)
	p, _, err := other.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_pix", Buyer: pay.Buyer{Document: "52998224725"}})
	harness.Must(t, err)
	s.clock.Advance(2 * time.Minute)
	err = notCharged(operator, p.ID)
	if err == nil {
		t.Error("the operator's word about the first attempt ended the second one")
	}
	if !charged.Load() {
		t.Fatalf("the other node did not make the second attempt: %v", err)
	}
	close(answers)
	sweep.Wait()
	s.clock.Advance(2 * time.Minute)
	for range 5 {
		_, err := other.Cascade.Sweep(ctx)
		harness.Must(t, err)
		s.clock.Advance(time.Minute)
	}
	got, err := other.Cascade.Payment(ctx, who.Scope, p.ID)
	harness.Must(t, err)
	if got.Status != pay.Completed {
		t.Errorf("the shopper is charged, but the payment is %s", got.Status)
	}
}
