package payouts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/payout"
)

// An account that proves not to pay hands the withdrawal on, under another reference, and comes to its
// turn again later. One that nobody knows of is never followed by another.
func TestAccountThatDoesNotPayIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		o.PayOutBy(t, "bank", acquiring.NewAccount{ID: "bank-2", Priority: 9})
		short := func(b *harness.Payer, r payout.Request) pay.PayoutOutcome {
			if strings.Contains(r.Reference, "-") {
				return b.Pay(r)
			}
			return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float", Message: "no money left"}
		}
		b.Behave(short, nil)
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		done := o.PayOut(t, id, "completed")
		if ref := done.Text(t, "reference"); ref != id[len(pay.WithdrawalPrefix):]+"-2" {
			t.Errorf("it was paid under %s", ref)
		}
		w, err := o.App.Payouts.Withdrawal(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		harness.Must(t, err)
		if w.Provider != "bank-2" || len(w.Tried) != 1 || w.Tried[0].Account != "bank-1" || w.Tried[0].Code != "insufficient_float" ||
			len(w.Passed) != 1 || !strings.HasPrefix(w.Passed[0], "bank-1: did not pay it, rests until ") || w.Why != "the only one" {
			t.Errorf("it went %+v, passed %v, why %q", w.Tried, w.Passed, w.Why)
		}
		if story, err := o.App.Story(ctx, id); err != nil || !strings.Contains(story, "bank-1") || !strings.Contains(story, "insufficient_float") {
			t.Errorf("the story does not tell who did not pay (%v):\n%s", err, story)
		}

		// Nobody pays: it waits, says why, may be cancelled, and goes on by itself.
		b.Behave(func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
		}, nil)
		id, other := o.Withdraw(t, "200"), o.Withdraw(t, "50")
		o.Clock.Advance(pay.WithdrawalHold(true))
		harness.Eventually(t, "both wait", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return o.Get(t, "/withdrawals/"+id).Text(t, "pendingReason") == "payout_delayed" && o.Get(t, "/withdrawals/"+other).Text(t, "pendingReason") == "payout_delayed"
		})
		o.Post(t, "/withdrawals/"+other+"/cancel", "").Want(t, http.StatusOK)
		b.Behave(nil, nil)
		if _, err := o.App.Payouts.PayOut(ctx); err != nil || o.Get(t, "/withdrawals/"+id).Text(t, "status") != "pending" {
			t.Errorf("accounts that rest are tried: %v", err)
		}
		o.Clock.Advance(5 * time.Minute)
		o.PayOut(t, id, "completed")
		if got := harness.Available(t, o); got != "700" {
			t.Errorf("available is %s, want 700", got)
		}

		// Unknown: asked, never sent elsewhere.
		b.Behave(func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		},
			func(*harness.Payer, payout.Request) pay.PayoutOutcome {
				return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
			})
		id = o.Withdraw(t, "10")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		for range 20 {
			o.Clock.Advance(6 * time.Minute)
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
		}
		if sends, _, _ := b.Told(id); sends != 1 || o.Get(t, "/withdrawals/"+id).Text(t, "status") != "processing" {
			t.Errorf("what nobody knows was sent %d times", sends)
		}
	})
}

// What a bank sends back after it arrived is the merchant's again, without the fee; told twice it comes
// back once. What does not fit waits for the operator.
func TestReturnedPayoutComesBack(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		reference := id[len(pay.WithdrawalPrefix):]
		o.Clock.Advance(3 * 24 * time.Hour)
		returned := pay.PayoutNotice{ID: "n1", ProviderRef: "bank-" + reference, // it tells its own reference alone
			Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed", Message: "the account is closed"}}
		for name, c := range map[string]struct {
			account, signature string
			n                  pay.PayoutNotice
			want               int
		}{
			"forged":        {"bank-1", "thief", returned, http.StatusUnauthorized},
			"of nobody":     {"bank-1", "bank", pay.PayoutNotice{ID: "n0", Reference: "NONE"}, http.StatusNotFound},
			"of a stranger": {"bank-1", "bank", pay.PayoutNotice{ID: "n0", ProviderRef: "bank-NONE"}, http.StatusNotFound}, // it may be known later
			"of no account": {"bank-7", "bank", returned, http.StatusNotFound},
		} {
			if got := bankTells(t, o.Instance, c.account, c.signature, c.n); got != c.want {
				t.Errorf("%s: %d, want %d", name, got, c.want)
			}
		}
		for _, n := range []string{"n1", "n1", "n2"} {
			returned.ID = n
			if got := bankTells(t, o.Instance, "bank-1", "bank", returned); got != http.StatusOK {
				t.Errorf("the return as %s: %d", n, got)
			}
		}
		r := o.Get(t, "/withdrawals/"+id)
		if r.Text(t, "status") != "failed" || r.Text(t, "failureCode") != "account_closed" || r.Text(t, "completedAt") == "<nil>" || r.Text(t, "failedAt") == "<nil>" {
			t.Errorf("after its return it is %s", r)
		}
		if got := harness.Available(t, o); got != "997" {
			t.Errorf("available is %s, want 997: 100 less the fee came back", got)
		}
		story, err := o.App.Story(ctx, id)
		harness.Must(t, err)
		if !strings.Contains(story, "withdrawal.completed evt_"+reference+"-1") || !strings.Contains(story, "withdrawal.failed evt_"+reference+"-2") ||
			strings.Count(story, "withdrawal_return tr_") != 1 {
			t.Errorf("its story is\n%s", story)
		}
		movements := o.Get(t, "/me/balance/movements").String()
		if !strings.Contains(movements, "withdrawal_reversal") || !strings.Contains(movements, "sent back by the bank") {
			t.Errorf("movements: %s", movements)
		}

		// Paid, says the bank, of one that failed; and another amount of one that is under way.
		b.Behave(func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "invalid_account"}
		}, nil)
		failed := o.Withdraw(t, "20")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, failed, "failed")
		b.Behave(func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutAccepted}
		}, nil)
		other := o.Withdraw(t, "30")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, other, "processing")
		for id, n := range map[string]pay.PayoutNotice{
			failed: {ID: "n3", Reference: failed[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid}},
			other:  {ID: "n4", Reference: other[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid, Local: money.New(1, "MXN")}},
		} {
			if got := bankTells(t, o.Instance, "bank-1", "bank", n); got != http.StatusOK {
				t.Errorf("%s: %d", n.ID, got)
			}
			list, err := o.App.Notices.Notifications(ctx, id, 10)
			harness.Must(t, err)
			if len(list) != 1 || list[0].Verdict != pay.Mismatched {
				t.Fatalf("of %s is kept %+v", id, list)
			}
			harness.Must(t, o.App.Notices.CloseNotification(ctx, list[0].ID, "the bank took it back"))
		}
		if waiting, err := o.App.Notices.Notifications(ctx, "", 10); err != nil || len(waiting) != 0 {
			t.Errorf("still waiting: %+v, %v", waiting, err)
		}
		if s := o.Get(t, "/withdrawals/"+other).Text(t, "status"); s != "processing" {
			t.Errorf("another amount made it %s", s)
		}
	})
}

// What arrives is known before the withdrawal is made, and does not change after it.
func TestWithdrawalIsQuoted(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		w := o.Get(t, "/wallets").Text(t, "data.0.id")
		real := o.Wallet(t, `{"type":"bank_account","currency":"BRL","destination":"ana@example.com","holderName":"Ana Souza","holderDocument":"52998224725"}`)
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+real); r.Text(t, "unpayableReason") != "no_rate" {
			t.Errorf("without a rate: %s", r)
		}
		o.Get(t, "/withdrawals/quote?amount=103&walletId="+real).Refused(t, "503 service_unavailable api_error reason=no_rate")
		o.Get(t, "/withdrawals/quote?amount=103").Is(t, http.StatusOK, `{"walletId":"`+w+`","amount":103,"currency":"USD","feeUsd":3,"netAmount":100,
			"payout":{"amount":1835,"currency":"MXN","rate":18.35,"rateAt":"<time>"}}`)
		o.Get(t, "/withdrawals/quote?amount=3").Refused(t, "400 amount_below_minimum invalid_request_error param=amount")
		o.Get(t, "/withdrawals/quote?amount=5000").Refused(t, "422 balance_insufficient balance_error param=amount")
		o.Get(t, "/withdrawals/quote?amount=103&walletId=wal_1").Refused(t, "404 wallet_not_found invalid_request_error")
		o.Get(t, "/withdrawals/quote?amount=x").Refused(t, "400 amount_invalid invalid_request_error param=amount")
		if got := harness.Available(t, o); got != "1000" {
			t.Errorf("a quote took money: %s", got)
		}
		id := o.Withdraw(t, "103")
		o.Rate(t, "MXN 19")
		o.Clock.Advance(pay.WithdrawalHold(true))
		done := o.PayOut(t, id, "completed")
		if _, paid, _ := b.Told(id); paid.Local != money.New(1835_00, "MXN") || done.Text(t, "payout.amount") != "1835" || done.Text(t, "payout.rate") != "18.35" {
			t.Errorf("the bank was told to pay %s; the merchant reads %s", paid.Local, done)
		}
		bitcoin := o.Wallet(t, `{"type":"crypto","currency":"BTC","destination":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}`)
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/withdrawals/quote?amount=103&walletId="+bitcoin).Want(t, http.StatusOK); r.Text(t, "payout") != "<nil>" {
			t.Errorf("a token has no rate: %s", r)
		}
	})
}

// An account that needs to know more of the holder pays to wallets that tell it.
func TestBeneficiaryIsTold(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		o.Rate(t, "BRL 5.4")
		plain := o.Wallet(t, `{"type":"bank_account","currency":"BRL","destination":"ana@example.com"}`)
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+plain); r.Text(t, "unpayableReason") != "beneficiary_incomplete" || r.Text(t, "beneficiary") != "[]" {
			t.Errorf("the wallet lacks what the account needs: %s", r)
		}
		o.Get(t, "/withdrawals/quote?amount=50&walletId="+plain).Refused(t, "409 conflict_state conflict_error param=walletId missing=holderDocument,holderName reason=beneficiary_incomplete")
		o.Post(t, "/withdrawals", `{"amount":50,"walletId":"`+plain+`"}`).Refused(t, "409 conflict_state conflict_error param=walletId missing=holderDocument,holderName reason=beneficiary_incomplete")
		made := o.Post(t, "/wallets", `{"type":"bank_account","currency":"BRL","destination":"52998224725","holderName":" Ana Souza ","holderDocument":"52998224725"}`).Want(t, http.StatusCreated)
		if made.Text(t, "beneficiary.0") != "holderName" || strings.Contains(made.String(), "\"Ana") {
			t.Errorf("the wallet shows %s", made)
		}
		o.Clock.Advance(time.Second)
		id := o.Post(t, "/withdrawals", `{"amount":50,"walletId":"`+made.Text(t, "id")+`"}`).Want(t, http.StatusCreated).Text(t, "id")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		if _, paid, _ := b.Told(id); paid.Name != "Ana Souza" || paid.Document != "52998224725" || paid.Currency != "BRL" {
			t.Errorf("the bank is told %q, %q", paid.Name, paid.Document)
		}
		o.Post(t, "/wallets", `{"type":"bank_account","currency":"BRL","destination":"+5511999998888","holderDocument":"529.982"}`).Want(t, http.StatusBadRequest)
	})
}
