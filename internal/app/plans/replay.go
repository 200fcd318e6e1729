package plans

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
)

// Replay asks what a plan would have earned.
type Replay struct {
	Plan      plans.Plan
	Live      bool
	From, To  time.Time // when the payments were made: from inclusive, to exclusive
	Merchants []string  // those whose payments are counted; none: those who have the plan now, or all if nobody has
}

// Earned is what completed payments brought, in USD cents. Refunds and disputes that came later are not in it.
type Earned struct {
	Payments int64
	Volume   int64
	Was, Is  Sums // with the terms that they were made with, and with the plan
}

// Sums are the parts of payments, in USD cents.
type Sums struct{ Platform, Cost, Tax, Reserve int64 }

// Replayed is the result of a Replay.
type Replayed struct {
	Total    Earned
	Of       []MerchantEarned // by merchant
	Unpriced int64            // payments over rails that the catalog no longer has; they are not counted
}

// MerchantEarned is what the payments of a merchant brought.
type MerchantEarned struct {
	Merchant string
	Earned
}

// replayPart is how many payments are read at a time.
const replayPart = 1000

// Replay computes the fees of past payments under a plan. Nothing is changed. A reserve's cap is not counted: it depends on what was
// held at each moment.
//
// Errors: those of Check.
func (pl *Plans) Replay(ctx context.Context, r Replay) (Replayed, error) {
	var out Replayed
	if err := pl.Check(r.Plan); err != nil {
		return out, err
	}
	v := plans.Version{Plan: r.Plan}
	v.Reserve.Cap = 0
	counted, err := pl.counted(ctx, r)
	if err != nil {
		return out, err
	}
	known := map[string]merchants.Merchant{}
	sums := map[string]*Earned{}
	after, before := id.From(pay.PaymentPrefix, r.From), id.From(pay.PaymentPrefix, r.To)
	for {
		list, err := pl.Store.Payments().Between(ctx, r.Live, after, before, replayPart)
		if err != nil {
			return out, err
		}
		for _, p := range list {
			after = p.ID
			if p.Times.Completed.IsZero() || !counted(p.Merchant) {
				continue
			}
			rail, priced := pl.catalog.ByID[p.Way.RailID]
			if !priced {
				out.Unpriced++
				continue
			}
			m, read := known[p.Merchant]
			if !read {
				if m, err = pl.AnyMerchant(ctx, p.Merchant); err != nil {
					return out, err
				}
				known[p.Merchant], sums[p.Merchant] = m, &Earned{}
			}
			if err := pl.add(sums[p.Merchant], v, m, rail, p); err != nil {
				return out, err
			}
		}
		if len(list) < replayPart {
			break
		}
	}
	for merchant, e := range sums {
		out.Of = append(out.Of, MerchantEarned{merchant, *e})
		out.Total = out.Total.plus(*e)
	}
	slices.SortFunc(out.Of, func(a, b MerchantEarned) int { return cmp.Compare(a.Merchant, b.Merchant) })
	return out, nil
}

// counted says which merchants' payments a replay counts.
func (pl *Plans) counted(ctx context.Context, r Replay) (func(string) bool, error) {
	if len(r.Merchants) > 0 {
		return func(id string) bool { return slices.Contains(r.Merchants, id) }, nil
	}
	have := map[string]bool{}
	now := pl.Now()
	for after := ""; ; {
		list, err := pl.Store.Merchants().List(ctx, after, replayPart)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			after = m.ID
			if v, err := pl.Book().Of(m, now); err == nil && v.Name == r.Plan.Name {
				have[m.ID] = true
			}
		}
		if len(list) < replayPart {
			break
		}
	}
	return func(id string) bool { return len(have) == 0 || have[id] }, nil
}

func (pl *Plans) add(e *Earned, v plans.Version, m merchants.Merchant, rail accounts.Rail, p pay.Payment) error {
	terms, err := v.For(m, rail, pl.usd)
	if err != nil {
		return err
	}
	fees, reserve := terms.Charge(merchants.Charged{USD: p.Price.Amount, Cost: rail.Fee, Converted: p.Price.Local.Currency != money.USD})
	*e = e.plus(Earned{1, p.Price.Amount.Minor, sumsOf(p.Terms.Fees, p.Terms.Reserve), sumsOf(fees, reserve)})
	return nil
}

func sumsOf(f merchants.Fees, reserve int64) Sums {
	return Sums{f.Platform, f.Provider + f.Flat + f.Network, f.Tax, reserve}
}

func (s Sums) plus(o Sums) Sums {
	return Sums{s.Platform + o.Platform, s.Cost + o.Cost, s.Tax + o.Tax, s.Reserve + o.Reserve}
}

func (e Earned) plus(o Earned) Earned {
	return Earned{e.Payments + o.Payments, e.Volume + o.Volume, e.Was.plus(o.Was), e.Is.plus(o.Is)}
}
