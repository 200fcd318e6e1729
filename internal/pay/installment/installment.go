// Package installment says how a shopper may pay by card in monthly installments (cuotas, parcelas, meses sin intereses), and how one
// did. The issuer collects them; we and the merchant get the whole amount at once, so nothing here moves money.
package installment

import (
	"fmt"
	"slices"

	"github.com/cascadapay/cascada/internal/money"
)

// Most is the largest number of installments that anybody may ask for or offer.
const Most = 48

// Terms say how a shopper may pay. The zero value is: at once.
type Terms struct {
	Max          int          // the most installments that the shopper may choose; 0 and 1: pays at once
	InterestFree int          // up to this count the merchant bears the interest; 0 and 1: the shopper bears it for every count
	Min          money.Amount // the least amount of one installment, in the payment's currency; zero: any
}

// Offered reports whether the shopper may choose installments.
func (t Terms) Offered() bool { return t.Max > 1 }

// Of returns the terms for an amount: those counts whose installments are less than the least amount are gone. Zero terms remain if
// no count is left, or if the least amount is in another currency.
func (t Terms) Of(local money.Amount) Terms {
	if t.Min.IsPositive() {
		if t.Min.Currency != local.Currency {
			return Terms{}
		}
		t.Max = int(min(int64(t.Max), local.Minor/t.Min.Minor))
	}
	if !t.Offered() {
		return Terms{}
	}
	t.InterestFree = min(t.InterestFree, t.Max)
	return t
}

// Within returns the terms without what a limit does not grant. The least amount stays; it is the limit's if there is none.
func (t Terms) Within(limit Terms) Terms {
	t.Max, t.InterestFree = min(t.Max, limit.Max), min(t.InterestFree, limit.InterestFree)
	if !t.Min.IsPositive() || t.Min.Currency == limit.Min.Currency && t.Min.Cmp(limit.Min) < 0 {
		t.Min = limit.Min
	}
	if !t.Offered() {
		return Terms{}
	}
	return t
}

// Offer is which numbers of installments shoppers may choose with a provider, besides paying at once. Both lists are ascending,
// without 1. A card's issuer may offer its holder fewer.
type Offer struct {
	InterestFree []int // the merchant bears the interest: the shopper pays the amount of the payment
	Interest     []int // the shopper bears the interest, which the issuer or the provider adds to the amount
}

// Max is the largest number of installments; 0 if there are none.
func (o Offer) Max() int {
	most := 0
	for _, list := range [][]int{o.InterestFree, o.Interest} {
		if len(list) > 0 {
			most = max(most, slices.Max(list))
		}
	}
	return most
}

// Free is the largest number of installments without interest; 0 if there are none.
func (o Offer) Free() int { return Offer{InterestFree: o.InterestFree}.Max() }

// Under returns the part of an offer that terms allow, for a provider that shows shoppers exactly that. A count above the terms'
// InterestFree is with interest only if the provider can do that.
func (o Offer) Under(t Terms) Offer {
	if !t.Offered() {
		return Offer{}
	}
	return Offer{
		InterestFree: slices.DeleteFunc(slices.Clone(o.InterestFree), func(n int) bool { return n > min(t.Max, t.InterestFree) }),
		Interest:     slices.DeleteFunc(slices.Clone(o.Interest), func(n int) bool { return n > t.Max || n <= t.InterestFree && slices.Contains(o.InterestFree, n) }),
	}
}

// With adds what another provider offers.
func (o Offer) With(other Offer) Offer {
	join := func(a, b []int) []int { return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b)))) }
	return Offer{InterestFree: join(o.InterestFree, other.InterestFree), Interest: join(o.Interest, other.Interest)}
}

// Payer is who bears the interest of installments.
type Payer string

// The payers.
const (
	Merchant Payer = "merchant" // the shopper pays the amount of the payment, and no interest
	Shopper  Payer = "shopper"
)

// Plan is how the shopper paid. The zero value is: at once, or not known.
type Plan struct {
	Count int          // of installments, at least 2
	Each  money.Amount // one of them, in the payment's currency, as the provider says; zero if it does not
	Total money.Amount // what the shopper pays in all, interest included; zero if it is not known
	By    Payer        // who bears the interest; "" if it is not known
}

// Known reports whether the shopper paid in installments, as far as is known.
func (p Plan) Known() bool { return p.Count > 1 }

// Interest reports whether the shopper bears interest.
func (p Plan) Interest() bool { return p.By == Shopper }

// Even reports whether the installments are all the same, as far as we know. Otherwise the issuer says which one differs, by some
// minor units: Each is about what one is.
func (p Plan) Even() bool { return even(p.Each, p.Total, p.Count) }

func even(each, total money.Amount, count int) bool {
	return each.IsZero() || total.IsZero() || each.Currency != total.Currency || each.Minor*int64(count) == total.Minor
}

// String is the plan for people.
func (p Plan) String() string {
	text := fmt.Sprintf("%d installments", p.Count)
	if !p.Each.IsZero() {
		text += " of " + map[bool]string{false: "about "}[p.Even()] + p.Each.String()
	}
	if !p.Total.IsZero() {
		text += ", " + p.Total.String() + " in all"
	}
	if p.By != "" {
		text += ", interest borne by the " + string(p.By)
	}
	return text
}

// For returns the plan of a payment, with what the provider left out and follows from the rest. Money in another currency is left out.
func (p Plan) For(local money.Amount) Plan {
	if !p.Known() {
		return Plan{}
	}
	for _, a := range []*money.Amount{&p.Each, &p.Total} {
		if a.Currency != local.Currency || !a.IsPositive() {
			*a = money.Amount{}
		}
	}
	if p.By == "" && !p.Total.IsZero() {
		p.By = Merchant
		if p.Total.Cmp(local) > 0 {
			p.By = Shopper
		}
	}
	if p.Total.IsZero() && p.By == Merchant {
		p.Total = local
	}
	if p.Each.IsZero() && !p.Total.IsZero() {
		p.Each = Each(p.Total, p.Count)
	}
	return p
}

// Each is one of count installments of an amount, rounded up to the minor unit: no installment is larger.
func Each(total money.Amount, count int) money.Amount {
	return total.Fraction(1, int64(count), money.Up)
}

// Even reports whether count installments of an amount are all the same.
func Even(total money.Amount, count int) bool { return even(Each(total, count), total, count) }
