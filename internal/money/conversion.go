package money

// How the service rounds what it converts. Each rule is here once, with its reason. Whoever
// converts an amount calls it.

// converted is for amounts that are charged, paid out or expected: the nearest, and a tie to the
// even neighbor, so that many ties do not add up to a drift for either side.
const converted = HalfEven

// ToLocal is an amount in USD in another currency: what a shopper pays, what a withdrawal brings,
// what a fee should be. It fails and panics as Convert does.
func (r Rate) ToLocal(usd Amount, to Currency) (Amount, error) { return r.Convert(usd, to, converted) }

// ToUSD is the value of an amount in USD: what a payment is worth. It fails and panics as Convert
// does.
func (r Rate) ToUSD(local Amount) (Amount, error) { return r.ConvertBack(local, USD, converted) }

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

// WholeUnits is a converted amount where nobody takes cents: 187482.75 COP is 187483 COP. It
// panics when the result overflows.
func (a Amount) WholeUnits() Amount { return a.Whole(converted) }
