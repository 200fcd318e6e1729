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

// An operator reads PostgreSQL's log to find what went wrong. Repeated requests and repeated
// notifications are normal, so they leave no error there.
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
			paid, disputed := harness.NoticeBody(id, harness.Paid50), harness.NoticeBody(id, `"status":"disputed","reason":"fraudulent"`)
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

// Of requests that come at the same moment, some lose a race that only their write finds. The line
// in PostgreSQL's log says that this is harmless.
func TestRacesAreExplainedInPostgreSQLsLog(t *testing.T) {
	t.Parallel()
	server := dbtest.Alone(t)
	s := harness.Start(t, dbtest.Address(server), &harness.Clock{})
	o := s.NewShop(t)
	charged := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
	var all sync.WaitGroup
	for i := range 20 {
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		told := harness.NoticeBody(id, harness.Paid50)
		made := make([]string, 4)
		for j := range made {
			all.Go(func() {
				made[j] = o.Post(t, "/payments", harness.Card, fmt.Sprint("Idempotency-Key: at once ", i)).Want(t, http.StatusCreated).Text(t, "transactionId")
			})
			all.Go(func() { s.Notify(t, "sandbox-1", told).Want(t, http.StatusOK) })
			all.Go(func() { s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK) })
			all.Go(func() {
				o.Post(t, "/payments/"+charged+"/refund", `{"amount":9}`, fmt.Sprint("Idempotency-Key: back ", i%4))
			})
		}
		all.Wait()
		for _, id := range made {
			if id != made[0] {
				t.Errorf("one idempotency key made the payments %s, want one payment", made)
			}
		}
	}
	for _, line := range server.Errors() {
		if !strings.Contains(line, "this is no fault") {
			t.Errorf("this line of PostgreSQL's log does not say that it is harmless: %s", line)
		}
	}
}
