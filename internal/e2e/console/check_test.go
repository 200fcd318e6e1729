package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// checked starts a check of the books by the page's button and waits for its end. It returns the page.
func checked(t *testing.T, op harness.Staff, only string) (page string) {
	t.Helper()
	op.Do(t, consolePath+"check/start", "only", only)
	harness.Eventually(t, "the check ends", func() bool {
		page = op.Page(t, consolePath+"check")
		return strings.Contains(page, `action="/dashboard/console/check/start"`)
	})
	return page
}

// An operator checks the books in the background. The page has what is broken, and the result with its operator
// stays in the audit log.
func TestOperatorChecksTheBooks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		traded(t, o)
		if page := op.Page(t, consolePath+"check"); !strings.Contains(page, "No check was made here yet") {
			t.Error("the page of a new service lists a check")
		}
		if a := op.Ask(t, http.MethodPost, consolePath+"check/stop", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("stopping no check answers %d", a.Status)
		}
		if page := checked(t, op, ""); !strings.Contains(page, "Every invariant holds") || !strings.Contains(page, op.User.Email) {
			t.Errorf("the check of sound books shows %s", harness.Answer{Body: page}.Text())
		}
		op.Did(t, audit.BooksChecked, "books")
		if a := op.Ask(t, http.MethodGet, consolePath+"check/live?seen=", nil); a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("the live part answers %d %s", a.Status, a.Header)
		}
		exec, closeDB := s.Exec(t)
		defer closeDB()
		exec("UPDATE balances SET available = available + 1 WHERE merchant = $1", o.Merchant.ID)
		page := checked(t, op, "")
		exec("UPDATE balances SET available = available - 1 WHERE merchant = $1", o.Merchant.ID)
		if !strings.Contains(page, "Invariants are broken") || !strings.Contains(page, "a balance is the sum of its postings") || !strings.Contains(page, o.Merchant.ID) {
			t.Errorf("the check of broken books shows %s", harness.Answer{Body: page}.Text())
		}
		s.Log.Extract(t, "broken rules of the books")
		if page := checked(t, op, "seals"); !strings.Contains(page, "Every invariant holds") || !strings.Contains(page, "The seals") {
			t.Errorf("the check of the seals shows %s", harness.Answer{Body: page}.Text())
		}
	})
}

// An operator sees which chains of seals there are, keeps their heads, and proves later that none was cut.
func TestOperatorVerifiesTheSeals(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		traded(t, o)
		harness.Eventually(t, "the merchant's rows are sealed", func() bool {
			return strings.Contains(op.Page(t, consolePath+"seals"), "merchants/"+o.Merchant.ID)
		})
		heads := op.Ask(t, http.MethodGet, consolePath+"seals/heads.txt", nil)
		if heads.Status != http.StatusOK || !strings.Contains(heads.Body, o.Merchant.ID+" sandbox") {
			t.Fatalf("the heads are %d %q", heads.Status, heads.Body)
		}
		if status, body := uploadFile(t, op, "seals", "heads", heads.Body); status != http.StatusOK || !strings.Contains(body, "The chains go on from these heads") {
			t.Errorf("the heads that were just kept get %d: %s", status, harness.Answer{Body: body}.Text())
		}
		var other []string
		for _, line := range strings.Split(strings.TrimSpace(heads.Body), "\n") {
			words := strings.Fields(line)
			words[len(words)-1] = strings.Repeat("0", len(words[len(words)-1]))
			other = append(other, strings.Join(words, " "))
		}
		if status, body := uploadFile(t, op, "seals", "heads", strings.Join(other, "\n")); status != http.StatusOK || !strings.Contains(body, "a chain goes on from the head that was kept") {
			t.Errorf("heads of other chains get %d: %s", status, harness.Answer{Body: body}.Text())
		}
		for _, wrong := range []string{"", "nothing\n"} {
			if status, body := uploadFile(t, op, "seals", "heads", wrong); status != http.StatusBadRequest {
				t.Errorf("a file with %q gets %d: %s", wrong, status, harness.Answer{Body: body}.Text())
			}
		}
	})
}

// traded makes a shop in which payments ended in every way.
func traded(t *testing.T, o harness.Client) {
	t.Helper()
	for _, ending := range []string{"paid", "failed", "expired"} {
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
		o.Simulate(t, id, ending).Want(t, http.StatusOK)
	}
	for range 4 {
		o.Create(t, harness.Card)
	}
	o.Refund(t, o.Create(t, harness.Card), `{"reason":"requested_by_customer"}`)
}
