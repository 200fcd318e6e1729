package claims

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator resolves a payment as paid while its only call is on its way, and the query for that
// has no answer. Then the call is declined. The contradiction must not get lost.
func TestDeclineAfterTheOperatorsPaidIsKept(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	clock.Freeze()
	reached, answers := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		close(reached)
		<-answers
		return pay.Outcome{Kind: pay.Declined, Decline: "do_not_honor"}
	}
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	a := harness.Node(t, database, clock, p, log)
	who := harness.Acme(t, a)
	var all sync.WaitGroup
	all.Go(func() {
		_, _, _ = a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	})
	harness.Soon(t, "the call that the test holds to begin", reached)
	clock.Advance(2 * time.Second)
	scope, err := a.Narrow(ctx, who, "", "")
	harness.Must(t, err)
	list, _, err := a.Payments.List(ctx, scope, lists.PaymentFilter{Page: lists.Page{Limit: 10}})
	harness.Must(t, err)
	id := list[0].ID
	_, _, err = a.Payments.Resolve(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, base.Resolution{ID: id, Word: pay.WordPaid, Note: "it is in their list"})
	close(answers)
	harness.Must(t, err)
	all.Wait()
	got, err := a.Cascade.Payment(ctx, scope, id)
	harness.Must(t, err)
	told, err := a.Notices.Notifications(ctx, id, 10)
	harness.Must(t, err)
	if got.Status != pay.Completed || len(told) != 1 || told[0].Verdict != pay.Mismatched {
		t.Errorf("the provider declined after the operator's word: the payment is %s, want completed, and one notification that waits for the operator: %+v", got.Status, told)
	}
	harness.Sound(t, a, log)
}
