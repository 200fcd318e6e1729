package money

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Against exact arithmetic: each rule rounds once, its own way.
func TestEachConversionKeepsItsRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, a := drawRate(t), drawAmount(t, "amount")
		to := rapid.SampledFrom([]Currency{USD, COP, CLP, "KWD", "CLF"}).Draw(t, "to")
		rate, _ := new(big.Rat).SetString(r.Decimal())
		minor := func(a Amount, to Currency) *big.Rat {
			x := new(big.Rat).SetInt64(a.Minor)
			return x.Mul(x, big.NewRat(int64(power(to.Exponent())), int64(power(a.Currency.Exponent()))))
		}
		value := func(rnd Rounding) *big.Int { return roundRat(new(big.Rat).Quo(minor(a, USD), rate), rnd) }
		got, err := r.ToUSD(a)
		checkConverted(t, got, err, value(HalfEven), USD)
		got, err = r.DifferenceInUSD(a)
		checkConverted(t, got, err, value(Up), USD)

		usd := New(a.Minor, USD)
		local := func(usd Amount, rnd Rounding) *big.Int {
			return roundRat(new(big.Rat).Mul(minor(usd, to), rate), rnd)
		}
		got, err = r.ToLocal(usd, to)
		checkConverted(t, got, err, local(usd, HalfEven), to)

		high := New(drawInt(t, "high"), USD)
		least, most, err := r.Around(usd, high, to)
		low, top := local(usd, Down), local(high, Up)
		switch fits := low.IsInt64() && top.IsInt64(); {
		case fits && (err != nil || least != New(low.Int64(), to) || most != New(top.Int64(), to)):
			t.Fatalf("around %s and %s are %s and %s, %v, want %s and %s minor units", usd, high, least, most, err, low, top)
		case !fits && !errors.Is(err, ErrRange):
			t.Fatalf("around %s and %s are %s and %s, %v, want ErrRange", usd, high, least, most, err)
		}
	})
}

// Random values seldom tie.
func TestConversionsTieToTheEven(t *testing.T) {
	two, half := mustRate(t, "2"), mustRate(t, "0.5")
	for minor, want := range map[int64]int64{1: 0, 3: 2, 5: 2, -3: -2} {
		if got, err := two.ToUSD(New(minor, COP)); err != nil || got != New(want, USD) {
			t.Errorf("%d is worth %s, %v, want %d", minor, got, err, want)
		}
		if got, err := half.ToLocal(New(minor, USD), COP); err != nil || got != New(want, COP) {
			t.Errorf("%d costs %s, %v, want %d", minor, got, err, want)
		}
	}
}

func TestWholeUnitsTieToTheEven(t *testing.T) {
	for minor, want := range map[int64]int64{18748275: 18748300, 18748250: 18748200, 18748350: 18748400, -50: 0} {
		if got := New(minor, COP).WholeUnits(); got != New(want, COP) {
			t.Errorf("%s is %s in whole units, want %s", New(minor, COP), got, New(want, COP))
		}
	}
}
