package money

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustRate(t testing.TB, text string) Rate {
	t.Helper()
	r, err := ParseRate(text)
	if err != nil {
		t.Fatalf("ParseRate(%q) failed with %v", text, err)
	}
	return r
}

func TestEqualRatesAreTheSameValue(t *testing.T) {
	cases := []struct{ text, want string }{
		{"1", "1"}, {"1.0", "1"}, {"1e0", "1"}, {"10e-1", "1"}, {"0.1e1", "1"},
		{"4123.12", "4123.12"}, {"4123.1200000000000000000000", "4123.12"}, {"4.12312e3", "4123.12"},
		{"5e-4", "0.0005"}, {"0.00050", "0.0005"}, {"1200", "1200"}, {"12e2", "1200"},
		{"123456789012345678", "123456789012345678"}, {"1.23456789012345678", "1.23456789012345678"},
		{"1e-18", "0.000000000000000001"}, {"100e-20", "0.000000000000000001"}, {"1e17", "100000000000000000"},
		{"0.00000000000000000123456789012345678", "0.00000000000000000123456789012345678"},
	}
	for _, c := range cases {
		r := mustRate(t, c.text)
		if got := r.Decimal(); got != c.want || r.String() != c.want {
			t.Errorf("ParseRate(%q) is %q, want %q", c.text, got, c.want)
		}
		if again := mustRate(t, c.want); again != r {
			t.Errorf("ParseRate(%q) is not == ParseRate(%q)", c.text, c.want)
		}
		if r.IsZero() {
			t.Errorf("ParseRate(%q) is the zero rate", c.text)
		}
	}
}

func TestParseRateRefusesWhatIsNoRate(t *testing.T) {
	cases := []struct {
		text string
		want error
	}{
		{"", ErrSyntax}, {"1,5", ErrSyntax}, {"+1", ErrSyntax}, {".5", ErrSyntax}, {"1/2", ErrSyntax}, {"NaN", ErrSyntax},
		{"0", ErrRange}, {"0.000", ErrRange}, {"0e5", ErrRange}, {"-0", ErrRange}, {"-1", ErrRange}, {"-4123.12", ErrRange},
		{"1234567890123456789", ErrRange}, {"1.234567890123456789", ErrRange}, {strings.Repeat("9", 40), ErrRange},
		{"1e18", ErrRange}, {"999999999999999999e1", ErrRange}, {"9e-19", ErrRange}, {"0.999999999999999999e-18", ErrRange},
		{"1e999999999", ErrRange}, {"1e-999999999", ErrRange}, {"1.5e-35", ErrRange}, {"1e-36", ErrRange},
	}
	for _, c := range cases {
		if r, err := ParseRate(c.text); !errors.Is(err, c.want) || r != (Rate{}) {
			t.Errorf("ParseRate(%q) is %v, %v, want %v", c.text, r, err, c.want)
		}
	}
}

func TestConvertCrossesExponents(t *testing.T) {
	cases := []struct {
		rate      string
		amount    Amount
		want      Amount
		rounding  Rounding
		direction string
	}{
		{"4123.12", New(100, USD), New(412312, COP), HalfEven, "Convert"},
		{"945.5", New(100, USD), New(946, CLP), HalfEven, "Convert"},
		{"944.5", New(100, USD), New(944, CLP), HalfEven, "Convert"},
		{"944.5", New(100, USD), New(945, CLP), HalfUp, "Convert"},
		{"944.5", New(-100, USD), New(-945, CLP), HalfUp, "Convert"},
		{"0.00105", New(1000, CLP), New(105, USD), Down, "Convert"},
		{"0.3075", New(10001, USD), New(30753, "KWD"), Down, "Convert"},
		{"0.0001", New(1, CLP), New(1, "CLF"), Down, "Convert"},
		{"1", New(500, USD), New(5, CLP), Down, "Convert"},
		{"1", New(5, CLP), New(500, USD), Down, "Convert"},
		{"4123.12", New(412312, COP), New(100, USD), Down, "ConvertBack"},
		{"4123.12", New(412311, COP), New(99, USD), Down, "ConvertBack"},
		{"945.5", New(946, CLP), New(101, USD), Up, "ConvertBack"},
		{"3", New(1, CLP), New(3333, "CLF"), HalfEven, "ConvertBack"},
		{"0.0001", New(1, "CLF"), New(1, CLP), HalfEven, "ConvertBack"},
		{"2", New(-5, USD), New(-2, "EUR"), HalfEven, "ConvertBack"},
	}
	for _, c := range cases {
		convert := mustRate(t, c.rate).Convert
		if c.direction == "ConvertBack" {
			convert = mustRate(t, c.rate).ConvertBack
		}
		if got, err := convert(c.amount, c.want.Currency, c.rounding); err != nil || got != c.want {
			t.Errorf("%s of %v at %s is %v, %v, want %v", c.direction, c.amount, c.rate, got, err, c.want)
		}
	}
}

func TestConvertSaysWhenTheResultDoesNotFit(t *testing.T) {
	most := New(math.MaxInt64, USD)
	for _, text := range []string{"2", "1.0000000000000001", "1e17", "99999999999999999.9"} {
		if got, err := mustRate(t, text).Convert(most, COP, Down); !errors.Is(err, ErrRange) || got != (Amount{}) {
			t.Errorf("Convert of %v at %s is %v, %v, want ErrRange", most, text, got, err)
		}
	}
	if got, err := mustRate(t, "1e-18").ConvertBack(most, "CLF", Down); !errors.Is(err, ErrRange) || got != (Amount{}) {
		t.Errorf("ConvertBack of %v at 1e-18 is %v, %v, want ErrRange", most, got, err)
	}
	if got, err := mustRate(t, "1e-18").Convert(most, COP, Up); err != nil || got != New(10, COP) {
		t.Errorf("Convert of %v at 1e-18 is %v, %v, want 0.10 COP", most, got, err)
	}
	least := New(math.MinInt64, USD)
	if got, err := mustRate(t, "1").Convert(least, COP, Down); err != nil || got != New(math.MinInt64, COP) {
		t.Errorf("Convert of %v at 1 is %v, %v", least, got, err)
	}
}

func TestZeroRateConvertsNothing(t *testing.T) {
	if !(Rate{}).IsZero() {
		t.Error("the zero value says it is a rate")
	}
	mustPanic(t, "Convert", func() { _, _ = Rate{}.Convert(New(1, USD), COP, Down) })
	mustPanic(t, "ConvertBack", func() { _, _ = Rate{}.ConvertBack(New(1, USD), COP, Down) })
	mustPanic(t, "Convert to no currency", func() { _, _ = mustRate(t, "1").Convert(New(1, USD), "", Down) })
}

// drawRate covers everyday rates and the corners that leave the fast path.
func drawRate(t *rapid.T) Rate {
	everyday := rapid.StringMatching(`[1-9][0-9]{0,4}\.[0-9]{1,6}`)
	extreme := rapid.StringMatching(`[1-9]\.[0-9]{1,17}e(-18|-1[0-7]|-?[0-9]|1[0-7])`)
	text := rapid.OneOf(everyday, extreme).Draw(t, "rate")
	r, err := ParseRate(text)
	if err != nil {
		t.Fatalf("ParseRate(%q) failed with %v", text, err)
	}
	exact, _ := new(big.Rat).SetString(text)
	if back, _ := new(big.Rat).SetString(r.Decimal()); back.Cmp(exact) != 0 {
		t.Fatalf("ParseRate(%q) is %s", text, r)
	}
	if again, err := ParseRate(r.Decimal()); err != nil || again != r {
		t.Fatalf("ParseRate(%q) and of its decimal %s differ: %v", text, r, err)
	}
	return r
}

func TestConvertIsExactBeforeItRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, a := drawRate(t), drawAmount(t, "amount")
		to := rapid.SampledFrom([]Currency{USD, COP, CLP, "KWD", "CLF"}).Draw(t, "to")
		rate, _ := new(big.Rat).SetString(r.Decimal())
		minor := new(big.Rat).SetInt64(a.Minor)
		minor.Mul(minor, big.NewRat(int64(power(to.Exponent())), int64(power(a.Currency.Exponent()))))
		for _, rnd := range roundings {
			got, err := r.Convert(a, to, rnd)
			checkConverted(t, got, err, roundRat(new(big.Rat).Mul(minor, rate), rnd), to)
			got, err = r.ConvertBack(a, to, rnd)
			checkConverted(t, got, err, roundRat(new(big.Rat).Quo(minor, rate), rnd), to)
		}
	})
}

func checkConverted(t *rapid.T, got Amount, err error, want *big.Int, to Currency) {
	t.Helper()
	if !want.IsInt64() {
		if !errors.Is(err, ErrRange) {
			t.Fatalf("got %v, %v, want ErrRange for %s", got, err, want)
		}
		return
	}
	if err != nil || got != New(want.Int64(), to) {
		t.Fatalf("got %v, %v, want %s minor units of %s", got, err, want, to)
	}
}

// The fast and the slow division must be one function to every caller.
func TestBothDivisionsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawInt(t, "n")
		num := rapid.Uint64Min(1).Draw(t, "num")
		den := rapid.Uint64Min(1).Draw(t, "den")
		for _, r := range roundings {
			fast, fastErr := scaled(New(n, USD), USD, num, 0, den, 0, r)
			slow, ok := divideBig(n, bigScaled(num, 0), bigScaled(den, 0), r)
			if ok != (fastErr == nil) || ok && fast.Minor != slow {
				t.Fatalf("%d × %d / %d with rounding %d is %v, %v and %d, %t", n, num, den, r, fast, fastErr, slow, ok)
			}
		}
	})
}

func BenchmarkConvert(b *testing.B) {
	a := New(123456789, USD)
	for name, text := range map[string]string{"everyday": "4123.1275", "extreme": "1.23456789012345678e-18"} {
		r := mustRate(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Convert(a, COP, HalfEven)
			}
		})
	}
}

func BenchmarkParseRate(b *testing.B) {
	for b.Loop() {
		_, _ = ParseRate("4123.1275")
	}
}

func TestRateDiffersByMoreThanItsShare(t *testing.T) {
	for _, c := range []struct {
		rate, from string
		bps        int64
		want       bool
	}{
		{"5.4", "5.4", 0, false},
		{"5.4000000000000001", "5.4", 0, true},
		{"6.48", "5.4", 2000, false}, // a fifth more, exactly
		{"6.4800001", "5.4", 2000, true},
		{"4.32", "5.4", 2000, false},
		{"4.3199999", "5.4", 2000, true},
		{"0.185", "5.4", 2000, true}, // inverted
		{"54", "5.4", 2000, true},    // a slipped point
		{"4120.5", "4e3", 2000, false},
		{"1e17", "1e-18", 10000, true},
		{"1e-18", "1e17", 10000, false},
	} {
		r, err := ParseRate(c.rate)
		from, fromErr := ParseRate(c.from)
		if err != nil || fromErr != nil {
			t.Fatal(err, fromErr)
		}
		if got := r.Differs(from, c.bps); got != c.want {
			t.Errorf("%s differs from %s by more than %d: %v, want %v", c.rate, c.from, c.bps, got, c.want)
		}
	}
}
