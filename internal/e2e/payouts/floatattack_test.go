package payouts

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
)

func unknownPayer(*harness.Payer, payouts.Request) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
}

// another makes another merchant that can withdraw.
func another(t *testing.T, s *harness.Instance) harness.Client {
	t.Helper()
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t)
	s.Clock.Advance(time.Second)
	return o
}

// A withdrawal that a stop or a missing approval holds commits nothing of a float. Others are paid at
// once.
func TestHeldWithdrawalTakesNoFloat(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]func(*pay.PayoutLimits){
		"stopped":  func(l *pay.PayoutLimits) { l.Stopped = "looked into" },
		"approval": func(l *pay.PayoutLimits) { l.ApprovalAbove = 1_00 },
	} {
		t.Run(name, func(t *testing.T) {
			harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
				other := another(t, o.Instance)
				topUp(t, o, "bank-1", "TED-1", money.New(2000_00, "MXN"))
				_, err := o.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, true, limits)
				harness.Must(t, err)
				held := o.Withdraw(t, "103") // 1835 MXN
				o.Clock.Advance(time.Millisecond)
				small := other.Withdraw(t, "103")
				o.Clock.Advance(pay.WithdrawalHold(true))
				for i := range 60 {
					_, err := o.App.Payouts.PayOut(ctx)
					harness.Must(t, err)
					if other.Get(t, "/withdrawals/"+small).Text(t, "status") == "completed" {
						if i > 0 {
							t.Errorf("the other merchant was paid after %d rounds of 91 s, want at once", i)
						}
						return
					}
					o.Clock.Advance(91 * time.Second)
				}
				float(t, o, "bank-1", "MXN", "200000 free, 0 committed, 0 paid")
				t.Errorf("after an hour and a half: the held %s is %s (%s), and the other merchant's %s is %s (%s), although the float has 2000 MXN free and it needs 1835",
					held, o.Get(t, "/withdrawals/"+held).Text(t, "status"), o.Get(t, "/withdrawals/"+held).Text(t, "pendingReason"),
					small, other.Get(t, "/withdrawals/"+small).Text(t, "status"), other.Get(t, "/withdrawals/"+small).Text(t, "pendingReason"))
			})
		})
	}
}

// Payouts that wait in the account's lane when the first entry is booked keep to the float when they
// leave.
func TestFirstEntryHoldsWhatWaitsInTheLane(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		var all []string
		for range 20 {
			all = append(all, o.Withdraw(t, "13")) // 183.50 MXN each
		}
		gate := make(chan struct{})
		var mu sync.Mutex
		after, began := 0, false
		b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			<-gate
			mu.Lock()
			if began && r.Sent.After(o.Clock.Now().Add(-30*time.Second)) {
				after++
			}
			mu.Unlock()
			return b.Pay(r)
		}, nil)
		o.Clock.Advance(pay.WithdrawalHold(true))
		done := make(chan error, 1)
		go func() { _, err := o.App.Payouts.PayOut(ctx); done <- err }()
		processing := func() (n int) {
			for _, id := range all {
				if o.Get(t, "/withdrawals/"+id).Text(t, "status") == "processing" {
					n++
				}
			}
			return n
		}
		harness.Eventually(t, "the lane is full", func() bool { return processing() == 8 })
		time.Sleep(100 * time.Millisecond)
		before := processing()
		o.Clock.Advance(45 * time.Second)
		topUp(t, o, "bank-1", "the first", money.New(100_00, "MXN"))
		mu.Lock()
		began = true
		mu.Unlock()
		close(gate)
		harness.Must(t, harness.Soon(t, "it to be done", done))
		completed := 0
		for _, id := range all {
			if o.Get(t, "/withdrawals/"+id).Text(t, "status") == "completed" {
				completed++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		float(t, o, "bank-1", "MXN", "10000 free, 0 committed, 0 paid")
		if completed > before {
			t.Errorf("%d payouts were on their way at the first entry of 100.00 MXN, but %d more of 183.50 MXN each were sent after it, without committing any of the float", before, after)
		}
	})
}

// Somebody changes in the database how much two withdrawals commit of a float. The sum stays the same,
// but the check finds it.
func TestCheckFindsFloatOfAnotherWithdrawal(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		topUp(t, o, "bank-1", "TED-1", money.New(9000_00, "MXN"))
		b.Behave(unknownPayer, unknownPayer)
		one, two := o.Withdraw(t, "103"), o.Withdraw(t, "203")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, one, "processing")
		o.PayOut(t, two, "processing")
		float(t, o, "bank-1", "MXN", "349500 free, 550500 committed, 0 paid")
		exec, done := o.Exec(t)
		defer done()
		set := func(id, from, to string) {
			exec(`UPDATE withdrawals SET doc = replace(doc, ',"float":` + from + `,', ',"float":` + to + `,') WHERE id = '` + id + `'`)
		}
		set(one, "183500", "550499")
		set(two, "367000", "1")
		broken, err := o.App.Check(ctx)
		harness.Must(t, err)
		broken = slices.DeleteFunc(broken, func(b store.Broken) bool {
			return !strings.HasPrefix(b.Invariant, "a withdrawal took its part of a float")
		})
		if len(broken) != 2 { // by the ledger, whatever the rows' hashes say
			t.Errorf("the check finds %v, want both withdrawals", broken)
		}
		set(one, "550499", "183500")
		set(two, "1", "367000")
	})
}

// An entry that is zero or too large for the ledger is refused.
func TestEntryIsBounded(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		for _, minor := range []int64{math.MinInt64, math.MaxInt64, 0, -1e15 - 1} {
			err := o.App.Floats.Enter(ctx, o.App.Self(), "bank-1", money.New(minor, "MXN"), "e", "", false)
			if refused, ok := errors.AsType[*problem.Error](err); !ok || refused.Param != "amount" {
				t.Errorf("an entry of %d returns %v, want an error about the amount", minor, err)
			}
		}
		if list, err := o.App.Floats.List(ctx); err != nil || len(list) != 0 {
			t.Errorf("refused entries left the floats %+v (error %v), want none", list, err)
		}
	})
}

// A line of a production account's report with a sandbox withdrawal's reference matches no withdrawal,
// and warns no merchant.
func TestSandboxReferenceWarnsNobody(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		sandbox := harness.Client{Onboarded: o.Onboarded, Instance: o.Instance}.NewKey(t, auth.NewKey{Kind: merchants.Secret, Rights: []merchants.Right{merchants.RightWithdrawals}})
		o.Fund(t, false, 500_00)
		sandbox.Wallet(t)
		o.Clock.Advance(time.Second)
		id := sandbox.Withdraw(t, "103")
		w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, id)
		harness.Must(t, err)
		format, err := o.App.Reconciliation.ReportFormat(ctx, "bank-1")
		harness.Must(t, err)
		now := o.Clock.Now()
		done, err := o.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{Account: "bank-1", Format: format, From: now.Add(-time.Hour), To: now.Add(time.Hour),
			Reports: []reconciliation.Report{{Name: "bank.csv", Reader: strings.NewReader("reference,type,amount,currency,date\n" + w.Reference() + ",payout,1835,MXN," + now.Format(time.RFC3339) + "\n")}}})
		harness.Must(t, err)
		if done.Totals.Found[reconcile.PayoutMissingHere] != 1 {
			t.Errorf("the discrepancies are %v, want one payout_missing_here", done.Totals.Found)
		}
		if got := o.Get(t, "/me/balance").Text(t, "ledgerWarnings"); strings.Contains(got, "provider_drift") {
			t.Errorf("the production balance warns because of a sandbox withdrawal: %s", got)
		}
	})
}

// A return that does not fit the payout is for the operator, of a token too.
func TestReturnThatDoesNotFitATokenIsForTheOperator(t *testing.T) {
	t.Parallel()
	for name, local := range map[string]money.Amount{
		"more than was paid": money.New(5_000_00, money.USD), "in another currency": money.New(1, money.BRL), "below zero": money.New(-5_00, money.USD), "of nothing": money.New(0, money.USD),
	} {
		t.Run(name, func(t *testing.T) {
			harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
				bitcoin := o.Wallet(t, `{"type":"crypto","currency":"BTC","destination":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}`)
				o.Clock.Advance(time.Second)
				id := o.Post(t, "/withdrawals", `{"amount":100,"walletId":"`+bitcoin+`"}`).Want(t, http.StatusCreated).Text(t, "id")
				o.Clock.Advance(pay.WithdrawalHold(true))
				o.PayOut(t, id, "completed")
				bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "return:1", Reference: id[len(pay.WithdrawalPrefix):],
					Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Local: local}})
				if have := harness.Available(t, o); have != "900" {
					t.Errorf("a return of %s of a payout of 97 USD: available is %s, want 900", local, have)
				}
			})
		})
	}
}
