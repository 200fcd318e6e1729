package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/reconcile"
)

// reconciled compares an upstream's books with ours, as cascada reconcile does
// with a provider's report, and fails the test unless they agree line by line.
func (s *service) reconciled(t *testing.T, account string, u *providertest.Upstream) app.Compared {
	t.Helper()
	done, found := s.compare(t, account, u.Report())
	for _, f := range found {
		t.Errorf("%s and we differ: %s", account, f)
	}
	return done
}

// compare compares a report of all times with our books.
func (s *service) compare(t *testing.T, account, report string) (app.Compared, []reconcile.Finding) {
	t.Helper()
	var found []reconcile.Finding
	done, err := s.App.Reconcile(ctx, app.Comparison{
		Account: account, Reports: []app.Report{{Name: account + ".csv", Reader: strings.NewReader(report)}}, Format: reconcile.Generic(),
		From: time.Unix(1, 0), To: s.clock.now().Add(time.Hour), Tell: func(f reconcile.Finding) { found = append(found, f) },
	})
	must(t, err)
	if done.Count != len(found) {
		t.Errorf("%d differences were told of, and %d are kept", len(found), done.Count)
	}
	return done, found
}
