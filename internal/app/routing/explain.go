package routing

import (
	"context"
	"fmt"
	"slices"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// Explanation says why a payment was sent to its accounts.
type Explanation struct {
	Payment  pay.Payment
	Rail     accounts.Rail
	Band     string // the band of amounts for the payment's score
	Accounts []AccountVerdict
	Rules    []routing.Verdict // of the rules with conditions in force, about such a payment
	Retry    string            // where the next try of a shopper whose card was refused on a page goes, and why; "" if none was
	// Watched: this process takes payments, and so knows the accounts' health. A command does not.
	Watched bool
	At      time.Time
}

// AccountVerdict says whether an account would take such a payment now, and its health on the rail.
type AccountVerdict struct {
	Account string
	Verdict string // "" if it would
	Circuit routing.Circuit
	Score   routing.Score
}

// Explain returns the decisions of a payment's cascade as they were recorded, and which of the
// operator's accounts would take the payment now.
//
// Errors: store.ErrNotFound.
func (ru *Rules) Explain(ctx context.Context, payment string) (Explanation, error) {
	p, err := ru.Store.Payments().Any(ctx, payment)
	if err != nil {
		return Explanation{}, fmt.Errorf("%s: %w", payment, err)
	}
	e := Explanation{Payment: p, Rail: ru.providers.Catalog.ByID[p.Way.RailID], Band: routing.Band(p.Price.Amount), Watched: ru.Operator == "", At: ru.Now()}
	e.Retry = ru.providers.Routes(p).Describe(p, appaccounts.KeepsPage(ru.providers, p), ru.TimeOf(p.Scope))
	list, err := ru.providers.Accounts(ctx, false)
	if err != nil {
		return e, err
	}
	var serving accounts.Accounts
	for _, s := range list {
		if s.PaysOut {
			continue
		}
		account := s.Account
		account.Rails = s.On
		known := appaccounts.Candidate(ru.providers, account, e.Rail.Key, e.Band)
		v := AccountVerdict{account.ID, account.Refuses(p.Scope, e.Rail), known.Circuit, known.Score}
		if s.Broken != "" {
			v.Verdict = "cannot be used: " + s.Broken
		}
		if v.Verdict == "" {
			serving = append(serving, account)
		}
		e.Accounts = append(e.Accounts, v)
	}
	rules, such := ru.providers.Rules.Load(), p
	such.Attempts = nil // as it was when it was made
	able, _ := appaccounts.InInstallments(ru.providers, serving, such, e.Rail)
	has := func(of accounts.Accounts, id string) bool {
		return slices.ContainsFunc(of, func(a accounts.Account) bool { return a.ID == id })
	}
	for i, v := range e.Accounts {
		if v.Verdict == "" && !has(able, v.Account) {
			e.Accounts[i].Verdict = "does not offer these installments"
		}
	}
	e.Rules = rules.Verdicts(&such, e.Rail, able)
	choice := rules.Choose(&such, e.Rail, able)
	listing := "the routing rules' list for " + e.Rail.Key
	if choice.Name != "" {
		listing = "the list of rule " + choice.Name
	}
	accepting, _ := choice.Accounts.Accepting(e.Rail, p.Price.Local)
	for i, v := range e.Accounts {
		switch {
		case v.Verdict != "":
		case !has(choice.Accounts, v.Account):
			e.Accounts[i].Verdict = "is not in " + listing
		case !has(accepting, v.Account):
			e.Accounts[i].Verdict = "does not take " + p.Price.Local.String()
		}
	}
	return e, nil
}
