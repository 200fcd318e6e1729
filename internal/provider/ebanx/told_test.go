package ebanx

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// purchase is a request with what is bought.
func purchase(rail string) provider.Request {
	r := request()
	r.Rail, r.OrderID, r.Buyer.Phone = rail, "order-8412"+strings.Repeat("0", 60), "+55 (11) 98765-4321"
	r.Purchase = pay.Purchase{Description: "Dois ingressos", Items: []pay.LineItem{
		{Name: "Ingresso", Quantity: 2, Unit: money.New(50_050, money.BRL), SKU: "ING-" + strings.Repeat("1", 40)}, {Name: "Programa", Quantity: 1, Unit: money.New(19_900, money.BRL)},
	}}
	return r
}

func TestAPurchaseIsShown(t *testing.T) {
	for rail, fields := range map[string]map[string]string{
		"pix.BRA": {
			"payment.order_number": "order-8412" + strings.Repeat("0", 30) + "; ", "payment.note": "Dois ingressos; ", "payment.phone_number": "+5511987654321; ",
			"payment.items[].name": "Ingresso; Programa; ", "payment.items[].quantity": "2; 1; ", "payment.items[].unit_price": "500.5; 199; ",
			"payment.items[].sku": "ING-" + strings.Repeat("1", 16) + "; ", "payment.person_type": "",
		},
		"card.BRA": {"order_number": "order-8412" + strings.Repeat("0", 30) + "; ", "phone_number": "+5511987654321; ", "person_type": "", "items[].name": ""},
	} {
		got := providertest.SentFields(t, Adapter(), credentials, newFake(), purchase(rail))
		for field, want := range fields {
			if got[field] != want {
				t.Errorf("%s: %s is %q, want %q", rail, field, got[field], want)
			}
		}
	}
}

// The document has one form, whatever separators the shop sent. Only Brazil's companies have a person responsible.
func TestACompanyHasAPersonResponsible(t *testing.T) {
	r := purchase("pix.BRA")
	r.Buyer.Name, r.Buyer.Document = "Comercial do Sul Ltda\x00", "12.abc.345/01de-35"
	got := providertest.SentFields(t, Adapter(), credentials, newFake(), r)
	for field, want := range map[string]string{
		"payment.person_type": "business; ", "payment.document": "12ABC34501DE35; ", "payment.responsible.document": "12ABC34501DE35; ",
		"payment.responsible.name": "Comercial do Sul Ltda; ", "payment.name": "Comercial do Sul Ltda; ",
	} {
		if got[field] != want {
			t.Errorf("%s is %q, want %q", field, got[field], want)
		}
	}
	r = providertest.Under(request(), "spei.MEX", "01M7Z-2")
	r.Country, r.Local, r.Buyer.Document = "MEX", money.New(120_000, money.MXN), "ABC561231GR8"
	if got := providertest.SentFields(t, Adapter(), credentials, newFake(), r); got["payment.document"] != "ABC561231GR8; " || got["payment.person_type"] != "" {
		t.Errorf("a company of Mexico: %v", got)
	}
}
