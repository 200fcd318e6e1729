package conekta

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// The lines of an order make up its amount, whatever is bought.
func TestLinesMakeUpTheOrder(t *testing.T) {
	pesos := func(name string, quantity, minor int64) pay.LineItem {
		return pay.LineItem{Name: name, Quantity: quantity, Unit: money.New(minor, money.MXN), SKU: "T-1"}
	}
	for what, c := range map[string]struct {
		items       []pay.LineItem
		names, each string
	}{
		"what is bought":   {[]pay.LineItem{pesos("Boleto", 2, 140_00), pesos("Programa", 1, 20_00), pesos("Regalo", 1, 0)}, "Boleto; Programa; Regalo; ", "14000; 2000; 0; "},
		"nothing":          {nil, "Dos boletos; ", "30000; "},
		"too little":       {[]pay.LineItem{pesos("Boleto", 2, 140_00)}, "Dos boletos; ", "30000; "},
		"a discount":       {[]pay.LineItem{pesos("Boleto", 2, 160_00), pesos("Cupón", 1, -20_00)}, "Dos boletos; ", "30000; "},
		"in dollars":       {[]pay.LineItem{{Name: "Boleto", Quantity: 1, Unit: money.New(300_00, money.USD)}}, "Dos boletos; ", "30000; "},
		"a name too short": {[]pay.LineItem{pesos("TV", 1, 300_00)}, "Dos boletos; ", "30000; "},
		"a name too long":  {[]pay.LineItem{pesos(strings.Repeat("Ñ", 300), 1, 300_00)}, strings.Repeat("Ñ", 249) + "; ", "30000; "},
	} {
		for _, rail := range []string{spei, card} {
			r := request(rail)
			r.Purchase = pay.Purchase{Description: "Dos boletos", Items: c.items}
			got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r)
			if got["line_items[].name"] != c.names || got["line_items[].unit_price"] != c.each {
				t.Errorf("%s on %s: %q at %q", what, rail, got["line_items[].name"], got["line_items[].unit_price"])
			}
		}
	}
}

func TestAnOrderSaysWhoBuys(t *testing.T) {
	for document, want := range map[string]string{"ABC561231GR8": "true; ", "GODE561231GR8": "false; ", "": "false; "} {
		r := request(card)
		r.OrderID, r.Buyer.Document, r.Buyer.IP, r.Buyer.Phone = "order-8412", document, "203.0.113.9", "+52 (55) 2299-7233"
		got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r)
		if got["customer_info.corporate"] != want || got["metadata.order"] != "order-8412; " || got["customer_info.phone"] != "+525522997233; " || got["checkout.name"] != "order-8412; " {
			t.Errorf("%q: Conekta is told %v", document, got)
		}
	}
	r := request(spei)
	r.OrderID = "7" // too short for a line
	if got := providertest.SentFields(t, Adapter(), credentials(), newFake(), r); got["line_items[].name"] != r.Reference+"; " || got["metadata.order"] != "7; " {
		t.Errorf("an order without a description: %v", got)
	}
}
