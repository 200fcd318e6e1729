package claims

import (
	"context"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator resolves a payment as paid while its only call is on its way, and the query for that
// has no answer. Then the call is declined. The contradiction must not get lost.
func TestDeclineAfterTheOperatorsPaidIsKept(t *testing.T) {
	s := newStage(t)
	reached, answers := make(chan struct{}), make(chan struct{})
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome {
		close(reached)
		<-answers
		return pay.Outcome{Kind: pay.Declined, Decline: "do_not_honor"}
	}
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	a := s.node(t, p)
	who, answered := underway(t, a, "sbx_card", reached)
	s.clock.Advance(2 * time.Second)
	made := only(t, a, who)
	_, _, err := a.Payments.Resolve(ctx, ana, base.Resolution{ID: made.ID, Word: pay.WordPaid, Note: "it is in their list"})
	close(answers)
	harness.Must(t, err)
	answered()
	got, err := a.Cascade.Payment(ctx, made.Scope, made.ID)
	harness.Must(t, err)
	told, err := a.Notices.Notifications(ctx, made.ID, 10)
	harness.Must(t, err)
	if got.Status != pay.Completed || len(told) != 1 || told[0].Verdict != pay.Mismatched {
		t.Errorf("the provider declined after the operator's word: the payment is %s, want completed, and one notification that waits for the operator: %+v", got.Status, told)
	}
	harness.Sound(t, a, s.log)
}
