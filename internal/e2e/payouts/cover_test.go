package payouts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
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

// toBePaid is since when the oldest settlement waits to be paid by somebody.
func toBePaid(t *testing.T, o harness.Client) time.Time {
	t.Helper()
	open, err := o.App.OldestOpen(ctx)
	harness.Must(t, err)
	return open["settlement to be paid"]
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
