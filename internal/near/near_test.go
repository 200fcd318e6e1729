package near_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/near"
)

var fields = []string{"amount", "paymentMethodId", "paymentMethod", "country", "userEmail", "merchantOrderId", "to", "from", "returnUrl"}

func TestNamesThatAreNearAreFound(t *testing.T) {
	for name, want := range map[string]struct{ typo, meant string }{
		"ammount": {"amount", "amount"}, "Amount": {"amount", "amount"}, "amuont": {"amount", "amount"},
		"paymentMethodID": {"paymentMethodId", "paymentMethodId"}, "payment_method_id": {"paymentMethodId", "paymentMethodId"},
		"payment-method": {"paymentMethod", "paymentMethod"}, "merchantOrderID": {"merchantOrderId", "merchantOrderId"},
		"form": {"from", "from"}, "TO": {"to", "to"}, "t": {}, "at": {}, "froma": {"from", "from"},
		"orderId": {"", "merchantOrderId"}, "email": {"", "userEmail"}, "method": {"", "paymentMethod"},
		"amountInCents": {"", "amount"}, "amount": {}, "": {}, "success_url": {}, "colour": {}, "metadata": {},
	} {
		if typo, meant := near.Typo(name, fields), near.Meant(name, fields); typo != want.typo || meant != want.meant {
			t.Errorf("%q: a slip of the pen for %q and %q meant, want %q and %q", name, typo, meant, want.typo, want.meant)
		}
	}
}
