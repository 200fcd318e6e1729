package access

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A process whose loops are stuck reports that it is unhealthy, and ends.
func TestLoopsThatDoNotGoOnAreTold(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var hangs atomic.Bool
	c := &harness.Clock{}
	s := harness.StartWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) {
		config.StuckAfter = 1200 * time.Millisecond
		config.Now = func() time.Time {
			if hangs.Load() {
				<-free
			}
			return c.Now()
		}
	})
	healthy := func() (int, string) {
		r := s.Send(t, harness.Request{Method: http.MethodGet, Path: "/healthz"})
		return r.Status, string(r.Body)
	}
	if status, body := healthy(); status != http.StatusOK {
		t.Errorf("before it is stuck, /healthz returns %d %s", status, body)
	}
	hangs.Store(true)
	select {
	case err := <-s.Failed():
		if !errors.Is(err, daemon.ErrStuck) {
			t.Errorf("the service fails with %v, want ErrStuck", err)
		}
	case <-time.After(time.Minute):
		t.Error("after a minute the service does not report that its loops are stuck")
	}
	if status, body := healthy(); status != http.StatusServiceUnavailable || !strings.Contains(body, "stuck: ") {
		t.Errorf("while it is stuck, /healthz returns %d %s, want 503", status, body)
	}
	s.Log.Extract(t, "loops are stuck")
	hangs.Store(false)
	close(free)
}

func TestServiceTellsThatItIsUp(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
			r := s.Send(t, harness.Request{Method: http.MethodGet, Path: path})
			if r.Status != http.StatusOK || string(r.Body) != want {
				t.Errorf("want 200 %q, got %s", want, r)
			}
		}
	})
}
