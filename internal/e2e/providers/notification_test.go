package providers

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func TestForgedNotificationIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		body := harness.NoticeBody(id, harness.Paid50)
		const unsigned = "401 invalid_token authentication_error"
		for name, c := range map[string]struct{ account, body, signature, want string }{
			"unsigned":           {"sandbox-1", body, "", unsigned},
			"a wrong signature":  {"sandbox-1", body, strings.Repeat("0", 64), unsigned},
			"no hex":             {"sandbox-1", body, "hello", unsigned},
			"another body's":     {"sandbox-1", body, s.Sign("sandbox-1", body+" "), unsigned},
			"another account's":  {"sandbox-2", body, s.Sign("sandbox-1", body), unsigned},
			"an unknown account": {"stripe", body, s.Sign("stripe", body), "401 invalid_token authentication_error"},
			"not JSON":           {"sandbox-1", "hello", s.Sign("sandbox-1", "hello"), "400 invalid_request invalid_request_error"},
			"an empty body":      {"sandbox-1", "", s.Sign("sandbox-1", ""), "400 invalid_request invalid_request_error"},
			"more than 1 MiB":    {"sandbox-1", harness.OneMiB(body) + " ", s.Sign("sandbox-1", harness.OneMiB(body)+" "), "413 payload_too_large invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { s.Deliver(t, c.account, c.body, c.signature).Refused(t, c.want) })
		}
		ours := strings.TrimPrefix(id, "TXN-")
		for name, c := range map[string]struct{ body, want string }{
			"an unknown status":      {harness.NoticeBody(id, `"status":"maybe"`), "400 invalid_request invalid_request_error"},
			"paid without an amount": {harness.NoticeBody(id, `"status":"paid"`), "400 invalid_request invalid_request_error"},
			"paid in no currency":    {harness.NoticeBody(id, `"status":"paid","amount":"1","currency":"XXQ"`), "400 invalid_request invalid_request_error"},
			"no id":                  {`{"reference":"` + ours + `-1",` + harness.Paid50 + `}`, "400 invalid_request invalid_request_error"},
			"no reference":           {`{"id":"n",` + harness.Paid50 + `}`, "400 invalid_request invalid_request_error"},
			"an id with NUL":         {harness.NoticeBody(id, `"id":"a\u0000b",`+harness.Paid50), "400 invalid_request invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { s.Notify(t, "sandbox-1", c.body).Refused(t, c.want) })
		}
		r := s.Send(t, harness.Request{Method: http.MethodGet, Path: harness.APIPath + "/providers/sandbox-1/notifications"})
		r.Refused(t, "405 method_not_allowed invalid_request_error")
		if got := o.Status(t, id); got != "pending" {
			t.Errorf("the payment is %s after forged notifications, want pending", got)
		}
	})
}

// News of unknown objects is accepted: some providers let no other notification pass before it. What may be ours is
// kept whole, and the operator is told; of other systems' objects the rest is none of our business.
func TestNewsOfUnknownObjectsIsAccepted(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		s.OpenAccount(t, "bank", u)
		s.OpenAccount(t, "rivals", u, func(n *accounts.NewAccount) { n.Merchant = s.NewShop(t).Merchant.ID })
		id := o.Production().Create(t, o.PixOrder(t))
		s.Clock.Freeze()
		const accepted, made = `{"ok":true}`, "01KAJ0Y3ZK9VQ4T4R1M2N3P5Q"
		tells := func(account, reference string) harness.Reply {
			_, signature, body := u.Notify(reference, "paid", account+"-hush")
			return harness.KnockAt(t, s, harness.APIPath+"/providers/"+account+"/notifications", signature, body)
		}
		tells("bank", made+"1-1").Is(t, http.StatusOK, accepted)
		tells("bank", made+"2-1").Refused(t, "503 service_unavailable api_error") // too many: it has to come again
		for _, reference := range []string{"WC-1001", "order_42", "cart:77", "A\\-1", "hello"} {
			tells("bank", reference).Is(t, http.StatusOK, accepted)
		}
		for range 2 {
			s.Clock.Advance(time.Second)
			tells("bank", made+"2-1").Is(t, http.StatusOK, accepted)
		}
		open, err := s.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if len(open) != 1 || !strings.Contains(string(open[0].Body), made+"1-1") || open[0].Payment != "" {
			t.Fatalf("%d notifications wait for the operator, want the first that may be ours: %+v", len(open), open)
		}
		all, err := s.App.Notices.Unknown(ctx, 10)
		harness.Must(t, err)
		if len(all) != 3 {
			t.Fatalf("%d notifications about unknown objects are kept, want two that may be ours and one other", len(all))
		}
		for _, n := range all {
			if body := string(n.Body); strings.Contains(body, "WC-1001") && (n.Verdict != pay.Ignored || strings.Contains(body, "{")) {
				t.Errorf("of another system's payment there is kept: %s %s", n.Verdict, body)
			}
		}
		harness.Must(t, s.App.Notices.CloseNotification(ctx, s.App.Notices.Self(), open[0].ID, "a test service shares the account"))
		if open, err := s.App.Notices.Notifications(ctx, "", 10); err != nil || len(open) != 0 {
			t.Errorf("after the operator has closed it, %d wait (%v)", len(open), err)
		}
		all, err = s.App.Notices.Unknown(ctx, 10)
		if harness.Must(t, err); len(all) != 3 || !slices.ContainsFunc(all, func(n pay.KeptNotice) bool { return n.ID == open[0].ID && n.Verdict == pay.Closed }) {
			t.Errorf("the list has %+v, want the three, and the first one closed", all)
		}
		// A payment's own news passes all the while, also after news of it at another account.
		own := strings.TrimPrefix(id, "TXN-") + "-1"
		tells("rivals", own).Is(t, http.StatusOK, accepted)
		tells("bank", own).Is(t, http.StatusOK, accepted)
		if got := o.Production().Status(t, id); got != "completed" {
			t.Errorf("the payment is %s, want completed", got)
		}
	})
}

// One account's signature is not valid for another account's charges.
func TestNotificationOfAnotherAccountTellsNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`) // at sandbox-1
		paid := o.Create(t, harness.Card)
		s.Upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		refund := o.Refund(t, paid, `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		for _, body := range []string{harness.NoticeBody(id, harness.Paid50), refundNote(refund, "refunded"), harness.NoticeBody(paid, `"status":"disputed","reason":"fraudulent"`)} {
			s.Notify(t, "sandbox-2", body).Is(t, http.StatusOK, `{"ok":true}`)
		}
		if a, b := o.Status(t, id), o.Status(t, paid); a != "pending" || b != "refunded" {
			t.Errorf("the payments are %s and %s, want pending and refunded", a, b)
		}
		if got := o.Get(t, "/claims/"+refund).Text(t, "status"); got != "pending" {
			t.Errorf("the refund is %s, want pending", got)
		}
	})
}

// refundNote is a notification about the first try of a refund.
func refundNote(claim, status string) string {
	return fmt.Sprintf(`{"id":"note %s %s","reference":"%s-1","status":%q}`, claim, status, strings.TrimPrefix(claim, "CLM-"), status)
}

func TestProviderTellsHowARefundEnded(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		s.Upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		for told, want := range map[string]string{"refunded": "approved", "refund_failed": "rejected"} {
			id := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
			refund := o.Refund(t, id, `{"amount":20}`).Want(t, http.StatusOK).Text(t, "refundId")
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { s.Notify(t, "sandbox-1", refundNote(refund, told)).Is(t, http.StatusOK, `{"ok":true}`) })
			}
			all.Wait()
			if r := o.Get(t, "/claims/"+refund); r.Text(t, "status") != want {
				t.Errorf("after %s the refund is not %s: %s", told, want, r)
			}
			left := "30"
			if told == "refund_failed" {
				left = "50"
			}
			if r := o.Get(t, "/payments/"+id); r.Text(t, "refundableAmountLocal") != left {
				t.Errorf("after %s the refundable amount is not %s: %s", told, left, r)
			}
			// Later notifications about the refund change nothing.
			for _, other := range []string{"refunded", "refund_failed"} {
				s.Notify(t, "sandbox-1", refundNote(refund, other)).Is(t, http.StatusOK, `{"ok":true}`)
			}
			if got := o.Get(t, "/claims/"+refund).Text(t, "status"); got != want {
				t.Errorf("after %s and later notifications the refund is %s, want %s", told, got, want)
			}
		}
	})
}

func TestNotificationIsAppliedOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		body := harness.NoticeBody(id, harness.Paid50)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { s.Notify(t, "sandbox-1", body).Is(t, http.StatusOK, `{"ok":true}`) })
		}
		all.Wait()
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Is(t, http.StatusOK, `{"ok":true}`) // the same content under another id
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"declined"`)).Is(t, http.StatusOK, `{"ok":true}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"expired"`)).Is(t, http.StatusOK, `{"ok":true}`)
		if got := o.Status(t, id); got != "completed" {
			t.Errorf("the payment is %s, want completed", got)
		}
		// A real provider's confirmation fires no second event, such as payment.captured.
		if got := harness.Types(endpoint.About(t, id, 1)); got != "payment.completed" {
			t.Errorf("the endpoint got %q, want payment.completed", got)
		}
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":9.03,"frozen":0,"reserve":0.5}`))
		if w := harness.Warnings(t, o); w != "" {
			t.Errorf("the balance warns of %s, want no warnings", w)
		}
		t.Run("in bytes that are no text", func(t *testing.T) {
			id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"reason":"caf`+"\xe9"+`",`+harness.Paid50)).Is(t, http.StatusOK, `{"ok":true}`)
			if got := o.Status(t, id); got != "completed" {
				t.Errorf("the payment is %s, want completed: the shopper paid", got)
			}
		})
		declined := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(declined, `"status":"declined","reason":"do_not_honor"`)).Want(t, http.StatusOK)
		r := o.Get(t, "/payments/"+declined)
		if r.Text(t, "status") != "failed" || r.Text(t, "failure.code") != "declined" || r.Text(t, "failure.declineCode") != "do_not_honor" {
			t.Errorf("want a failed payment, declined with do_not_honor: %s", r)
		}
	})
}

func TestWrongAmountIsNotApplied(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for _, fields := range []string{
			`"status":"paid","amount":"183.49","currency":"MXN"`,
			`"status":"paid","amount":"183.51","currency":"MXN"`,
			`"status":"paid","amount":"183.5","currency":"USD"`,
			`"status":"paid","amount":"-183.5","currency":"MXN"`,
		} {
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, fields)).Is(t, http.StatusOK, `{"ok":true}`)
			if got := o.Status(t, id); got != "pending" {
				t.Errorf("the payment is %s after %s, want pending", got, fields)
			}
		}
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":0,"frozen":0,"reserve":0}`))
		if w := harness.Warnings(t, o); w != "unmatched_confirmation 19.99, unmatched_confirmation 10" {
			t.Errorf("after four confirmations of another amount the balance warns of %q, want 19.99 in suspense and 10 of no worth in the books", w)
		}
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK)
		if got, want := harness.Types(endpoint.About(t, id, 7)), strings.Repeat("payment.attention claim.opened ", 2)+"payment.attention payment.attention payment.completed"; !sameWords(got, want) {
			t.Errorf("the endpoint got %q, want %q", got, want)
		}
	})
}

// A simulated provider's confirmation may go wrong on its way (SBX-11).
func TestFaultyConfirmationDoesNoHarm(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		const well, body = sandbox.NoFault, `{"amount":10,"paymentMethodId":"sbx_cash"}`
		for i, c := range []struct {
			fault          sandbox.Fault
			status, events string
		}{
			{sandbox.Duplicate, "completed", "payment.completed payment.captured"},
			{sandbox.OutOfOrder, "completed", "payment.completed payment.captured"},
			{sandbox.WrongAmount, "pending", "payment.attention"},
			{sandbox.BadSignature, "pending", ""},
		} {
			t.Run(string(c.fault), func(t *testing.T) {
				s.Upstream(t, c.fault, well, well)
				defer s.Upstream(t, well, well, well)
				list := `[]`
				if c.events != "" {
					list = `["` + strings.ReplaceAll(c.events, " ", `","`) + `"]`
				}
				id := o.Create(t, body)
				o.Simulate(t, id, "paid").Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"status":%q,"eventsFired":%s}`, id, c.status, list))
				header := []string{"Sandbox-Simulate: paid", fmt.Sprintf("Idempotency-Key: fault-%d", i)}
				r := o.Post(t, "/payments", body, header...).Want(t, http.StatusCreated)
				if got := r.Text(t, "status"); got != c.status {
					t.Errorf("the create call returns status %q, want %s: %s", got, c.status, r)
				}
				harness.Same(t, r, o.Post(t, "/payments", body, header...))
				o.Post(t, "/payments", body, "Sandbox-Simulate: chargeback").Want(t, http.StatusCreated)
				for _, id := range []string{id, r.Text(t, "transactionId")} {
					if got := o.Status(t, id); got != c.status {
						t.Errorf("the payment is %s, want %s", got, c.status)
					}
					// Events of a payment and of its claim come in any order.
					if got := harness.Types(endpoint.About(t, id, len(strings.Fields(c.events)))); !sameWords(got, c.events) {
						t.Errorf("the endpoint got %q, want %q", got, c.events)
					}
				}
			})
		}
	})
}

// Money that comes after the payment's end is real, so it waits in suspense (LATE-1).
func TestLateMoneyIsKeptAside(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash","merchantOrderId":"late"}`)
		s.Clock.Advance(7*24*time.Hour + time.Second)
		s.Sweep(t, "the voucher has expired", func() bool { return o.Status(t, id) == "expired" })
		for range 2 { // notified twice, booked once
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Is(t, http.StatusOK, `{"ok":true}`)
		}
		if got := o.Status(t, id); got != "expired" {
			t.Errorf("the payment is %s, want expired", got)
		}
		if w := harness.Warnings(t, o); w != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q, want unmatched_confirmation 10", w)
		}
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":0,"frozen":0,"reserve":0}`))
		list := endpoint.About(t, id, 2)
		if got := harness.Types(list); got != "payment.failed claim.opened" {
			t.Fatalf("the endpoint got %q, want payment.failed claim.opened", got)
		}
		object, _ := harness.At(list[1].Event, "data.object")
		want := fmt.Sprintf(`{"id":"<claim>","type":"inquiry","status":"pending","outcome":null,"transactionId":%q,"merchantOrderId":"late",
			"amount":183.5,"currency":"MXN","amountUsd":10,"frozenUsd":0,"feeUsd":0,"reason":"<text>","networkReasonCode":null,"previousClaimId":null,"origin":null,"evidenceDueBy":null,
			"evidence":[],"timeline":[{"status":"pending","at":"<time>","actor":"<text>","note":null}],"createdAt":"<time>","updatedAt":"<time>",
			"resolvedAt":null,"transaction":{"id":%[1]q,"status":"expired","amount":10,"currency":"USD","amountLocal":183.5,"currencyLocal":"MXN",
			"paymentMethodId":"sbx_cash","country":"MEX","merchantOrderId":"late"}}`, id)
		for _, difference := range harness.Compare("data.object", harness.Decode(t, []byte(want)), object) {
			t.Errorf("claim.opened: %s: %s", difference, list[1].Body)
		}
		// Money for a failed payment waits in suspense too.
		failed := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(failed, `"status":"declined"`)).Want(t, http.StatusOK)
		s.Notify(t, "sandbox-1", harness.NoticeBody(failed, harness.Paid50)).Want(t, http.StatusOK)
		if got := harness.Types(endpoint.About(t, failed, 2)); got != "payment.failed claim.opened" || o.Status(t, failed) != "failed" {
			t.Errorf("the endpoint got %q and the payment is %s, want payment.failed claim.opened and failed", got, o.Status(t, failed))
		}
		if w := harness.Warnings(t, o); w != "unmatched_confirmation 20" {
			t.Errorf("the balance warns of %q, want unmatched_confirmation 20", w)
		}
		if n := o.Total(t, url.Values{"status": {"expired"}}); n != "1" {
			t.Errorf("the list has %s expired payments, want 1", n)
		}
	})
}

// sameWords reports whether two texts have the same words, in any order.
func sameWords(a, b string) bool {
	return slices.Equal(slices.Sorted(slices.Values(strings.Fields(a))), slices.Sorted(slices.Values(strings.Fields(b))))
}
