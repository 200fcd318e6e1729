package checkout

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

const (
	// liveLife is how long one reply watches; then the browser connects again by itself.
	liveLife = 45 * time.Second
	// liveLook is how often a watched payment is read even without a write: its page may
	// depend on another payment.
	liveLook = 10 * time.Second
)

// state tells a page that cannot watch in one word whether to load again: moved, same, or
// final if nothing can change any more. It uses no watcher's place.
func (p *Pages) state(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	word := "same"
	switch {
	case string(shown.Status) != r.URL.Query().Get("status") || standing(shown) != r.URL.Query().Get("state"):
		word = "moved"
	case !mayChange(shown):
		word = "final"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, word) // the shopper may have left
	return nil
}

// watch reports by server-sent events when the payment leaves the status that the page
// shows, or when money arrives that does not fit it. A page that can no longer change gets
// 204, after which its browser stops asking (WHATWG HTML, server-sent events).
func (p *Pages) watch(w http.ResponseWriter, r *http.Request) error {
	id, seen, state := r.PathValue("id"), pay.Status(r.URL.Query().Get("status")), r.URL.Query().Get("state")
	shown, err := p.uses.Sessions.Shown(r.Context(), id)
	if err != nil {
		return err
	}
	moved := func(to payments.Shown) bool { return to.Status != seen || state != "" && standing(to) != state }
	if !moved(shown) && !mayChange(shown) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	watched, leave := p.watchers.enter(id, p.address(r))
	if watched == nil {
		w.Header()["Retry-After"] = []string{"10"}
		return message.Refusal(problem.RateLimited, "too many pages watch: load the page again")
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	if err := stream.SetWriteDeadline(time.Time{}); err != nil {
		return fmt.Errorf("watch a payment: %w", err)
	}
	tell := func(line string) bool {
		_, err := fmt.Fprint(w, line)
		return err == nil && stream.Flush() == nil
	}
	if !tell("retry: 2000\n\n") {
		return nil
	}
	again := time.NewTicker(liveLook)
	defer again.Stop()
	life, end := context.WithTimeout(r.Context(), liveLife)
	defer end()
	defer context.AfterFunc(p.serving, end)()
	for {
		changed := watched.change() // requested before the payment is read, so that no write is missed
		shown, err := p.uses.Sessions.Shown(life, id)
		if err != nil {
			// The reply has begun: it ends, and the browser connects again.
			if life.Err() == nil {
				p.log.WarnContext(r.Context(), "a watched payment cannot be read", "payment", id, "error", err)
			}
			return nil
		}
		if moved(shown) {
			tell("event: status\ndata: " + string(shown.Status) + "\n\n")
			return nil
		}
		select {
		case <-changed:
		case <-again.C:
		case <-life.Done():
			return nil
		}
	}
}
