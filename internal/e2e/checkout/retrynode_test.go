package checkout

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/view"
)

// A node may die or stall at any point of a retry: another one finishes it, or the payment ends as if the shopper had left. Nobody is
// charged twice (PAY-39).
func TestNodeEndsInARetry(t *testing.T) {
	died := errors.New("the node has died")
	for name, c := range map[string]struct {
		// commits is around the commit of the retry's intent; other is what another node does.
		commits func(commit func() error, other func()) error
		cut     bool // the answer to the second provider's call is lost
		status  pay.Status
	}{
		"before the commit": {commits: func(func() error, func()) error { return died }, status: pay.Failed},
		"after the commit, before the call": {commits: func(commit func() error, _ func()) error {
			if err := commit(); err != nil {
				return err
			}
			return died
		}, status: pay.Pending},
		"in the call": {commits: func(commit func() error, _ func()) error { return commit() }, cut: true, status: pay.Pending},
		"it stalls before the commit": {commits: func(commit func() error, other func()) error {
			for range 60 {
				other()
			}
			return commit()
		}, status: pay.Failed},
		"it stalls before the call": {commits: func(commit func() error, other func()) error {
			err := commit()
			other()
			return err
		}, status: pay.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, database string) {
				clock := &harness.Clock{}
				clock.Freeze()
				s := openPaged(t, startPaged(t, database, clock))
				s.Log.Mute()
				id := s.refused(t, decline.DoNotHonor)
				s.End(t)
				var armed atomic.Bool
				var second *app.App
				looks := func() { // the other node misses the first one, and finds the payment due
					clock.Advance(10 * time.Second)
					harness.Must(t, second.Cascade.ReleaseOrphans(ctx))
					_, err := second.Cascade.Sweep(ctx)
					harness.Must(t, err)
				}
				node := func(commits func(context.Context, *pay.Change, func() error) error) *app.App {
					return harness.NodeOf(t, database, clock, &harness.Faults{}, func(config *app.Config) {
						config.Adapters, config.Client, config.Commits = []provider.Adapter{providertest.Paged()}, http.DefaultClient, commits
					})
				}
				first := node(func(_ context.Context, change *pay.Change, commit func() error) error {
					if len(change.Payments) == 1 && change.Payments[0].Status == pay.Processing && armed.CompareAndSwap(true, false) {
						return c.commits(commit, looks)
					}
					return commit()
				})
				second = node(nil)
				s.App = second
				if c.cut {
					s.lines[1].Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
						s.lines[1].Fails(nil)
						harness.CutsAfter(w, r, next)
					})
				}
				armed.Store(true)
				_, _ = first.Sessions.TryAgain(ctx, id, view.Cause{}) // its shopper hears nothing
				if armed.Load() {
					t.Fatal("no retry was about to be written")
				}
				for range 60 { // at most ten minutes
					if looks(); s.read(t, id).Status == c.status && c.status == pay.Pending {
						break
					}
				}
				if c.status == pay.Failed {
					p := s.is(t, id, pay.Failed, 1)
					if p.End.Failure.Code != "card_declined" || p.End.Failure.Decline != string(decline.DoNotHonor) || len(s.lines[1].Charges()) != 0 {
						t.Errorf("it failed with %+v, and the second provider has %v", p.End.Failure, s.lines[1].Charges())
					}
					s.agrees(t, 0, 0)
					return
				}
				p := s.is(t, id, pay.Pending, 2)
				if p.Page.FormURL != s.page(id, 2) || len(s.lines[1].Charges()) != 1 {
					t.Errorf("the shopper is led to %s, and the second provider has %v", p.Page.FormURL, s.lines[1].Charges())
				}
				s.lines[1].PayPage(t, ref(id, 2))
				_, signature, body := s.lines[1].NotifyAsIs(ref(id, 2), "acme-2-hush")
				harness.Must(t, second.Notices.Notify(ctx, "acme-2", provider.Notification{Header: http.Header{providertest.PlainSignature: {signature}}, Body: body}))
				s.is(t, id, pay.Completed, 2)
				s.agrees(t, 1, 0)
			})
		})
	}
}
