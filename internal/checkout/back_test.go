package checkout

import (
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// A shop may write a query that net/url cannot read: it comes back as it was sent, with the result behind it.
func TestBackKeepsTheShopsParameters(t *testing.T) {
	const told = "status=completed&transactionId=TXN-1"
	shop := merchants.Shop{Name: "Acme", Schemes: []string{"myapp", "com.acme.pay"}}
	for from, want := range map[string]string{
		"https://shop.example/thanks":                       "https://shop.example/thanks?" + told,
		"https://shop.example/?":                            "https://shop.example/?" + told,
		"https://shop.example/?order=12;34&x=1":             "https://shop.example/?order=12;34&x=1&" + told,
		"https://shop.example/?q=%E0%A4%A&x=1":              "https://shop.example/?q=%E0%A4%A&x=1&" + told,
		"https://shop.example/?x=1&amp;y=2#end":             "https://shop.example/?x=1&amp;y=2&" + told + "#end",
		"https://shop.example/?b=2&a=1&a=%20+&flag&&":       "https://shop.example/?b=2&a=1&a=%20+&flag&" + told,
		"https://shop.example/?status=new&st%61tus=2&order": "https://shop.example/?order&" + told,
		"https://shop.example/?transactionId=1;2":           "https://shop.example/?" + told,
		"MyApp://paid":                      "myapp://paid?" + told,
		"myapp://":                          "myapp://?" + told,
		"myapp:paid?order=1;2&status=x#end": "myapp:paid?order=1;2&" + told + "#end",
		"com.acme.pay:/paid?":               "com.acme.pay:/paid?" + told,
		"other://paid":                      "",
		"javascript:alert(1)":               "",
		"":                                  "",
	} {
		var p pay.Payment
		p.ID, p.Status, p.Page.ReturnURL = "TXN-1", pay.Completed, from
		if got, _ := back(p, shop); string(got) != want {
			t.Errorf("back to %q is %q, want %q", from, got, want)
		}
	}
	if _, name := back(pay.Payment{Page: pay.PaymentPage{ReturnURL: "myapp://paid"}}, shop); name != "Acme" {
		t.Errorf("the way back to an app is named %q", name)
	}
}
