package adyen

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestALinkShowsThePurchaseInTheShoppersLanguage(t *testing.T) {
	for rail, locale := range map[string]string{"card.MEX": "es-ES", "card.BRA": "pt-BR", "card.USA": "en-US", "pix.BRA": "pt-BR", "cash.oxxo.MEX": "es-ES"} {
		r := request(rail, "01M7ZBVYT4-1")
		r.OrderID, r.Purchase.Description, r.Buyer.Phone = strings.Repeat("8", 120), strings.Repeat("ñ", 500), "+55 (11) 98765-4321"
		r.Buyer.Document = "529.982.247-25"
		got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r)
		description, document := "", ""
		if _, hosted := method(rail); hosted {
			description = strings.Repeat("ñ", 280) + "; "
		}
		if r.Country == "BRA" {
			document = "52998224725; "
		}
		for field, want := range map[string]string{
			"shopperLocale": locale + "; ", "description": description, "telephoneNumber": "+5511987654321; ", "metadata.order": strings.Repeat("8", 80) + "; ",
			"socialSecurityNumber": document, "shopperStatement": "",
		} {
			if got[field] != want {
				t.Errorf("%s: %s is %q, want %q", rail, field, got[field], want)
			}
		}
		r.Lang, r.Buyer.Phone = "en", "11 98765-4321" // of which country it is, is not said
		if got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r); got["shopperLocale"] != "en-US; " || got["telephoneNumber"] != "" {
			t.Errorf("%s: Adyen is told %v", rail, got)
		}
	}
}
