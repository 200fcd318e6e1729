package simulation

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// rates of one dollar. With the rate of MXN, the smallest payment by SPEI is not the one of the catalog: the fee would eat it up.
var localRates = map[money.Currency]string{money.BRL: "5.4", money.MXN: "19.97", money.COP: "4120.5"}

// smallRails are the rails that take payments of little worth.
var smallRails = []string{"pix.BRA", "spei.MEX", "bank.pse.COL"}

// smallRail is one of them, with its smallest amount.
type smallRail struct {
	id    string
	least money.Amount
	worth int64 // USD cents: the smallest worth of which its fees leave something
}

func setRates(ctx context.Context, a *app.App) error {
	for _, currency := range []money.Currency{money.BRL, money.MXN, money.COP} {
		rate, err := money.ParseRate(localRates[currency])
		if err != nil {
			return err
		}
		if _, err := a.Rates.SetRates(ctx, a.Rates.Self(), []rates.Reading{{Currency: currency, Rate: rate, Source: "simulation", At: a.Now()}}, true); err != nil {
			return err
		}
	}
	return nil
}

// almostNothing is an amount near the smallest one, and its rail: worth a few cents, about as much as the rail's smallest
// payment, in the shopper's currency, in dollars, or in a currency of another country.
func (w *world) almostNothing(chance *rand.Rand) (money.Amount, string) {
	rail := w.small[chance.IntN(len(w.small))]
	near := chance.Int64N(6) - 1 // of the smallest unit; below it is refused
	switch chance.IntN(4) {
	case 0:
		cents := int64(1)
		if worth := w.worthOf(rail.least); chance.IntN(3) > 0 {
			cents = max(worth, rail.worth)
		}
		return money.New(max(1, cents+near), money.USD), rail.id
	case 1:
		other := w.small[chance.IntN(len(w.small))].least
		return money.New(other.Minor+other.Minor/7*near, other.Currency), rail.id
	case 2:
		return money.New(1+chance.Int64N(20), rail.least.Currency), rail.id
	}
	return money.New(rail.least.Minor+near, rail.least.Currency), rail.id
}

// worthOf is what an amount is worth, in whole cents.
func (w *world) worthOf(local money.Amount) int64 {
	cents := new(big.Rat).Mul(exactly(local), big.NewRat(100, 1))
	return new(big.Int).Quo(cents.Num(), cents.Denom()).Int64()
}

// toldOfSmall counts how a shop was answered. That an amount is too small is a true answer; no other is expected but those that any
// payment may get.
func (w *world) toldOfSmall(r *request) {
	refused, is := errors.AsType[*problem.Error](r.err)
	switch {
	case is && (refused.Code == problem.AmountOutOfLimits || refused.Code == problem.AmountInvalid):
		w.count("payments refused as too small")
	case r.err == nil:
		w.count("payments of almost nothing")
	}
}

// exactly is the worth of an amount in dollars, by the rates of the world and without rounding.
func exactly(a money.Amount) *big.Rat {
	worth, ok := new(big.Rat).SetString(a.Decimal())
	if !ok {
		panic("no number: " + a.Decimal())
	}
	if a.Currency == money.USD {
		return worth
	}
	rate, ok := new(big.Rat).SetString(localRates[a.Currency])
	if !ok {
		panic("no rate of " + string(a.Currency))
	}
	return worth.Quo(worth, rate)
}

// checkWorth proves that rounding gave nobody anything: merchants are credited with no more than shoppers paid and got back, and no
// more arrives from a payout than left the balance.
func (w *world) checkWorth(all *books) {
	cent, refunds := big.NewRat(1, 100), map[string]int64{} // of a payment, also those that failed
	for _, claim := range all.claims {
		if claim.Kind == pay.UserDispute {
			refunds[claim.Payment]++
		}
	}
	for id, p := range all.payments {
		credited := exactly(p.Price.Amount)
		if credited.Cmp(exactly(p.Price.Local)) > 0 || credited.Cmp(exactly(p.Price.Requested())) > 0 {
			w.find(worthIt, id, "%s is credited with %s for %s of which the shopper pays %s", id, p.Price.Amount, p.Price.Requested(), p.Price.Local)
		}
		// A refund of a part costs the merchant whole cents: of each one, less than a cent may be left over.
		left := exactly(p.Price.Local)
		left.Sub(left, exactly(money.New(p.Refunds.Local, p.Price.Local.Currency))).Add(left, new(big.Rat).Mul(cent, big.NewRat(refunds[id], 1)))
		kept := credited.Sub(credited, exactly(money.New(p.Refunds.USD.USD, money.USD)))
		if refunds[id] > 0 && kept.Cmp(left) >= 0 {
			w.find(worthIt, id, "%s: %s were refunded of %s, and the merchant gave back %d cents of %s", id, money.New(p.Refunds.Local, p.Price.Local.Currency), p.Price.Local, p.Refunds.USD.USD, p.Price.Amount)
		}
	}
	for _, claim := range all.claims {
		most := exactly(claim.Local)
		if slices.ContainsFunc(all.payments[claim.Payment].Strays, func(s pay.Stray) bool { return s.Order == claim.Attempt && s.Kept > 0 }) {
			most.Add(most, cent) // the merchant kept a part, in whole cents: the rest has what was left of one
		}
		if claim.Kind == pay.Inquiry && exactly(money.New(claim.USD, money.USD)).Cmp(most) > 0 {
			w.find(worthIt, claim.Payment, "claim %s is about %s, and counts as %d cents", claim.ID, claim.Local, claim.USD)
		}
	}
	for _, out := range all.withdrawn {
		if exactly(out.Local).Cmp(exactly(money.New(out.Net(), money.USD))) > 0 {
			w.find(worthIt, out.ID, "%s pays out %s for %d cents", out.ID, out.Local, out.Net())
		}
		if out.Status == pay.WithdrawalDone && out.Returned*out.Local.Minor > out.Net()*out.ReturnedLocal {
			w.find(worthIt, out.ID, "of the %s of %s, %d of the smallest unit came back, and the merchant got %d of %d cents", out.Local, out.ID, out.ReturnedLocal, out.Returned, out.Net())
		}
	}
}
