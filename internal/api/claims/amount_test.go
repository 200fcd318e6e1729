package claims

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/danielgtaylor/huma/v2"
)

// The amount of a refund is refused with the right words, before its currency is known.
func TestRefusedAmounts(t *testing.T) {
	const (
		ok   = ""
		text = `amount_invalid:amount must be a number, such as 49.90, without quotes; you sent the text "25"`
		list = "amount_invalid:amount must be a number, such as 49.90, without quotes; you sent a list"
		null = "amount_invalid:amount must be a number, such as 49.90, without quotes; you sent null"
		zero = "amount_invalid:amount must be above zero, such as 49.90; you sent TEXT"
	)
	for _, c := range []struct{ sent, want string }{
		{"25.5", ok},
		{"0.01", ok},
		{"100000", ok},
		{"1e5", ok},
		{"100000.000", ok},
		{"100000.01", ok},
		{"100000.001", ok},
		{"99999.999", ok},
		{"0.001", ok},
		{"0.10000000000000000001", ok},
		{"1e30", ok},
		{"1e400", ok},
		{"99999999999999999999", ok},
		{"1e-400", zero},
		{"0", zero},
		{"-0", zero},
		{"0e9", zero},
		{"-1", zero},
		{"-1e30", zero},
		{"-1e400", zero},
		{`"25"`, text},
		{"[5]", list},
		{"null", null},
	} {
		var a call.Amount
		if err := json.Unmarshal([]byte(c.sent), &a); err != nil {
			t.Fatal(err)
		}
		err := errors.Join((&RefundBody{Amount: a}).Resolve(nil, &huma.PathBuffer{})...)
		var issue *huma.ErrorDetail
		got := ""
		if errors.As(err, &issue) {
			_, got, _ = strings.Cut(issue.Message, "code:")
		}
		if want := strings.ReplaceAll(c.want, "TEXT", c.sent); got != want || err != nil && issue == nil {
			t.Errorf("%s: %q, want %q (%v)", c.sent, got, want, err)
		}
	}
}
