package accounts

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// If a query waits in a lane when its row is leased again, it is sent once; it is sent again after it was
// answered. Another account's lane continues meanwhile.
func TestLaneQueriesEachIDOnce(t *testing.T) {
	q := NewLanes(time.Now)
	var begun sync.WaitGroup
	var mu sync.Mutex // guards asked
	asked := map[string]int{}
	hang := make(chan struct{})
	for range 3 { // leases
		for i := range 2 * askWidth {
			about := fmt.Sprint("payment ", i)
			q.Submit("sick", about, &begun, func(bool) {
				<-hang
				mu.Lock()
				defer mu.Unlock()
				asked[about]++
			})
		}
	}
	healthy := make(chan struct{})
	q.Submit("healthy", "payment", &begun, func(bool) { close(healthy) })
	<-healthy
	close(hang)
	begun.Wait()
	for about, n := range asked {
		if n != 1 {
			t.Errorf("%s is queried %d times", about, n)
		}
	}
	if len(asked) != 2*askWidth {
		t.Errorf("%d ids are queried, want %d", len(asked), 2*askWidth)
	}
	q.Drain()
	q.Submit("sick", "payment 0", &begun, func(bool) { asked["payment 0"]++ })
	begun.Wait()
	q.Drain()
	if asked["payment 0"] != 2 {
		t.Errorf("an answered id is queried %d times in total, want 2", asked["payment 0"])
	}
}

// An account that does not answer is queried rarely, and normally again once it answers.
func TestSilentAccountIsQueriedRarely(t *testing.T) {
	now := time.Unix(1, 0)
	q := NewLanes(func() time.Time { return now })
	may := func(account string) (asked bool) {
		var begun sync.WaitGroup
		q.Submit(account, "payment", &begun, func(may bool) { asked = may })
		begun.Wait()
		q.Drain()
		return asked
	}
	for range askFailures {
		if !may("sick") {
			t.Fatal("it is not queried before it has failed often enough")
		}
		q.Record(t.Context(), "sick", false)
	}
	if may("sick") || q.Silent() != 1 || !may("healthy") {
		t.Errorf("%d accounts are silent, want the one", q.Silent())
	}
	for pause := askPause; pause < maxAskPause; pause = min(2*pause, maxAskPause) {
		now = now.Add(pause - 1)
		if may("sick") {
			t.Fatalf("it is queried before %s are over", pause)
		}
		if now = now.Add(1); !may("sick") || may("sick") {
			t.Fatalf("after %s it is not queried exactly once", pause)
		}
		q.Record(t.Context(), "sick", false)
	}
	now = now.Add(maxAskPause)
	if !may("sick") {
		t.Fatal("it is no longer queried")
	}
	q.Record(t.Context(), "sick", true)
	for range 2 {
		if !may("sick") || q.Silent() != 0 {
			t.Error("it answers, but is still queried rarely")
		}
	}
}
