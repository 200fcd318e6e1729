package stripe

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
)

// A session has every plan of the Dashboard or none: the terms must allow the longest, without interest.
func TestASessionHasThePlansOfTheDashboard(t *testing.T) {
	mxn := func(pesos int64) money.Amount { return money.New(pesos*100, money.MXN) }
	for name, c := range map[string]struct {
		rail, longest string
		local         money.Amount
		terms         installment.Terms
		want          []int
	}{
		"all":                     {"card.MEX", "", mxn(3000), installment.Terms{Max: 24, InterestFree: 24}, []int{3, 6, 9, 12, 18, 24}},
		"of 100 pesos at least":   {"card.MEX", "", mxn(899), installment.Terms{Max: 24, InterestFree: 24}, []int{3, 6}},
		"too little":              {"card.MEX", "", mxn(299), installment.Terms{Max: 24, InterestFree: 24}, nil},
		"for any amount":          {"card.MEX", "6", money.Amount{}, installment.Terms{Max: 12, InterestFree: 6}, []int{3, 6}},
		"fewer than it has":       {"card.MEX", "12", mxn(3000), installment.Terms{Max: 9, InterestFree: 9}, nil},
		"not all free":            {"card.MEX", "12", mxn(3000), installment.Terms{Max: 12, InterestFree: 6}, nil},
		"of 400 pesos, by terms":  {"card.MEX", "12", mxn(3000), installment.Terms{Max: 12, InterestFree: 12, Min: mxn(400)}, nil},
		"of 250 pesos, by terms":  {"card.MEX", "12", mxn(3000), installment.Terms{Max: 12, InterestFree: 12, Min: mxn(250)}, []int{3, 6, 9, 12}},
		"another country":         {"card.BRA", "", money.New(3000_00, money.BRL), installment.Terms{Max: 24, InterestFree: 24}, nil},
		"dollars":                 {"card.MEX", "", money.New(3000_00, money.USD), installment.Terms{Max: 24, InterestFree: 24}, nil},
		"without terms":           {"card.MEX", "3", mxn(3000), installment.Terms{}, nil},
		"as many as there may be": {"card.MEX", "3", mxn(3000), installment.Terms{Max: 48, InterestFree: 48}, []int{3}},
	} {
		with := credentials()
		with["installments"] = c.longest
		p, err := open(provider.Account{Credentials: with})
		if err != nil {
			t.Fatal(err)
		}
		if got := provider.Installments(p, c.rail, c.local, c.terms); !slices.Equal(got.InterestFree, c.want) || len(got.Interest) > 0 {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
	}
	for _, wrong := range []string{"4", "0", "twelve", "48", "-3"} {
		with := credentials()
		with["installments"] = wrong
		if _, err := open(provider.Account{Credentials: with}); err == nil {
			t.Errorf("%q months can be enabled", wrong)
		}
	}
}
