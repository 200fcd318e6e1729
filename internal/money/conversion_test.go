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
		checkConverted(t, got, err, value(Down), USD)
		got, err = r.OwedInUSD(a)
		checkConverted(t, got, err, value(HalfEven), USD)
		got, err = r.DifferenceInUSD(a)
		checkConverted(t, got, err, value(Up), USD)

		usd := New(a.Minor, USD)
		local := func(usd Amount, rnd Rounding) *big.Int {
			return roundRat(new(big.Rat).Mul(minor(usd, to), rate), rnd)
		}
		got, err = r.ToLocal(usd, to)
		checkConverted(t, got, err, local(usd, HalfEven), to)
		got, err = r.Price(usd, to)
		checkConverted(t, got, err, local(usd, Up), to)
		got, err = r.Payout(usd, to)
		checkConverted(t, got, err, local(usd, Down), to)

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
		if got, err := two.OwedInUSD(New(minor, COP)); err != nil || got != New(want, USD) {
			t.Errorf("%d is worth %s, %v, want %d", minor, got, err, want)
		}
		if got, err := half.ToLocal(New(minor, USD), COP); err != nil || got != New(want, COP) {
			t.Errorf("%d costs %s, %v, want %d", minor, got, err, want)
		}
	}
}

func TestWholeUnitsRoundUp(t *testing.T) {
	for minor, want := range map[int64]int64{18748275: 18748300, 18748201: 18748300, 18748300: 18748300, -50: -100} {
		if got := New(minor, COP).WholeUnits(); got != New(want, COP) {
			t.Errorf("%s is %s in whole units, want %s", New(minor, COP), got, New(want, COP))
		}
	}
}

// Whoever splits an amount gains nothing: the parts are worth at most the whole, in every currency and at every
// rate. And what a shopper pays for parts of an amount in USD is worth at least their sum.
func TestPartsAreWorthAtMostTheWhole(t *testing.T) {
	var currencies []Currency
	for _, letters := range product(3) {
		if c := Currency(letters); c.Valid() {
			currencies = append(currencies, c)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{coef: rapid.Uint64Range(1, 1_000_000_000).Draw(t, "coef"), places: uint8(rapid.IntRange(0, 9).Draw(t, "places"))}
		r, err := ParseRate(r.Decimal()) // in its unique form
		if err != nil {
			t.Fatal(err)
		}
		currency := rapid.SampledFrom(currencies).Draw(t, "currency")
		parts := rapid.SliceOfN(rapid.Int64Range(1, 100_000), 1, 30).Draw(t, "parts")
		var whole, credited, owed int64
		for _, part := range parts {
			usd, err := r.ToUSD(New(part, currency))
			if err != nil {
				t.Skip("beyond every amount")
			}
			credited += usd.Minor
			whole += part
			price, err := r.Price(New(part, USD), currency)
			if err != nil {
				t.Skip("beyond every amount")
			}
			owed += price.Minor
		}
		worth, err := r.ToUSD(New(whole, currency))
		if err == nil && credited > worth.Minor {
			t.Fatalf("%d parts of %s at %s bring %d cents, at once they bring %d", len(parts), New(whole, currency), r, credited, worth.Minor)
		}
		if worth, err = r.ToUSD(New(owed, currency)); err == nil && worth.Minor < whole {
			t.Fatalf("%d cents in %d parts cost %s at %s, worth %s", whole, len(parts), New(owed, currency), r, worth)
		}
	})
}

// product lists all words of n capital letters.
func product(n int) []string {
	if n == 0 {
		return []string{""}
	}
	var words []string
	for _, rest := range product(n - 1) {
		for letter := 'A'; letter <= 'Z'; letter++ {
			words = append(words, string(letter)+rest)
		}
	}
	return words
}
