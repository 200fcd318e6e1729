package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// desk makes the operator adjust balances and change merchants' tiers during the faults. It draws by a chance of its own, so
// that the rest of a world stays as it is.
func (w *world) desk() {
	chance := rand.New(rand.NewPCG(w.seed, hash64("desk")))
	w.aside.Go(func() {
		for {
			time.Sleep(time.Duration(chance.Int64N(int64(w.span+w.longer) / 4)))
			w.turns.turn("the operator adjusts")
			if w.healing() {
				return
			}
			w.adjust(chance)
			w.changeTier(chance)
		}
	})
}

// adjust credits or debits a merchant, sometimes again with the same reference, because an answer may be lost; and takes
// some of it back.
func (w *world) adjust(chance *rand.Rand) {
	shop := w.shops[chance.IntN(len(w.shops))].by
	ctx := lane(context.Background(), "office adjusts "+shop.Merchant)
	n := settlements.NewAdjustment{
		Merchant: shop.Merchant, Live: shop.Live, Reason: pay.ForFees, Note: "as agreed", Reference: fmt.Sprint("ticket ", chance.IntN(6)),
	}
	// The reference says the rest, so that a repeat is the same.
	n.Amount = money.New(int64(hash64(n.Reference)%20_00)-8_00, money.USD)
	n.Negative = n.Amount.IsNegative() && hash64(n.Reference)%3 == 0
	w.turns.turn("the operator adjusts " + shop.Merchant)
	made, err := w.office.app.Adjustments.Make(ctx, operator, n)
	w.adjusted(shop.Merchant, err)
	if err != nil || chance.IntN(2) > 0 {
		return
	}
	for range 1 + chance.IntN(2) {
		_, err = w.office.app.Adjustments.Reverse(ctx, operator, made.ID, "it was another merchant's", made.Amount > 0 && chance.IntN(2) == 0)
		w.adjusted(shop.Merchant, err)
	}
}

func (w *world) adjusted(merchant string, err error) {
	if refused := new(problem.Error); errors.As(err, &refused) && refused.Code == problem.BalanceInsufficient {
		w.count("commands of the operator refused")
		return
	}
	w.said("balance", merchant, err)
}

// changeTier gives a merchant another tier: payments that were made before keep their terms.
func (w *world) changeTier(chance *rand.Rand) {
	shop := w.shops[chance.IntN(len(w.shops))].by.Merchant
	tier := merchants.Tiers()[chance.IntN(len(merchants.Tiers()))]
	w.turns.turn("the operator changes the tier of " + shop)
	_, err := w.office.app.Onboarding.Agree(lane(context.Background(), "office tiers"), operator, shop, appmerchants.Agreement{Tier: tier})
	w.said("tier", shop, err)
}
