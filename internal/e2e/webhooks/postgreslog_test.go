package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Whoever reads PostgreSQL's log looks for what went wrong. A request that comes again, or a
// provider that tells something twice, is an ordinary day, and leaves no error there.
func TestReplaysLeaveNoErrorInPostgreSQLsLog(t *testing.T) {
	t.Parallel()
	server := dbtest.Alone(t)
	s := harness.Start(t, dbtest.Address(server), &harness.Clock{})
	o := s.NewShop(t)
	known := 0
	quiet := func(t *testing.T) {
		t.Helper()
		lines := server.Errors()
		for _, line := range lines[known:] {
			t.Errorf("PostgreSQL's log has %s", line)
		}
		known = len(lines)
	}
	quiet(t)
	o.Fund(t, false, 1_000_00)
	w := o.Wallet(t)
	charged := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
	for i := range 3 {
		for _, c := range []struct{ path, body string }{
			{"/payments", harness.Card},
			{"/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`}, // declined
			{"/payments", `{"amount":10,"paymentMethodId":"sbx_cash"}`},
			{"/payments/" + charged + "/refund", `{"amount":10}`},
			{"/withdrawals", `{"walletId":"` + w + `","amount":100}`},
			{"/checkout/sessions", harness.Card},
		} {
			t.Run(fmt.Sprint(c.path, " ", i), func(t *testing.T) {
				key := fmt.Sprintf("Idempotency-Key: %s %d", strings.ReplaceAll(c.body, `"`, ""), i)
				first := o.Post(t, c.path, c.body, key)
				for range 3 {
					harness.Same(t, first, o.Post(t, c.path, c.body, key))
				}
				quiet(t)
			})
		}
		t.Run(fmt.Sprint("notifications ", i), func(t *testing.T) {
			id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			paid, disputed := harness.Note(id, harness.Paid50), harness.Note(id, `"status":"disputed","reason":"fraudulent"`)
			for _, told := range []string{paid, paid, disputed, disputed, paid, disputed} {
				s.Notify(t, "sandbox-1", told).Want(t, http.StatusOK)
			}
			if got := o.Status(t, id); got != "chargeback" {
				t.Errorf("the payment is %s, want chargeback", got)
			}
			quiet(t)
		})
	}
	s.Clean(t)
	quiet(t)
}

// Requests that truly come at the same time may lose a race that only the write itself finds.
// What PostgreSQL logs of it says that it is harmless.
func TestRacesAreExplainedInPostgreSQLsLog(t *testing.T) {
	t.Parallel()
	server := dbtest.Alone(t)
	s := harness.Start(t, dbtest.Address(server), &harness.Clock{})
	o := s.NewShop(t)
	charged := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
	var all sync.WaitGroup
	for i := range 20 {
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		told := harness.Note(id, harness.Paid50)
		made := make([]string, 4)
		for j := range made {
			all.Go(func() {
				made[j] = o.Post(t, "/payments", harness.Card, fmt.Sprint("Idempotency-Key: at once ", i)).Want(t, http.StatusCreated).Text(t, "transactionId")
			})
			all.Go(func() { s.Notify(t, "sandbox-1", told).Want(t, http.StatusOK) })
			all.Go(func() { s.Notify(t, "sandbox-1", harness.Note(id, harness.Paid50)).Want(t, http.StatusOK) })
			all.Go(func() {
				o.Post(t, "/payments/"+charged+"/refund", `{"amount":9}`, fmt.Sprint("Idempotency-Key: back ", i%4))
			})
		}
		all.Wait()
		for _, id := range made {
			if id != made[0] {
				t.Errorf("one key made the payments %s", made)
			}
		}
	}
	for _, line := range server.Errors() {
		if !strings.Contains(line, "this is no fault") {
			t.Errorf("PostgreSQL's log does not say what this is: %s", line)
		}
	}
}
