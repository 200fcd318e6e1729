package payments

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
)

// The first provider's notification of a soft decline comes before its answer, and the second
// provider takes more than ten seconds. The client sent no Idempotency-Key. So the error must name
// the payment, so that the client does not make another one.
func TestClientWithoutAKeyIsToldOfHisPayment(t *testing.T) {
	t.Parallel()
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	slow := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p1 := &harness.Teller{Provider: slow}
	p2 := &harness.Till{Provider: sandbox.New("sandbox-2", nil)}
	called, answer := make(chan string, 1), make(chan struct{})
	second, goOn := make(chan struct{}), make(chan struct{})
	slow.OnCharge = func(_ context.Context, r provider.Request) pay.Outcome {
		called <- r.Reference
		<-answer
		return pay.Outcome{Kind: pay.Declined, Soft: true, Decline: "issuer_unavailable"}
	}
	p2.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		close(second)
		<-goOn
		return pay.Outcome{Kind: pay.Approved}
	}
	a := harness.NodeOf(t, database, clock, log, func(config *app.Config) {
		config.Providers, config.Sandbox = map[string]provider.Provider{"sandbox-1": p1, "sandbox-2": p2}, []string{"sandbox-1", "sandbox-2"}
	})
	who := harness.Acme(t, a)
	var all sync.WaitGroup
	var made pay.Payment
	var told error
	all.Go(func() {
		made, _, told = a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	})
	p1.Tells = pay.Notice{ID: "n1", Reference: <-called, Outcome: pay.Outcome{Kind: pay.Declined, Soft: true, Decline: "issuer_unavailable"}, Body: []byte("x")}
	var other sync.WaitGroup
	other.Go(func() { _ = a.Notices.Notify(ctx, "sandbox-1", provider.Notification{}) })
	harness.Soon(t, "the call that the test holds to begin", second)
	close(answer)
	all.Wait() // takes ten seconds
	close(goOn)
	other.Wait()
	var shown *problem.Error
	if !errors.As(told, &shown) || shown.Details.Reason != store.OutcomeUnknown || shown.Details.TransactionID != made.ID || made.ID == "" {
		t.Errorf("the client gets the error %q and the payment %q, want outcome_unknown with the payment's id", told, made.ID)
	}
}
