package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"golang.org/x/sync/singleflight"
)

// front is the public listener's handler: until the service is ready it answers that the
// service starts.
type front struct {
	starting http.Handler
	behind   atomic.Pointer[http.Handler]
}

func (f *front) open(h http.Handler) { f.behind.Store(&h) }

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := f.behind.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	f.starting.ServeHTTP(w, r)
}

// starting answers until the service is ready.
func starting(log *slog.Logger) http.Handler {
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			answer(w, http.StatusOK, "ok")
		case "/readyz":
			answer(w, http.StatusServiceUnavailable, "starting")
		default:
			w.Header().Set("Retry-After", "1")
			wire.Write(w, r, log, errStarting)
		}
	})
	return web.Identify(answers, func() string { return new(id.Maker).New("req_", time.Now()) })
}

var errStarting = problem.New(problem.ServiceUnavailable, stillStarting)

// tellHealth adds the routes for balancers and supervisors.
func (s *Service) tellHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if stuck := s.pulse.Stuck(); len(stuck) > 0 {
			answer(w, http.StatusServiceUnavailable, "stuck: "+strings.Join(stuck, ", "))
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, "only GET is allowed")
		})
	}
	var told atomic.Int64        // time of the last log line, in seconds
	var looks singleflight.Group // simultaneous requests share one check
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			answer(w, http.StatusServiceUnavailable, "draining")
			return
		}
		_, err, _ := looks.Do("", func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readyWithin)
			defer cancel()
			return nil, s.App.Ready(ctx)
		})
		log := func(what string) { // at most one line a second
			if now := time.Now().Unix(); told.Swap(now) != now {
				s.log.Error(what, "error", err)
			}
		}
		switch {
		case errors.Is(err, auth.ErrForeignKey):
			log("another node uses a new master key: give it to this node and restart it")
			answer(w, http.StatusServiceUnavailable, "the master key was rotated")
		case err != nil:
			log("nothing can be written to the database: this node is not ready")
			answer(w, http.StatusServiceUnavailable, "the database does not accept changes")
		default:
			answer(w, http.StatusOK, "ready")
		}
	})
}

const (
	// readyWithin is how long the database may take to prove that it accepts writes.
	readyWithin = 2 * time.Second
	// stuckAfter is how long one look of a loop may take; feelings is how many checks there
	// are in that time. Checks, not the clock, are counted, because a process that was paused
	// did not check either.
	stuckAfter = time.Minute
	feelings   = 12
)

// ErrStuck means that a loop is stuck, so that due work is not done here. Another process
// does it after this one has ended.
var ErrStuck = errors.New("a loop of this process is stuck: the process ends, for its supervisor to restart it")

// feel checks whether the loops make progress, until ctx ends.
func (s *Service) feel(ctx context.Context, limit time.Duration) {
	if limit == 0 {
		limit = stuckAfter
	}
	look := time.NewTicker(limit / feelings)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if stuck := s.pulse.Feel(feelings); len(stuck) > 0 {
			s.log.Error("loops are stuck", "loops", strings.Join(stuck, ", "), "for", limit)
			s.failed <- fmt.Errorf("%w (%s)", ErrStuck, strings.Join(stuck, ", "))
			return
		}
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	web.Private(w.Header())
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may have left
}
