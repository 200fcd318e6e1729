package api

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/semaphore"
)

const (
	// maxUploads is how many pieces of evidence of one merchant are on their way to a node at
	// a time: each holds as much memory as has come of it.
	maxUploads = 4
	// maxChecks is how many are read and checked at a time, which takes some 40 MB each.
	// What comes then waits.
	maxChecks = 8
	// evidenceTimeout is how long the largest piece of evidence may take to come.
	evidenceTimeout = 50 * time.Second
)

// uploads bounds the evidence that is sent to a node. A merchant has a share of his own, and
// the sandbox's checks are apart from production's: a deadline that is missed costs money.
type uploads struct {
	checks map[bool]*semaphore.Weighted // by Live

	mu      sync.Mutex // owns sending
	sending map[sender]int
}

type sender struct {
	merchant string
	live     bool
}

func newUploads() *uploads {
	return &uploads{
		checks:  map[bool]*semaphore.Weighted{false: semaphore.NewWeighted(maxChecks), true: semaphore.NewWeighted(maxChecks)},
		sending: map[sender]int{},
	}
}

// begin takes one of a merchant's places, false where none is free.
func (u *uploads) begin(s sender) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sending[s] >= maxUploads {
		return false
	}
	u.sending[s]++
	return true
}

func (u *uploads) end(s sender) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sending[s]--; u.sending[s] == 0 {
		delete(u.sending, s)
	}
}

// admit lets a merchant send evidence against a claim of his. It takes up a place among the
// checks only once the body has come.
func (u *uploads) admit(a *API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		close := []string{"close"}
		call, _ := ctx.Context().Value(callKey{}).(Call)
		scope, err := a.app.Narrow(ctx.Context(), call.Principal, "", "")
		if err == nil {
			_, err = a.app.Claim(ctx.Context(), scope, ctx.Param("id"))
		}
		if err != nil {
			call.reply["Connection"] = close // or the server waits for the body
			a.refuse(ctx, err)
			return
		}
		s := sender{scope.Merchant, scope.Live}
		if !u.begin(s) {
			call.reply["Retry-After"], call.reply["Connection"] = []string{"1"}, close
			a.refuse(ctx, limited("the merchant sends too much evidence at once: wait until some of it has come"))
			return
		}
		defer u.end(s)
		r, _ := humago.Unwrap(ctx)
		body := &upload{ReadCloser: r.Body, ctx: ctx.Context(), checks: u.checks[s.live]}
		defer body.leave()
		r.Body = body
		next(ctx)
	}
}

// upload is a body at whose end its reader waits for a place to check it.
type upload struct {
	io.ReadCloser
	ctx    context.Context
	checks *semaphore.Weighted
	inside bool
}

func (b *upload) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.inside {
		if gone := b.checks.Acquire(b.ctx, 1); gone != nil {
			return n, gone
		}
		b.inside = true
	}
	return n, err
}

func (b *upload) leave() {
	if b.inside {
		b.checks.Release(1)
	}
}
