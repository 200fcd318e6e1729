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

// Of two calls with one reference the provider accepts the second, and the shopper has the voucher.
// Then the first call is refused as a duplicate. That does not end the payment.
func TestRefusalOfTheOtherCallEndsNoPendingPayment(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	charges, questions := 0, 0
	taken, paid := false, false
	reached, answers := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(_ context.Context, r provider.Request) pay.Outcome {
		mu.Lock()
		charges++
		n := charges
		mu.Unlock()
		if n == 1 { // arrives after the second call
			close(reached)
			<-answers
			return pay.Outcome{Kind: pay.Declined, Decline: "duplicate_transaction"}
		}
		mu.Lock()
		taken = true
		mu.Unlock()
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/voucher"}
	}
	p.OnQuery = func(_ context.Context, r provider.Request) pay.Outcome {
		mu.Lock()
		defer mu.Unlock()
		questions++
		switch {
		case paid:
			return pay.Outcome{Kind: pay.Approved, ProviderRef: "v1"}
		case taken:
			return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/voucher"}
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	first, second := s.node(t, p), s.node(t, p)
	who, answered := underway(t, first, "sbx_cash", reached)
	s.takeOver(t, second) // the query finds no charge, so the node calls again and is accepted
	made := only(t, second, who)
	if made.Status != pay.Pending || made.Attempts[0].Calls != 2 {
		t.Fatalf("before the first call's answer the payment is %s with %+v, want pending after two calls", made.Status, made.Attempts)
	}
	s.clock.Advance(5 * time.Second)
	close(answers)
	answered()
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if got.Status != pay.Pending {
		t.Errorf("the shopper has a valid voucher, but the payment is %s (%+v)", got.Status, got.End.Failure)
	}
	s.clock.Advance(time.Hour)
	mu.Lock()
	paid = true // the shopper pays; the notification is lost
	before := questions
	mu.Unlock()
	s.sweep(t, second.Cascade.Sweep, 200, 6*time.Hour)
	got, err = second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	told, err := second.Notices.Notifications(ctx, made.ID, 10)
	harness.Must(t, err)
	claims, _, err := second.Claims.List(ctx, made.Scope, harness.ClaimsOf(made.ID))
	harness.Must(t, err)
	if got.Status != pay.Completed && len(got.Strays) == 0 {
		t.Errorf("50 days after the shopper paid, the payment is %s with the strays %+v: %d queries since, %d notifications, %d claims",
			got.Status, got.Strays, questions-before, len(told), len(claims))
	}
	harness.Sound(t, second, s.log)
}

// The provider accepts the first call, and refuses the second one, of the node that took over, as a
// duplicate. That does not end the payment.
func TestDuplicateOfATakenCallEndsNoPendingPayment(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	charges := 0
	taken := false
	reached, answers, second2 := make(chan struct{}), make(chan struct{}), make(chan struct{})
	firstDone := make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		mu.Lock()
		charges++
		n := charges
		mu.Unlock()
		if n == 1 {
			close(reached)
			<-answers
			mu.Lock()
			taken = true
			mu.Unlock()
			return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/voucher"}
		}
		close(second2)
		harness.Soon(t, "the first call to be done", firstDone)
		return pay.Outcome{Kind: pay.Declined, Decline: "duplicate_transaction"}
	}
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if taken {
			return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/voucher"}
		}
		return pay.Outcome{Kind: pay.Missing}
	}
	first, second := s.node(t, p), s.node(t, p)
	who, answered := underway(t, first, "sbx_cash", reached)
	var two sync.WaitGroup
	s.clock.Advance(10 * time.Second)
	harness.Must(t, second.Cascade.ReleaseOrphans(ctx))
	two.Go(func() { _, _ = second.Cascade.Sweep(ctx) })
	harness.Soon(t, "the call that the test holds to begin", second2)
	close(answers)
	answered()
	made := only(t, second, who)
	before := made.Status
	close(firstDone)
	two.Wait()
	got, err := second.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	if got.Status != pay.Pending {
		t.Errorf("the shopper has a valid voucher, but after the second call was refused as a duplicate the payment went from %s to %s (%+v)", before, got.Status, got.End.Failure)
	}
}
