package installment_test

import (
	"reflect"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

func mxn(pesos int64) money.Amount { return money.New(pesos*100, "MXN") }

// PAY-43
func TestTermsFitTheAmountAndTheLimit(t *testing.T) {
	six := installment.Terms{Max: 6, InterestFree: 3}
	for name, c := range map[string]struct{ got, want installment.Terms }{
		"at once":               {installment.Terms{Max: 1, InterestFree: 1}.Of(mxn(1200)), installment.Terms{}},
		"any amount":            {six.Of(mxn(1)), six},
		"least of one":          {installment.Terms{Max: 12, InterestFree: 6, Min: mxn(300)}.Of(mxn(1200)), installment.Terms{Max: 4, InterestFree: 4, Min: mxn(300)}},
		"too small":             {installment.Terms{Max: 12, Min: mxn(300)}.Of(mxn(599)), installment.Terms{}},
		"another currency":      {installment.Terms{Max: 12, Min: money.New(1, "BRL")}.Of(mxn(1200)), installment.Terms{}},
		"lowered":               {installment.Terms{Max: 3, InterestFree: 2}.Within(six), installment.Terms{Max: 3, InterestFree: 2}},
		"no more than granted":  {installment.Terms{Max: 12, InterestFree: 12}.Within(six), six},
		"nothing granted":       {six.Within(installment.Terms{}), installment.Terms{}},
		"the larger least":      {installment.Terms{Max: 3, Min: mxn(10)}.Within(installment.Terms{Max: 6, Min: mxn(50)}), installment.Terms{Max: 3, Min: mxn(50)}},
		"the limit's own least": {installment.Terms{Max: 3}.Within(installment.Terms{Max: 6, Min: mxn(50)}), installment.Terms{Max: 3, Min: mxn(50)}},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, c.got, c.want)
		}
	}
}

// PAY-43
func TestOffersAreWhatTermsAllow(t *testing.T) {
	able := installment.Offer{InterestFree: []int{3, 6, 12}, Interest: []int{2, 3, 4, 5, 6, 9, 12}}
	got := able.Under(installment.Terms{Max: 9, InterestFree: 3})
	if want := (installment.Offer{InterestFree: []int{3}, Interest: []int{2, 4, 5, 6, 9}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.Max() != 9 || got.Free() != 3 || able.Under(installment.Terms{}).Max() != 0 {
		t.Errorf("got at most %d, %d without interest", got.Max(), got.Free())
	}
	both := got.With(installment.Offer{InterestFree: []int{3, 6}})
	if want := []int{3, 6}; !reflect.DeepEqual(both.InterestFree, want) {
		t.Errorf("two providers: got %v, want %v", both.InterestFree, want)
	}
}

// PAY-43
func TestPlansSayWhatFollowsFromTheRest(t *testing.T) {
	for name, c := range map[string]struct{ said, want installment.Plan }{
		"at once":             {installment.Plan{Count: 1, Each: mxn(1000), Total: mxn(1000)}, installment.Plan{}},
		"merchant":            {installment.Plan{Count: 3, By: installment.Merchant}, installment.Plan{Count: 3, Each: money.New(333_34, "MXN"), Total: mxn(1000), By: installment.Merchant}},
		"shopper":             {installment.Plan{Count: 6, Total: mxn(1200)}, installment.Plan{Count: 6, Each: mxn(200), Total: mxn(1200), By: installment.Shopper}},
		"no interest":         {installment.Plan{Count: 2, Total: mxn(1000)}, installment.Plan{Count: 2, Each: mxn(500), Total: mxn(1000), By: installment.Merchant}},
		"the count alone":     {installment.Plan{Count: 2}, installment.Plan{Count: 2}},
		"of another currency": {installment.Plan{Count: 2, Each: money.New(5, "USD")}, installment.Plan{Count: 2}},
	} {
		if got := c.said.For(mxn(1000)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// Installments that do not make the total are not said to (CHK-26).
func TestUnevenInstallmentsSayAbout(t *testing.T) {
	if p := (installment.Plan{Count: 7, By: installment.Merchant}).For(mxn(1368)); p.Even() || p.String() != "7 installments of about 195.43 MXN, 1368.00 MXN in all, interest borne by the merchant" {
		t.Errorf("1368 in 7 is %s", p)
	}
	if p := (installment.Plan{Count: 6, By: installment.Merchant}).For(mxn(1368)); !p.Even() || !installment.Even(mxn(1368), 6) || installment.Even(mxn(1368), 7) {
		t.Errorf("1368 in 6 is %s", p)
	}
}
