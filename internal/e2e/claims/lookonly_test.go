package claims

import (
	"context"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// repeater is a provider like Adyen: the only query for a refund is to repeat the call
// (internal/provider/adyen/refund.go, QueryRefund).
type repeater struct {
	*sandbox.Provider
	paid  map[string]int64
	lost  bool // calls do not arrive
	mute  bool // calls arrive, but their answers do not
	calls int
}

func (p *repeater) Refund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	p.calls++
	if p.lost {
		return pay.Outcome{Kind: pay.Unknown}
	}
	p.paid[r.Reference] = r.Local.Minor
	if p.mute {
		return pay.Outcome{Kind: pay.Unknown}
	}
	return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "psp1"}
}

func (p *repeater) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if r.RefundRef != "" {
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: r.RefundRef}
	}
	if provider.OnlyLooks(ctx) {
		return pay.Outcome{Kind: pay.Unknown}
	}
	return p.Refund(ctx, r).AsQueried()
}

// The operator saw in the provider's books that a refund never arrived, and rejects it. The service
// does not query this provider, because the query would make the refund.
func TestAskingForTheOperatorMakesNoRefund(t *testing.T) {
	s := newStage(t)
	p := &repeater{Provider: sandbox.New("sandbox-1", nil), paid: map[string]int64{}, lost: true}
	a := s.node(t, p)
	r := refunded(t, a)
	s.clock.Advance(10 * time.Minute)
	p.lost, p.mute = false, true // calls arrive again, but answers do not
	if len(p.paid) != 0 {
		t.Fatal("the refund was made before the operator rejected it")
	}
	c, err := harness.DecideClaim(a, r.ID, pay.Reject, "it is not in their books")
	harness.Must(t, err)
	p.mute = false
	s.sweep(t, a.Claims.Sweep, 50, 6*time.Hour)
	if c.Status != pay.ClaimRejected || len(p.paid) != 0 || p.calls != 1 {
		t.Errorf("the operator rejected the claim, which is %s; the provider paid %v after %d calls, want nothing after one call", c.Status, p.paid, p.calls)
	}
	harness.Sound(t, a, s.log)
}
