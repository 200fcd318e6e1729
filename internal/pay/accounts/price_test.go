package accounts

import (
	"testing"

	"github.com/cascadapay/cascada/internal/money"
)

func TestPricesAndLimitsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]money.Fee{
		"2.9%+0.30": {Bps: 290, Flat: 30}, "0.99%": {Bps: 99, Flat: 0}, "0.5": {Bps: 0, Flat: 50}, "0%": {}, "1%+0": {Bps: 100, Flat: 0}, "100%+12": {Bps: 100_00, Flat: 12_00},
	} {
		if got, err := money.ParseFee(text); err != nil || got != want {
			t.Errorf("ParseFee(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := money.ParseFee(want.String()); err != nil || again != want {
			t.Errorf("%+v is written %s and read as %+v, %v", want, want, again, err)
		}
	}
	for _, text := range []string{"", "%", "abc", "2.999%", "-1%", "1%+", "1%+-1", "1%+0.005", "+1", "1+1%", "1e1000%"} {
		if got, err := money.ParseFee(text); err == nil {
			t.Errorf("ParseFee(%q) = %+v, want an error", text, got)
		}
	}
	for text, want := range map[string]Limit{"BRL:1-5000": {money.BRL, 1_00, 5000_00}, "CLP:50-900000": {"CLP", 50, 900_000}, "USD:0.50-1.25": {money.USD, 50, 125}} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "BRL", "BRL:1", "1-2", "XXQ:1-2", "BRL:a-b", "BRL:1-", "BRL:0.001-2"} {
		if got, err := ParseLimit(text); err == nil {
			t.Errorf("ParseLimit(%q) = %+v, want an error", text, got)
		}
	}
}

func TestTheLargestAmountIsTheSameForPeople(t *testing.T) {
	if got := money.New(MaxAmount, money.USD).Decimal() + " USD"; got != MaxAmountText {
		t.Errorf("MaxAmountText is %s, want %s", MaxAmountText, got)
	}
}
