package adyen

import (
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
)

// Adyen requires both names: a shopper of one name is sent without, and never with an empty one, which the fake refuses.
func TestOneNameIsNoEmptyLastName(t *testing.T) {
	b := connect(t)
	r := request("pix.BRA", "01M7ZTEST-1")
	r.Buyer.Name = "Madonna"
	if o := b.Charge(ctx(), r); o.Kind != pay.Awaiting {
		t.Errorf("the charge ended with %+v", o)
	}
}
