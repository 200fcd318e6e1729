package call

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/danielgtaylor/huma/v2"
)

// An amount is refused with the right words: what is too much is told to be so, even if it has too many decimals or is beyond
// every number.
func TestRefusedAmounts(t *testing.T) {
	const (
		ok      = ""
		missing = "missing_field:amount is required"
		above   = "amount_above_maximum:amount must be at most 100000 USD: it is in dollars, not in cents"
		aboveIn = "amount_above_maximum:amount must be worth at most 100000 USD: send less; it is in units of CLP, not in cents"
		usd     = "amount_invalid:amount must be above 0, in USD with at most two decimals, such as 49.90; you sent TEXT"
		clp     = "amount_invalid:amount must be above 0, in CLP a whole number, such as 4900; you sent TEXT"
		text    = `amount_invalid:amount must be a number, such as 49.90, without quotes; you sent the text "25"`
		list    = "amount_invalid:amount must be a number, such as 49.90, without quotes; you sent a list"
	)
	for _, c := range []struct{ sent, inUSD, inCLP string }{
		{"25.5", ok, clp},
		{"0.01", ok, clp},
		{"100000", ok, ok},
		{"1e5", ok, ok},
		{"100000.000", ok, ok},
		{"100000.01", above, clp},
		{"100000.001", above, clp},
		{"99999.999", usd, clp},
		{"0.001", usd, clp},
		{"0.10000000000000000001", usd, clp},
		{"1e30", above, aboveIn},
		{"1e400", above, aboveIn},
		{"99999999999999999999", above, aboveIn},
		{"1e-400", usd, clp},
		{"0", usd, clp},
		{"-0", usd, clp},
		{"0e9", usd, clp},
		{"-1", usd, clp},
		{"-1e30", usd, clp},
		{"-1e400", usd, clp},
		{`"25"`, text, text},
		{"[5]", list, list},
		{"null", missing, missing},
	} {
		var a Amount
		if err := json.Unmarshal([]byte(c.sent), &a); err != nil {
			t.Fatal(err)
		}
		check := func(as, want string, err error) {
			t.Helper()
			var issue *huma.ErrorDetail
			got := ""
			if errors.As(err, &issue) {
				_, got, _ = strings.Cut(issue.Message, "code:")
			}
			if want = strings.ReplaceAll(want, "TEXT", c.sent); got != want || err != nil && issue == nil {
				t.Errorf("%s as %s: %q, want %q (%v)", c.sent, as, got, want, err)
			}
		}
		_, err := a.In("body.amount", money.USD)
		check("USD", c.inUSD, err)
		_, err = a.In("body.amount", money.CLP)
		check("CLP", c.inCLP, err)
	}
}
