package api

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
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

// own lets a merchant send evidence for one of its claims.
func (a *API) own(ctx context.Context, call Call, claim string) error {
	scope, err := a.app.Narrow(ctx, call.Principal, "", "")
	if err == nil {
		_, err = a.app.Claims.Get(ctx, scope, claim)
	}
	return err
}

// admit waits for a place. The body has arrived: whoever sends slowly takes none.
func (u uploads) admit(a *API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		call, _ := ctx.Context().Value(callKey{}).(Call)
		checks := u[call.Live]
		if checks.Acquire(ctx.Context(), 1) != nil { // the sender has left
			a.refuse(ctx, message.Refusal(problem.InvalidRequest, bodyLost))
			return
		}
		defer checks.Release(1)
		next(ctx)
	}
}
