package payouts_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
)

// A withdrawal is not sent while it may be canceled. Then the bank gets its net once, for the wallet's account (PAYOUT-3).
func TestWithdrawalIsPaidToItsDestination(t *testing.T) {
	s := openBank(t)
	id := s.withdraw(100_00)
	s.after(pay.WithdrawalHold(true) - time.Second)
	s.wasSent(id, 0, false)
	s.after(time.Second)
	w := s.is(id, "completed")
	paid := s.wasSent(id, 1, true)
	if paid.Destination != clabe || paid.Network != "spei" || paid.Currency != "MXN" || paid.Net.Minor != 97_00 || paid.Local != money.New(1779_95, "MXN") || paid.Reference != w.Reference() {
		t.Errorf("the bank paid %+v", paid)
	}
	s.has(900_00)
	s.every(time.Hour, 3) // what is completed does not change
	s.wasSent(id, 1, true)
}

// A timeout or a crash during the call leaves the outcome unknown. The service queries the bank, and the money leaves once (PAYOUT-6).
func TestUnknownAnswerIsQueriedAndNeverPaidTwice(t *testing.T) {
	for name, c := range map[string]struct {
		arrives bool
		sends   int
	}{
		"the call never arrives":      {false, 2},
		"it pays and does not answer": {true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := openBank(t)
			s.bank.OnSend = func(r providerpayouts.Request) pay.PayoutOutcome {
				if c.arrives {
					s.bank.Pay(r)
				}
				return silent(r)
			}
			s.bank.OnQuery = silent
			id := s.withdraw(100_00)
			s.due()
			s.every(5*time.Minute, 20) // while it is unknown, it has not failed, and is not sent again
			s.is(id, "processing")
			s.wasSent(id, 1, c.arrives)
			s.has(900_00)

			s.bank.OnSend, s.bank.OnQuery = nil, nil
			s.Clock.Advance(5 * time.Minute)
			var all sync.WaitGroup
			for range 8 { // every node runs the loop
				all.Go(func() {
					for range 5 {
						_, err := s.payouts.PayOut(t.Context())
						s.must(err)
					}
				})
			}
			all.Wait()
			s.is(id, "completed")
			s.wasSent(id, c.sends, true)
			s.has(900_00)
		})
	}
}

// A canceled withdrawal gives its money back once, whoever cancels it how often, and is never sent (PAYOUT-4).
func TestCanceledWithdrawalComesBack(t *testing.T) {
	s := openBank(t)
	id := s.withdraw(100_00)
	var all sync.WaitGroup
	var canceled atomic.Int32
	for range 8 {
		all.Go(func() {
			if _, err := s.payouts.CancelWithdrawal(t.Context(), s.by, s.scope, id); err == nil {
				canceled.Add(1)
			} else {
				refused(t, err, "conflict_state")
			}
		})
	}
	all.Wait()
	if canceled.Load() != 1 {
		t.Errorf("%d of 8 cancels at once succeeded, want one", canceled.Load())
	}
	s.is(id, "canceled")
	s.has(1_000_00)
	s.after(time.Hour)
	s.is(id, "canceled")
	s.wasSent(id, 0, false)
}

// A withdrawal whose wallet was deleted fails before it is sent, and its fee comes back too (PAYOUT-12).
func TestWithdrawalToADeletedWalletIsNotSent(t *testing.T) {
	s := openBank(t)
	id := s.withdraw(100_00)
	s.must(s.wallets.Delete(t.Context(), s.Operator, s.scope, s.wallet))
	s.due()
	s.is(id, "failed wallet_disabled")
	s.wasSent(id, 0, false)
	s.has(1_000_00)
}

// A paused merchant begins no withdrawal. One that is under way arrives, and a repeated request gets its answer (SVC-17).
func TestPausedMerchantWithdrawsNothing(t *testing.T) {
	s := openBank(t)
	order := payouts.NewWithdrawal{Amount: money.New(100_00, money.USD), Idempotency: base.Idempotency{Route: "withdraw", Key: "once", Hash: "a"}}
	way, _, err := s.payouts.Withdraw(t.Context(), s.by, s.scope, order)
	s.must(err)
	_, err = s.Onboarding.Pause(t.Context(), carla, s.scope.Merchant, "We wait for your papers")
	s.must(err)
	_, err = s.request(50_00, s.wallet)
	refused(t, err, "forbidden merchant_paused")
	s.has(900_00)
	again, replayed, err := s.payouts.Withdraw(t.Context(), s.by, s.scope, order)
	if err != nil || !replayed || again.ID != way.ID {
		t.Errorf("the repeated request gets %s, %t, %v, want %s", again.ID, replayed, err, way.ID)
	}
	s.due()
	s.is(way.ID, "completed")
}

// The rate is fixed when a withdrawal is made, so that giving it up and making another must bring nothing. A merchant gives it up by
// canceling it, or by deleting its wallet. A worse rate, and one of another day, counts (PAYOUT-13).
func TestGivingAWithdrawalUpBringsNoBetterRate(t *testing.T) {
	for name, giveUp := range map[string]func(s *shop, w pay.Withdrawal){
		"canceled": func(s *shop, w pay.Withdrawal) {
			_, err := s.payouts.CancelWithdrawal(s.Context(), s.by, s.scope, w.ID)
			s.must(err)
		},
		"wallet deleted": func(s *shop, w pay.Withdrawal) {
			s.must(s.wallets.Delete(s.Context(), s.Operator, s.scope, w.Wallet))
			s.due()
			s.is(w.ID, "failed wallet_disabled")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openBank(t)
			other := s.addWallet("002010077777777771", pay.Beneficiary{}).ID
			first, err := s.request(100_00, s.wallet)
			s.must(err)
			s.rate("MXN", "18.90")
			giveUp(s, first)
			is := func(want string) {
				t.Helper()
				quote, err := s.payouts.Quote(t.Context(), s.by, s.scope, payouts.NewWithdrawal{Wallet: other, Amount: money.New(100_00, money.USD)})
				s.must(err)
				w, err := s.request(100_00, other)
				s.must(err)
				if w.Rate.String() != want || quote.Rate != w.Rate || quote.Local != w.Local {
					t.Errorf("the withdrawal has the rate %s, and its quote %s, want %s", w.Rate, quote.Rate, want)
				}
			}
			is("18.35")
			s.rate("MXN", "18.20")
			is("18.2")
			s.Clock.Advance(pay.CancelMemory + time.Minute)
			s.rate("MXN", "18.90")
			is("18.9")
		})
	}
}

// A trusted merchant's withdrawal has another price and another smallest amount (PAYOUT-11).
func TestTrustedMerchantWithdrawsLess(t *testing.T) {
	s := openBank(t)
	_, err := s.request(3_00, s.wallet) // the fee alone
	refused(t, err, "amount_below_minimum amount")
	s.agree(merchants.Trusted)
	_, err = s.request(4_99, s.wallet)
	refused(t, err, "amount_below_minimum amount")
	w, err := s.request(5_00, s.wallet)
	if err != nil || w.Fee != 50 || w.Net() != 4_50 {
		t.Errorf("a trusted merchant's smallest withdrawal is %+v, %v", w, err)
	}
	_, err = s.request(995_01, s.wallet)
	refused(t, err, "balance_insufficient amount")
}
