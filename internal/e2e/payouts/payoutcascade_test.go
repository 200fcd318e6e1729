package payouts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

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
