package payouts_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
)

// topUp enters money of the operator into the float of an account.
func (s *shop) topUp(account, reference string, amount money.Amount) {
	s.Helper()
	s.must(s.floats.Enter(s.Context(), s.Self(), account, amount, reference, "a test", false))
}

// float compares what the ledger has of bank-1's float in pesos, in centavos.
func (s *shop) float(want string) {
	s.Helper()
	list, err := s.floats.List(s.Context())
	s.must(err)
	if len(list) != 1 || list[0].Account != "bank-1" || list[0].Currency != "MXN" {
		s.Fatalf("the floats are %+v", list)
	}
	if got := fmt.Sprintf("%d free, %d committed, %d paid", list[0].Free, list[0].Committed, list[0].Paid); got != want {
		s.Errorf("the float has %s, want %s", got, want)
	}
}

// An account pays no more than its float. A larger withdrawal waits, the operator can see why, and another account pays it. What is
// returned or not paid is free again.
func TestPayoutsKeepToTheFloat(t *testing.T) {
	s := openBank(t)
	s.topUp("bank-1", "TED-1", money.New(2000_00, "MXN"))
	refused(t, s.floats.Enter(t.Context(), s.Self(), "bank-1", money.New(2000_00, "MXN"), "TED-1", "", false), "conflict_state reference")
	first := s.withdraw(103_00) // 100 USD are 1835 MXN
	s.due()
	s.is(first, "completed")
	s.float("16500 free, 0 committed, 183500 paid")

	second := s.withdraw(53_00) // 50 USD are 917.50 MXN
	s.due()
	if w := s.is(second, "pending float_short"); w.PendingReason() != "payout_delayed" {
		t.Errorf("the merchant reads %s, want payout_delayed: floats are the operator's", w.PendingReason())
	}
	s.wasSent(second, 0, false)
	if list, err := s.payouts.WaitingWithdrawals(t.Context(), 10); err != nil || len(list) != 1 || list[0].ID != second {
		t.Errorf("the waiting withdrawals are %v, %v", list, err)
	}
	why, err := s.payouts.ExplainPayout(t.Context(), second)
	s.must(err)
	if len(why.Accounts) != 1 || why.Accounts[0].Float != "165.00 MXN" || why.Accounts[0].Verdict != "its float has 165.00 MXN, and this takes 917.50 MXN" {
		t.Errorf("the explanation has the accounts %+v", why.Accounts)
	}
	if open, err := s.Store.OldestOpen(t.Context()); err != nil || open["withdrawal without money"].IsZero() {
		t.Errorf("the oldest open things lack the withdrawal without money: %v, %v", open, err)
	}
	s.account(accounts.NewAccount{ID: "bank-2", Adapter: "bank", Priority: 9}) // it keeps no float, so it can pay
	s.after(5 * time.Minute)
	w := s.is(second, "completed")
	if w.Payout.Provider != "bank-2" || len(w.Payout.Passed) != 1 || !strings.HasPrefix(w.Payout.Passed[0], "bank-1: its float has 165.00 MXN") || !w.Payout.Float.IsZero() {
		t.Errorf("the withdrawal went to %+v; want bank-2, without bank-1, with nothing of a float", w.Payout)
	}

	s.topUp("bank-1", "TED-2", money.New(1000_00, "MXN"))
	s.bank.OnSend, s.bank.OnQuery = silent, silent
	third := s.withdraw(53_00)
	s.due()
	s.is(third, "processing")
	s.float("24750 free, 91750 committed, 183500 paid")
	s.bank.OnQuery = answers(pay.PayoutRejected, "account_closed")
	s.after(5 * time.Minute)
	s.is(third, "failed account_closed")
	s.float("116500 free, 0 committed, 183500 paid")
	for range 2 {
		s.must(s.notify(pay.PayoutNotice{ID: "back", Reference: reference(first), Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}}))
	}
	s.float("300000 free, 0 committed, 0 paid")
}

// A withdrawal that a limit or a missing approval holds commits nothing of a float: another one is paid at once (PAYOUT-9).
func TestHeldWithdrawalTakesNoFloat(t *testing.T) {
	for name, c := range map[string]struct {
		limits func(*pay.PayoutLimits)
		want   string
	}{
		"limited":  {func(l *pay.PayoutLimits) { l.Hourly = 110_00 }, "pending hourly_limit"},
		"approval": {func(l *pay.PayoutLimits) { l.ApprovalAbove = 110_00 }, "pending approval_required"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openBank(t)
			s.topUp("bank-1", "TED-1", money.New(2200_00, "MXN"))
			s.limit(s.scope.Merchant, c.limits)
			held := s.withdraw(113_00) // 2018.50 MXN
			s.Clock.Advance(time.Millisecond)
			small := s.withdraw(103_00) // 1835 MXN
			s.due()
			s.is(held, c.want)
			s.is(small, "completed")
			s.float("36500 free, 0 committed, 183500 paid")
		})
	}
}

// Payouts that wait in the account's lane when the first entry is booked keep to the float when they leave.
func TestFirstEntryHoldsWhatWaitsInTheLane(t *testing.T) {
	s := openBank(t)
	var all []string
	for range 20 {
		all = append(all, s.withdraw(13_00)) // 183.50 MXN each
	}
	gate := make(chan struct{})
	var under atomic.Int32
	s.bank.OnSend = func(r providerpayouts.Request) pay.PayoutOutcome {
		under.Add(1)
		<-gate
		return s.bank.Pay(r)
	}
	s.Clock.Advance(pay.WithdrawalHold(true))
	var begun sync.WaitGroup
	n, err := s.payouts.HandOut(t.Context(), &begun)
	if err != nil || n != 20 {
		t.Fatalf("%d withdrawals are handed out, %v", n, err)
	}
	apptest.Eventually(t, "the lane is full", func() bool { return under.Load() == 8 })
	s.topUp("bank-1", "the first", money.New(100_00, "MXN"))
	close(gate)
	begun.Wait()
	completed := 0
	for _, id := range all {
		if _, _, paid := s.bank.Sent(id); paid {
			completed++
		}
	}
	s.float("10000 free, 0 committed, 0 paid")
	if completed != 8 {
		t.Errorf("8 payouts were on their way at the first entry of 100.00 MXN, and %d of 183.50 MXN each were paid", completed)
	}
}

// An entry that is zero, too large for the ledger or more than is there is refused.
func TestEntryIsBounded(t *testing.T) {
	s := openBank(t)
	for _, minor := range []int64{math.MinInt64, math.MaxInt64, 0, -1e15 - 1} {
		refused(t, s.floats.Enter(t.Context(), s.Self(), "bank-1", money.New(minor, "MXN"), "e", "", false), "invalid_request amount")
	}
	refused(t, s.floats.Enter(t.Context(), s.Self(), "bank-1", money.New(-1, "MXN"), "e", "", false), "balance_insufficient amount")
	if list, err := s.floats.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("refused entries made the floats %+v, %v", list, err)
	}
}

// The balance that the provider reports is compared with the ledger. Money on its way may or may not have left it.
func TestFloatIsComparedWithTheBalance(t *testing.T) {
	s := openBank(t)
	s.topUp("bank-1", "TED-1", money.New(2000_00, "MXN"))
	s.bank.OnSend, s.bank.OnQuery = silent, silent
	s.withdraw(103_00)
	s.due()
	for _, c := range []struct {
		has  money.Amount
		err  error
		want string
	}{
		{money.Amount{}, errors.New("the bank does not say"), "the bank does not say"},
		{money.New(2000_00, "USD"), nil, "it reports its balance in USD"},
		{money.New(2000_00, "MXN"), nil, "0.00 MXN"},
		{money.New(165_00, "MXN"), nil, "0.00 MXN"},
		{money.New(160_50, "MXN"), nil, "-4.50 MXN"},
		{money.New(2000_01, "MXN"), nil, "0.01 MXN"},
	} {
		s.bank.OnBalance = func() (money.Amount, error) { return c.has, c.err }
		s.must(s.floats.Compare(t.Context()))
		seen := s.floats.Seen()
		if len(seen) != 1 || seen[0].Unknown == "" && seen[0].Off.String() != c.want || seen[0].Unknown != "" && seen[0].Unknown != c.want {
			t.Errorf("for the reported balance %s the comparison is %+v, want %s", c.has, seen, c.want)
		}
	}
}

// crowded is a bank at which the operator has many accounts. It says no balance until open is closed.
type crowded struct {
	*apptest.Payer
	open       chan struct{}
	asked, now atomic.Int32
	most       atomic.Int32 // questions at the same time
}

func (c *crowded) Balance(context.Context) (money.Amount, error) {
	c.asked.Add(1)
	if now := c.now.Add(1); now > c.most.Load() {
		c.most.Store(now)
	}
	defer c.now.Add(-1)
	<-c.open
	return money.New(2000_00, "MXN"), nil
}

// All accounts are compared by the clients that pay, a few at a time.
func TestFloatsOfManyAccountsAreAskedAFewAtATime(t *testing.T) {
	const many = 12
	s := open(t)
	c, clients := &crowded{Payer: s.bank, open: make(chan struct{})}, atomic.Int32{}
	crowd := s.bank.Adapter()
	crowd.Name, crowd.OpenPayouts = "crowd", func(provider.Account) (providerpayouts.Provider, error) {
		clients.Add(1)
		return c, nil
	}
	s.Providers.Adapters = append(s.Providers.Adapters, crowd)
	for i := range many {
		id := fmt.Sprint("bank-", i)
		s.account(accounts.NewAccount{ID: id, Adapter: "crowd"})
		s.topUp(id, "TED "+id, money.New(2000_00, "MXN"))
	}
	before, compared := clients.Load(), make(chan error, 1)
	go func() { compared <- s.floats.Compare(t.Context()) }()
	apptest.Eventually(t, "eight accounts are asked", func() bool { return c.asked.Load() >= 8 })
	close(c.open)
	s.must(<-compared)
	for _, f := range s.floats.Seen() {
		if f.Unknown != "" || f.Off.Minor != 0 {
			t.Errorf("the float of %s is %+v, want a balance like the ledger's", f.Account, f)
		}
	}
	if n := len(s.floats.Seen()); n != many || c.asked.Load() != many || c.most.Load() > 8 || clients.Load() != before {
		t.Errorf("%d floats are seen, %d balances asked, %d at a time, by %d new clients; want %d, each asked once, 8 at a time by the clients that are there",
			n, c.asked.Load(), c.most.Load(), clients.Load()-before, many)
	}
}
