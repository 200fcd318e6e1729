package simulation

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
)

// termsStay is the invariant of price plans.
const termsStay = "a payment has the fees of the terms that it was made with"

// agreed is a version of the world's price plan.
type agreed struct {
	from    time.Time
	percent int64 // of 10,000
	flat    int64 // USD cents
}

// prices gives each merchant a price plan that changes in the middle of the world, and another time long afterwards. All of it is known from the
// beginning on.
func (w *world) prices() error {
	chance := rand.New(rand.NewPCG(w.seed, 89))
	ctx, a, now := lane(context.Background(), "prices"), w.nodes[0].app, w.nodes[0].now()
	middle := w.span/4 + time.Duration(chance.Int64N(int64(w.span/2)))
	for i, from := range []time.Duration{0, middle, w.span + w.longer + day} {
		w.agreed = append(w.agreed, agreed{now.Add(from), 100 * int64(1+i) * int64(1+chance.IntN(3)), int64(10 * (i + 1))})
	}
	for _, shop := range w.shops[:2] {
		m, err := w.eye.Merchants().Get(ctx, shop.by.Merchant)
		if err != nil {
			return err
		}
		like, _ := a.Plans.Book().At(string(m.Tier), now)
		plan := like.Plan
		plan.Name = "world-" + plan.Name
		for i, v := range w.agreed {
			plan.Prices = []plans.Price{{Percent: v.percent, Flat: v.flat, Cost: plans.Included}}
			at := v.from
			if i == 0 {
				at = time.Time{}
			}
			if _, _, err := a.Plans.Apply(ctx, a.Self(), plan, at); err != nil {
				return err
			}
		}
		if _, err := a.Onboarding.Agree(ctx, a.Self(), m.ID, appmerchants.Agreement{Plan: &appplans.Assignment{Plan: plan.Name}}); err != nil {
			return err
		}
	}
	for _, n := range w.nodes[1:] {
		if err := n.app.Plans.Read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// agreedFor is the version of a payment that was created at a time. Both times are of its node's clock, and it reads the plan before it creates the
// payment: it is not sure only shortly after a change, because the node may be paused in between.
func (w *world) agreedFor(created time.Time) (v agreed, sure bool) {
	for i, next := range w.agreed {
		switch since := created.Sub(next.from); {
		case i == 0 && since < 0: // by a clock that is behind that of the node which assigned the plan, it is not in force yet
			return next, false
		case i == 0 || since > 5*time.Minute:
			v, sure = next, true
		case since >= 0:
			return v, false
		}
	}
	return v, sure
}

// checkTerms compares the fees of each payment, and what the operator earned of it, with the plan of the moment at which it was made.
func (w *world) checkTerms(all *books) {
	if len(w.agreed) == 0 {
		return
	}
	earned := map[string]int64{}
	for _, shop := range w.shops[:2] {
		if err := w.capturedBy(shop.by.Merchant, earned); err != nil {
			w.find(termsStay, "", "%v", err)
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		p := all.payments[id]
		if w.madeAt[id].IsZero() || len(p.Strays) > 0 || p.Price.Amount.Minor < 10_00 { // older, a part of another amount, or next to nothing
			continue
		}
		v, sure := w.agreedFor(p.Times.Created)
		if !sure {
			continue
		}
		w.count("payments whose fee was recomputed")
		fee, got, captured := v.flat+(p.Price.Amount.Minor*v.percent+5000)/10_000, int64(0), false
		if got, captured = earned[id]; captured && p.Times.Completed.After(w.agreed[1].from) && p.Times.Created.Before(w.agreed[1].from) {
			w.count("payments that were captured after their plan had changed")
		}
		if p.Terms.Fees.Total() != fee || captured && got != fee {
			w.find(termsStay, id, "%s of %s was created at %s, when %d/10,000 and %d cents were agreed: the fee is %+v, and %d was earned, want %d", id, p.Price.Amount, p.Times.Created, v.percent, v.flat, p.Terms.Fees, got, fee)
		}
	}
}

// capturedBy adds what the operator got of each captured payment of a merchant, in USD cents.
func (w *world) capturedBy(merchant string, earned map[string]int64) error {
	for last := (ledger.Transfer{}); ; {
		list, err := w.eye.Books().Next(context.Background(), merchants.Scope{Merchant: merchant, Live: true}, last, 1000)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, t := range list {
			if t.Kind == ledger.Capture {
				earned[pay.PaymentPrefix+t.ID[len("tr_"):len(t.ID)-len("-capture")]] += t.Amount(ledger.PlatformFees)
			}
		}
		last = list[len(list)-1]
	}
}
