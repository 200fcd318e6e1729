package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/payout"
)

// withdrawal is what one of 100 USD looks like on the standard tier.
func withdrawal(wallet, status, code, completed, failed string) string {
	message := `"<text>"`
	if code == "null" {
		message = code
	}
	return fmt.Sprintf(`{"id":"<wdr>","walletId":%q,"amount":100,"currency":"USD","feeUsd":3,"netAmount":97,"payout":{"amount":1779.95,"currency":"MXN","rate":18.35,"rateAt":"<time>"},"status":%q,"pendingReason":null,"failureCode":%s,
		"failureMessage":%s,"reference":"<suffix>","createdAt":"<time>","completedAt":%s,"failedAt":%s}`, wallet, status, code, message, completed, failed)
}

func TestWithdrawalArrives(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint, twin := s.receive(t), s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"*"`).text(t, "secret")
		o.sibling(t).subscribe(t, twin.URL, `"*"`)
		o.fund(t, false, 250_00)
		w := o.wallet(t)
		made := o.post(t, "/withdrawals", `{"walletId":"`+w+`","amount":100}`)
		made.is(t, http.StatusCreated, withdrawal(w, "pending", "null", "null", "null"))
		if got := o.available(t); got != "150" {
			t.Errorf("available is %s while it is pending, want 150", got)
		}
		id := made.text(t, "id")
		o.get(t, "/withdrawals/"+id).is(t, http.StatusOK, withdrawal(w, "pending", "null", "null", "null"))
		s.clean(t)
		s.clock.advance(pay.WithdrawalHold(false))
		o.payOut(t, id, "processing")
		o.post(t, "/withdrawals/"+id+"/cancel", "").refused(t, "409 conflict_state conflict_error from=processing action=cancel")
		s.clean(t)
		s.clock.advance(10 * time.Second)
		o.payOut(t, id, "completed").is(t, http.StatusOK, withdrawal(w, "completed", "null", `"<time>"`, "null"))
		if got := o.available(t); got != "150" {
			t.Errorf("available is %s after it arrived, want 150", got)
		}
		told := endpoint.about(t, id, 1)[0]
		told.verify(t, s, secret)
		if told.text("type") != "withdrawal.completed" || told.text("sequence") != "1" || told.text("data.previous.status") != "processing" ||
			told.text("shopId") != o.Shop.ID || told.text("data.object.netAmount") != "97" {
			t.Errorf("the endpoint was told %s", told.body)
		}
		for _, d := range twin.deliveries() {
			if d.text("type") != "wallet.created" { // which is told to all
				t.Errorf("another shop of the merchant was told %s", d.body)
			}
		}
		// What has ended stays so, whoever looks again.
		for range 3 {
			s.clock.advance(time.Hour)
			_, err := s.App.Payouts.PayOut(ctx)
			must(t, err)
		}
		o.get(t, "/withdrawals/"+id).is(t, http.StatusOK, withdrawal(w, "completed", "null", `"<time>"`, "null"))
		endpoint.about(t, id, 1)
	})
}

func TestSandboxWithdrawalEndsByItsCents(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"withdrawal.failed","withdrawal.completed"`)
		o.fund(t, false, 1_000_00)
		w := o.wallet(t)
		for _, c := range []struct{ amount, status, code, event string }{
			{"10.05", "failed", "invalid_account", "withdrawal.failed"},
			{"10.54", "failed", "account_closed", "withdrawal.failed"},
			{"10.59", "failed", "compliance_rejected", "withdrawal.failed"},
			{"10.91", "completed", "<nil>", "withdrawal.completed"},
			{"10.96", "completed", "<nil>", "withdrawal.completed"},
		} {
			before := o.available(t)
			id := o.withdraw(t, c.amount)
			s.clock.advance(pay.WithdrawalHold(false))
			var r reply
			eventually(t, c.amount+" has ended", func() bool {
				_, err := s.App.Payouts.PayOut(ctx)
				must(t, err)
				s.clock.advance(10 * time.Second)
				r = o.get(t, "/withdrawals/"+id)
				return r.text(t, "status") == c.status
			})
			if r.text(t, "failureCode") != c.code || r.text(t, "walletId") != w {
				t.Errorf("%s: want %s: %s", c.amount, c.code, r)
			}
			// The fee comes back too.
			if got := o.available(t); (got == before) != (c.status == "failed") {
				t.Errorf("%s: available was %s and is %s", c.amount, before, got)
			}
			told := endpoint.about(t, id, 1)[0]
			s.spec.checkEvent(t, c.event, told.body)
			if told.text("type") != c.event || told.text("data.object.failureCode") != c.code {
				t.Errorf("%s: the endpoint was told %s", c.amount, told.body)
			}
		}
	})
}

func TestWithdrawalIsChecked(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.fund(t, false, 100_00)
		o.post(t, "/withdrawals", `{"amount":10}`).refused(t, "400 missing_field invalid_request_error param=walletId missing=walletId")
		w := o.wallet(t)
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
			t.Run(c.name, func(t *testing.T) { o.post(t, "/withdrawals", c.body).refused(t, c.want) })
		}
		for path, body := range map[string]string{"/withdrawals": `{"amount":100.01}`, "/withdrawals/quote?amount=100.01": ""} {
			over := o.get(t, path)
			if body != "" {
				over = o.post(t, path, body)
			}
			over.tells(t, "error.details.balance", `{"available":100,"requested":100.01,"currency":"USD"}`)
		}
		o.post(t, "/withdrawals", `{"amount":10}`, "Idempotency-Key: ñ").
			refused(t, "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key")
		if n := o.get(t, "/withdrawals").text(t, "pagination.total"); n != "0" || o.available(t) != "100" {
			t.Errorf("refused requests left %s withdrawals and %s available", n, o.available(t))
		}
		// All of it may go, and a cent above the fee.
		o.withdraw(t, "3.01")
		if r := o.post(t, "/withdrawals", `{"amount":96.990,"walletId":"`+w+`"}`).want(t, http.StatusCreated); r.text(t, "netAmount") != "93.99" {
			t.Errorf("want 93.99 paid out: %s", r)
		}
		if got := o.available(t); got != "0" {
			t.Errorf("available is %s, want 0", got)
		}
	})
}

func TestWithdrawalsNeverOverdraw(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.fund(t, false, 100_00)
		o.wallet(t)
		replies := make([]reply, 50)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() { replies[i] = o.post(t, "/withdrawals", `{"amount":7.5}`) })
		}
		all.Wait()
		taken := 0
		for _, r := range replies {
			if r.status == http.StatusCreated {
				taken++
				continue
			}
			r.refused(t, "422 balance_insufficient balance_error param=amount")
		}
		if got := o.available(t); taken != 13 || got != "2.5" {
			t.Errorf("50 withdrawals of 7.50 from 100: %d went through and %s is left, want 13 and 2.5", taken, got)
		}
	})
}

func TestWithdrawalIsMadeOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.fund(t, false, 100_00)
		const key = "Idempotency-Key: payday"
		// What was refused has not used the key.
		o.post(t, "/withdrawals", `{"amount":60}`, key).want(t, http.StatusBadRequest)
		w := o.wallet(t)
		o.post(t, "/withdrawals", `{"amount":600}`, key).want(t, http.StatusUnprocessableEntity)
		replies := make([]reply, 20)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() { replies[i] = o.post(t, "/withdrawals", `{"amount":60,"walletId":"`+w+`"}`, key) })
		}
		all.Wait()
		first := slices.IndexFunc(replies, func(r reply) bool { return r.header.Get("Idempotency-Replayed") == "" })
		for i, r := range replies {
			if i != first {
				same(t, replies[first].want(t, http.StatusCreated), r)
			}
		}
		if got := o.available(t); got != "40" {
			t.Errorf("after 20 requests with one key %s is available, want 40", got)
		}
		id := replies[first].text(t, "id")
		o.post(t, "/withdrawals", `{"amount":61,"walletId":"`+w+`"}`, key).refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		// A replay shows the first reply, whatever has become of the withdrawal,
		// its wallet and the balance.
		s.clock.advance(time.Minute)
		o.payOut(t, id, "processing")
		s.clock.advance(time.Minute)
		o.payOut(t, id, "completed")
		o.delete(t, "/wallets/"+w).want(t, http.StatusOK)
		same(t, replies[first], o.post(t, "/withdrawals", `{ "walletId":"`+w+`","amount":60}`, key))
		// Another shop's key is another key.
		twin := o.sibling(t)
		twin.wallet(t)
		if other := twin.withdraw(t, "10", key); other == id {
			t.Errorf("another shop got %s too", id)
		}
	})
}

func TestCanceledWithdrawalComesBack(t *testing.T) {
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		id := o.withdraw(t, "100")
		w := o.get(t, "/withdrawals/"+id).text(t, "walletId")
		statuses := make([]int, 8)
		var all sync.WaitGroup
		for i := range statuses {
			all.Go(func() { statuses[i] = o.post(t, "/withdrawals/"+id+"/cancel", "").status })
		}
		all.Wait()
		slices.Sort(statuses)
		if !slices.Equal(statuses, []int{200, 409, 409, 409, 409, 409, 409, 409}) {
			t.Errorf("8 cancellations at once: %v, want one 200", statuses)
		}
		o.get(t, "/withdrawals/"+id).is(t, http.StatusOK, withdrawal(w, "canceled", "null", "null", "null"))
		o.post(t, "/withdrawals/"+id+"/cancel", "").refused(t, "409 conflict_state conflict_error from=canceled action=cancel")
		if got := o.available(t); got != "1000" {
			t.Errorf("available is %s after the cancellation, want 1000", got)
		}
		o.clock.advance(time.Hour)
		_, err := o.App.Payouts.PayOut(ctx)
		must(t, err)
		sends, _, _ := b.told(id)
		if got := o.get(t, "/withdrawals/"+id).text(t, "status"); got != "canceled" || sends != 0 {
			t.Errorf("later it is %s, and the bank was asked to pay %d times", got, sends)
		}
	})
}

func TestWithdrawalToADeletedWalletIsNotSent(t *testing.T) {
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		id := o.withdraw(t, "100")
		w := o.get(t, "/withdrawals/"+id).text(t, "walletId")
		o.delete(t, "/wallets/"+w).want(t, http.StatusOK)
		o.clock.advance(pay.WithdrawalHold(true))
		o.payOut(t, id, "failed").is(t, http.StatusOK, withdrawal(w, "failed", `"wallet_disabled"`, "null", `"<time>"`))
		if sends, _, _ := b.told(id); sends != 0 || o.available(t) != "1000" {
			t.Errorf("the bank was asked %d times, available is %s", sends, o.available(t))
		}
	})
}

func TestProductionWithdrawalIsPaidToItsDestination(t *testing.T) {
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		id := o.withdraw(t, "100")
		_, err := o.App.Payouts.PayOut(ctx)
		must(t, err)
		if sends, _, _ := b.told(id); sends != 0 {
			t.Error("it was sent before it could be cancelled")
		}
		o.clock.advance(pay.WithdrawalHold(true))
		r := o.payOut(t, id, "completed")
		sends, paid, ok := b.told(id)
		if !ok || sends != 1 || paid.Destination != clabe || paid.Network != "spei" || paid.Currency != "MXN" || paid.Net.Minor != 97_00 ||
			paid.Reference != r.text(t, "reference") {
			t.Errorf("the bank was asked %d times and paid %+v", sends, paid)
		}
	})
}

// A timeout or a crash around the call leaves the outcome unknown. It is asked
// for, and the money leaves once.
func TestWithdrawalIsNeverPaidTwice(t *testing.T) {
	t.Parallel()
	unknown := pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	type answer = func(*payer, payout.Request) pay.PayoutOutcome
	lost := answer(func(*payer, payout.Request) pay.PayoutOutcome { return unknown })
	silent := answer(func(b *payer, r payout.Request) pay.PayoutOutcome {
		b.pay(r)
		return unknown
	})
	for _, c := range []struct {
		name  string
		send  answer
		sends int
	}{
		{"the call never arrives", lost, 2},
		{"it pays and does not answer", silent, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPayer(t, func(t *testing.T, o shop, b *payer) {
				b.behave(c.send, lost)
				id := o.withdraw(t, "100")
				o.clock.advance(pay.WithdrawalHold(true))
				o.payOut(t, id, "processing")
				// As long as nobody knows, it is neither failed nor sent again.
				for range 20 {
					o.clock.advance(5 * time.Minute)
					_, err := o.App.Payouts.PayOut(ctx)
					must(t, err)
				}
				if got := o.get(t, "/withdrawals/"+id).text(t, "status"); got != "processing" || o.available(t) != "900" {
					t.Errorf("while nobody knows it is %s, and %s is available", got, o.available(t))
				}
				if sends, _, _ := b.told(id); sends != 1 {
					t.Errorf("the bank was asked to pay %d times before anybody knew", sends)
				}
				b.behave(nil, nil)
				o.clock.advance(5 * time.Minute)
				var all sync.WaitGroup
				for range 8 { // every node runs the loop
					all.Go(func() {
						for range 5 {
							_, err := o.App.Payouts.PayOut(ctx)
							must(t, err)
						}
					})
				}
				all.Wait()
				o.payOut(t, id, "completed")
				sends, paid, ok := b.told(id)
				if !ok || sends != c.sends || paid.Net.Minor != 97_00 {
					t.Errorf("the bank was asked to pay %d times, want %d; it paid %v", sends, c.sends, paid.Net)
				}
			})
		})
	}
}

func TestCancelingRacesWithSending(t *testing.T) {
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		for range 10 {
			id := o.withdraw(t, "100")
			o.clock.advance(pay.WithdrawalHold(true))
			var all sync.WaitGroup
			var canceled reply
			all.Go(func() { canceled = o.post(t, "/withdrawals/"+id+"/cancel", "") })
			all.Go(func() {
				_, err := o.App.Payouts.PayOut(ctx)
				must(t, err)
			})
			all.Wait()
			want, paid := "completed", true
			if canceled.status == http.StatusOK {
				want, paid = "canceled", false
			}
			o.payOut(t, id, want)
			if sends, _, ok := b.told(id); ok != paid || sends > 1 {
				t.Fatalf("the cancellation says %d, and the bank was asked %d times and paid: %v", canceled.status, sends, ok)
			}
			if paid {
				o.fund(t, true, 100_00)
			}
		}
	})
}

func TestProductionWithdrawalsNeedMore(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t).live()
		o.fund(t, true, 100_00)
		w := o.wallet(t)
		s.clock.advance(25 * time.Hour)
		body := `{"amount":10,"walletId":"` + w + `"}`
		refused := o.post(t, "/withdrawals", body)
		refused.refused(t, "402 kyc_required card_error")
		quote := "/withdrawals/quote?amount=10&walletId=" + w
		o.get(t, quote).refused(t, "402 kyc_required card_error")
		help, err := url.Parse(refused.text(t, "error.details.helpUrl"))
		must(t, err)
		if page := s.send(t, request{method: http.MethodGet, path: help.Path}); help.Host == "" || page.status != http.StatusOK {
			t.Errorf("helpUrl is %s: %s", help, page)
		}
		v := o.post(t, "/kyc/init", `{"level":"enhanced","subjectType":"company"}`).want(t, http.StatusCreated).text(t, "verificationId")
		o.post(t, "/withdrawals", body).refused(t, "402 kyc_required card_error")
		must(t, s.App.Verifications.Decide(ctx, v, tenant.KYCVerified, "", "")) // enhanced includes basic
		o.post(t, "/withdrawals", body).refused(t, "503 service_unavailable api_error reason=no_payout_account")
		o.get(t, quote).refused(t, "503 service_unavailable api_error reason=no_payout_account")
		if n := o.get(t, "/withdrawals").text(t, "pagination.total"); n != "0" || o.available(t) != "100" {
			t.Errorf("refused requests left %s withdrawals and %s available", n, o.available(t))
		}
	})
}

func TestWithdrawalsAreListed(t *testing.T) {
	eachPayer(t, func(t *testing.T, o shop, _ *payer) { // held long enough to list them
		first := ids(t, o.get(t, "/wallets"))[0]
		second := o.wallet(t, `{"type":"crypto","currency":"BTC","destination":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}`)
		o.clock.advance(time.Second)
		var all []string // newest first
		for i, w := range []string{first, second, first, second, first} {
			id := o.post(t, "/withdrawals", fmt.Sprintf(`{"amount":%d,"walletId":%q}`, 10+i, w)).want(t, http.StatusCreated).text(t, "id")
			all = append([]string{id}, all...)
			if i == 2 {
				o.clock.advance(5 * time.Minute)
			}
		}
		for _, id := range all[3:] {
			o.post(t, "/withdrawals/"+id+"/cancel", "").want(t, http.StatusOK)
		}
		now := o.clock.now().Add(-150 * time.Second).UTC().Format("2006-01-02T15:04:05Z")
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
			if got := ids(t, o.get(t, "/withdrawals"+query)); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", query, got, want)
			}
		}
		if got := o.get(t, "/withdrawals?limit=2&offset=1").text(t, "pagination.total"); got != "5" {
			t.Errorf("a page of 5 counts %s", got)
		}
		for query, want := range map[string]string{
			"?status=gold":       "400 invalid_request invalid_request_error param=status issues=status",
			"?from=soon":         "400 invalid_request invalid_request_error param=from issues=from",
			"?to=x&limit=y":      "400 invalid_request invalid_request_error param=limit issues=limit,to",
			"?walletId=%00":      "400 invalid_request invalid_request_error param=walletId issues=walletId",
			"?walletId=%ff&to=x": "400 invalid_request invalid_request_error param=walletId issues=walletId",
		} {
			o.get(t, "/withdrawals"+query).refused(t, want)
		}
	})
}
