package payouts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// If an account proves that it did not pay, another account gets the withdrawal with another reference.
// The first account is tried again later. If the outcome is unknown, no other account gets it.
func TestAccountThatDoesNotPayIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		o.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-2", Priority: 9})
		short := func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
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
			t.Errorf("the withdrawal was paid with the reference %s, want …-2", ref)
		}
		w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		harness.Must(t, err)
		if w.Payout.Provider != "bank-2" || len(w.Tried) != 1 || w.Tried[0].Account != "bank-1" || w.Tried[0].Code != "insufficient_float" ||
			len(w.Payout.Passed) != 1 || !strings.HasPrefix(w.Payout.Passed[0], "bank-1: did not pay it, rests until ") || w.Payout.Why != "the only one" {
			t.Errorf("the withdrawal was paid by %s; tried %+v, passed over %v, why %q", w.Payout.Provider, w.Tried, w.Payout.Passed, w.Payout.Why)
		}
		if story, err := o.App.Story(ctx, id); err != nil || !strings.Contains(story, "bank-1") || !strings.Contains(story, "insufficient_float") {
			t.Errorf("the story lacks the account that did not pay (%v):\n%s", err, story)
		}

		// If no account pays, a withdrawal waits with a reason, can be canceled, and goes on later.
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
		}, nil)
		id, other := o.Withdraw(t, "200"), o.Withdraw(t, "50")
		o.Clock.Advance(pay.WithdrawalHold(true))
		harness.Eventually(t, "both withdrawals wait with payout_delayed", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return o.Get(t, "/withdrawals/"+id).Text(t, "pendingReason") == "payout_delayed" && o.Get(t, "/withdrawals/"+other).Text(t, "pendingReason") == "payout_delayed"
		})
		o.Post(t, "/withdrawals/"+other+"/cancel", "").Want(t, http.StatusOK)
		b.Behave(nil, nil)
		if _, err := o.App.Payouts.PayOut(ctx); err != nil || o.Get(t, "/withdrawals/"+id).Text(t, "status") != "pending" {
			t.Errorf("the withdrawal is not pending while its accounts rest (error %v)", err)
		}
		o.Clock.Advance(5 * time.Minute)
		o.PayOut(t, id, "completed")
		if got := harness.Available(t, o); got != "700" {
			t.Errorf("%s USD are available, want 700", got)
		}

		// A withdrawal of unknown outcome is only queried.
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		},
			func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
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
		if sends, _, _ := b.Sent(id); sends != 1 || o.Get(t, "/withdrawals/"+id).Text(t, "status") != "processing" {
			t.Errorf("a withdrawal of unknown outcome was sent %d times or is not processing, want once", sends)
		}
	})
}

// A returned payout goes back to the merchant, without the fee, and only once. A notification that
// contradicts the withdrawal waits for the operator.
func TestReturnedPayoutComesBack(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		reference := id[len(pay.WithdrawalPrefix):]
		o.Clock.Advance(3 * 24 * time.Hour)
		returned := pay.PayoutNotice{ID: "n1", ProviderRef: "bank-" + reference, // the notice has only the bank's own reference
			Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed", Message: "the account is closed"}}
		for name, c := range map[string]struct {
			account, signature string
			n                  pay.PayoutNotice
			want               int
		}{
			"forged":        {"bank-1", "thief", returned, http.StatusUnauthorized},
			"of nobody":     {"bank-1", "bank", pay.PayoutNotice{ID: "n0", Reference: "NONE"}, http.StatusOK},
			"of a stranger": {"bank-1", "bank", pay.PayoutNotice{ID: "n0", ProviderRef: "bank-NONE"}, http.StatusOK},
			"of no account": {"bank-7", "bank", returned, http.StatusUnauthorized},
		} {
			if got := bankTells(t, o.Instance, c.account, c.signature, c.n); got != c.want {
				t.Errorf("%s: the notification gets %d, want %d", name, got, c.want)
			}
		}
		for _, n := range []string{"n1", "n1", "n2"} {
			returned.ID = n
			if got := bankTells(t, o.Instance, "bank-1", "bank", returned); got != http.StatusOK {
				t.Errorf("the return with the id %s gets %d, want 200", n, got)
			}
		}
		r := o.Get(t, "/withdrawals/"+id)
		if r.Text(t, "status") != "failed" || r.Text(t, "failureCode") != "account_closed" || r.Text(t, "completedAt") == "<nil>" || r.Text(t, "failedAt") == "<nil>" {
			t.Errorf("after its return the withdrawal is %s", r)
		}
		if got := harness.Available(t, o); got != "997" {
			t.Errorf("%s USD are available, want 997: 100 less the fee is back", got)
		}
		story, err := o.App.Story(ctx, id)
		harness.Must(t, err)
		if !strings.Contains(story, "withdrawal.completed evt_"+reference+"-1") || !strings.Contains(story, "withdrawal.failed evt_"+reference+"-2") ||
			strings.Count(story, "withdrawal_return tr_") != 1 {
			t.Errorf("the story lacks the events or has not exactly one return:\n%s", story)
		}
		movements := o.Get(t, "/me/balance/movements").String()
		if !strings.Contains(movements, "withdrawal_reversal") || !strings.Contains(movements, "sent back by the bank") {
			t.Errorf("the movements lack the return: %s", movements)
		}

		// The bank says that a failed withdrawal is paid, and that another one is paid in another amount.
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "invalid_account"}
		}, nil)
		failed := o.Withdraw(t, "20")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, failed, "failed")
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
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
				t.Errorf("the notification %s gets %d, want 200", n.ID, got)
			}
			list, err := o.App.Notices.Notifications(ctx, id, 10)
			harness.Must(t, err)
			if len(list) != 1 || list[0].Verdict != pay.Mismatched {
				t.Fatalf("the notifications of %s are %+v, want one that is mismatched", id, list)
			}
			harness.Must(t, o.App.Notices.CloseNotification(ctx, o.App.Notices.Self(), list[0].ID, "the bank took it back"))
		}
		if waiting, err := o.App.Notices.Notifications(ctx, "", 10); err != nil || len(waiting) != 0 {
			t.Errorf("after both are closed these notifications wait: %+v (error %v)", waiting, err)
		}
		if s := o.Get(t, "/withdrawals/"+other).Text(t, "status"); s != "processing" {
			t.Errorf("after a notification of another amount the withdrawal is %s, want processing", s)
		}
	})
}

// A quote shows before a withdrawal what will arrive. The withdrawal keeps its rate.
func TestWithdrawalIsQuoted(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		w := o.Get(t, "/wallets").Text(t, "data.0.id")
		real := o.Wallet(t, `{"type":"bank_account","currency":"BRL","destination":"ana@example.com","holderName":"Ana Souza","holderDocument":"52998224725"}`)
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+real); r.Text(t, "unpayableReason") != "no_rate" {
			t.Errorf("without a rate the wallet is %s, want no_rate", r)
		}
		o.Get(t, "/withdrawals/quote?amount=103&walletId="+real).Refused(t, "503 service_unavailable api_error reason=no_rate")
		o.Get(t, "/withdrawals/quote?amount=103&currency=BRL&walletId="+real).Refused(t, "503 service_unavailable api_error reason=no_rate")
		o.Get(t, "/withdrawals/quote?amount=103").Is(t, http.StatusOK, `{"walletId":"`+w+`","amount":103,"currency":"USD","feeUsd":3,"netAmount":100,
			"payout":{"amount":1835,"currency":"MXN","rate":18.35,"rateAt":"<time>"}}`)
		o.Get(t, "/withdrawals/quote?amount=3").Refused(t, "400 amount_below_minimum invalid_request_error param=amount")
		o.Get(t, "/withdrawals/quote?amount=5000").Refused(t, "422 balance_insufficient balance_error param=amount")
		o.Get(t, "/withdrawals/quote?amount=103&walletId=wal_1").Refused(t, "404 wallet_not_found invalid_request_error")
		o.Get(t, "/withdrawals/quote?amount=x").Refused(t, "400 amount_invalid invalid_request_error param=amount")
		if got := harness.Available(t, o); got != "1000" {
			t.Errorf("after quotes %s USD are available, want 1000", got)
		}
		id := o.Withdraw(t, "103")
		o.Rate(t, "MXN 19")
		o.Clock.Advance(pay.WithdrawalHold(true))
		done := o.PayOut(t, id, "completed")
		if _, paid, _ := b.Sent(id); paid.Local != money.New(1835_00, "MXN") || done.Text(t, "payout.amount") != "1835" || done.Text(t, "payout.rate") != "18.35" {
			t.Errorf("the bank was asked to pay %s, and the merchant sees %s; want 1835 MXN at 18.35", paid.Local, done)
		}
		bitcoin := o.Wallet(t, `{"type":"crypto","currency":"BTC","destination":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}`)
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/withdrawals/quote?amount=103&walletId="+bitcoin).Want(t, http.StatusOK); r.Text(t, "payout") != "<nil>" {
			t.Errorf("the quote for a token has a payout, want none, because it has no rate: %s", r)
		}
	})
}

// If an account needs details of the holder, it pays only to wallets that have them.
func TestBeneficiaryIsTold(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		o.Rate(t, "BRL 5.4")
		plain := o.Wallet(t, `{"type":"bank_account","currency":"BRL","destination":"ana@example.com"}`)
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+plain); r.Text(t, "unpayableReason") != "beneficiary_incomplete" || r.Text(t, "beneficiary") != "[]" {
			t.Errorf("the wallet without the holder is %s, want beneficiary_incomplete", r)
		}
		o.Get(t, "/withdrawals/quote?amount=50&walletId="+plain).Refused(t, "409 conflict_state conflict_error param=walletId missing=holderDocument,holderName reason=beneficiary_incomplete")
		o.Post(t, "/withdrawals", `{"amount":50,"walletId":"`+plain+`"}`).Refused(t, "409 conflict_state conflict_error param=walletId missing=holderDocument,holderName reason=beneficiary_incomplete")
		made := o.Post(t, "/wallets", `{"type":"bank_account","currency":"BRL","destination":"52998224725","holderName":" Ana Souza ","holderDocument":"52998224725"}`).Want(t, http.StatusCreated)
		if made.Text(t, "beneficiary.0") != "holderName" || strings.Contains(made.String(), "\"Ana") {
			t.Errorf("the wallet does not list holderName, or shows the name: %s", made)
		}
		o.Clock.Advance(time.Second)
		id := o.Post(t, "/withdrawals", `{"amount":50,"walletId":"`+made.Text(t, "id")+`"}`).Want(t, http.StatusCreated).Text(t, "id")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		if _, paid, _ := b.Sent(id); paid.Name != "Ana Souza" || paid.Document != "52998224725" || paid.Currency != "BRL" {
			t.Errorf("the bank got the holder %q with the document %q, in %s", paid.Name, paid.Document, paid.Currency)
		}
		o.Post(t, "/wallets", `{"type":"bank_account","currency":"BRL","destination":"+5511999998888","holderDocument":"52.9"}`).Want(t, http.StatusBadRequest)
		o.Post(t, "/wallets", `{"type":"bank_account","currency":"BRL","network":"ted","destination":"55555-1","holderName":"Ana","holderDocument":"\u00a0529.982.247\u201125","bankCode":" 237","branchCode":"4321\u200b"}`).Want(t, http.StatusCreated)
	})
}
