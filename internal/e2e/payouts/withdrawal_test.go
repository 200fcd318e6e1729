package payouts

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// withdrawal returns the pattern of a withdrawal of 100 USD on the standard tier.
func withdrawal(wallet, status, code, completed, failed string) string {
	message := `"<text>"`
	if code == "null" {
		message = code
	}
	return fmt.Sprintf(`{"id":"<wdr>","walletId":%q,"amount":100,"currency":"USD","feeUsd":3,"netAmount":97,"payout":{"amount":1779.95,"currency":"MXN","rate":18.35,"rateAt":"<time>"},"returnedAmount":0,"covers":[],"status":%q,"pendingReason":null,"failureCode":%s,
		"failureMessage":%s,"reference":"<suffix>","createdAt":"<time>","completedAt":%s,"failedAt":%s}`, wallet, status, code, message, completed, failed)
}

func TestWithdrawalArrives(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint, twin := s.Receive(t), s.Receive(t)
		secret := o.Subscribe(t, endpoint.URL, `"*"`).Text(t, "secret")
		harness.Sibling(t, o).Subscribe(t, twin.URL, `"*"`)
		o.Fund(t, false, 250_00)
		w := o.Wallet(t)
		made := o.Post(t, "/withdrawals", `{"walletId":"`+w+`","amount":100}`)
		made.Is(t, http.StatusCreated, withdrawal(w, "pending", "null", "null", "null"))
		if got := harness.Available(t, o); got != "150" {
			t.Errorf("%s USD are available while the withdrawal is pending, want 150", got)
		}
		id := made.Text(t, "id")
		o.Get(t, "/withdrawals/"+id).Is(t, http.StatusOK, withdrawal(w, "pending", "null", "null", "null"))
		s.Clean(t)
		s.Clock.Advance(pay.WithdrawalHold(false))
		o.PayOut(t, id, "processing")
		o.Post(t, "/withdrawals/"+id+"/cancel", "").Refused(t, "409 conflict_state conflict_error from=processing action=cancel")
		s.Clean(t)
		s.Clock.Advance(10 * time.Second)
		o.PayOut(t, id, "completed").Is(t, http.StatusOK, withdrawal(w, "completed", "null", `"<time>"`, "null"))
		if got := harness.Available(t, o); got != "150" {
			t.Errorf("%s USD are available after the withdrawal is completed, want 150", got)
		}
		told := endpoint.About(t, id, 1)[0]
		told.Verify(t, s, secret)
		if told.Text("type") != "withdrawal.completed" || told.Text("sequence") != "1" || told.Text("data.previous.status") != "processing" ||
			told.Text("shopId") != o.Shop.ID || told.Text("data.object.netAmount") != "97" {
			t.Errorf("the endpoint got %s", told.Body)
		}
		for _, d := range twin.Deliveries() {
			if d.Text("type") != "wallet.created" { // all shops get this event
				t.Errorf("another shop of the merchant got %s", d.Body)
			}
		}
		// A completed withdrawal does not change.
		for range 3 {
			s.Clock.Advance(time.Hour)
			_, err := s.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
		}
		o.Get(t, "/withdrawals/"+id).Is(t, http.StatusOK, withdrawal(w, "completed", "null", `"<time>"`, "null"))
		endpoint.About(t, id, 1)
	})
}

func TestSandboxWithdrawalEndsByItsCents(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"withdrawal.failed","withdrawal.completed"`)
		o.Fund(t, false, 1_000_00)
		w := o.Wallet(t)
		for _, c := range []struct{ amount, status, code, event string }{
			{"10.05", "failed", "invalid_account", "withdrawal.failed"},
			{"10.54", "failed", "account_closed", "withdrawal.failed"},
			{"10.59", "failed", "compliance_rejected", "withdrawal.failed"},
			{"10.91", "completed", "<nil>", "withdrawal.completed"},
			{"10.96", "completed", "<nil>", "withdrawal.completed"},
		} {
			before := harness.Available(t, o)
			id := o.Withdraw(t, c.amount)
			s.Clock.Advance(pay.WithdrawalHold(false))
			var r harness.Reply
			harness.Eventually(t, "the withdrawal of "+c.amount+" is "+c.status, func() bool {
				_, err := s.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
				s.Clock.Advance(10 * time.Second)
				r = o.Get(t, "/withdrawals/"+id)
				return r.Text(t, "status") == c.status
			})
			if r.Text(t, "failureCode") != c.code || r.Text(t, "walletId") != w {
				t.Errorf("%s: want the failure code %s: %s", c.amount, c.code, r)
			}
			// If the withdrawal fails, the fee comes back too.
			if got := harness.Available(t, o); (got == before) != (c.status == "failed") {
				t.Errorf("%s is %s: available was %s and is %s, want the same exactly if it failed", c.amount, c.status, before, got)
			}
			told := endpoint.About(t, id, 1)[0]
			s.Spec.CheckEvent(t, c.event, told.Body)
			if told.Text("type") != c.event || told.Text("data.object.failureCode") != c.code {
				t.Errorf("%s: the endpoint got %s", c.amount, told.Body)
			}
		}
	})
}

func TestWithdrawalIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_00)
		o.Post(t, "/withdrawals", `{"amount":10}`).Refused(t, "400 missing_field invalid_request_error param=walletId missing=walletId")
		w := o.Wallet(t)
		for _, c := range []struct{ name, body, want string }{
			{"no amount", `{}`, "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"null", `{"amount":null}`, "400 missing_field invalid_request_error param=amount issues=amount missing=amount"},
			{"zero", `{"amount":0}`, "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"negative", `{"amount":-5}`, "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"beyond any, negative", `{"amount":-1e99}`, "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"text", `{"amount":"10"}`, "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"half a cent", `{"amount":10.005}`, "400 amount_invalid invalid_request_error param=amount issues=amount"},
			{"beyond any", `{"amount":1e400}`, "400 amount_above_maximum invalid_request_error param=amount issues=amount"},
			{"the fee alone", `{"amount":3}`, "400 amount_below_minimum invalid_request_error param=amount"},
			{"a cent more than there is", `{"amount":100.01}`, "422 balance_insufficient balance_error param=amount"},
			{"much more", `{"amount":92233720368547758.07}`, "422 balance_insufficient balance_error param=amount"},
			{"an unknown wallet", `{"amount":10,"walletId":"wal_1"}`, "404 wallet_not_found invalid_request_error"},
			{"a wallet with NUL", `{"amount":10,"walletId":"wal_\u0000"}`, "400 invalid_request invalid_request_error param=walletId issues=walletId"},
			{"no JSON", `{"amount":`, "400 invalid_json invalid_request_error"},
		} {
			t.Run(c.name, func(t *testing.T) { o.Post(t, "/withdrawals", c.body).Refused(t, c.want) })
		}
		for path, body := range map[string]string{"/withdrawals": `{"amount":100.01}`, "/withdrawals/quote?amount=100.01": ""} {
			over := o.Get(t, path)
			if body != "" {
				over = o.Post(t, path, body)
			}
			over.Tells(t, "error.details.balance", `{"available":100,"requested":100.01,"currency":"USD"}`)
		}
		o.Post(t, "/withdrawals", `{"amount":10}`, "Idempotency-Key: ñ").
			Refused(t, "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key")
		if n := o.Get(t, "/withdrawals").Text(t, "pagination.total"); n != "0" || harness.Available(t, o) != "100" {
			t.Errorf("refused requests left %s withdrawals and %s USD available, want none and 100", n, harness.Available(t, o))
		}
		// A withdrawal may be a cent more than the fee, and all that is available.
		o.Withdraw(t, "3.01")
		if r := o.Post(t, "/withdrawals", `{"amount":96.990,"walletId":"`+w+`"}`).Want(t, http.StatusCreated); r.Text(t, "netAmount") != "93.99" {
			t.Errorf("want 93.99 paid out: %s", r)
		}
		if got := harness.Available(t, o); got != "0" {
			t.Errorf("%s USD are available, want 0", got)
		}
	})
}

func TestWithdrawalsNeverOverdraw(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_00)
		o.Wallet(t)
		replies := make([]harness.Reply, 50)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() { replies[i] = o.Post(t, "/withdrawals", `{"amount":7.5}`) })
		}
		all.Wait()
		taken := 0
		for _, r := range replies {
			if r.Status == http.StatusCreated {
				taken++
				continue
			}
			r.Refused(t, "422 balance_insufficient balance_error param=amount")
		}
		if got := harness.Available(t, o); taken != 13 || got != "2.5" {
			t.Errorf("%d of 50 withdrawals of 7.50 from 100 succeeded, and %s is left; want 13 and 2.5", taken, got)
		}
	})
}

func TestWithdrawalIsMadeOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 100_00)
		const key = "Idempotency-Key: payday"
		// Refused requests have not used the key up.
		o.Post(t, "/withdrawals", `{"amount":60}`, key).Want(t, http.StatusBadRequest)
		w := o.Wallet(t)
		o.Post(t, "/withdrawals", `{"amount":600}`, key).Want(t, http.StatusUnprocessableEntity)
		replies := make([]harness.Reply, 20)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() { replies[i] = o.Post(t, "/withdrawals", `{"amount":60,"walletId":"`+w+`"}`, key) })
		}
		all.Wait()
		first := slices.IndexFunc(replies, func(r harness.Reply) bool { return r.Header.Get("Idempotency-Replayed") == "" })
		for i, r := range replies {
			if i != first {
				harness.Same(t, replies[first].Want(t, http.StatusCreated), r)
			}
		}
		if got := harness.Available(t, o); got != "40" {
			t.Errorf("after 20 requests with one key %s USD are available, want 40", got)
		}
		id := replies[first].Text(t, "id")
		o.Post(t, "/withdrawals", `{"amount":61,"walletId":"`+w+`"}`, key).Refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		// A replay is the first reply, whatever happened to the withdrawal, its wallet and the balance
		// since.
		s.Clock.Advance(time.Minute)
		o.PayOut(t, id, "processing")
		s.Clock.Advance(time.Minute)
		o.PayOut(t, id, "completed")
		o.Delete(t, "/wallets/"+w).Want(t, http.StatusOK)
		harness.Same(t, replies[first], o.Post(t, "/withdrawals", `{ "walletId":"`+w+`","amount":60}`, key))
		// The same key of another shop is another key.
		twin := harness.Sibling(t, o)
		twin.Wallet(t)
		if other := twin.Withdraw(t, "10", key); other == id {
			t.Errorf("another shop got the same withdrawal %s", id)
		}
	})
}

func TestCancelingRacesWithSending(t *testing.T) {
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		for range 10 {
			id := o.Withdraw(t, "100")
			o.Clock.Advance(pay.WithdrawalHold(true))
			var all sync.WaitGroup
			var canceled harness.Reply
			all.Go(func() { canceled = o.Post(t, "/withdrawals/"+id+"/cancel", "") })
			all.Go(func() {
				_, err := o.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
			})
			all.Wait()
			want, paid := "completed", true
			if canceled.Status == http.StatusOK {
				want, paid = "canceled", false
			}
			o.PayOut(t, id, want)
			if sends, _, ok := b.Sent(id); ok != paid || sends > 1 {
				t.Fatalf("the cancel returns %d, but the bank was asked to pay %d times and paid: %v", canceled.Status, sends, ok)
			}
			if paid {
				o.Fund(t, true, 100_00)
			}
		}
	})
}

func TestProductionWithdrawalsNeedMore(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t).Production()
		o.Fund(t, true, 100_00)
		w := o.Wallet(t)
		s.Clock.Advance(25 * time.Hour)
		body := `{"amount":10,"walletId":"` + w + `"}`
		refused := o.Post(t, "/withdrawals", body)
		refused.Refused(t, "402 kyc_required card_error")
		quote := "/withdrawals/quote?amount=10&walletId=" + w
		o.Get(t, quote).Refused(t, "402 kyc_required card_error")
		help, err := url.Parse(refused.Text(t, "error.details.helpUrl"))
		harness.Must(t, err)
		if page := s.Send(t, harness.Request{Method: http.MethodGet, Path: help.Path}); help.Host == "" || page.Status != http.StatusOK {
			t.Errorf("helpUrl %s does not lead to a page: %s", help, page)
		}
		v := o.Post(t, "/kyc/init", `{"level":"enhanced","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		o.Post(t, "/withdrawals", body).Refused(t, "402 kyc_required card_error")
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", "")) // enhanced includes basic
		o.Post(t, "/withdrawals", body).Refused(t, "503 service_unavailable api_error reason=no_payout_account")
		o.Get(t, quote).Refused(t, "503 service_unavailable api_error reason=no_payout_account")
		if n := o.Get(t, "/withdrawals").Text(t, "pagination.total"); n != "0" || harness.Available(t, o) != "100" {
			t.Errorf("refused requests left %s withdrawals and %s USD available, want none and 100", n, harness.Available(t, o))
		}
	})
}

func TestWithdrawalsAreListed(t *testing.T) {
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) { // production holds withdrawals long enough to list them
		first := harness.IDs(t, o.Get(t, "/wallets"))[0]
		second := o.Wallet(t, `{"type":"crypto","currency":"BTC","destination":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}`)
		o.Clock.Advance(time.Second)
		var all []string // newest first
		for i, w := range []string{first, second, first, second, first} {
			id := o.Post(t, "/withdrawals", fmt.Sprintf(`{"amount":%d,"walletId":%q}`, 10+i, w)).Want(t, http.StatusCreated).Text(t, "id")
			all = append([]string{id}, all...)
			if i == 2 {
				o.Clock.Advance(5 * time.Minute)
			}
		}
		for _, id := range all[3:] {
			o.Post(t, "/withdrawals/"+id+"/cancel", "").Want(t, http.StatusOK)
		}
		now := o.Clock.Now().Add(-150 * time.Second).UTC().Format("2006-01-02T15:04:05Z")
		for query, want := range map[string][]string{
			"":                                   all,
			"?limit=2&offset=1":                  all[1:3],
			"?status=pending":                    all[:3],
			"?status=canceled":                   all[3:],
			"?status=completed":                  {},
			"?walletId=" + second:                {all[1], all[3]},
			"?walletId=wal_1":                    {},
			"?from=" + now:                       all[:2],
			"?to=" + now:                         all[2:],
			"?status=pending&to=" + now:          {all[2]},
			"?from=2099-01-01":                   {},
			"?walletId=" + first + "&limit=1000": {all[0], all[2], all[4]},
		} {
			if got := harness.IDs(t, o.Get(t, "/withdrawals"+query)); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", query, got, want)
			}
		}
		if got := o.Get(t, "/withdrawals?limit=2&offset=1").Text(t, "pagination.total"); got != "5" {
			t.Errorf("the total of a page is %s, want 5", got)
		}
		for query, want := range map[string]string{
			"?status=gold":       "400 invalid_request invalid_request_error param=status issues=status",
			"?from=soon":         "400 invalid_request invalid_request_error param=from issues=from",
			"?to=x&limit=y":      "400 invalid_request invalid_request_error param=limit issues=limit,to",
			"?walletId=%00":      "400 invalid_request invalid_request_error param=walletId issues=walletId",
			"?walletId=%ff&to=x": "400 invalid_request invalid_request_error param=walletId issues=walletId",
		} {
			o.Get(t, "/withdrawals"+query).Refused(t, want)
		}
	})
}
