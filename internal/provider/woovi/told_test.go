package woovi

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestThePayersBankShowsThePurchase(t *testing.T) {
	r := sample()
	r.OrderID, r.Purchase.Description = "pedido-8412", "Dois ingressos 🎫 "+strings.Repeat("ã", 300)
	got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r)
	for field, want := range map[string]string{
		"comment": "Dois ingressos " + strings.Repeat("ã", 125) + "; ", "additionalInfo[].key": "Pedido; ", "additionalInfo[].value": "pedido-8412; ",
	} {
		if got[field] != want {
			t.Errorf("%s is %q, want %q", field, got[field], want)
		}
	}
	r.OrderID, r.Purchase.Description = "", ""
	if got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r); got["comment"] != r.Reference+"; " || got["additionalInfo[].key"] != "" {
		t.Errorf("a charge of which nothing is known: %v", got)
	}
}
