package payulatam

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestAnOrderIsDescribed(t *testing.T) {
	r := sample("cash.efecty.COL", 65_000_00)
	r.Purchase.Description, r.Lang, r.Buyer.Document = "Dos entradas\npara el "+strings.Repeat("niño ", 100), "en", "900.373.115-3"
	got := providertest.SentFields(t, Adapter(), credentials(), newFake(signer(t, "", "")), r)
	for field, want := range map[string]string{
		"transaction.order.description": string([]rune("Dos entradas para el " + strings.Repeat("niño ", 100))[:255]), "transaction.order.language": "en",
		"transaction.payer.dniNumber": "9003731153", "transaction.payer.dniType": "NIT", "transaction.order.buyer.dniType": "NIT",
	} {
		if got[field] != strings.TrimSpace(want)+"; " {
			t.Errorf("%s is %q, want %q", field, got[field], want)
		}
	}
	r.Purchase.Description, r.Lang = "", ""
	got = providertest.SentFields(t, Adapter(), credentials(), newFake(signer(t, "", "")), r)
	if got["transaction.order.description"] != r.Reference+"; " || got["transaction.order.language"] != "es; " {
		t.Errorf("an order of which nothing is known: %v", got)
	}
}
