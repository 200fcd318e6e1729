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

// front is the public listener's handler: until the service is there it says that it starts.
type front struct {
	starting http.Handler
	behind   atomic.Pointer[http.Handler]
}

func (f *front) open(h http.Handler) { f.behind.Store(&h) }

// ServeHTTP is for net/http.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := f.behind.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	f.starting.ServeHTTP(w, r)
}

// starting answers while the service is not there yet.
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

var errStarting = problem.New(problem.ServiceUnavailable, "the service starts, or waits for its database: retry with backoff")

// tellHealth adds what balancers and supervisors ask.
func (s *Service) tellHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if stuck := s.pulse.Stuck(); len(stuck) > 0 {
			answer(w, http.StatusServiceUnavailable, "does not go on: "+strings.Join(stuck, ", "))
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, "this takes GET alone")
		})
	}
	var told atomic.Int64        // when the log was told last, in seconds
	var looks singleflight.Group // whoever asks at the same time is told the same
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
		log := func(what string) { // whoever asks, and however often
			if now := time.Now().Unix(); told.Swap(now) != now {
				s.log.Error(what, "error", err)
			}
		}
		switch {
		case errors.Is(err, auth.ErrForeignKey):
			log("another master key took over: give it to this node and start it again")
			answer(w, http.StatusServiceUnavailable, "the master key was rotated")
		case err != nil:
			log("nothing can be written to the database: this node is not ready")
			answer(w, http.StatusServiceUnavailable, "the database does not take changes")
		default:
			answer(w, http.StatusOK, "ready")
		}
	})
}

const (
	// readyWithin is how long the database may take to prove that it can be written to.
	readyWithin = 2 * time.Second
	// stuckAfter is how long a loop may take for one look, feelings how often that is looked at
	// in this time: a process that was stopped itself has not looked either.
	stuckAfter = time.Minute
	feelings   = 12
)

// ErrStuck: a loop does not go on, so that due work is not done here. Another process does it when
// this one has ended.
var ErrStuck = errors.New("a loop of this process does not go on: it ends, for its supervisor to start it again")

// feel looks whether the loops go on, until ctx ends.
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
			s.log.Error("loops do not go on", "loops", strings.Join(stuck, ", "), "for", limit)
			s.failed <- fmt.Errorf("%w (%s)", ErrStuck, strings.Join(stuck, ", "))
			return
		}
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", web.NoPage)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
