package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// What real providers refuse is refused, field by field, with the field names of the caller's request.
func TestRehearsalRefusesWhatProvidersRefuse(t *testing.T) {
	pix := accounts.Rail{Country: "BRA", Document: "CPF"}
	for _, c := range []struct {
		name string
		b    pay.Buyer
		rail accounts.Rail
		want string // the paths
	}{
		{"nothing", pay.Buyer{}, pix, ""},
		{"all good", pay.Buyer{Email: "ana.souza+x@mail.example.com", Phone: "+55 (11) 98765-4321", Document: "529.982.247-25"}, pix, ""},
		{"an apostrophe", pay.Buyer{Email: "o'connor@example.com"}, pix, ""},
		{"an ampersand", pay.Buyer{Email: "a&b@example.com"}, pix, ""},
		{"a domain of other letters", pay.Buyer{Email: "ana@xn--exmple-cua.com"}, pix, ""},
		{"no dot in the domain", pay.Buyer{Email: "ana@localhost"}, pix, "e"},
		{"two dots in a row", pay.Buyer{Email: "ana..b@example.com"}, pix, "e"},
		{"a quoted name", pay.Buyer{Email: `"ana b"@example.com`}, pix, "e"},
		{"a dot in front", pay.Buyer{Email: ".ana@example.com"}, pix, "e"},
		{"an address in brackets", pay.Buyer{Email: "ana@[192.0.2.1]"}, pix, "e"},
		{"a name and an address", pay.Buyer{Email: "Ana <ana@example.com>"}, pix, "e"},
		{"a phone without a country", pay.Buyer{Phone: "11 98765-4321"}, pix, "p"},
		{"a phone that is short", pay.Buyer{Phone: "+551198"}, pix, "p"},
		{"a phone that is long", pay.Buyer{Phone: "+5511987654321000"}, pix, "p"},
		{"a country that begins with zero", pay.Buyer{Phone: "+05511987654321"}, pix, "p"},
		{"a wrong check digit", pay.Buyer{Document: "529.982.247-26"}, pix, "d"},
		{"a method without a document", pay.Buyer{Document: "X"}, accounts.Rail{Country: "MEX"}, ""},
		{"all wrong", pay.Buyer{Email: "ana@localhost", Phone: "1", Document: "1"}, pix, "e p d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := sandbox.Rehearse(c.b, c.rail, "e", "d", "p")
			var paths []string
			var refused *problem.Error
			if errors.As(err, &refused) {
				for _, i := range refused.Details.Issues {
					paths = append(paths, i.Path)
				}
				if refused.Code != problem.InvalidRequest || refused.Param != paths[0] || !strings.HasPrefix(refused.Reason.Key(), "shopper.") {
					t.Errorf("it is refused with %s, %s: %s", refused.Code, refused.Param, refused.Reason)
				}
			}
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("refused are %q, want %q", got, c.want)
			}
			if err := sandbox.Rehearse(c.b, c.rail, "", "", ""); err != nil {
				t.Errorf("fields that the request does not have are refused: %v", err)
			}
		})
	}
}
