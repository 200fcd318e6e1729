package dlocal

import (
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// told is what dLocal is told of a charge.
func told(t *testing.T, r provider.Request) map[string]string {
	t.Helper()
	return providertest.SentFields(t, Adapter(), credentials, newFake(), r)
}

func TestABasketHasWhatIsBought(t *testing.T) {
	r := request()
	r.Purchase = pay.Purchase{Description: "Two tickets", Items: []pay.LineItem{
		{Name: "Ticket", Quantity: 2, Unit: money.New(50_050, money.BRL), SKU: "T-1"}, {Name: "Programa", Quantity: 1, Unit: money.New(19_900, money.BRL)},
	}}
	got := told(t, r)
	for field, want := range map[string]string{
		"description": "Two tickets; ", "additional_risk_data.basket[].product_name": "Ticket; Programa; ", "additional_risk_data.basket[].item_reference": "T-1; ",
		"additional_risk_data.basket[].quantity": "2; 1; ", "additional_risk_data.basket[].unit_price": "500.5; 199; ", "payer.user_reference": r.Shopper() + "; ",
	} {
		if got[field] != want {
			t.Errorf("%s is %q, want %q", field, got[field], want)
		}
	}
	r = providertest.Under(r, "bank.pse.COL", "01M7Z-2")
	r.Country, r.Local = "COL", money.New(120_000, money.COP)
	r.Purchase.Items = []pay.LineItem{{Name: "Ticket", Quantity: 1_000, Unit: money.New(120, money.COP)}} // centavos, which dLocal does not take
	if got := told(t, r); got["additional_risk_data.basket[].product_name"] != "" {
		t.Errorf("dLocal is told %v", got)
	}
}

// dLocal's page asks for a document that it may not take from us.
func TestACNPJWithLettersIsAskedForByDLocal(t *testing.T) {
	for document, want := range map[string]string{"11.222.333/0001-81": "11222333000181; ", "12.ABC.345/01DE-35": "", "529.982.247-25": "52998224725; "} {
		r := request()
		r.Buyer.Document = document
		got := told(t, r)
		if got["payer.document"] != want || (got["payment_method_flow"] == "REDIRECT; ") != (want == "") {
			t.Errorf("%s: dLocal is told %v", document, got)
		}
	}
}
