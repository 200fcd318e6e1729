package methods

import (
	"strings"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Installments are the terms of an order that is paid over the method of a quote: what is asked within what the merchant is granted,
// with what the providers that would serve it offer then. Terms without an offer are zero: the shopper pays at once.
func (ms *Methods) Installments(scope merchants.Scope, granted installment.Grants, asked installment.Request, q Quote) (installment.Terms, installment.Offer) {
	t := asked.Terms(granted.For(termsKey(q.Rail, q.Country), q.Local, scope.Live, asked.Wants()), q.Local)
	within, _ := q.serving.Accepting(q.Rail, q.Local)
	offer := appaccounts.Offers(ms.Providers, ms.served(scope, within, len(q.serving) == 0), q.Rail, q.Local, t)
	if offer.Max() == 0 {
		return installment.Terms{}, offer
	}
	return t, offer
}

// testRail reports whether a rail is one of the sandbox, which works in every country.
func testRail(r accounts.Rail) bool { return !strings.Contains(r.Key, ".") }

// termsKey is the key by which a merchant's terms name a rail: that of the country for a rail of the sandbox.
func termsKey(r accounts.Rail, country string) string {
	if testRail(r) {
		return r.Method + "." + country
	}
	return r.Key
}

// served are the ids of accounts, or those of the stand-ins where the sandbox has no account.
func (ms *Methods) served(scope merchants.Scope, accounts accounts.Accounts, none bool) (ids []string) {
	if none && !scope.Live {
		return ms.StandInOrder
	}
	for _, a := range accounts {
		ids = append(ids, a.ID)
	}
	return ids
}

// AskedInstallments are the terms of an order whose request names its method.
//
// Errors: invalid_request for more than the merchant is granted, and if the request asks for installments that no provider offers.
func (ms *Methods) AskedInstallments(scope merchants.Scope, granted installment.Grants, asked installment.Request, q Quote) (installment.Terms, error) {
	if err := asked.Check(granted.For(termsKey(q.Rail, q.Country), q.Local, scope.Live, asked.Wants())); err != nil {
		return installment.Terms{}, err
	}
	t, _ := ms.Installments(scope, granted, asked, q)
	if asked.Max > 1 && t == (installment.Terms{}) {
		return t, installment.Unserved()
	}
	return t, nil
}

// Offered is what shoppers may choose over a rail of the catalog, whatever they pay: within the merchant's terms, at the accounts
// that serve the rail. In the sandbox a merchant without terms sees what a request may ask for.
func (ms *Methods) Offered(scope merchants.Scope, granted installment.Grants, rail accounts.Rail) installment.Offer {
	serving, t := ms.Serving(scope, rail), granted.For(rail.Key, money.Amount{}, scope.Live, true)
	if testRail(rail) {
		t = granted.Widest(rail.Method)
	}
	return appaccounts.Offers(ms.Providers, ms.served(scope, serving, len(serving) == 0), rail, money.Amount{}, t)
}

// Steps are what Offered says for each amount from which the merchant's terms begin, ascending; one from any amount on for a merchant
// without terms.
func (ms *Methods) Steps(scope merchants.Scope, granted installment.Grants, rail accounts.Rail) (steps []installment.Step) {
	key, serving := rail.Key, ms.Serving(scope, rail)
	if testRail(rail) {
		key = rail.Method
	}
	accounts := ms.served(scope, serving, len(serving) == 0)
	if granted == "" {
		return []installment.Step{{Offer: ms.Offered(scope, granted, rail)}}
	}
	for _, g := range granted.Steps(key) {
		if o := appaccounts.Offers(ms.Providers, accounts, rail, g.From, installment.Terms{Max: g.Max, InterestFree: g.InterestFree}); o.Max() > 0 {
			steps = append(steps, installment.Step{From: g.From, Offer: o})
		}
	}
	return steps
}

// InstallmentsOf is what the shopper of an open payment may choose where it is paid now.
func (ms *Methods) InstallmentsOf(p pay.Payment, rail accounts.Rail) installment.Offer {
	attempt, ok := p.Attempts.Current()
	if !ok || !p.Status.Open() {
		return installment.Offer{}
	}
	return appaccounts.Offers(ms.Providers, []string{attempt.Provider}, rail, p.Price.Local, p.Terms.Installments)
}
