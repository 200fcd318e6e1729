package money

// How the service rounds what it converts. Each rule is here once, with its reason. Whoever
// converts an amount calls it. The operator owes nobody what no shopper paid: what a merchant is credited with and what
// is paid out round down, what a shopper is asked for rounds up. So however an amount is split, its parts bring
// a merchant no more than the whole.

// expected is for amounts that nobody is credited with: the nearest, and a tie to the
// even neighbor, so that many ties do not add up to a drift for either side.
const expected = HalfEven

// Price is what a shopper pays for an amount in USD: rounded up, so that it is worth the USD. It fails and
// panics as Convert does.
func (r Rate) Price(usd Amount, to Currency) (Amount, error) { return r.Convert(usd, to, Up) }

// Payout is what arrives for an amount in USD that is paid out: rounded down. It fails and panics as Convert
// does.
func (r Rate) Payout(usd Amount, to Currency) (Amount, error) { return r.Convert(usd, to, Down) }

// ToLocal is an amount in USD in another currency, for comparisons: what a provider's fee should be. It fails and
// panics as Convert does.
func (r Rate) ToLocal(usd Amount, to Currency) (Amount, error) { return r.Convert(usd, to, expected) }

// ToUSD is the value of an amount in USD as a merchant is credited with it: rounded down. It fails and panics as
// Convert does.
func (r Rate) ToUSD(local Amount) (Amount, error) { return r.ConvertBack(local, USD, Down) }

// OwedInUSD is the value in USD of an amount that a provider owes: the nearest, since the sum of many such values
// is compared with what the provider pays. It fails and panics as Convert does.
func (r Rate) OwedInUSD(local Amount) (Amount, error) { return r.ConvertBack(local, USD, expected) }

// ChargedInUSD is what a payout of an amount takes of a balance in USD: rounded up, so that the amount arrives whole. It fails and
// panics as Convert does.
func (r Rate) ChargedInUSD(local Amount) (Amount, error) { return r.ConvertBack(local, USD, Up) }

// DifferenceInUSD is the value of what two sides disagree about: rounded up, so that no difference
// is worth nothing. It fails and panics as Convert does.
func (r Rate) DifferenceInUSD(local Amount) (Amount, error) { return r.ConvertBack(local, USD, Up) }

// Around is the range in another currency that covers the USD amounts from low to high: rounded
// outward, so that an amount at its end is not refused. It fails and panics as Convert does.
func (r Rate) Around(low, high Amount, to Currency) (least, most Amount, err error) {
	if least, err = r.Convert(low, to, Down); err != nil {
		return least, most, err
	}
	most, err = r.Convert(high, to, Up)
	return least, most, err
}

// WholeUnits is what a shopper pays where nobody takes cents, rounded up as every Price: 187482.25 COP is
// 187483 COP. It panics when the result overflows.
func (a Amount) WholeUnits() Amount { return a.Whole(Up) }
