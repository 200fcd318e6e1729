package acquiring

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/routing"
)

// Explanation says why a payment was sent to its accounts.
type Explanation struct {
	Payment  pay.Payment
	Rail     accounts.Rail
	Band     string // the band of amounts for the payment's score
	Accounts []AccountVerdict
	Retry    string // where the next try of a shopper whose card was refused on a page goes, and why; "" if none was
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
func (ps *Providers) Explain(ctx context.Context, payment string) (Explanation, error) {
	p, err := ps.Store.Payments().Any(ctx, payment)
	if err != nil {
		return Explanation{}, fmt.Errorf("%s: %w", payment, err)
	}
	e := Explanation{Payment: p, Rail: ps.catalog.ByID[p.Way.RailID], Band: routing.Band(p.Price.Amount), Watched: ps.Operator == "", At: ps.Now()}
	e.Retry = ps.Routes(p).Tells(p, KeepsPage(ps, p), ps.TimeOf(p.Scope))
	list, err := ps.Accounts(ctx, false)
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
		known := ps.health.candidate(account, e.Rail.Key, e.Band)
		v := AccountVerdict{account.ID, account.Refuses(p.Scope, e.Rail), known.Circuit, known.Score}
		if s.Broken != "" {
			v.Verdict = "cannot be used: " + s.Broken
		}
		if v.Verdict == "" {
			serving = append(serving, account)
		}
		e.Accounts = append(e.Accounts, v)
	}
	_, chosen, _ := ps.ruled.Load().Choose(e.Rail.Key, serving)
	taking, _ := chosen.Taking(e.Rail, p.Price.Local)
	has := func(of accounts.Accounts, id string) bool {
		return slices.ContainsFunc(of, func(a accounts.Account) bool { return a.ID == id })
	}
	for i, v := range e.Accounts {
		switch {
		case v.Verdict != "":
		case !has(chosen, v.Account):
			e.Accounts[i].Verdict = "is not in the routing rules' list for " + e.Rail.Key
		case !has(taking, v.Account):
			e.Accounts[i].Verdict = "does not take " + p.Price.Local.String()
		}
	}
	return e, nil
}

// KeepsPage says why the provider of a payment cannot prove that its page has ended, "" if it can.
func KeepsPage(ps *Providers, p pay.Payment) string {
	attempt, _ := p.Attempts.Current()
	upstream, _ := ps.Upstream(attempt.Provider)
	if _, ends := upstream.(provider.Canceler); !ends {
		return attempt.Provider + " cannot end its page"
	}
	return Doubts(ps, p)
}

// Doubts says why the end of a payment's page would prove nothing at its provider, "" if it proves that no money can come.
func Doubts(ps *Providers, p pay.Payment) string {
	attempt, _ := p.Attempts.Current()
	upstream, _ := ps.Upstream(attempt.Provider)
	if d, doubted := upstream.(provider.Doubted); doubted {
		return d.Doubts(ps.catalog.ByID[p.Way.RailID].Key)
	}
	return ""
}
