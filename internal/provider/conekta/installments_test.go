package conekta

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// A page has the months that the terms allow without interest, of 100 pesos at least.
func TestAPageOffersWhatTheTermsAllow(t *testing.T) {
	a, _, _ := connect(t)
	for name, c := range map[string]struct {
		rail  string
		local money.Amount
		terms installment.Terms
		want  []int
	}{
		"free in part":    {card, money.New(3000_00, money.MXN), installment.Terms{Max: 12, InterestFree: 6}, []int{3, 6}},
		"of 100 pesos":    {card, money.New(950_00, money.MXN), installment.Terms{Max: 18, InterestFree: 18}, []int{3, 6, 9}},
		"by the terms":    {card, money.New(3000_00, money.MXN), installment.Terms{Max: 18, InterestFree: 18, Min: money.New(500_00, money.MXN)}, []int{3, 6}},
		"for any amount":  {card, money.Amount{}, installment.Terms{Max: 48, InterestFree: 48}, []int{3, 6, 9, 12, 18}},
		"with interest":   {card, money.New(3000_00, money.MXN), installment.Terms{Max: 12}, nil},
		"not by transfer": {spei, money.New(3000_00, money.MXN), installment.Terms{Max: 12, InterestFree: 12}, nil},
	} {
		if got := a.Installments(c.rail, c.local, c.terms); !slices.Equal(got.InterestFree, c.want) || len(got.Interest) > 0 {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
	}
	for months, known := range map[int64]bool{-3: false, 0: false, 1: false, 3: true, 48: true, 49: false} {
		var o order
		if read([]byte(`{"charges":{"data":[{"id":"c1","monthly_installments":`+string(money.New(months, "CLP").Decimal())+`}]}}`), &o) != nil || o.plan("c1").Known() != known {
			t.Errorf("%d months: %+v", months, o.plan("c1"))
		}
	}
}
