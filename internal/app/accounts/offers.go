package accounts

import (
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
)

// Offers is what some accounts together offer over a rail under terms, for an amount; for any amount if that is zero.
func Offers(ps *Providers, accounts []string, rail accounts.Rail, local money.Amount, t installment.Terms) (all installment.Offer) {
	if !rail.Sync || !t.Offered() {
		return all
	}
	for _, id := range accounts {
		if upstream, ok := ps.Upstream(id); ok {
			all = all.With(provider.Installments(upstream, rail.Key, local, t))
		}
	}
	return all
}

// InInstallments selects the accounts at which the shopper of a payment can pay in its installments; all if none can. passed says
// why the others were passed over.
func InInstallments(ps *Providers, serving accounts.Accounts, p pay.Payment, rail accounts.Rail) (able accounts.Accounts, passed []string) {
	t := p.Terms.Installments
	if !t.Offered() {
		return serving, nil
	}
	for _, a := range serving {
		if Offers(ps, []string{a.ID}, rail, p.Price.Local, t).Max() > 0 {
			able = append(able, a)
		} else {
			passed = append(passed, a.ID+": does not offer these installments")
		}
	}
	accepting, _ := ps.Rules.Load().Choose(&p, rail, able).Accounts.Accepting(rail, p.Price.Local)
	if !slices.ContainsFunc(accepting, func(a accounts.Account) bool { return !p.Attempts.Tried(a.ID) }) { // better at once than not at all
		return serving, nil
	}
	return able, passed
}
