package providers

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestRestartLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		before := harness.Start(t, database, &harness.Clock{})
		o := before.NewShop(t)
		endpoint := before.Receive(t)
		endpoint.Answers(harness.Respond(http.StatusInternalServerError))
		secret := o.Subscribe(t, endpoint.URL, `"*"`).Text(t, "secret")
		token := harness.Pair(t, o).Text(t, "accessToken")
		pending := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		unknown := o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
		first := o.Post(t, "/payments", harness.Card, "Idempotency-Key: restart").Want(t, http.StatusCreated)
		methods := o.Production().Get(t, "/payment-methods")
		endpoint.Await(t, 1)
		before.End(t)

		after := harness.Start(t, database, before.Clock)
		o.Instance, endpoint.Instance = after, after
		harness.Same(t, first, o.Post(t, "/payments", harness.Card, "Idempotency-Key: restart"))
		o.As(token).Get(t, "/payments/"+pending).Want(t, http.StatusOK)
		o.Production().Get(t, "/payment-methods").Is(t, http.StatusOK, string(methods.Body)) // ids of methods never change
		o.Simulate(t, pending, "paid").Want(t, http.StatusOK)
		endpoint.Answers(harness.Respond(http.StatusOK))
		after.Clock.Advance(31 * time.Second)
		after.Sweep(t, "the payment with the unknown outcome is completed", func() bool { return o.Status(t, unknown) == "completed" })
		harness.Eventually(t, "no delivery waits", func() bool {
			_, err := after.App.Webhooks.Dispatch(ctx)
			harness.Must(t, err)
			return after.Due(t).IsZero()
		})
		told := map[string]bool{}
		for _, d := range endpoint.Deliveries() {
			told[d.Text("type")+" "+d.Text("data.object.id")] = true
		}
		for _, want := range []string{
			"payment.completed " + first.Text(t, "transactionId"), "payment.completed " + unknown,
			"payment.completed " + pending, "payment.captured " + pending,
		} {
			if !told[want] {
				t.Errorf("the endpoint did not get %s, only %v", want, told)
			}
		}
		list := endpoint.Deliveries()
		list[len(list)-1].Verify(t, after, secret)
	})
}
