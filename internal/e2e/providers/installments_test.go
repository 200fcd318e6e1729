package providers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// lender is an account whose shoppers pay in three installments, if they may.
type lender struct{ provider.Provider }

func (l lender) Installments(_ string, _ money.Amount, t installment.Terms) installment.Offer {
	return installment.Offer{InterestFree: []int{3, 6, 12}, Interest: []int{3, 6, 12}}.Under(t)
}

func (l lender) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	o := l.Provider.Charge(ctx, r)
	if r.Installments.Offered() && o.Kind == pay.Approved {
		o.Installments = installment.Plan{Count: 3, Total: r.Local.Add(money.New(90_00, r.Local.Currency)), By: installment.Shopper}
	}
	return o
}

// lending is the plain adapter for cards; accounts whose ids begin with lends are lenders.
func lending() provider.Adapter {
	adapter := providertest.Plain()
	open := adapter.Open
	adapter.Rails = []string{"card.MEX"}
	adapter.Open = func(a provider.Account) (provider.Provider, error) {
		p, err := open(a)
		if err == nil && strings.HasPrefix(a.ID, "lends") {
			return lender{p}, nil
		}
		return p, err
	}
	return adapter
}

// A payment with installments goes to the accounts that offer them, and at once where none is left; the catalog shows what they offer
// within the merchant's terms. The shopper's interest is nobody's money here (PAY-43, PAY-44, PAY-45).
func TestInstallmentsGoWhereTheyAreOffered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Adapters = []provider.Adapter{lending()}
		})
		s.Rate(t, "MXN 18.35")
		plain, lends := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		live := o.Production()
		s.OpenAccount(t, "cheap", plain, func(n *accounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "lends-1", lends, func(n *accounts.NewAccount) { n.Priority = 2 })
		method := harness.Method(t, live, "MX", "card")
		body := func(installments string) string {
			return fmt.Sprintf(`{"amount":900,"currency":"MXN","paymentMethodId":%q,"userName":"Ana Souza","userEmail":"ana@b.example","installments":%s}`, method, installments)
		}
		shown := func() any {
			t.Helper()
			row, _ := live.Get(t, "/payment-methods?country=MX&method=card").Want(t, http.StatusOK).At(t, "methods.0.installments")
			return row
		}
		if row := shown(); row != nil {
			t.Errorf("without terms the catalog shows %v", row)
		}
		live.Post(t, "/payments", body(`{"max":3}`)).Refused(t, "400 invalid_request invalid_request_error param=installments.max")
		terms := "card.MEX:6/3@MXN:300"
		_, err := s.App.Onboarding.Agree(ctx, s.App.Self(), o.Merchant.ID, merchants.Agreement{Installments: &terms})
		harness.Must(t, err)
		if got := fmt.Sprint(shown()); got != "map[interestFree:[3] max:6 steps:[map[currency:MXN from:300 interestFree:[3] max:6]]]" {
			t.Errorf("the catalog shows %s", got)
		}
		plain.Next("paid")
		lends.Next("paid")
		got, e := triedAt(t, live, body(`null`))
		if got != "lends-1" || !strings.Contains(strings.Join(e.Payment.Attempts[0].Passed, " "), "cheap: does not offer these installments") {
			t.Errorf("tried at %s, passed over %v", got, e.Payment.Attempts)
		}
		paid := live.Get(t, "/payments/"+e.Payment.ID).Want(t, http.StatusOK)
		if paid.Text(t, "status") != "completed" || paid.Text(t, "amountLocal") != "900" || paid.Text(t, "installments.totalLocal") != "990" ||
			paid.Text(t, "installments.amountLocal") != "330" || paid.Text(t, "installments.paidBy") != "shopper" {
			t.Errorf("paid with interest: %s", paid.Body)
		}
		if got, _ := triedAt(t, live, body(`{"max":1}`)); got != "cheap" {
			t.Errorf("at once: tried at %s", got)
		}
		live.Post(t, "/payments", body(`{"max":2}`)).Refused(t, "400 invalid_request invalid_request_error param=installments")
		_, err = s.App.Accounts.Enable(ctx, s.App.Self(), "lends-1", false)
		harness.Must(t, err)
		if got, e := triedAt(t, live, body(`null`)); got != "cheap" || e.Payment.Terms.Installments.Offered() {
			t.Errorf("without a lender: tried at %s, %+v", got, e.Payment.Terms.Installments)
		}
	})
}
