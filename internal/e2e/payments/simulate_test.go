package payments

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// The table of allowed simulated actions (SBX-5). Every other action is a conflict (SBX-6).
func TestSimulationTable(t *testing.T) {
	allowed := map[string]struct {
		status string
		events []string
	}{
		"pending paid":         {"completed", []string{"payment.completed", "payment.captured"}},
		"pending failed":       {"failed", []string{"payment.failed"}},
		"pending expired":      {"expired", []string{"payment.failed"}},
		"completed refunded":   {"refunded", []string{"payment.refunded"}},
		"completed chargeback": {"completed", []string{"chargeback.created", "claim.opened"}},
		"disputed refunded":    {"refunded", []string{"payment.refunded"}},
	}
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`) // so that the balance is enough for the refunds
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		for _, stage := range harness.Stages {
			for _, action := range []string{"paid", "failed", "expired", "refunded", "chargeback"} {
				t.Run(stage.Name+" "+action, func(t *testing.T) {
					id := stage.Bring(t, o)
					if got := o.Status(t, id); got != stage.Status {
						t.Fatalf("the payment of this stage is %s, want %s", got, stage.Status)
					}
					path := "/payments"
					if action == "paid" {
						path = "/transactions" // the alias
					}
					r := o.Post(t, path+"/"+id+"/simulate", `{"action":"`+action+`"}`)
					want, ok := allowed[stage.Name+" "+action]
					if !ok {
						r.Is(t, http.StatusConflict, fmt.Sprintf(`{"error":{"code":"conflict_state","type":"conflict_error","message":"<text>",
							"requestId":"<req>","details":{"helpUrl":"<url>","from":%q,"action":%q}}}`, stage.Status, action))
						if got := o.Status(t, id); got != stage.Status {
							t.Errorf("after a conflict the payment is %s, want %s", got, stage.Status)
						}
						return
					}
					events, err := json.Marshal(want.events)
					harness.Must(t, err)
					r.Is(t, http.StatusOK, fmt.Sprintf(`{"id":%q,"status":%q,"eventsFired":%s}`, id, want.status, events))
					if got := o.Status(t, id); got != want.status {
						t.Errorf("the payment is %s, want %s", got, want.status)
					}
					var told []string
					all := map[string]int{"completed": 1, "disputed": 4}[stage.Name] + len(want.events)
					for _, d := range endpoint.About(t, id, all) {
						if d.Text("request.id") == r.Header.Get("X-Request-Id") {
							told = append(told, d.Text("type"))
						}
					}
					if !slices.Equal(told, want.events) {
						t.Errorf("the endpoint got %v, want %v", told, want.events)
					}
				})
			}
		}
		pending := harness.Stages[0].Bring(t, o)
		for name, c := range map[string]struct{ path, body, want string }{
			"no action":             {pending, `{}`, "400 missing_field invalid_request_error param=action issues=action missing=action"},
			"an unknown action":     {pending, `{"action":"slow_payment"}`, "400 invalid_request invalid_request_error param=action issues=action"},
			"a number":              {pending, `{"action":1}`, "400 invalid_request invalid_request_error param=action issues=action"},
			"no body":               {pending, ``, "400 invalid_json invalid_request_error"},
			"broken JSON":           {pending, `{"action":`, "400 invalid_json invalid_request_error"},
			"an unknown payment":    {"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", `{"action":"paid"}`, "404 transaction_not_found invalid_request_error"},
			"no payment's id":       {"x", `{"action":"paid"}`, "404 transaction_not_found invalid_request_error"},
			"an id with NUL":        {"TXN-%00", `{"action":"paid"}`, "404 transaction_not_found invalid_request_error"},
			"an id that is no text": {"TXN-%ff", `{"action":"paid"}`, "404 transaction_not_found invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { o.Post(t, "/payments/"+c.path+"/simulate", c.body).Refused(t, c.want) })
		}
		o.Post(t, "/payments/"+pending+"/simulate", `{"action":"paid"}`, "Content-Type: ").Refused(t, "415 content_type_required invalid_request_error")
		o.Production().Simulate(t, pending, "paid").Refused(t, "400 production_key_refused invalid_request_error")
		if got := o.Status(t, pending); got != "pending" {
			t.Errorf("the payment is %s after refused calls, want pending", got)
		}
	})
}

func TestSimulationHappensOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`)
		for _, c := range []struct{ action, from string }{{"paid", "completed"}, {"refunded", "refunded"}} {
			replies := make([]harness.Reply, 8)
			var all sync.WaitGroup
			for n := range replies {
				all.Go(func() { replies[n] = o.Simulate(t, id, c.action) })
			}
			all.Wait()
			done := 0
			for _, r := range replies {
				if r.Status == http.StatusOK {
					done++
					continue
				}
				r.Refused(t, "409 conflict_state conflict_error from="+c.from+" action="+c.action)
			}
			if done != 1 {
				t.Errorf("%d of 8 calls for %s succeeded, want 1", done, c.action)
			}
		}
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, harness.EmptyBuckets))
	})
}

// Of two opposite simulated actions at once, one succeeds and the other gets a conflict.
func TestOppositeSimulationsHaveOneWinner(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 10 {
			id := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
			replies := map[string]harness.Reply{}
			var mu sync.Mutex
			var race sync.WaitGroup
			for _, action := range []string{"paid", "failed"} {
				race.Go(func() {
					r := o.Simulate(t, id, action)
					mu.Lock()
					defer mu.Unlock()
					replies[action] = r
				})
			}
			race.Wait()
			status := o.Status(t, id)
			for action, r := range replies {
				if won := status == map[string]string{"paid": "completed", "failed": "failed"}[action]; won {
					r.Want(t, http.StatusOK)
				} else {
					r.Refused(t, "409 conflict_state conflict_error from="+status+" action="+action)
				}
			}
		}
	})
}

// The header's action runs within the create call (SBX-8).
func TestSimulationHeader(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		const paid, disputed = "payment.completed payment.captured", "payment.completed payment.captured chargeback.created claim.opened"
		for _, c := range []struct{ header, method, amount, want, status, events string }{
			{"paid", "sbx_pix", "10", "201", "completed", paid},
			{"failed", "sbx_pix", "10", "201", "failed", "payment.failed"},
			{"expired", "sbx_pix", "10", "201", "expired", "payment.failed"},
			{"chargeback", "sbx_pix", "10", "201", "completed", disputed},
			{"slow_payment", "sbx_pix", "10", "201", "pending", ""},
			{"paid", "sbx_card", "10", "201", "completed", paid},
			{"failed", "sbx_card", "10", "402 card_declined card_error decline=do_not_honor", "failed", "payment.failed"},
			{"expired", "sbx_card", "10", "201", "expired", "payment.failed"},
			{"chargeback", "sbx_card", "10", "201", "completed", disputed},
			{"slow_payment", "sbx_card", "10", "201", "pending", ""},
			// The header wins over the cents.
			{"paid", "sbx_card", "10.05", "201", "completed", paid},
			{"paid", "sbx_card", "10.96", "201", "completed", paid},
			{"failed", "sbx_card", "10.65", "402 card_declined card_error decline=do_not_honor", "failed", "payment.failed"},
		} {
			t.Run(c.header+" "+c.method+" "+c.amount, func(t *testing.T) {
				r := o.Post(t, "/payments", `{"amount":`+c.amount+`,"paymentMethodId":"`+c.method+`","documentId":"1"}`, "Sandbox-Simulate: "+c.header)
				r.Refused(t, c.want)
				at := "error.details.transactionId"
				if r.Status < 400 {
					at = "transactionId"
					if got := r.Text(t, "status"); got != c.status {
						t.Errorf("the reply says %s, want %s: %s", got, c.status, r)
					}
				}
				id := r.Text(t, at)
				if got := o.Status(t, id); got != c.status {
					t.Errorf("the payment is %s, want %s", got, c.status)
				}
				list := endpoint.About(t, id, len(strings.Fields(c.events)))
				if harness.Types(list) != c.events {
					t.Errorf("the endpoint got %q, want %q", harness.Types(list), c.events)
				}
				for _, d := range list {
					if d.Text("request.id") != r.Header.Get("X-Request-Id") {
						t.Errorf("%s names the request %s, want the create call's: %s", d.Text("type"), d.Text("request.id"), r)
					}
				}
			})
		}
	})
}

func TestSlowPaymentCompletesByItself(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		for _, method := range []string{"sbx_pix", "sbx_card"} {
			id := o.Create(t, `{"amount":10,"paymentMethodId":"`+method+`","documentId":"1"}`, "Sandbox-Simulate: slow_payment")
			s.Clock.Advance(20 * time.Second)
			_, err := s.App.Cascade.Sweep(ctx)
			harness.Must(t, err)
			if got := o.Status(t, id); got != "pending" {
				t.Errorf("a slow payment by %s is %s after 20 s, want pending", method, got)
			}
			s.Clock.Advance(11 * time.Second)
			s.Sweep(t, "the payment is completed after 30 s", func() bool { return o.Status(t, id) == "completed" })
			list := endpoint.About(t, id, 2)
			if got := harness.Types(list); got != "payment.completed payment.captured" {
				t.Errorf("the endpoint got %q, want payment.completed payment.captured", got)
			}
			if list[0].Text("request.id") != "<nil>" || list[0].Text("data.previous.status") != "pending" {
				t.Errorf("want an event from pending without a request, because no request caused it: %s", list[0].Body)
			}
		}
	})
}

func TestOpenPaymentIsAskedAboutEveryFiveMinutes(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for range 3 {
			due := func() time.Duration {
				list, err := s.App.OldestDue(ctx)
				harness.Must(t, err)
				return list["pending payments"].Sub(s.Clock.Now())
			}
			if wait := due(); wait <= 5*time.Minute-harness.Patience || wait > 5*time.Minute {
				t.Fatalf("the next query is in %s, want about 5 minutes", wait)
			}
			s.Clock.Advance(due() + time.Millisecond)
			s.Sweep(t, "the provider is queried", func() bool { return due() > 4*time.Minute })
		}
	})
}

func TestPaymentExpiresWhenItsWindowHasPassed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		transfer := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_spei","documentId":"1"}`)
		voucher := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.Clock.Advance(24*time.Hour - time.Minute)
		_, err := s.App.Cascade.Sweep(ctx)
		harness.Must(t, err)
		if got := o.Status(t, transfer); got != "pending" {
			t.Errorf("the transfer is %s a minute before its window ends, want pending", got)
		}
		s.Clock.Advance(time.Minute)
		s.Sweep(t, "the transfer is expired after its day", func() bool { return o.Status(t, transfer) == "expired" })
		if got := o.Status(t, voucher); got != "pending" {
			t.Errorf("the voucher is %s after a day, want pending: it has seven", got)
		}
		d := endpoint.About(t, transfer, 1)[0]
		if d.Text("type") != "payment.failed" || d.Text("data.object.status") != "expired" || d.Text("data.object.failure.code") != "expired" {
			t.Errorf("want payment.failed of an expired payment, got %s", d.Body)
		}
		r := o.Get(t, "/payments/"+transfer)
		if _, ok := r.At(t, "timestamps.expired"); !ok || r.Text(t, "failure.code") != "expired" {
			t.Errorf("want the time and the reason of the payment's end: %s", r)
		}
		s.Clock.Advance(6 * 24 * time.Hour)
		s.Sweep(t, "the voucher is expired after its week", func() bool { return o.Status(t, voucher) == "expired" })
		if n := o.Total(t, map[string][]string{"status": {"expired"}}); n != "2" {
			t.Errorf("%s expired payments are listed, want 2", n)
		}
	})
}
