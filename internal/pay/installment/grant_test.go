package installment_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// The rows of the most specific name count, and of these the largest amount that is reached (PAY-43).
func TestGrantsAreReadAndApplied(t *testing.T) {
	gs, err := installment.ParseGrants("*:3/0\n card.*:6/3 card.MEX:6/0,card.MEX:12/6@MXN:1000,card.MEX:24/12@MXN:5000")
	if err != nil || gs != "*:3/0,card.*:6/3,card.MEX:6/0,card.MEX:12/6@MXN:1000,card.MEX:24/12@MXN:5000" {
		t.Fatalf("%q, %v", gs, err)
	}
	for _, c := range []struct {
		rail  string
		local money.Amount
		want  installment.Terms
	}{
		{"card.MEX", mxn(999), installment.Terms{Max: 6}},
		{"card.MEX", mxn(1000), installment.Terms{Max: 12, InterestFree: 6}},
		{"card.MEX", mxn(9000), installment.Terms{Max: 24, InterestFree: 12}},
		{"card.MEX", money.Amount{}, installment.Terms{Max: 24, InterestFree: 12}},
		{"card.MEX", money.New(9000_00, money.USD), installment.Terms{Max: 6}},
		{"card.BRA", mxn(9000), installment.Terms{Max: 6, InterestFree: 3}},
		{"pix.BRA", mxn(9000), installment.Terms{Max: 3}},
	} {
		if got := gs.For(c.rail, c.local, true, true); got != c.want {
			t.Errorf("%s, %s: got %+v, want %+v", c.rail, c.local, got, c.want)
		}
	}
	none := installment.Grants("")
	if got := none.For("card.MEX", mxn(9000), true, true); got.Offered() {
		t.Errorf("without terms in production: %+v", got)
	}
	if asked, silent := none.For("card.MEX", mxn(9000), false, true), none.For("card.MEX", mxn(9000), false, false); asked.Max != 12 || silent.Offered() {
		t.Errorf("without terms in the sandbox: %+v if asked, %+v if not", asked, silent)
	}
	if got, err := installment.ParseGrants("none"); got != "" || err != nil {
		t.Errorf("none: %q, %v", got, err)
	}
}

// What is asked lowers what is granted; an amount with more decimals than the currency has is rounded up (PAY-43).
func TestAskedLowersWhatIsGranted(t *testing.T) {
	granted := installment.Terms{Max: 12, InterestFree: 6}
	for _, c := range []struct {
		asked installment.Request
		local money.Amount
		want  installment.Terms
	}{
		{installment.Request{}, mxn(1200), granted},
		{installment.Request{Max: 1}, mxn(1200), installment.Terms{}},
		{installment.Request{Max: 4}, mxn(1200), installment.Terms{Max: 4, InterestFree: 4}},
		{installment.Request{InterestFree: 1}, mxn(1200), installment.Terms{Max: 12}},
		{installment.Request{Min: "300"}, mxn(1200), installment.Terms{Max: 4, InterestFree: 4, Min: mxn(300)}},
		{installment.Request{Min: "299.5"}, money.New(1200, "CLP"), installment.Terms{Max: 4, InterestFree: 4, Min: money.New(300, "CLP")}},
		{installment.Request{Min: "0.001"}, money.New(1200, "CLP"), installment.Terms{Max: 12, InterestFree: 6, Min: money.New(1, "CLP")}},
		{installment.Request{Min: "9e99"}, mxn(1200), installment.Terms{}},
	} {
		if got := c.asked.Terms(granted, c.local); got != c.want {
			t.Errorf("%+v of %s: got %+v, want %+v", c.asked, c.local, got, c.want)
		}
	}
}
