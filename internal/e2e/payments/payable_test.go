package payments

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// centless is a provider that accepts only whole units, as several do in Colombia.
type centless struct{ provider.Provider }

func (centless) Accepts(_ string, local money.Amount) bool { return local.Minor%100 == 0 }

func (c centless) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	if !c.Accepts(r.Rail, r.Local) {
		return pay.Outcome{Kind: pay.Errored, Decline: "amount_not_accepted"}
	}
	return c.Provider.Charge(ctx, r)
}

// Refunds implements provider.Refunder: it refunds no payment.
func (centless) Refunds(string) bool { return false }

// centlessly runs a test on each engine against a service with one account, in Colombia, that accepts
// only whole pesos.
func centlessly(t *testing.T, test func(t *testing.T, s *harness.Instance, live harness.Client, u *providertest.Upstream)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		adapter := providertest.Plain()
		open := adapter.Open
		adapter.Rails = []string{"bank.breb.COL", "bank.pse.COL"}
		adapter.Open = func(a provider.Account) (provider.Provider, error) {
			p, err := open(a)
			return centless{p}, err
		}
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Adapters = []provider.Adapter{adapter}
		})
		s.Rate(t, "COP 4120.5")
		u := providertest.NewUpstream(t, "key-1")
		u.Next("open")
		s.OpenAccount(t, "acme-co", u, func(n *accounts.NewAccount) { n.Rails = []string{"bank.pse.COL"} })
		made, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted, RefundFees: merchants.FeesReturned})
		harness.Must(t, err)
		test(t, s, harness.Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}.Production(), u)
	})
}

const shopperAna = `"customer":{"firstName":"Ana","lastName":"Gil","email":"ana@shop.example","phone":"+573001234567","documentId":"1020304050"}`

// If a provider accepts only whole pesos, the page and the API round the price up to whole pesos, and
// the shopper can pay it.
func TestPesosAreQuotedWhole(t *testing.T) {
	centlessly(t, func(t *testing.T, s *harness.Instance, live harness.Client, u *providertest.Upstream) {
		r := live.Post(t, "/checkout/sessions", `{"amount":45.5,"country":"CO",`+shopperAna+`}`).Want(t, http.StatusCreated)
		path := strings.TrimPrefix(r.Text(t, "checkoutUrl"), s.URL)
		_, page, _ := s.Visit(t, path+"?lang=es")
		if !strings.Contains(page, "$187.483,00\u00a0COP") || strings.Contains(page, "187.482") {
			t.Errorf("the page does not offer 45.5 USD, which are 187482.75 pesos, for 187483 pesos:\n%s", page)
		}
		id := ""
		methods, _ := s.App.Methods.RailList(merchants.Scope{Merchant: live.Merchant.ID, Shop: live.Shop.ID, Live: true}, methods.Filter{Country: "COL"})
		for _, m := range methods {
			if m.Key == "bank.pse.COL" {
				id = m.ID
			}
		}
		_, _, h := s.Browse(t, http.MethodPost, path, url.Values{"method": {id}}.Encode())
		chosen, _, _ := strings.Cut(strings.TrimPrefix(h.Get("Location"), "/c/"), "?")
		paid := live.Get(t, "/payments/"+chosen).Want(t, http.StatusOK)
		if paid.Text(t, "amountLocal") != "187483" || paid.Text(t, "status") != "pending" {
			t.Errorf("the payment over the page is %s, want 187483 pesos, pending", paid)
		}
		direct := live.Post(t, "/payments", `{"amount":45.5,"paymentMethodId":"`+id+`","documentId":"1020304050","buyerName":"Ana Gil","buyerEmail":"ana@shop.example"}`).Want(t, http.StatusCreated)
		if direct.Text(t, "amountLocal") != "187483" || direct.Text(t, "status") != "pending" {
			t.Errorf("the payment over the API is %s, want 187483 pesos, pending", direct)
		}

		// An amount in pesos from the shop is not rounded. With cents it cannot be paid, so the session is
		// refused.
		r = live.Post(t, "/checkout/sessions", `{"amount":187482.75,"currency":"COP","country":"CO",`+shopperAna+`}`)
		if r.Status != http.StatusUnprocessableEntity || r.Text(t, "error.code") != "amount_out_of_limits" {
			t.Errorf("a session with cents returns %s, want amount_out_of_limits", r)
		}
		u.Next("paid")
	})
}

// Shops read in the catalog that no provider refunds a method, and a refund is refused before anything is frozen for it.
func TestMethodThatNobodyRefunds(t *testing.T) {
	centlessly(t, func(t *testing.T, s *harness.Instance, live harness.Client, u *providertest.Upstream) {
		entry := live.Get(t, "/payment-methods?country=CO&method=bank_transfer")
		if got := entry.Text(t, "methods.0.refundable") + " " + entry.Text(t, "methods.1.refundable"); got != "<nil> false" {
			t.Errorf("a method without and one with an account are refundable: %s, want null and false", got)
		}
		u.Next("paid")
		id := live.Create(t, `{"amount":10,"paymentMethodId":"`+entry.Text(t, "methods.1.paymentMethodId")+`","userEmail":"ana@shop.example","documentId":"1018423911"}`)
		if got := live.Status(t, id); got != "completed" {
			t.Fatalf("the payment is %s", got)
		}
		r := live.Refund(t, id, `{}`)
		r.Refused(t, "409 conflict_state conflict_error reason=method_not_refundable")
		if got := live.Get(t, "/me/balance").Text(t, "balance.frozen"); got != "0" {
			t.Errorf("%s is frozen after a refund that was refused", got)
		}
	})
}

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
