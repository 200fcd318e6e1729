package harness

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/reconcile"
)

// Reconciled compares an upstream's books with ours, as cascada reconcile does
// with a provider's report, and fails the test unless they agree line by line, but for
// the differences that the test has brought about and names.
func Reconciled(t *testing.T, s *Instance, account string, u *providertest.Upstream, but ...reconcile.Discrepancy) reconciliation.Compared {
	t.Helper()
	done, found := CompareReport(t, s, account, u.Report())
	for _, f := range found {
		if !slices.Contains(but, f.Discrepancy) {
			t.Errorf("%s and we differ: %s", account, f)
		}
	}
	return done
}

// CompareReport compares a report of all times with our books.
func CompareReport(t *testing.T, s *Instance, account, report string) (reconciliation.Compared, []reconcile.Finding) {
	t.Helper()
	var found []reconcile.Finding
	done, err := s.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{
		Account: account, Reports: []reconciliation.Report{{Name: account + ".csv", Reader: strings.NewReader(report)}}, Format: reconcile.Generic(),
		From: time.Unix(1, 0), To: s.Clock.Now().Add(time.Hour), Tell: func(f reconcile.Finding) { found = append(found, f) },
	})
	Must(t, err)
	if done.Count != len(found) {
		t.Errorf("%d differences were told of, and %d are kept", len(found), done.Count)
	}
	return done, found
}

// ReportFile downloads one that must be there.
func ReportFile(t *testing.T, o Client, path string) (http.Header, []byte) {
	t.Helper()
	status, header, body := Download(t, o, path)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d: %s", path, status, body)
	}
	return header, body
}

// MoveTestClock moves the sandbox's test clock.
func MoveTestClock(t *testing.T, o Client, by string) {
	t.Helper()
	o.Post(t, "/sandbox/clock", `{"advance":"`+by+`"}`).Want(t, http.StatusOK)
}

// Settle lets the loops of settlements run until done says so.
func (s *Instance) Settle(t *testing.T, what string, done func() bool) {
	t.Helper()
	Eventually(t, what, func() bool {
		s.Work(t)
		return done()
	})
}

// Work runs each loop of settlements once.
func (s *Instance) Work(t *testing.T) {
	t.Helper()
	for _, do := range []func() (int, error){
		func() (int, error) { return s.App.Settlements.OpenSettlements(ctx) }, func() (int, error) { return s.App.Settlements.ReleaseReserves(ctx) },
		func() (int, error) { return s.App.Settlements.CloseSettlements(ctx) }, func() (int, error) { return s.App.Settlements.Receipts(ctx) },
	} {
		_, err := do()
		Must(t, err)
	}
}

// ClosedSettlements waits for a number of settlements that are not open and returns them,
// the newest first.
func ClosedSettlements(t *testing.T, o Client, n int) Reply {
	t.Helper()
	var r Reply
	o.Settle(t, fmt.Sprintf("%d settlements are closed, with their receipts", n), func() bool {
		r = o.Get(t, "/settlements?status=closed").Want(t, http.StatusOK)
		if r.Text(t, "pagination.total") != fmt.Sprint(n) {
			return false
		}
		for i := range n {
			// One may be paid between the count and the rows.
			if url, listed := r.At(t, fmt.Sprintf("data.%d.pdfUrl", i)); !listed || url == nil {
				return false
			}
		}
		return true
	})
	return r
}
