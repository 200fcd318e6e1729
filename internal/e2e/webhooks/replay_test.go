package webhooks

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Two nodes get requests for replays at the same time. One replay begins, and the refusals of the
// others name it. A stop at both nodes is one stop.
func TestReplayIsBegunAndStoppedOnceByTwoNodes(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &harness.Clock{}
	nodes := []*harness.Instance{harness.Start(t, database, c), harness.Start(t, database, c)}
	o := nodes[0].NewShop(t)
	endpoint := nodes[0].Receive(t)
	h := o.Hook(t, endpoint.URL, `"payment.completed"`)
	manyPayments(t, o, nodes[0], endpoint, 5)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusNoContent) })
	for round := range 5 {
		const each = 4
		replies := make([]harness.Reply, 2*each)
		var all sync.WaitGroup
		for i := range replies {
			there := o
			there.Instance = nodes[i%2]
			all.Go(func() {
				span := fmt.Sprintf(`{"from":%q}`, c.Now().Add(-time.Duration(i/2+1)*time.Hour).UTC().Format("2006-01-02T15:00:00Z"))
				replies[i] = there.Post(t, h.Path("/replay"), span, fmt.Sprintf("Idempotency-Key: two-%d-%d", round, i))
			})
		}
		all.Wait()
		ids := map[string]bool{}
		for _, r := range replies {
			switch r.Status {
			case http.StatusOK:
				ids[r.Text(t, "id")] = true
			case http.StatusConflict:
				ids[r.Text(t, "error.details.replayId")] = true
			default:
				t.Errorf("a node answers %s, want 200 or 409", r)
			}
		}
		if len(ids) != 1 {
			t.Fatalf("%d replays began or were named, want 1: %v", len(ids), ids)
		}
		for id := range ids {
			stops := make([]harness.Reply, 4)
			for i := range stops {
				there := o
				there.Instance = nodes[i%2]
				all.Go(func() { stops[i] = there.Post(t, h.Path("/replays/"+id+"/stop"), "") })
			}
			all.Wait()
			for _, r := range stops {
				if r.Status != http.StatusOK || r.Text(t, "status") != "stopped" || r.Text(t, "updatedAt") != stops[0].Text(t, "updatedAt") {
					t.Errorf("two stops answer %s and %s, want the same stopped replay", r, stops[0])
				}
			}
		}
	}
	release()
}
