package e2e

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
)

// A process whose loops are stuck reports that it is unhealthy, and ends.
func TestLoopsThatDoNotGoOnAreTold(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var hangs atomic.Bool
	c := &Clock{}
	s := StartWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) {
		config.StuckAfter = 1200 * time.Millisecond
		config.Now = func() time.Time {
			if hangs.Load() {
				<-free
			}
			return c.Now()
		}
	})
	healthy := func() (int, string) {
		r := s.Send(t, Request{Method: http.MethodGet, Path: "/healthz"})
		return r.Status, string(r.Body)
	}
	if status, body := healthy(); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	hangs.Store(true)
	select {
	case err := <-s.Failed():
		if !errors.Is(err, daemon.ErrStuck) {
			t.Errorf("the process ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the stuck loops are not found")
	}
	if status, body := healthy(); status != http.StatusServiceUnavailable || !strings.Contains(body, "stuck: ") {
		t.Errorf("%d %s", status, body)
	}
	s.Log.Take(t, "loops are stuck")
	hangs.Store(false)
	close(free)
}
