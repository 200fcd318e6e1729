package money

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseReadsExactAmounts(t *testing.T) {
	cases := []struct {
		text     string
		currency Currency
		want     int64
	}{
		{"25", USD, 2500}, {"25.5", USD, 2550}, {"25.50", USD, 2550}, {"25.5000000000000000000000000000", USD, 2550},
		{"1e2", USD, 10000}, {"1E+2", USD, 10000}, {"1.5e1", USD, 1500}, {"100e-2", USD, 100}, {"0.0125e2", USD, 125},
		{"-3.10", USD, -310}, {"0", USD, 0}, {"-0", USD, 0}, {"0.00", USD, 0}, {"0.000", CLP, 0}, {"-0e9", USD, 0},
		{"0.01", USD, 1}, {"0.1", USD, 10}, {"0.001", "KWD", 1}, {"0.0001", "CLF", 1}, {"1990", CLP, 1990},
		{"1990.0", CLP, 1990}, {"19.9e2", CLP, 1990}, {"10.05", COP, 1005},
		// Where a float64 would already have lost a cent.
		{"90071992547409.93", USD, 9007199254740993},
		{"92233720368547758.07", USD, math.MaxInt64}, {"-92233720368547758.08", USD, math.MinInt64},
		{"9223372036854775807", CLP, math.MaxInt64}, {"-9223372036854775808", CLP, math.MinInt64},
		// Zero at any size, and a long text that comes to a plain number.
		{"0e999999999999999999999", USD, 0}, {"0.0e-999999999999999999999", USD, 0},
		{"0." + strings.Repeat("0", 1000) + "5e1000", USD, 50},
		{"5" + strings.Repeat("0", 1000) + "e-1000", USD, 500},
	}
	for _, c := range cases {
		got, err := Parse(c.text, c.currency)
		if err != nil || got != New(c.want, c.currency) {
			t.Errorf("Parse(%.40q, %s) is %v, %v, want %d minor units", c.text, c.currency, got, err, c.want)
		}
	}
}

func TestParseRefusesWhatItCannotHold(t *testing.T) {
	cases := []struct {
		text     string
		currency Currency
		want     error
	}{
		{"", USD, ErrSyntax}, {" ", USD, ErrSyntax}, {" 1", USD, ErrSyntax}, {"1 ", USD, ErrSyntax}, {"+1", USD, ErrSyntax},
		{"-", USD, ErrSyntax}, {"--1", USD, ErrSyntax}, {"01", USD, ErrSyntax}, {"-01", USD, ErrSyntax}, {"00", USD, ErrSyntax},
		{".5", USD, ErrSyntax}, {"5.", USD, ErrSyntax}, {"5.e1", USD, ErrSyntax}, {"1.2.3", USD, ErrSyntax}, {"1,5", USD, ErrSyntax},
		{"1e", USD, ErrSyntax}, {"1e+", USD, ErrSyntax}, {"1e1.5", USD, ErrSyntax}, {"1ee1", USD, ErrSyntax}, {"e1", USD, ErrSyntax},
		{"0x10", USD, ErrSyntax}, {"1_000", USD, ErrSyntax}, {"NaN", USD, ErrSyntax}, {"Infinity", USD, ErrSyntax},
		{"null", USD, ErrSyntax}, {`"25"`, USD, ErrSyntax}, {"٢٥", USD, ErrSyntax}, {"1\x00", USD, ErrSyntax},
		{"0.001", USD, ErrPrecision}, {"25.555", USD, ErrPrecision}, {"0.5", CLP, ErrPrecision}, {"1e-3", USD, ErrPrecision},
		{"0.0001", "KWD", ErrPrecision}, {"1e-999999999999999999999", USD, ErrPrecision},
		{"1.00000000000000000000000000000001", USD, ErrPrecision},
		{"92233720368547758.08", USD, ErrRange}, {"-92233720368547758.09", USD, ErrRange},
		{"9223372036854775808", CLP, ErrRange}, {"18446744073709551616", CLP, ErrRange}, {"-18446744073709551616", CLP, ErrRange},
		{"1e17", USD, ErrRange}, {"1e999999999", USD, ErrRange}, {"-1e999999999999999999999", USD, ErrRange},
		{strings.Repeat("9", 1000), USD, ErrRange},
		{"184467440737095516170", CLP, ErrRange}, // comes to 10 if 64 bits wrap
	}
	for _, c := range cases {
		got, err := Parse(c.text, c.currency)
		if !errors.Is(err, c.want) || got != (Amount{}) {
			t.Errorf("Parse(%.40q, %s) is %v, %v, want %v", c.text, c.currency, got, err, c.want)
		}
	}
}

func TestDecimalIsTheShortestExactNumber(t *testing.T) {
	cases := []struct {
		amount          Amount
		decimal, people string
	}{
		{New(1250, USD), "12.5", "12.50 USD"},
		{New(0, USD), "0", "0.00 USD"},
		{New(-5, USD), "-0.05", "-0.05 USD"},
		{New(120000, USD), "1200", "1200.00 USD"},
		{New(1, USD), "0.01", "0.01 USD"},
		{New(100, USD), "1", "1.00 USD"},
		{New(1990, CLP), "1990", "1990 CLP"},
		{New(0, CLP), "0", "0 CLP"},
		{New(1, "KWD"), "0.001", "0.001 KWD"},
		{New(-12340, "CLF"), "-1.234", "-1.2340 CLF"},
		{New(math.MaxInt64, USD), "92233720368547758.07", "92233720368547758.07 USD"},
		{New(math.MinInt64, USD), "-92233720368547758.08", "-92233720368547758.08 USD"},
		{New(math.MinInt64, CLP), "-9223372036854775808", "-9223372036854775808 CLP"},
	}
	for _, c := range cases {
		if got := c.amount.Decimal(); got != c.decimal {
			t.Errorf("Decimal of %d %s is %q, want %q", c.amount.Minor, c.amount.Currency, got, c.decimal)
		}
		if got := c.amount.String(); got != c.people {
			t.Errorf("String of %d %s is %q, want %q", c.amount.Minor, c.amount.Currency, got, c.people)
		}
	}
}

func TestStringOfABadAmountStillPrints(t *testing.T) {
	if got, want := New(7, "???").String(), `7 minor units of "???"`; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	mustPanic(t, "Decimal of an unknown currency", func() { _ = New(7, "???").Decimal() })
}

func TestAmountsDoNotMixOrOverflow(t *testing.T) {
	one, most, least := New(1, USD), New(math.MaxInt64, USD), New(math.MinInt64, USD)
	panics := map[string]func(){
		"USD + COP":                  func() { one.Add(New(1, COP)) },
		"USD - COP":                  func() { one.Sub(New(1, COP)) },
		"USD against COP":            func() { one.Cmp(New(1, COP)) },
		"most + 1":                   func() { most.Add(one) },
		"least + -1":                 func() { least.Add(one.Neg()) },
		"least + least":              func() { least.Add(least) },
		"least - 1":                  func() { least.Sub(one) },
		"most - -1":                  func() { most.Sub(one.Neg()) },
		"0 - least":                  func() { New(0, USD).Sub(least) },
		"-least":                     func() { least.Neg() },
		"a fraction of most":         func() { most.Fraction(2, 1, Down) },
		"a fraction rounded past it": func() { most.Fraction(math.MaxInt64, math.MaxInt64-1, Up) },
		"a fraction of least, up":    func() { least.Fraction(-1, 1, Down) },
		"a fraction over 0":          func() { one.Fraction(1, 0, Down) },
		"a fraction over -1":         func() { one.Fraction(1, -1, Down) },
		"a rounding that is none":    func() { one.Fraction(1, 2, Rounding(9)) },
		"Parse without a currency":   func() { _, _ = Parse("1", "") },
	}
	for what, f := range panics {
		mustPanic(t, what, f)
	}
	same := []struct {
		what      string
		got, want Amount
	}{
		{"most + least", most.Add(least), New(-1, USD)},
		{"least - least", least.Sub(least), New(0, USD)},
		{"-1 - most", New(-1, USD).Sub(most), least},
		{"least + 0", least.Add(New(0, USD)), least},
		{"least × 1", least.Fraction(1, 1, HalfEven), least},
		{"least × most / most", least.Fraction(math.MaxInt64, math.MaxInt64, Up), least},
		{"most × -1", most.Fraction(-1, 1, Up), most.Neg()},
	}
	for _, c := range same {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestEachRoundingGoesItsWay(t *testing.T) {
	cases := []struct {
		minor, num, den            int64
		halfEven, halfUp, down, up int64
	}{
		{5, 1, 2, 2, 3, 2, 3}, // 2.5
		{-5, 1, 2, -2, -3, -2, -3},
		{7, 1, 2, 4, 4, 3, 4}, // 3.5
		{-7, 1, 2, -4, -4, -3, -4},
		{7, -1, 2, -4, -4, -3, -4},
		{-7, -1, 2, 4, 4, 3, 4},
		{1, 1, 2, 0, 1, 0, 1}, // 0.5
		{1, 1, 3, 0, 0, 0, 1},
		{2, 1, 3, 1, 1, 0, 1},
		{-2, 1, 3, -1, -1, 0, -1},
		{6, 1, 3, 2, 2, 2, 2},
		{0, 7, 3, 0, 0, 0, 0},
		{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 1, math.MaxInt64 - 1, math.MaxInt64 - 1},
	}
	for _, c := range cases {
		for r, want := range map[Rounding]int64{HalfEven: c.halfEven, HalfUp: c.halfUp, Down: c.down, Up: c.up} {
			if got := New(c.minor, USD).Fraction(c.num, c.den, r).Minor; got != want {
				t.Errorf("%d × %d / %d with rounding %d is %d, want %d", c.minor, c.num, c.den, r, got, want)
			}
		}
	}
	if got, want := New(10_050, USD).Share(290, HalfUp), New(291, USD); got != want {
		t.Errorf("2.9 %% of 100.50 USD is %v, want %v", got, want)
	}
}

var roundings = []Rounding{HalfEven, HalfUp, Down, Up}

// roundRat is the slow and obvious rounding that the fast ones must agree with.
func roundRat(x *big.Rat, r Rounding) *big.Int {
	abs := new(big.Rat).Abs(x)
	floor := new(big.Int).Quo(abs.Num(), abs.Denom())
	rest := new(big.Rat).Sub(abs, new(big.Rat).SetInt(floor))
	half := rest.Cmp(big.NewRat(1, 2))
	var up bool
	switch r {
	case HalfEven:
		up = half > 0 || half == 0 && floor.Bit(0) == 1
	case HalfUp:
		up = half >= 0
	case Up:
		up = rest.Sign() != 0
	case Down:
	}
	if up {
		floor.Add(floor, big.NewInt(1))
	}
	if x.Sign() < 0 {
		floor.Neg(floor)
	}
	return floor
}

func drawAmount(t *rapid.T, name string) Amount {
	c := rapid.SampledFrom([]Currency{USD, COP, CLP, "KWD", "CLF", "JPY"}).Draw(t, name+" currency")
	return New(drawInt(t, name), c)
}

// drawInt mixes everyday numbers with the ends of the range.
func drawInt(t *rapid.T, name string) int64 {
	return rapid.OneOf(
		rapid.Int64Range(-1_000_000, 1_000_000),
		rapid.Int64(),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64}),
	).Draw(t, name)
}

func TestParseUndoesDecimal(t *testing.T) {
	currencies := allCurrencies()
	rapid.Check(t, func(t *rapid.T) {
		a := New(drawInt(t, "minor"), rapid.SampledFrom(currencies).Draw(t, "currency"))
		text := a.Decimal()
		if got, err := Parse(text, a.Currency); err != nil || got != a {
			t.Fatalf("Parse(%q) is %v, %v, want %v", text, got, err, a)
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("Decimal of %v is %q, which is not JSON", a, text)
		}
		people, _, _ := strings.Cut(a.String(), " ")
		if got, err := Parse(people, a.Currency); err != nil || got != a {
			t.Fatalf("Parse(%q) is %v, %v, want %v", people, got, err, a)
		}
		if got := string(a.AppendDecimal([]byte("x"))); got != "x"+text {
			t.Fatalf("AppendDecimal gave %q, want x%s", got, text)
		}
	})
}

// checkParse compares Parse with big.Rat on a text whose exponent is small.
func checkParse(t interface{ Fatalf(string, ...any) }, text string, c Currency) {
	got, err := Parse(text, c)
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("big.Rat does not read %q", text)
	}
	exact.Mul(exact, new(big.Rat).SetInt64(int64(power(c.Exponent()))))
	want := error(nil)
	switch {
	case !exact.IsInt():
		want = ErrPrecision
	case !exact.Num().IsInt64():
		want = ErrRange
	}
	if !errors.Is(err, want) {
		t.Fatalf("Parse(%q, %s) failed with %v, want %v", text, c, err, want)
	}
	if want == nil && got != New(exact.Num().Int64(), c) {
		t.Fatalf("Parse(%q, %s) is %v, want %s minor units", text, c, got, exact)
	}
}

func TestParseAgreesWithExactArithmetic(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,6}0{0,20})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]Currency{USD, CLP, "KWD", "CLF"}).Draw(t, "currency")
		checkParse(t, number.Draw(t, "text"), c)
	})
}

func TestSubUndoesAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(rapid.Int64Range(math.MinInt64/2, math.MaxInt64/2).Draw(t, "a"), USD)
		b := New(rapid.Int64Range(math.MinInt64/2, math.MaxInt64/2).Draw(t, "b"), USD)
		if got := a.Add(b).Sub(b); got != a {
			t.Fatalf("%v + %v - %v is %v", a, b, b, got)
		}
		if a.Add(b) != b.Add(a) {
			t.Fatalf("%v + %v depends on the order", a, b)
		}
		if got := a.Sub(b); got != b.Sub(a).Neg() || got != a.Add(b.Neg()) {
			t.Fatalf("%v - %v is %v, not minus the reverse", a, b, got)
		}
		sign := a.Sub(b)
		if c := a.Cmp(b); (c > 0) != sign.IsPositive() || (c < 0) != sign.IsNegative() || (c == 0) != sign.IsZero() {
			t.Fatalf("%v against %v is %d, but the difference is %v", a, b, c, sign)
		}
	})
}

func TestAddPanicsExactlyOnOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawInt(t, "a"), drawInt(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		for op, want := range map[string]*big.Int{"+": new(big.Int).Add(x, y), "-": new(big.Int).Sub(x, y)} {
			got, ok := attempt(func() Amount {
				if op == "+" {
					return New(a, USD).Add(New(b, USD))
				}
				return New(a, USD).Sub(New(b, USD))
			})
			if ok != want.IsInt64() || ok && got.Minor != want.Int64() {
				t.Fatalf("%d %s %d is %v, %t, want %s", a, op, b, got, ok, want)
			}
		}
	})
}

// attempt runs f and says whether it returned rather than panicked.
func attempt(f func() Amount) (a Amount, ok bool) {
	defer func() { _ = recover() }()
	return f(), true
}

func TestFractionIsExactBeforeItRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAmount(t, "amount")
		num := drawInt(t, "num")
		den := rapid.OneOf(rapid.Int64Range(1, 20_000), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "den")
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(a.Minor), big.NewInt(num)), big.NewInt(den))
		for _, r := range roundings {
			want := roundRat(exact, r)
			got, ok := attempt(func() Amount { return a.Fraction(num, den, r) })
			if ok != want.IsInt64() {
				t.Fatalf("%v × %d / %d: returned %t, want %s", a, num, den, ok, want)
			}
			if ok && got != New(want.Int64(), a.Currency) {
				t.Fatalf("%v × %d / %d with rounding %d is %v, want %s", a, num, den, r, got, want)
			}
		}
	})
}

func TestRoundingIsTheSameOnBothSidesOfZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "minor"), USD)
		bps := rapid.Int64Range(0, 100_000).Draw(t, "bps")
		for _, r := range roundings {
			got := a.Share(bps, r)
			if a.Neg().Share(bps, r) != got.Neg() || a.Share(-bps, r) != got.Neg() {
				t.Fatalf("%d bps of %v and of its opposite differ with rounding %d", bps, a, r)
			}
		}
		if a.Share(10_000, Up) != a {
			t.Fatalf("100 %% of %v is not itself", a)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"25", "25.5", "1e2", "-3.10", "1e999999999", "0.00", "01", "9223372036854775808", "1E-5", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []Currency{USD, CLP, "CLF"} {
			a, err := Parse(text, c)
			// json.Valid allows space around the number, and other values.
			number := json.Valid([]byte(text)) && strings.Trim(text, " \t\r\n") == text &&
				text[0] != '"' && strings.IndexByte("{[tfn", text[0]) < 0
			if number == errors.Is(err, ErrSyntax) {
				t.Fatalf("Parse(%q) failed with %v, but a JSON number: %t", text, err, number)
			}
			if err == nil {
				if again, err := Parse(a.Decimal(), c); err != nil || again != a {
					t.Fatalf("Parse(%q) is %v, and its decimal %v, %v", text, a, again, err)
				}
			}
			// big.Rat would try to write a huge exponent out.
			if number && smallExponent(text) {
				checkParse(t, text, c)
			}
		}
		if r, err := ParseRate(text); err == nil {
			if again, err := ParseRate(r.Decimal()); err != nil || again != r {
				t.Fatalf("ParseRate(%q) is %v, and its decimal %v, %v", text, r, again, err)
			}
		}
	})
}

func smallExponent(text string) bool {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.Atoi(text[at+1:])
	return err == nil && -1000 < exponent && exponent < 1000
}

func TestEverydayPathsDoNotAllocate(t *testing.T) {
	rate := mustRate(t, "4123.1275")
	buf := make([]byte, 0, 32)
	paths := map[string]func(){
		"Parse":         func() { _, _ = Parse("1234567.89", USD) },
		"AppendDecimal": func() { buf = New(123456789, USD).AppendDecimal(buf[:0]) },
		"Convert":       func() { _, _ = rate.Convert(New(123456789, USD), COP, HalfEven) },
		"ConvertBack":   func() { _, _ = rate.ConvertBack(New(123456789, COP), USD, HalfEven) },
		"Share":         func() { New(123456789, USD).Share(290, HalfUp) },
	}
	for what, f := range paths {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times, want none", what, n)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"25.5", "1234567.89", "1e999999999"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Parse(text, USD)
			}
		})
	}
}

func BenchmarkAppendDecimal(b *testing.B) {
	a, buf := New(123456789, USD), make([]byte, 0, 32)
	b.ReportAllocs()
	for b.Loop() {
		buf = a.AppendDecimal(buf[:0])
	}
}

func BenchmarkDecimal(b *testing.B) {
	a := New(123456789, USD)
	b.ReportAllocs()
	for b.Loop() {
		_ = a.Decimal()
	}
}

func BenchmarkShare(b *testing.B) {
	a := New(123456789, USD)
	for b.Loop() {
		a.Share(290, HalfUp)
	}
}

// Who pays in cash has no cents of a peso.
func TestWholeAmountHasNoMinorUnits(t *testing.T) {
	for _, c := range []struct{ of, want Amount }{
		{New(18748275, COP), New(18748300, COP)},
		{New(18748250, COP), New(18748200, COP)}, // to the even one
		{New(18748300, COP), New(18748300, COP)},
		{New(49, COP), New(0, COP)},
		{New(-151, USD), New(-200, USD)},
		{New(945, CLP), New(945, CLP)},
		{New(1234567, "KWD"), New(1235000, "KWD")},
	} {
		if got := c.of.Whole(HalfEven); got != c.want {
			t.Errorf("%v in whole units is %v, want %v", c.of, got, c.want)
		}
	}
}
