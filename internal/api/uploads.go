package api

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/semaphore"
)

const (
	// maxChecks is how many pieces of evidence are read and checked at a time, at about 40 MB each. Others
	// wait.
	maxChecks = 8
	// evidenceTimeout is how long the largest piece of evidence may take to arrive.
	evidenceTimeout = 50 * time.Second
)

// uploads bounds how many pieces of evidence a node checks at a time. Production and the sandbox have
// separate limits: a missed deadline costs money.
type uploads map[bool]*semaphore.Weighted // by Live

func newUploads() uploads {
	return uploads{false: semaphore.NewWeighted(maxChecks), true: semaphore.NewWeighted(maxChecks)}
}

// admit lets a merchant send evidence for one of its claims. It takes a place only once the body has
// arrived.
func (u uploads) admit(a *API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		call, _ := ctx.Context().Value(callKey{}).(Call)
		scope, err := a.app.Narrow(ctx.Context(), call.Principal, "", "")
		if err == nil {
			_, err = a.app.Claims.Get(ctx.Context(), scope, ctx.Param("id"))
		}
		if err != nil {
			call.reply["Connection"] = []string{"close"} // or the server waits for the body
			a.refuse(ctx, err)
			return
		}
		r, _ := humago.Unwrap(ctx)
		body := &upload{ReadCloser: r.Body, ctx: ctx.Context(), checks: u[scope.Live]}
		defer body.leave()
		r.Body = body
		next(ctx)
	}
}

// upload is a body whose reader waits at its end for a place to check it.
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
