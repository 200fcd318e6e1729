package checkout

import (
	"fmt"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	// livePeriod is how often a watched payment is read.
	livePeriod = time.Second
	// liveLife is how long one reply watches; the browser asks again by itself.
	liveLife = 45 * time.Second
)

// watch tells by server-sent events when the payment leaves the status that
// the page shows, or money comes that does not fit it.
func (p *Pages) watch(w http.ResponseWriter, r *http.Request) error {
	select {
	case p.live <- struct{}{}:
		defer func() { <-p.live }()
	default:
		return pay.NewError(pay.CodeServiceUnavailable, "too many pages watch: load the page again")
	}
	id, seen, state := r.PathValue("id"), pay.Status(r.URL.Query().Get("status")), r.URL.Query().Get("state")
	shown, err := p.app.Shown(r.Context(), id)
	if err != nil {
		return err
	}
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
	again := time.NewTicker(livePeriod)
	defer again.Stop()
	end := time.NewTimer(liveLife)
	defer end.Stop()
	for {
		if shown.Status != seen || state != "" && standing(shown) != state {
			tell("event: status\ndata: " + string(shown.Status) + "\n\n")
			return nil
		}
		select {
		case <-again.C:
		case <-end.C:
			return nil
		case <-r.Context().Done():
			return nil
		}
		next, err := p.app.Shown(r.Context(), id)
		if err != nil {
			// The reply has begun: it ends, and the browser asks again.
			p.log.Warn("a watched payment cannot be read", "payment", id, "error", err)
			return nil
		}
		shown = next
	}
}
