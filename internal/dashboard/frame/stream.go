package frame

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

const (
	// streamLife is how long a stream of events lasts; then the browser connects again by itself, and is asked
	// again who it is.
	streamLife = time.Minute
	// StreamLook is how often a stream looks for news.
	StreamLook = 2 * time.Second
	// mostStreams bounds the streams of a node, streamsOfUser those of a user. Others see news when they load
	// the page again.
	mostStreams   = 500
	streamsOfUser = 10
)

// streams counts open streams.
type streams struct {
	mu   sync.Mutex // guards what follows
	all  int
	user map[string]int
}

// enter reserves a place; false if there is none.
func (s *streams) enter(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= mostStreams || s.user[user] >= streamsOfUser {
		return false
	}
	if s.user == nil {
		s.user = map[string]int{}
	}
	s.all++
	s.user[user]++
	return true
}

func (s *streams) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.user[user]--; s.user[user] == 0 {
		delete(s.user, user)
	}
}

// Stream sends the part live of a page (server-sent events): a block whenever there is a new one. The value
// seen of the address is the mark of what the page shows. read is called every StreamLook: mark tells whether
// there is news, and block makes it.
func (s *Site) Stream(w http.ResponseWriter, r *http.Request, v *Visit, read func(context.Context) (mark string, block func() (string, error), err error)) error {
	if !s.streams.enter(v.User.ID) {
		return problem.New(problem.RateLimited, pagesWatch)
	}
	defer s.streams.leave(v.User.ID)
	to := http.NewResponseController(w)
	if err := to.SetWriteDeadline(time.Time{}); err != nil {
		return fmt.Errorf("stream a page: %w", err)
	}
	Secure(w.Header())
	w.Header().Set("Content-Type", "text/event-stream")
	tell := func(message string) bool {
		_, err := fmt.Fprint(w, message)
		return err == nil && to.Flush() == nil
	}
	life, end := context.WithTimeout(r.Context(), streamLife)
	defer end()
	defer context.AfterFunc(s.serving, end)()
	look := time.NewTicker(StreamLook)
	defer look.Stop()
	seen := r.URL.Query().Get("seen")
	for begun := tell("retry: 2000\n\n"); begun; {
		message, err := news(life, &seen, read)
		if err != nil { // the reply has begun: it ends, and the browser connects again
			if life.Err() == nil {
				s.log.WarnContext(r.Context(), "a stream of the dashboard cannot go on", "route", r.Pattern, "error", err)
			}
			return nil
		}
		if message != "" && (!s.still(life, r, v) || !tell(message)) {
			return nil
		}
		select {
		case <-look.C:
		case <-life.Done():
			return nil
		}
	}
	return nil
}

// still reports whether the visitor may read as when the stream began. A stream ends with its sign-in, and with the
// role; the browser connects again, and is told why.
func (s *Site) still(ctx context.Context, r *http.Request, v *Visit) bool {
	sign, user, err := s.Uses.People.Known(ctx, s.Token(r))
	if err != nil || sign.Waiting || user.ID != v.User.ID {
		return false
	}
	if v.Shop.ID == "" {
		return user.Operator == v.User.Operator
	}
	place, err := s.Uses.People.Enters(ctx, user, sign, v.Shop.ID, v.Live)
	return err == nil && slices.Equal(place.Rights, v.Rights)
}

// news is the message with the newest block, "" if it was seen.
func news(ctx context.Context, seen *string, read func(context.Context) (string, func() (string, error), error)) (string, error) {
	mark, block, err := read(ctx)
	if err != nil || mark == *seen {
		return "", err
	}
	text, err := block()
	if err != nil {
		return "", err
	}
	*seen = mark
	return "data: " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\ndata: ") + "\n\n", nil
}

// End ends all streams, so that the server can stop.
func (s *Site) End() { s.end() }
