package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestEventIsSignedAndShowsThePayment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		one, two := s.Receive(t), s.Receive(t)
		first, second := o.Subscribe(t, one.URL+"/hooks", `"*"`), o.Subscribe(t, two.URL, `"payment.completed","payment.refunded"`)

		created := o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1","merchantOrderId":"order-1"}`, "Idempotency-Key: key-1").Want(t, http.StatusCreated)
		id := created.Text(t, "transactionId")
		paid := o.Simulate(t, id, "paid")
		asPaid := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		refund := o.Simulate(t, id, "refunded")
		asRefunded := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)

		all, some := one.About(t, id, 3), two.About(t, id, 2)
		if harness.Types(all) != "payment.completed payment.captured payment.refunded" || harness.Types(some) != "payment.completed payment.refunded" {
			t.Fatalf("the endpoints got %q and %q", harness.Types(all), harness.Types(some))
		}
		for _, d := range all {
			d.Verify(t, s, first.Text(t, "secret"))
		}
		for i, d := range some {
			d.Verify(t, s, second.Text(t, "secret"))
			if err := sender.Verify(d.Header.Get(sender.SignatureHeader), d.Body, first.Text(t, "secret"), s.Clock.Now(), sender.Tolerance); err == nil {
				t.Error("one endpoint's secret verifies another endpoint's delivery")
			}
			twin := all[2*i]
			if string(d.Body) != string(twin.Body) || d.Header.Get("X-Service-Delivery") == twin.Header.Get("X-Service-Delivery") {
				t.Errorf("the deliveries are %s %s and %s %s, want the same event under two delivery ids",
					d.Header.Get("X-Service-Delivery"), d.Body, twin.Header.Get("X-Service-Delivery"), twin.Body)
			}
		}
		envelope := func(kind string, sequence int, r harness.Reply, previous string, object []byte) string {
			return fmt.Sprintf(`{"id":"<event>","type":%q,"apiVersion":"2026-11-21","createdAt":"<time>","environment":"sandbox",
				"merchantId":%q,"shopId":%q,"sequence":%d,"request":{"id":%q,"idempotencyKey":null},
				"data":{"object":%s,"previous":{"status":%q}}}`,
				kind, o.Merchant.ID, o.Shop.ID, sequence, r.Header.Get("X-Request-Id"), object, previous)
		}
		given := `{"refundId":"<claim>","transactionId":"` + id + `","amount":54,"amountUsd":10,"currency":"BRL","status":"<text>","reason":"requested_by_customer","origin":"merchant","createdAt":"<time>"}`
		for i, want := range []string{
			envelope("payment.completed", 1, paid, "pending", asPaid.Body),
			envelope("payment.captured", 2, paid, "pending", asPaid.Body),
			envelope("payment.refunded", 3, refund, "completed", []byte(strings.TrimSuffix(strings.TrimSpace(string(asRefunded.Body)), "}")+`,"refund":`+given+"}")),
		} {
			for _, difference := range harness.Compare("", harness.Decode(t, []byte(want)), harness.Decode(t, all[i].Body)) {
				t.Errorf("%s: %s:\n%s", all[i].Text("type"), difference, all[i].Body)
			}
		}

		// The event of a create call names the call's request id and key.
		card := o.Post(t, "/payments", harness.Card, "Idempotency-Key: key-2").Want(t, http.StatusCreated)
		d := one.About(t, card.Text(t, "transactionId"), 1)[0]
		d.Verify(t, s, first.Text(t, "secret"))
		if d.Text("request.id") != card.Header.Get("X-Request-Id") || d.Text("request.idempotencyKey") != "key-2" || d.Text("sequence") != "1" {
			t.Errorf("want the payment's first event, with request %s and key-2: %s", card.Header.Get("X-Request-Id"), d.Body)
		}
		declined := o.Post(t, "/payments", `{"amount":10.51,"paymentMethodId":"sbx_card"}`)
		d = one.About(t, declined.Text(t, "error.details.transactionId"), 1)[0]
		d.Verify(t, s, first.Text(t, "secret"))
		if d.Text("type") != "payment.failed" || d.Text("data.object.failure.code") != "insufficient_funds" {
			t.Errorf("want payment.failed with its failure: %s", d.Body)
		}
		disputed := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback")
		for _, d := range one.About(t, disputed, 4) {
			d.Verify(t, s, first.Text(t, "secret"))
		}
	})
}

func TestOnlySubscribersAreTold(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		all, failures, deleted, others := s.Receive(t), s.Receive(t), s.Receive(t), s.Receive(t)
		o.Subscribe(t, all.URL, `"payment.completed","*"`)
		o.Subscribe(t, failures.URL, `"payment.failed"`)
		gone := o.Subscribe(t, deleted.URL, `"*"`).Text(t, "id")
		stranger.Subscribe(t, others.URL, `"*"`)
		o.Delete(t, "/webhooks/"+gone).Want(t, http.StatusOK)

		completed := o.Create(t, harness.Card)
		failed := o.Post(t, "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`).Text(t, "error.details.transactionId")
		all.About(t, completed, 1)
		all.About(t, failed, 1)
		failures.About(t, failed, 1)
		harness.Eventually(t, "no delivery waits", func() bool { return s.Due(t).IsZero() })
		if n := len(all.Deliveries()); n != 2 {
			t.Errorf("the endpoint for all events got %d deliveries, want 2", n)
		}
		if got := harness.Types(failures.Deliveries()); got != "payment.failed" {
			t.Errorf("the endpoint for failures got %q, want payment.failed", got)
		}
		if got := harness.Types(deleted.Deliveries()) + harness.Types(others.Deliveries()); got != "" {
			t.Errorf("the deleted endpoint or another shop's got %q, want nothing", got)
		}
	})
}

// delays are the pauses between tries, each plus or minus a fifth (HOOK-13).
var delays = []time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// awaitRetry moves the clock to the time when the failed delivery is due. It fails the test unless
// that is about the delay after now.
func awaitRetry(t *testing.T, s *harness.Instance, delay time.Duration) {
	t.Helper()
	var pause time.Duration
	harness.Eventually(t, fmt.Sprintf("a try is due in about %s", delay), func() bool {
		pause = s.Due(t).Sub(s.Clock.Now())
		return pause > delay*8/10-5*time.Second && pause <= delay*12/10
	})
	s.Clock.Advance(pause + time.Millisecond)
}
