package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// serial numbers the notifications of all tests: each has an id of its own.
var serial atomic.Int64

// note is a simulated provider's notification about a payment's first attempt.
// It has an id unless the fields name one.
func note(payment, fields string) string {
	id := ""
	if !strings.Contains(fields, `"id"`) {
		id = fmt.Sprintf(`"id":"n%d",`, serial.Add(1))
	}
	return fmt.Sprintf(`{%s"reference":"%s-1",%s}`, id, strings.TrimPrefix(payment, "TXN-"), fields)
}

// notify sends a notification that the account's provider signed.
func (s *service) notify(t *testing.T, account, body string) reply {
	t.Helper()
	return s.deliver(t, account, body, s.sign(account, body))
}

// sign returns what the account's provider signs a body with.
func (s *service) sign(account, body string) string {
	mac := hmac.New(sha256.New, s.vault.Key("provider/"+account))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *service) deliver(t *testing.T, account, body, signature string) reply {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if signature != "" {
		header.Set("X-Sandbox-Signature", signature)
	}
	return s.send(t, request{method: http.MethodPost, path: apiPath + "/providers/" + account + "/notifications", body: body, header: header})
}

// warnings lists the codes of the balance's warnings.
func (o shop) warnings(t *testing.T) string {
	t.Helper()
	list, _ := o.get(t, "/me/balance").want(t, http.StatusOK).at(t, "ledgerWarnings")
	var codes []string
	for _, w := range list.([]any) {
		codes = append(codes, fmt.Sprint(w.(map[string]any)["code"], " ", w.(map[string]any)["amountUsd"]))
	}
	return strings.Join(codes, ", ")
}

const paid50 = `"status":"paid","amount":"183.5","currency":"MXN"` // 10 USD

func TestForgedNotificationIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		body := note(id, paid50)
		const unsigned = "401 invalid_token authentication_error"
		for name, c := range map[string]struct{ account, body, signature, want string }{
			"unsigned":           {"sandbox-1", body, "", unsigned},
			"a wrong signature":  {"sandbox-1", body, strings.Repeat("0", 64), unsigned},
			"no hex":             {"sandbox-1", body, "hello", unsigned},
			"another body's":     {"sandbox-1", body, s.sign("sandbox-1", body+" "), unsigned},
			"another account's":  {"sandbox-2", body, s.sign("sandbox-1", body), unsigned},
			"an unknown account": {"stripe", body, s.sign("stripe", body), "404 not_found invalid_request_error"},
			"not JSON":           {"sandbox-1", "hello", s.sign("sandbox-1", "hello"), "400 invalid_request invalid_request_error"},
			"an empty body":      {"sandbox-1", "", s.sign("sandbox-1", ""), "400 invalid_request invalid_request_error"},
			"more than 1 MiB":    {"sandbox-1", oneMiB(body) + " ", s.sign("sandbox-1", oneMiB(body)+" "), "413 payload_too_large invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { s.deliver(t, c.account, c.body, c.signature).refused(t, c.want) })
		}
		ours := strings.TrimPrefix(id, "TXN-")
		for name, c := range map[string]struct{ body, want string }{
			"an unknown status":      {note(id, `"status":"maybe"`), "400 invalid_request invalid_request_error"},
			"paid without an amount": {note(id, `"status":"paid"`), "400 invalid_request invalid_request_error"},
			"paid in no currency":    {note(id, `"status":"paid","amount":"1","currency":"XXQ"`), "400 invalid_request invalid_request_error"},
			"no id":                  {`{"reference":"` + ours + `-1",` + paid50 + `}`, "400 invalid_request invalid_request_error"},
			"no reference":           {`{"id":"n",` + paid50 + `}`, "400 invalid_request invalid_request_error"},
			"an id with NUL":         {note(id, `"id":"a\u0000b",`+paid50), "400 invalid_request invalid_request_error"},
			"an unknown reference":   {note("TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", paid50), "404 transaction_not_found invalid_request_error"},
			"a reference with NUL":   {`{"id":"n1","reference":"A\u0000-1",` + paid50 + `}`, "404 transaction_not_found invalid_request_error"},
			"no reference of ours":   {`{"id":"n2","reference":"hello",` + paid50 + `}`, "404 transaction_not_found invalid_request_error"},
			"attempt zero":           {`{"id":"n3","reference":"` + ours + `-0",` + paid50 + `}`, "404 transaction_not_found invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { s.notify(t, "sandbox-1", c.body).refused(t, c.want) })
		}
		r := s.send(t, request{method: http.MethodGet, path: apiPath + "/providers/sandbox-1/notifications"})
		r.refused(t, "405 method_not_allowed invalid_request_error")
		if got := o.status(t, id); got != "pending" {
			t.Errorf("the payment is %s after forged notifications, want pending", got)
		}
	})
}

// Who may sign for one account may not for another one's charges.
func TestNotificationOfAnotherAccountTellsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`) // at sandbox-1
		paid := o.create(t, card)
		s.upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		refund := o.refund(t, paid, `{}`).want(t, http.StatusOK).text(t, "refundId")
		const notOurs = "404 transaction_not_found invalid_request_error"
		s.notify(t, "sandbox-2", note(id, paid50)).refused(t, notOurs)
		s.notify(t, "sandbox-2", refundNote(refund, "refunded")).refused(t, notOurs)
		s.notify(t, "sandbox-2", note(paid, `"status":"disputed","reason":"fraudulent"`)).refused(t, notOurs)
		if a, b := o.status(t, id), o.status(t, paid); a != "pending" || b != "refunded" {
			t.Errorf("the payments are %s and %s, want pending and refunded", a, b)
		}
		if got := o.get(t, "/claims/"+refund).text(t, "status"); got != "pending" {
			t.Errorf("the refund is %s, want pending", got)
		}
	})
}

// refundNote is the news of a refund's first round.
func refundNote(claim, status string) string {
	return fmt.Sprintf(`{"id":"note %s %s","reference":"%s-1","status":%q}`, claim, status, strings.TrimPrefix(claim, "CLM-"), status)
}

func TestProviderTellsHowARefundEnded(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		s.upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		for told, want := range map[string]string{"refunded": "approved", "refund_failed": "rejected"} {
			id := o.create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
			refund := o.refund(t, id, `{"amount":20}`).want(t, http.StatusOK).text(t, "refundId")
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { s.notify(t, "sandbox-1", refundNote(refund, told)).is(t, http.StatusOK, `{"ok":true}`) })
			}
			all.Wait()
			if r := o.get(t, "/claims/"+refund); r.text(t, "status") != want {
				t.Errorf("%s: want %s: %s", told, want, r)
			}
			left := "30"
			if told == "refund_failed" {
				left = "50"
			}
			if r := o.get(t, "/payments/"+id); r.text(t, "refundableAmountLocal") != left {
				t.Errorf("%s: want %s left: %s", told, left, r)
			}
			// What is told of it afterwards changes nothing.
			for _, other := range []string{"refunded", "refund_failed"} {
				s.notify(t, "sandbox-1", refundNote(refund, other)).is(t, http.StatusOK, `{"ok":true}`)
			}
			if got := o.get(t, "/claims/"+refund).text(t, "status"); got != want {
				t.Errorf("%s: later it is %s, want %s", told, got, want)
			}
		}
		s.notify(t, "sandbox-1", refundNote("CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "refunded")).refused(t, "404 transaction_not_found invalid_request_error")
	})
}

func TestNotificationIsAppliedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		body := note(id, paid50)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { s.notify(t, "sandbox-1", body).is(t, http.StatusOK, `{"ok":true}`) })
		}
		all.Wait()
		s.notify(t, "sandbox-1", note(id, paid50)).is(t, http.StatusOK, `{"ok":true}`) // the same news under another id
		s.notify(t, "sandbox-1", note(id, `"status":"declined"`)).is(t, http.StatusOK, `{"ok":true}`)
		s.notify(t, "sandbox-1", note(id, `"status":"expired"`)).is(t, http.StatusOK, `{"ok":true}`)
		if got := o.status(t, id); got != "completed" {
			t.Errorf("the payment is %s, want completed", got)
		}
		// A real provider's confirmation fires no alias.
		if got := types(endpoint.about(t, id, 1)); got != "payment.completed" {
			t.Errorf("the endpoint was told %q, want payment.completed", got)
		}
		o.get(t, "/me").is(t, http.StatusOK, profile(o, `{"available":0,"pending":9.03,"frozen":0,"reserve":0.5}`))
		if w := o.warnings(t); w != "" {
			t.Errorf("the balance warns of %s", w)
		}
		t.Run("in bytes that are no text", func(t *testing.T) {
			id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.notify(t, "sandbox-1", note(id, `"reason":"caf`+"\xe9"+`",`+paid50)).is(t, http.StatusOK, `{"ok":true}`)
			if got := o.status(t, id); got != "completed" {
				t.Errorf("the payment is %s, want completed: the money is real", got)
			}
		})
		declined := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.notify(t, "sandbox-1", note(declined, `"status":"declined","reason":"do_not_honor"`)).want(t, http.StatusOK)
		r := o.get(t, "/payments/"+declined)
		if r.text(t, "status") != "failed" || r.text(t, "failure.code") != "declined" || r.text(t, "failure.declineCode") != "do_not_honor" {
			t.Errorf("want it failed, declined with do_not_honor: %s", r)
		}
	})
}

func TestWrongAmountIsNotApplied(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for _, fields := range []string{
			`"status":"paid","amount":"183.49","currency":"MXN"`,
			`"status":"paid","amount":"183.51","currency":"MXN"`,
			`"status":"paid","amount":"183.5","currency":"USD"`,
			`"status":"paid","amount":"-183.5","currency":"MXN"`,
		} {
			s.notify(t, "sandbox-1", note(id, fields)).is(t, http.StatusOK, `{"ok":true}`)
			if got := o.status(t, id); got != "pending" {
				t.Errorf("the payment is %s after %s, want pending", got, fields)
			}
		}
		o.get(t, "/me").is(t, http.StatusOK, profile(o, `{"available":0,"pending":0,"frozen":0,"reserve":0}`))
		if w := o.warnings(t); w != "unmatched_confirmation 10" {
			t.Errorf("warnings %q after four confirmations of another amount", w)
		}
		s.notify(t, "sandbox-1", note(id, paid50)).want(t, http.StatusOK)
		if got, want := types(endpoint.about(t, id, 5)), strings.Repeat("payment.attention ", 4)+"payment.completed"; got != want {
			t.Errorf("the endpoint was told %q, want %q", got, want)
		}
	})
}

// A simulated provider's confirmation may go wrong on its way (SBX-11).
func TestFaultyConfirmationDoesNoHarm(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
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
				s.upstream(t, c.fault, well, well)
				defer s.upstream(t, well, well, well)
				list := `[]`
				if c.events != "" {
					list = `["` + strings.ReplaceAll(c.events, " ", `","`) + `"]`
				}
				id := o.create(t, body)
				o.simulate(t, id, "paid").is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"status":%q,"eventsFired":%s}`, id, c.status, list))
				header := []string{"Sandbox-Simulate: paid", fmt.Sprintf("Idempotency-Key: fault-%d", i)}
				r := o.post(t, "/payments", body, header...).want(t, http.StatusCreated)
				if got := r.text(t, "status"); got != c.status {
					t.Errorf("the create call says %q, want %s: %s", got, c.status, r)
				}
				same(t, r, o.post(t, "/payments", body, header...))
				o.post(t, "/payments", body, "Sandbox-Simulate: chargeback").want(t, http.StatusCreated)
				for _, id := range []string{id, r.text(t, "transactionId")} {
					if got := o.status(t, id); got != c.status {
						t.Errorf("the payment is %s, want %s", got, c.status)
					}
					if got := types(endpoint.about(t, id, len(strings.Fields(c.events)))); got != c.events {
						t.Errorf("the endpoint was told %q, want %q", got, c.events)
					}
				}
			})
		}
	})
}

// Money that comes after the end is real: it waits in suspense (LATE-1).
func TestLateMoneyIsKeptAside(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash","merchantOrderId":"late"}`)
		s.clock.advance(7*24*time.Hour + time.Second)
		s.sweep(t, "the voucher has expired", func() bool { return o.status(t, id) == "expired" })
		for range 2 { // told twice, booked once
			s.notify(t, "sandbox-1", note(id, paid50)).is(t, http.StatusOK, `{"ok":true}`)
		}
		if got := o.status(t, id); got != "expired" {
			t.Errorf("the payment is %s, want it to stay expired", got)
		}
		if w := o.warnings(t); w != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q, want unmatched_confirmation 10", w)
		}
		o.get(t, "/me").is(t, http.StatusOK, profile(o, `{"available":0,"pending":0,"frozen":0,"reserve":0}`))
		list := endpoint.about(t, id, 2)
		if got := types(list); got != "payment.failed claim.opened" {
			t.Fatalf("the endpoint was told %q", got)
		}
		object, _ := at(list[1].event, "data.object")
		want := fmt.Sprintf(`{"id":"<claim>","type":"inquiry","status":"pending","outcome":null,"transactionId":%q,"merchantOrderId":"late",
			"amount":183.5,"currency":"MXN","amountUsd":10,"frozenUsd":0,"feeUsd":0,"reason":"<text>","networkReasonCode":null,"previousClaimId":null,"evidenceDueBy":null,
			"evidence":[],"timeline":[{"status":"pending","at":"<time>","actor":"<text>","note":null}],"createdAt":"<time>","updatedAt":"<time>",
			"resolvedAt":null,"transaction":{"id":%[1]q,"status":"expired","amount":10,"currency":"USD","amountLocal":183.5,"currencyLocal":"MXN",
			"paymentMethodId":"sbx_cash","country":"MEX","merchantOrderId":"late"}}`, id)
		for _, difference := range compare("data.object", decode(t, []byte(want)), object) {
			t.Errorf("claim.opened: %s: %s", difference, list[1].body)
		}
		// So does money for a payment that had failed.
		failed := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.notify(t, "sandbox-1", note(failed, `"status":"declined"`)).want(t, http.StatusOK)
		s.notify(t, "sandbox-1", note(failed, paid50)).want(t, http.StatusOK)
		if got := types(endpoint.about(t, failed, 2)); got != "payment.failed claim.opened" || o.status(t, failed) != "failed" {
			t.Errorf("the endpoint was told %q of a payment that is %s", got, o.status(t, failed))
		}
		if w := o.warnings(t); w != "unmatched_confirmation 20" {
			t.Errorf("the balance warns of %q, want unmatched_confirmation 20", w)
		}
		if n := o.total(t, url.Values{"status": {"expired"}}); n != "1" {
			t.Errorf("%s expired payments are listed, want 1", n)
		}
	})
}
