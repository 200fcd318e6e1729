package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func endpointBody(n int) string {
	return fmt.Sprintf(`{"events":["payment.completed"],"url":"https://shop.example/%d"}`, n)
}

// The operator sets how many endpoints a shop may have (HOOK-19).
func TestShopHasSoManyWebhooks(t *testing.T) {
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.WebhooksPerShop = 1 })
	o := s.NewShop(t)
	o.Post(t, "/webhooks", endpointBody(1)).Want(t, http.StatusCreated)
	o.Post(t, "/webhooks", endpointBody(2)).Refused(t, "409 conflict_state conflict_error")
}

func TestTheSameWebhookTwiceIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		const first = `{"events":["payment.completed","claim.opened"],"url":"https://shop.example/hook"}`
		id := o.Post(t, "/webhooks", first).Want(t, http.StatusCreated).Text(t, "id")
		const twice = "409 conflict_state conflict_error param=url"
		for _, same := range []string{first, `{"events":["claim.opened","payment.completed","claim.opened"],"url":"https://shop.example/hook"}`,
			`{"events":["payment.completed","claim.opened"],"url":"HTTPS://SHOP.example:443/hook#now"}`} {
			r := o.Post(t, "/webhooks", same)
			if r.Refused(t, twice); !strings.Contains(r.Text(t, "error.message"), id) {
				t.Errorf("the refusal does not name %s: %s", id, r)
			}
		}
		second := o.Post(t, "/webhooks", `{"events":["payment.completed"],"url":"https://shop.example/hook"}`).Want(t, http.StatusCreated).Text(t, "id")
		third := o.Post(t, "/webhooks", `{"events":["payment.completed"],"url":"https://shop.example/other"}`).Want(t, http.StatusCreated).Text(t, "id")
		patch(t, o, "/webhooks/"+second, `{"events":["claim.opened","payment.completed"]}`).Refused(t, twice)
		patch(t, o, "/webhooks/"+third, `{"url":"https://shop.example/hook"}`).Refused(t, twice)
		patch(t, o, "/webhooks/"+id, `{"events":["payment.completed","claim.opened"],"url":"https://shop.example/hook"}`).Want(t, http.StatusOK) // the webhook is not a duplicate of itself
		other.Post(t, "/webhooks", first).Want(t, http.StatusCreated)
		o.Production().Post(t, "/webhooks", first).Want(t, http.StatusCreated)

		// Of equal requests at the same time one makes a webhook.
		var race sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 8 {
			race.Go(func() {
				r := o.Post(t, "/webhooks", endpointBody(1))
				mu.Lock()
				defer mu.Unlock()
				if r.Status == http.StatusCreated {
					made++
				}
			})
		}
		race.Wait()
		if made != 1 {
			t.Errorf("of 8 equal requests at the same time %d made a webhook, want 1", made)
		}
		o.Delete(t, "/webhooks/"+id).Want(t, http.StatusOK)
		o.Post(t, "/webhooks", first).Want(t, http.StatusCreated)
	})
}
