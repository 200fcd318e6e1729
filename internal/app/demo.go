package app

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// DemoCheckout opens a checkout of 25.50 USD in the demo merchant's sandbox, and returns its token.
//
// Errors: store.ErrNotFound if there is no demo merchant.
func (a *App) DemoCheckout(ctx context.Context) (token string, err error) {
	scope, err := a.Onboarding.Demo(ctx)
	if err != nil {
		return "", err
	}
	_, token, _, err = a.Sessions.Create(ctx, base.Principal{Scope: scope, Kind: merchants.Secret}, payments.NewSession{
		Amount: money.New(25_50, money.USD), OrderID: "demo-1",
		Customer: pay.Customer{FirstName: "Ana", LastName: "Souza", Email: "ana@example.com", Phone: "+55 11 99999 0000"},
	})
	return token, err
}
