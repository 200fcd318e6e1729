package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/webhook"
)

func TestEventIsSignedAndShowsThePayment(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		one, two := s.receive(t), s.receive(t)
		first, second := o.subscribe(t, one.URL+"/hooks", `"*"`), o.subscribe(t, two.URL, `"payment.completed","payment.refunded"`)

		created := o.post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1","merchantOrderId":"order-1"}`, "Idempotency-Key: key-1").want(t, http.StatusCreated)
		id := created.text(t, "transactionId")
		paid := o.simulate(t, id, "paid")
		asPaid := o.get(t, "/payments/"+id).want(t, http.StatusOK)
		refund := o.simulate(t, id, "refunded")
		asRefunded := o.get(t, "/payments/"+id).want(t, http.StatusOK)

		all, some := one.about(t, id, 3), two.about(t, id, 2)
		if types(all) != "payment.completed payment.captured payment.refunded" || types(some) != "payment.completed payment.refunded" {
			t.Fatalf("the endpoints were told %q and %q", types(all), types(some))
		}
		for _, d := range all {
			d.verify(t, s, first.text(t, "secret"))
		}
		for i, d := range some {
			d.verify(t, s, second.text(t, "secret"))
			if err := webhook.Verify(d.header.Get(webhook.SignatureHeader), d.body, first.text(t, "secret"), s.clock.now(), webhook.Tolerance); err == nil {
				t.Error("one endpoint's secret verifies another's delivery")
			}
			twin := all[2*i]
			if string(d.body) != string(twin.body) || d.header.Get("X-Service-Delivery") == twin.header.Get("X-Service-Delivery") {
				t.Errorf("want the same event in two deliveries, got %s %s and %s %s",
					d.header.Get("X-Service-Delivery"), d.body, twin.header.Get("X-Service-Delivery"), twin.body)
			}
		}
		envelope := func(kind string, sequence int, r reply, previous string, object []byte) string {
			return fmt.Sprintf(`{"id":"<event>","type":%q,"apiVersion":"2026-11-21","createdAt":"<time>","environment":"sandbox",
				"merchantId":%q,"shopId":%q,"sequence":%d,"request":{"id":%q,"idempotencyKey":null},
				"data":{"object":%s,"previous":{"status":%q}}}`,
				kind, o.Merchant.ID, o.Shop.ID, sequence, r.header.Get("X-Request-Id"), object, previous)
		}
		given := `{"refundId":"<claim>","transactionId":"` + id + `","amount":54,"amountUsd":10,"currency":"BRL","status":"<text>","reason":"requested_by_customer","createdAt":"<time>"}`
		for i, want := range []string{
			envelope("payment.completed", 1, paid, "pending", asPaid.body),
			envelope("payment.captured", 2, paid, "pending", asPaid.body),
			envelope("payment.refunded", 3, refund, "completed", []byte(strings.TrimSuffix(strings.TrimSpace(string(asRefunded.body)), "}")+`,"refund":`+given+"}")),
		} {
			for _, difference := range compare("", decode(t, []byte(want)), decode(t, all[i].body)) {
				t.Errorf("%s: %s:\n%s", all[i].text("type"), difference, all[i].body)
			}
		}

		// What the create call itself brings about names it and its key.
		card := o.post(t, "/payments", card, "Idempotency-Key: key-2").want(t, http.StatusCreated)
		d := one.about(t, card.text(t, "transactionId"), 1)[0]
		d.verify(t, s, first.text(t, "secret"))
		if d.text("request.id") != card.header.Get("X-Request-Id") || d.text("request.idempotencyKey") != "key-2" || d.text("sequence") != "1" {
			t.Errorf("want the first event, of the create call %s and key-2: %s", card.header.Get("X-Request-Id"), d.body)
		}
		declined := o.post(t, "/payments", `{"amount":10.51,"paymentMethodId":"sbx_card"}`)
		d = one.about(t, declined.text(t, "error.details.transactionId"), 1)[0]
		d.verify(t, s, first.text(t, "secret"))
		if d.text("type") != "payment.failed" || d.text("data.object.failure.code") != "insufficient_funds" {
			t.Errorf("want payment.failed with its failure: %s", d.body)
		}
		disputed := o.create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback")
		for _, d := range one.about(t, disputed, 4) {
			d.verify(t, s, first.text(t, "secret"))
		}
	})
}

func TestOnlySubscribersAreTold(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		all, failures, deleted, others := s.receive(t), s.receive(t), s.receive(t), s.receive(t)
		o.subscribe(t, all.URL, `"payment.completed","*"`)
		o.subscribe(t, failures.URL, `"payment.failed"`)
		gone := o.subscribe(t, deleted.URL, `"*"`).text(t, "id")
		stranger.subscribe(t, others.URL, `"*"`)
		o.delete(t, "/webhooks/"+gone).want(t, http.StatusOK)

		completed := o.create(t, card)
		failed := o.post(t, "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`).text(t, "error.details.transactionId")
		all.about(t, completed, 1)
		all.about(t, failed, 1)
		failures.about(t, failed, 1)
		eventually(t, "nothing waits to be sent", func() bool { return s.due(t).IsZero() })
		if n := len(all.deliveries()); n != 2 {
			t.Errorf("the endpoint for all events got %d deliveries, want 2", n)
		}
		if got := types(failures.deliveries()); got != "payment.failed" {
			t.Errorf("the endpoint for failures was told %q", got)
		}
		if got := types(deleted.deliveries()) + types(others.deliveries()); got != "" {
			t.Errorf("the deleted endpoint or another shop's was told %q", got)
		}
	})
}

// due is when the next delivery comes due, zero when none waits.
func (s *service) due(t *testing.T) time.Time {
	t.Helper()
	due, err := s.App.OldestDue(ctx)
	must(t, err)
	return due["deliveries"]
}

// delays are the pauses between tries, each give or take a fifth (HOOK-13).
var delays = []time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// awaitRetry moves the clock to when the failed delivery comes due, which must
// be about the delay after now.
func (s *service) awaitRetry(t *testing.T, delay time.Duration) {
	t.Helper()
	var pause time.Duration
	eventually(t, fmt.Sprintf("a try is due in about %s", delay), func() bool {
		pause = s.due(t).Sub(s.clock.now())
		return pause > delay*8/10-5*time.Second && pause <= delay*12/10
	})
	s.clock.advance(pause + time.Millisecond)
}

func TestDeliveryIsTriedElevenTimes(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		endpoint.answers(respond(http.StatusInternalServerError))
		secret := o.subscribe(t, endpoint.URL, `"payment.completed"`).text(t, "secret")
		o.create(t, card)
		for n, delay := range delays {
			endpoint.await(t, n+1)[n].verify(t, s, secret)
			s.awaitRetry(t, delay)
		}
		last := endpoint.await(t, 11)
		eventually(t, "nothing waits to be sent", func() bool { return s.due(t).IsZero() })
		s.clock.advance(30 * 24 * time.Hour)
		if n, err := s.App.Webhooks.Dispatch(ctx); n != 0 || err != nil {
			t.Errorf("%d dead letters were sent again (error %v), want none", n, err)
		}
		for _, d := range last {
			if d.text("id") != last[0].text("id") || d.header.Get("X-Service-Delivery") != last[0].header.Get("X-Service-Delivery") || string(d.body) != string(last[0].body) {
				t.Errorf("a retry is another delivery: %v %s, want %v %s", d.header, d.body, last[0].header, last[0].body)
			}
		}
		if n := len(endpoint.deliveries()); n != 11 {
			t.Errorf("the endpoint was called %d times, want 11", n)
		}
	})
}

func TestRetryThatIsTakenEndsTheDelivery(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"*"`).text(t, "secret")
		for name, answer := range map[string]http.HandlerFunc{
			"an error": respond(http.StatusInternalServerError),
			"a redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			},
		} {
			t.Run(name, func(t *testing.T) {
				before := len(endpoint.deliveries())
				endpoint.answers(answer)
				o.create(t, card)
				endpoint.await(t, before+1)
				endpoint.answers(respond(http.StatusOK))
				s.awaitRetry(t, delays[0])
				list := endpoint.await(t, before+2)
				list[before+1].verify(t, s, secret)
				eventually(t, "nothing waits to be sent", func() bool { return s.due(t).IsZero() })
				if n := len(endpoint.deliveries()); n != before+2 {
					t.Errorf("the endpoint was called %d times, want twice", n-before)
				}
			})
		}
	})
}

func TestGoneEndpointIsDisabled(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		gone, well := s.receive(t), s.receive(t)
		gone.answers(respond(http.StatusGone))
		o.subscribe(t, gone.URL, `"*"`)
		o.subscribe(t, well.URL, `"*"`)
		well.about(t, o.create(t, card), 1)
		find := func() reply { return o.get(t, "/webhooks?limit=1&offset=1") }
		eventually(t, "the endpoint is disabled", func() bool { return find().text(t, "data.0.status") == "disabled" })
		if r := find(); r.text(t, "data.0.url") != gone.URL || r.text(t, "data.0.disabledReason") == "<nil>" {
			t.Errorf("want %s disabled with a reason: %s", gone.URL, r)
		}
		well.about(t, o.create(t, card), 1)
		eventually(t, "nothing waits to be sent", func() bool { return s.due(t).IsZero() })
		if n := len(gone.deliveries()); n != 1 {
			t.Errorf("the endpoint that is gone was called %d times, want once", n)
		}
	})
}

func TestSlowEndpointDelaysNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		slow, quick := s.receive(t), s.receive(t)
		hold := make(chan struct{})
		slow.holds(t, hold, quick)
		defer close(hold)
		o.subscribe(t, slow.URL, `"*"`)
		o.subscribe(t, quick.URL, `"*"`)
		const payments = 40 // more than go to one endpoint at a time
		for range payments {
			o.create(t, card)
		}
		eventually(t, "the quick endpoint has them all", func() bool { return len(quick.deliveries()) == payments })
		eventually(t, "the slow endpoint was called", func() bool { return len(slow.deliveries()) > 0 })
	})
}
