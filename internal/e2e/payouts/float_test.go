package payouts

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// topUp enters money of the operator into the float of a payout account.
func topUp(t *testing.T, o harness.Client, account, reference string, amount money.Amount) {
	t.Helper()
	harness.Must(t, o.App.Floats.Enter(ctx, o.App.Self(), account, amount, reference, "a test", false))
}

// float fails the test unless the ledger has want for a float: "X free, Y committed, Z paid", in minor
// units.
func float(t *testing.T, o harness.Client, account string, currency money.Currency, want string) {
	t.Helper()
	list, err := o.App.Floats.List(ctx)
	harness.Must(t, err)
	for _, f := range list {
		if f.Account == account && f.Currency == currency {
			if got := fmt.Sprintf("%d free, %d committed, %d paid", f.Free, f.Committed, f.Paid); got != want {
				t.Errorf("the float of %s in %s has %s, want %s", account, currency, got, want)
			}
			return
		}
	}
	t.Errorf("%s has no float in %s: %+v", account, currency, list)
}

// An account pays no more than its float. A larger withdrawal waits, the operator can see why, and it
// goes on once there is money. What is returned or not paid is free again.
func TestPayoutsKeepToTheFloat(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		topUp(t, o, "bank-1", "TED-1", money.New(2000_00, "MXN"))
		if err := o.App.Floats.Enter(ctx, o.App.Self(), "bank-1", money.New(2000_00, "MXN"), "TED-1", "", false); err == nil || !strings.Contains(message.Sentence(err), "booked already") {
			t.Errorf("the same entry a second time returns %v, want an error", err)
		}
		first := o.Withdraw(t, "103") // 100 USD are 1835 MXN
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, first, "completed")
		float(t, o, "bank-1", "MXN", "16500 free, 0 committed, 183500 paid")

		second := o.Withdraw(t, "53") // 50 USD are 917.50 MXN
		o.Clock.Advance(pay.WithdrawalHold(true))
		waits := func() {
			t.Helper()
			harness.Eventually(t, "the withdrawal waits with payout_delayed", func() bool {
				_, err := o.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
				return o.Get(t, "/withdrawals/"+second).Text(t, "pendingReason") == "payout_delayed"
			})
		}
		waits()
		held, err := o.App.Payouts.WaitingWithdrawals(ctx, 10)
		harness.Must(t, err)
		if len(held) != 1 || held[0].Waiting != "float_short" {
			t.Errorf("the waiting withdrawals are %+v, want one with float_short", held)
		}
		why, err := o.App.Payouts.ExplainPayout(ctx, second)
		harness.Must(t, err)
		if len(why.Accounts) != 1 || why.Accounts[0].Float != "165.00 MXN" || why.Accounts[0].Verdict != "its float has 165.00 MXN, and this takes 917.50 MXN" {
			t.Errorf("the explanation has the accounts %+v", why.Accounts)
		}
		if open, err := o.App.OldestOpen(ctx); err != nil || open["withdrawal without money"].IsZero() {
			t.Errorf("the oldest open things lack the withdrawal without money: %v, error %v", open, err)
		}
		if sends, _, _ := b.Sent(second); sends != 0 {
			t.Errorf("the bank was asked to pay more than the float has")
		}

		// The second account keeps no float, so it can pay.
		o.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-2", Priority: 9})
		o.Clock.Advance(5 * time.Minute)
		o.PayOut(t, second, "completed")
		w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, second)
		harness.Must(t, err)
		if w.Payout.Provider != "bank-2" || len(w.Payout.Passed) != 1 || !strings.HasPrefix(w.Payout.Passed[0], "bank-1: its float has 165.00 MXN") || !w.Payout.Float.IsZero() {
			t.Errorf("the withdrawal went to %s, passed over %v, with %s of a float; want bank-2, bank-1 and none", w.Payout.Provider, w.Payout.Passed, w.Payout.Float)
		}

		// What is not paid, and what is returned, is free again.
		topUp(t, o, "bank-1", "TED-2", money.New(1000_00, "MXN"))
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		},
			func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
				return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
			})
		third := o.Withdraw(t, "53")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, third, "processing")
		float(t, o, "bank-1", "MXN", "24750 free, 91750 committed, 183500 paid")
		b.Behave(nil, func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
		})
		o.Clock.Advance(5 * time.Minute)
		o.PayOut(t, third, "failed")
		float(t, o, "bank-1", "MXN", "116500 free, 0 committed, 183500 paid")
		back := pay.PayoutNotice{ID: "back", Reference: first[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}}
		for range 2 {
			if got := bankTells(t, o.Instance, "bank-1", "bank", back); got != 200 {
				t.Errorf("the notification of the return gets %d, want 200", got)
			}
		}
		float(t, o, "bank-1", "MXN", "300000 free, 0 committed, 0 paid")
		if story, err := o.App.Story(ctx, first); err != nil || !strings.Contains(story, "float_committed") || !strings.Contains(story, "1835.00 MXN") {
			t.Errorf("the story lacks the float's transfers (%v):\n%s", err, story)
		}
	})
}

// Withdrawals that are sent at once never exceed the float, and leave nothing committed.
func TestFloatIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		topUp(t, o, "bank-1", "wire", money.New(70_00, "USD")) // this account's float is in dollars
		var all []string
		for range 20 {
			all = append(all, o.Withdraw(t, "13"))
		}
		o.Clock.Advance(pay.WithdrawalHold(true))
		done := make(chan error, 4)
		for range cap(done) {
			go func() {
				_, err := o.App.Payouts.PayOut(ctx)
				done <- err
			}()
		}
		for range cap(done) {
			harness.Must(t, harness.Soon(t, "the loop of payouts to return", done))
		}
		float(t, o, "bank-1", "USD", "0 free, 0 committed, 7000 paid")
		topUp(t, o, "bank-1", "wire 2", money.New(130_00, "USD"))
		o.Clock.Advance(5 * time.Minute)
		for _, id := range all {
			o.PayOut(t, id, "completed")
		}
		float(t, o, "bank-1", "USD", "0 free, 0 committed, 20000 paid")
	})
}

// The balance that the provider reports is compared with the ledger. Money on its way may or may not
// have left it.
func TestFloatIsComparedWithTheBalance(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		topUp(t, o, "bank-1", "TED-1", money.New(2000_00, "MXN"))
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		},
			func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
				return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
			})
		id := o.Withdraw(t, "103")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		for _, c := range []struct {
			has  money.Amount
			want string
		}{
			{money.Amount{}, "the bank does not tell"},
			{money.New(2000_00, "USD"), "it reports its balance in USD"},
			{money.New(2000_00, "MXN"), "0.00 MXN"},
			{money.New(165_00, "MXN"), "0.00 MXN"},
			{money.New(160_50, "MXN"), "-4.50 MXN"},
			{money.New(2000_01, "MXN"), "0.01 MXN"},
		} {
			b.Mu.Lock()
			b.Has = c.has
			b.Mu.Unlock()
			harness.Must(t, o.App.Floats.Compare(ctx))
			seen := o.App.Floats.Seen()
			if len(seen) != 1 || (seen[0].Unknown == "" && seen[0].Off.String() != c.want) || (seen[0].Unknown != "" && seen[0].Unknown != c.want) {
				t.Errorf("for the reported balance %s the comparison is %+v, want %s", c.has, seen, c.want)
			}
		}
	})
}

// crowded is a bank at which the operator has many accounts. It answers nobody about balances until open is closed.
type crowded struct {
	*harness.Payer
	open                chan struct{}
	clients, asked, now atomic.Int32
	most                atomic.Int32 // questions at the same time
}

func (c *crowded) Balance(ctx context.Context) (money.Amount, error) {
	c.asked.Add(1)
	if now := c.now.Add(1); now > c.most.Load() {
		c.most.Store(now)
	}
	defer c.now.Add(-1)
	<-c.open
	return c.Payer.Balance(ctx)
}

// All accounts are compared by the clients that pay, a few at a time.
func TestFloatsOfManyAccountsAreAskedAFewAtATime(t *testing.T) {
	t.Parallel()
	const many = 40
	c := &crowded{Payer: harness.NewPayer(), open: make(chan struct{})}
	adapter := c.Adapter()
	adapter.OpenPayouts = func(provider.Account) (payouts.Provider, error) {
		c.clients.Add(1)
		return c, nil
	}
	a := harness.NodeOf(t, dbtest.SQLite(t), &harness.Clock{}, &harness.Faults{}, func(config *app.Config) { config.Adapters = []provider.Adapter{adapter} })
	for i := range many {
		account := fmt.Sprint("bank-", i)
		_, err := a.Accounts.Add(ctx, a.Self(), accounts.NewAccount{ID: account, Adapter: "bank", Live: true})
		harness.Must(t, err)
		harness.Must(t, a.Floats.Enter(ctx, a.Self(), account, money.New(2000_00, "MXN"), "TED "+account, "a test", false))
	}
	c.Has = money.New(2000_00, "MXN")
	before := c.clients.Load()
	compared := make(chan error, 1)
	go func() { compared <- a.Floats.Compare(ctx) }()
	harness.Eventually(t, "eight accounts to be asked", func() bool { return c.asked.Load() >= 8 })
	close(c.open)
	harness.Must(t, harness.Soon(t, "the comparison to end", compared))
	for _, f := range a.Floats.Seen() {
		if f.Unknown != "" || f.Off.Minor != 0 {
			t.Errorf("the float of %s is %+v, want a balance like the ledger's", f.Account, f)
		}
	}
	if n := len(a.Floats.Seen()); n != many || c.asked.Load() != many || c.most.Load() > 8 || c.clients.Load() != before {
		t.Errorf("%d floats are seen, %d balances asked, %d at a time, by %d new clients; want %d, each asked once, 8 at a time by the clients that are there",
			n, c.asked.Load(), c.most.Load(), c.clients.Load()-before, many)
	}
}
