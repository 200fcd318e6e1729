package payments

import (
	"context"
	"testing"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// A provider's page, score and dashboard show what the shop said of the purchase, so a provider gets it.
func TestProviderGetsWhatTheShopDescribed(t *testing.T) {
	t.Parallel()
	var asked provider.Request
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
	p.OnCharge = func(_ context.Context, r provider.Request) pay.Outcome {
		asked = r
		return pay.Outcome{Kind: pay.Approved}
	}
	clock := &harness.Clock{}
	a := harness.NodeAt(t, dbtest.SQLite(t), clock, clock.Now, p, &harness.Faults{})
	tickets := []pay.LineItem{{Name: "Ticket", Quantity: 2, Unit: money.New(12_75, money.USD), SKU: "T-1"}}
	who := harness.Acme(t, a)
	_, _, err := a.Payments.Create(ctx, who, payments.NewPayment{
		Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card", OrderID: "order-8412",
		Purchase: pay.Purchase{Description: "Two tickets for the concert", Items: tickets},
	})
	harness.Must(t, err)
	_, shop, err := a.Payments.Tenant(ctx, who)
	harness.Must(t, err)
	if asked.OrderID != "order-8412" || asked.Shop != shop.Name || asked.Shop == "" || len(asked.Purchase.Items) != 1 || asked.Purchase.Items[0] != tickets[0] {
		t.Errorf("the provider got %+v", asked)
	}
	for most, want := range map[int]string{100: "Two tickets for the concert", 22: "Two tickets for the co", 4: "Two"} {
		if got := asked.Title(most); got != want {
			t.Errorf("in %d characters the title is %q, want %q", most, got, want)
		}
	}
	asked.Purchase.Description = ""
	if got := asked.Title(100); got != "order-8412" {
		t.Errorf("without a description the title is %q", got)
	}
	for country, want := range map[string]string{"BRA": "pt", "MEX": "es", "USA": "en"} {
		if asked.Country = country; asked.Language() != want {
			t.Errorf("a shopper in %s reads %s, want %s", country, asked.Language(), want)
		}
	}
}
