package payouts

import (
	"context"
	"fmt"
	"strings"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/provider"
)

// Explanation says why a withdrawal was sent to its account, or what it waits for.
type Explanation struct {
	Withdrawal pay.Withdrawal
	Rail       string // "spei.MXN"
	Accounts   []Verdict
}

// Verdict says whether an account would pay out such a withdrawal now.
type Verdict struct {
	Account string
	Verdict string // "" if it would
	Balance string // its balance for payouts, as it reports it; "" if it cannot be queried
	Float   string // its float in the ledger; "" if no float is kept
}

// ExplainPayout returns the decisions about a withdrawal as they were recorded and, while it waits,
// which of the operator's accounts would pay it now. It queries the balance of accounts where
// possible.
//
// Errors: store.ErrNotFound.
func (po *Payouts) ExplainPayout(ctx context.Context, id string) (Explanation, error) {
	w, err := po.Store.Withdrawals().Any(ctx, id)
	if err != nil {
		return Explanation{}, fmt.Errorf("%s: %w", id, err)
	}
	wallet, err := po.Store.Wallets().Get(ctx, w.Scope, w.Wallet)
	if err != nil {
		return Explanation{}, fmt.Errorf("wallet %s: %w", w.Wallet, err)
	}
	rail, net := accounts.PayoutRail(wallet.Network, wallet.Currency), money.New(w.Net(), money.USD)
	e := Explanation{Withdrawal: w, Rail: rail.Key}
	if w.Status != pay.WithdrawalPending { // the withdrawal is with an account, or has ended
		return e, nil
	}
	if err := po.providers.ReadAccounts(ctx); err != nil {
		return e, err
	}
	list, err := po.providers.Accounts(ctx, false)
	if err != nil {
		return e, err
	}
	now := po.TimeOf(w.Scope)
	have, err := po.floats.free(ctx, 1)
	if err != nil {
		return e, err
	}
	for _, s := range list {
		if !s.PaysOut {
			continue
		}
		account := s.Account
		account.Rails = s.On
		d, _ := po.providers.Connector(account.ID)
		v := Verdict{Account: account.ID, Verdict: account.Refuses(w.Scope, rail)}
		_, passed := accounts.Accounts{account}.Accepting(rail, net)
		var lacks []string
		for _, f := range lacking(d.Needs, rail.Key, wallet.Known) {
			lacks = append(lacks, string(f))
		}
		switch rests := w.Rests(account.ID); {
		case s.Broken != "":
			v.Verdict = "cannot be used: " + s.Broken
		case v.Verdict != "":
		case len(lacks) > 0:
			v.Verdict = "needs the holder's " + strings.Join(lacks, ", ")
		case po.fits(d, wallet) != nil:
			v.Verdict = "cannot pay to this wallet: " + po.fits(d, wallet).Error()
		case len(passed) > 0:
			v.Verdict = "does not pay " + net.String() + ": " + passed[0]
		case now.Before(rests):
			v.Verdict = "did not pay it: it rests until " + rests.UTC().Format(time.RFC3339)
		}
		need, free := have.of(account.ID, w)
		if need.Minor > 0 {
			v.Float = free.String()
		}
		if v.Verdict == "" && need.Minor > free.Minor {
			v.Verdict = tooLittle(need, free)
		}
		if v.Verdict == "" {
			v.Balance = po.balanceAt(ctx, d)
		}
		e.Accounts = append(e.Accounts, v)
	}
	return e, nil
}

// balanceAt queries an account's balance for payouts, as text; "" if it cannot be queried.
func (po *Payouts) balanceAt(ctx context.Context, d appaccounts.Connector) string {
	to, ok := d.Payouts.(provider.Balancer)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	balance, err := to.Balance(ctx)
	if err != nil {
		return "not known: " + err.Error()
	}
	return balance.String()
}
