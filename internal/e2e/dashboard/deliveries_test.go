package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// A delivery that was given up before its first try does not say that it is sent in a moment.
func TestDeliveryThatWasNeverTriedSaysSo(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Developer)
		server := s.Receive(t)
		server.Answers(harness.Respond(http.StatusBadGateway))
		path := "/webhooks/" + o.Hook(t, server.URL, `"payment.completed"`).ID
		for range hook.CircuitAfter {
			o.Create(t, harness.Card)
		}
		harness.Eventually(t, "the endpoint is paused", func() bool {
			return strings.Contains(u.Page(t, path), "Deliveries are paused")
		})
		o.Create(t, harness.Card)
		waiting := ""
		harness.Eventually(t, "its delivery waits", func() bool {
			found := regexp.MustCompile(`/deliveries/(wd_[^"]+)"`).FindStringSubmatch(u.Page(t, path+"?status=pending"))
			if found != nil {
				waiting = found[1]
			}
			return found != nil
		})
		says(t, "a delivery that waits", text(u.Page(t, path+"/deliveries/"+waiting)), "Not tried yet")
		u.Do(t, path+"/status", "status", "disabled")
		harness.Eventually(t, "it is given up", func() bool {
			return strings.Contains(text(u.Page(t, path+"/deliveries/"+waiting)), "Given up")
		})
		says(t, "a delivery that was given up", text(u.Page(t, path+"/deliveries/"+waiting)), "Never tried", "Enable the endpoint")
	})
}
