package webhooks

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A shop with many endpoints gets its deliveries in steps. Still each endpoint gets each event once.
func TestManyEndpointsGetEachEventOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const endpoints, payments = 20, 6
		var mu sync.Mutex
		got := map[string]int{} // by path and event
		hook := s.Receive(t)
		hook.Answers(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got[r.URL.Path+" "+r.Header.Get("Webhook-Id")]++
			w.WriteHeader(http.StatusNoContent)
		})
		for i := range endpoints {
			o.Post(t, "/webhooks", fmt.Sprintf(`{"events":["payment.completed"],"url":"%s/%d"}`, hook.URL, i)).Want(t, http.StatusCreated)
		}
		for range payments {
			o.Create(t, `{"amount":40,"paymentMethodId":"sbx_card"}`)
		}
		harness.Eventually(t, "each endpoint has each event", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) >= endpoints*payments && s.Due(t).IsZero()
		})
		mu.Lock()
		defer mu.Unlock()
		if len(got) != endpoints*payments {
			t.Errorf("the endpoints got %d deliveries, want %d", len(got), endpoints*payments)
		}
		for which, n := range got {
			if n != 1 {
				t.Errorf("%s came %d times, want once", which, n)
			}
		}
	})
}
