package webhooks

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

const openAfter = 10 // failures in a row

// broken makes an endpoint that answers with an error, and sends it events until its circuit is
// open.
func broken(t *testing.T, o harness.Client) (*harness.Receiver, harness.Subscribed) {
	t.Helper()
	endpoint := o.Receive(t)
	endpoint.Answers(harness.Respond(http.StatusServiceUnavailable))
	h := o.Hook(t, endpoint.URL, `"payment.completed"`)
	for range openAfter {
		o.Create(t, harness.Card)
	}
	harness.Eventually(t, "every try has failed", func() bool {
		return h.Log(t, "?status=failed").Text(t, "pagination.total") == fmt.Sprint(openAfter)
	})
	// The first delivery that is not tried shows that the circuit is open.
	harness.Eventually(t, "the circuit is open", func() bool {
		before := len(endpoint.Deliveries())
		o.Create(t, harness.Card)
		dispatchAll(t, o.Instance)
		return len(endpoint.Deliveries()) == before
	})
	return endpoint, h
}

func TestOpenCircuitSurvivesARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		before := harness.Start(t, database, &harness.Clock{})
		o := before.NewShop(t)
		endpoint, h := broken(t, o)
		called := len(endpoint.Deliveries())
		before.End(t)

		after := harness.Start(t, database, before.Clock)
		o.Instance, endpoint.Instance, h.Instance = after, after, after
		o.Create(t, harness.Card)
		onlyOne(t, endpoint, called)
		endpoint.Answers(harness.Respond(http.StatusOK))
		after.Clock.Advance(61 * time.Second)
		total := h.Log(t, "").Text(t, "pagination.total")
		harness.Eventually(t, "all deliveries are delivered", func() bool {
			dispatchAll(t, after)
			after.Clock.Advance(time.Minute)
			return h.Log(t, "?status=delivered").Text(t, "pagination.total") == total
		})
	})
}
