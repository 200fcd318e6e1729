package payouts

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// eachSettled runs a test with a production shop whose one settlement is closed. It has the shop's client, the bank, the
// settlement's id and its net in USD.
func eachSettled(t *testing.T, test func(t *testing.T, o harness.Client, b *harness.Payer, id, net string)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := harness.NewPayer()
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.Adapters, c.WalletCoolDown = append(c.Adapters, providertest.Plain(), b.Adapter()), time.Millisecond
			c.FX, c.Admin = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}, "127.0.0.1:0"
		})
		s.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-1"})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		u := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "plain-1", u)
		shop := s.NewShop(t)
		o := shop.Production()
		v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
		o.Wallet(t)
		for range 3 {
			id := o.Create(t, strings.Replace(shop.PixOrder(t), `"amount":10,`, `"amount":1000,`, 1))
			s.TellUpstream(t, u, id, 1, "paid", "plain-1-hush").Want(t, http.StatusOK)
		}
		s.Clock.Advance(50 * time.Hour)
		r := harness.ClosedSettlements(t, o, 1)
		test(t, o, b, r.Text(t, "data.0.id"), r.Text(t, "data.0.netAmount"))
	})
}

// settledIn runs the loops until a settlement's payout has a status. It returns the settlement.
func settledIn(t *testing.T, o harness.Client, id, status string) (r harness.Reply) {
	t.Helper()
	o.Settle(t, id+"'s payout is "+status, func() bool {
		_, err := o.App.Payouts.PayOut(ctx)
		harness.Must(t, err)
		r = o.Get(t, "/settlements/"+id).Want(t, http.StatusOK)
		return r.Text(t, "payout.status") == status
	})
	return r
}

// toBePaid is since when the oldest settlement waits to be paid by somebody.
func toBePaid(t *testing.T, o harness.Client) time.Time {
	t.Helper()
	open, err := o.App.OldestOpen(ctx)
	harness.Must(t, err)
	return open["settlement to be paid"]
}

// The operator sends the net of a settlement to the bank and books it. The money is gone from the balance, and nobody is asked to
// pay it again.
func TestOperatorPaysASettlementOnce(t *testing.T) {
	t.Parallel()
	eachSettled(t, func(t *testing.T, o harness.Client, _ *harness.Payer, id, net string) {
		if toBePaid(t, o).IsZero() {
			t.Error("nobody is asked to pay a settlement whose net is available")
		}
		payment := payouts.HandPayment{Settlement: id, Reference: "TED 0091", Note: "from our account at the bank"}
		if _, _, err := o.App.Payouts.PaySettlement(ctx, carla, payouts.HandPayment{Settlement: id}); err == nil || !strings.Contains(message.Sentence(err), "reference") {
			t.Errorf("without the bank's reference: %v", err)
		}
		payment.Amount = money.New(100_00, money.USD)
		part, w, err := o.App.Payouts.PaySettlement(ctx, carla, payment)
		if err != nil || part.Status != pay.BatchClosed || w.Status != pay.WithdrawalDone || w.Fee != 0 || w.Payout.BankRef != "TED 0091" {
			t.Fatalf("a part by hand: %s, %s, %v", part.Status, w, err)
		}
		if _, _, err := o.App.Payouts.PaySettlement(ctx, carla, payment); err == nil || !strings.Contains(message.Sentence(err), "TED 0091 is in the books: it is withdrawal "+w.ID) {
			t.Errorf("the same transfer again, whose answer may have been lost: %v", err)
		}
		payment.Amount, payment.Reference = money.Amount{}, "TED 0092"
		paid, _, err := o.App.Payouts.PaySettlement(ctx, carla, payment)
		if err != nil || paid.Status != pay.BatchPaid {
			t.Fatalf("the rest by hand: %s, %v", paid.Status, err)
		}
		if _, _, err := o.App.Payouts.PaySettlement(ctx, carla, payment); err == nil || !strings.Contains(message.Sentence(err), "settlement_already_paid") {
			t.Errorf("a second time: %v, want settlement_already_paid", err)
		}
		r := settledIn(t, o, id, "paid")
		if r.Text(t, "status") != "paid" || r.Text(t, "payout.amount") != net || r.Text(t, "payout.owed") != "0" || r.Text(t, "withdrawalIds.1") == "<nil>" {
			t.Errorf("want %s paid by two withdrawals: %s", net, r)
		}
		o.Post(t, "/withdrawals", `{"amount":`+net+`}`).Refused(t, "422 balance_insufficient balance_error param=amount")
		if at := toBePaid(t, o); !at.IsZero() {
			t.Errorf("somebody is asked to pay it again, since %s", at)
		}
	})
}

// The merchant withdraws: the settlement is paid once the withdrawal has arrived, and owed again if it comes back, also in parts.
func TestWithdrawalPaysTheSettlement(t *testing.T) {
	t.Parallel()
	eachSettled(t, func(t *testing.T, o harness.Client, b *harness.Payer, id, net string) {
		w := o.Withdraw(t, net)
		if at := toBePaid(t, o); !at.IsZero() {
			t.Errorf("somebody is asked to pay what the merchant withdraws, since %s", at)
		}
		if _, _, err := o.App.Payouts.PaySettlement(ctx, carla, payouts.HandPayment{Settlement: id, Reference: "TED 1"}); err == nil || !strings.Contains(message.Sentence(err), "book at most that") {
			t.Errorf("paid by hand while the merchant withdraws it: %v", err)
		}
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, w, "completed")
		r := settledIn(t, o, id, "paid")
		covers := o.Get(t, "/withdrawals/"+w)
		if r.Text(t, "withdrawalIds.0") != w || covers.Text(t, "covers.0.settlementId") != id || covers.Text(t, "covers.0.amount") != net {
			t.Errorf("want %s to cover %s of it: %s, %s", w, net, r, covers)
		}
		// 1,000 pesos come back, then 500 by the operator's word, then the rest.
		_, sent, ok := b.Sent(w)
		if !ok {
			t.Fatal("the bank did not pay it")
		}
		back := func(id string, pesos int64) int {
			return bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: id, Reference: w[len(pay.WithdrawalPrefix):],
				Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed", Local: money.New(pesos, money.MXN)}})
		}
		for range 2 { // the second time it is the same notice
			if status := back("n1", 1_000_00); status != http.StatusOK {
				t.Fatalf("the notice of a part gets %d", status)
			}
		}
		r = settledIn(t, o, id, "owed")
		returned := o.Get(t, "/withdrawals/"+w)
		if r.Text(t, "status") != "closed" || r.Text(t, "payout.owed") != "54.49" || returned.Text(t, "returnedAmount") != "54.49" || returned.Text(t, "status") != "completed" || harness.Available(t, o) != "54.49" {
			t.Errorf("1,000 pesos came back: %s, %s, %s available", r, returned, harness.Available(t, o))
		}
		resolve := func(amount string) error {
			_, _, err := o.App.Payouts.ResolveWithdrawal(ctx, carla, base.Resolution{ID: w, Word: pay.WordReturned, Note: "the statement", Amount: amount})
			return err
		}
		for _, amount := range []string{"0", "-5", "1.234", "x", fmt.Sprint(sent.Local.Minor)} {
			if err := resolve(amount); err == nil || !strings.Contains(message.Sentence(err), "amount") {
				t.Errorf("a part of %q: %v", amount, err)
			}
		}
		harness.Must(t, resolve("500"))
		if got := harness.Available(t, o); got != "81.74" {
			t.Errorf("1,500 pesos came back, and %s is available", got)
		}
		harness.Must(t, resolve(""))
		failed := o.Get(t, "/withdrawals/"+w)
		if failed.Text(t, "status") != "failed" || failed.Text(t, "returnedAmount") != failed.Text(t, "netAmount") || harness.Available(t, o) != failed.Text(t, "netAmount") {
			t.Errorf("all of it came back: %s, %s available", failed, harness.Available(t, o))
		}
		o.Settle(t, "only the fee, which is spent, is covered", func() bool {
			return settledIn(t, o, id, "owed").Text(t, "payout.amount") == failed.Text(t, "feeUsd")
		})
		if err := resolve("1"); err == nil || !strings.Contains(message.Sentence(err), "conflict_state") {
			t.Errorf("more than all of it: %v", err)
		}
	})
}

// A part that comes back is told to the shop's endpoints.
func TestPartThatCameBackIsTold(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 50_00)
		o.Wallet(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"withdrawal.returned"`)
		w := o.Withdraw(t, "20")
		harness.MoveTestClock(t, o, "1m")
		o.PayOut(t, w, "processing")
		harness.MoveTestClock(t, o, "1m")
		o.PayOut(t, w, "completed")
		_, _, err := o.App.Payouts.ResolveWithdrawal(ctx, carla, base.Resolution{ID: w, Word: pay.WordReturned, Amount: "100", Note: "on the statement"})
		harness.Must(t, err)
		told := endpoint.About(t, w, 1)[0]
		s.Spec.CheckEvent(t, "withdrawal.returned", told.Body)
		if told.Text("data.object.status") != "completed" || told.Text("data.object.returnedAmount") != o.Get(t, "/withdrawals/"+w).Text(t, "returnedAmount") || told.Text("data.object.returnedAmount") == "0" {
			t.Errorf("the endpoint got %s", told.Body)
		}
	})
}

// The sandbox's bank pays no more of a settlement than there is.
func TestSandboxPaysASettlementFromTheBalance(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Wallet(t)
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "50h")
		path := "/settlements/" + harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id") + "/simulate"
		o.Withdraw(t, "50")
		o.Post(t, path, `{"action":"paid"}`).Refused(t, "422 balance_insufficient balance_error param=amount")
	})
}

// A shop sees nothing of its merchant's other shops (AUTH-17): its movements leave their withdrawals out, and so must settlements.
func TestSettlementTellsASiblingNothingOfAWithdrawal(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		sibling := harness.Sibling(t, o)
		o.Wallet(t)
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "50h")
		id := harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id")
		w := o.Withdraw(t, "20")
		harness.MoveTestClock(t, o, "1m")
		o.PayOut(t, w, "processing")
		harness.MoveTestClock(t, o, "1m")
		o.PayOut(t, w, "completed")
		o.Settle(t, "it covers", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return o.Get(t, "/settlements/"+id).Text(t, "payout.amount") == "20"
		})
		sibling.Get(t, "/withdrawals/"+w).Refused(t, "404 withdrawal_not_found invalid_request_error")
		for _, path := range []string{"/me/balance/movements", "/me/balance", "/settlements/" + id, "/settlements", "/settlements/" + id + "/report?format=json", "/events"} {
			if r := sibling.Get(t, path).Want(t, http.StatusOK); strings.Contains(string(r.Body), w) {
				t.Errorf("GET %s tells a sibling of withdrawal %s: %.200s", path, w, r.Body)
			}
		}
	})
}
