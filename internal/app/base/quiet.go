package base

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/store"
	lru "github.com/hashicorp/golang-lru/v2"
)

// quietly is the shortest time between two warnings of a kind.
const quietly = time.Second

// quiet limits what outsiders can cause in the log: one line a second for each kind of warning,
// with the number of suppressed ones.
type quiet struct {
	log *slog.Logger
	now func() time.Time
	mu  sync.Mutex // held from the look until its consequence is written
	of  *lru.Cache[string, hush]
}

// RefusalsEvery is how often refused logins with one key, and refused sign-ins of one user, are audited, so that guessing does
// not fill the audit log. The log has the others.
const RefusalsEvery = 10 * time.Second

// quietKinds is the number of kinds that are remembered.
const quietKinds = 1000

type hush struct {
	at   time.Time
	left int
}

// Allow reports whether a line of a kind may be logged now, once in every, and how many lines were
// suppressed before.
func (q *quiet) Allow(kind string, every time.Duration) (left int, may bool) {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	h, _ := q.of.Get(kind)
	if since := now.Sub(h.at); since >= 0 && since < every {
		h.left++
		q.of.Add(kind, h)
		return 0, false
	}
	q.of.Add(kind, hush{at: now})
	return h.left, true
}

// ComesAgain logs that due work was not done. If the database is away, all work fails, so each kind
// of message is logged once a second. In a sandbox that is emptied meanwhile (SBX-16), rows that the work needs may be
// gone: that is not an error, because the work is no longer due.
func (q *quiet) ComesAgain(ctx context.Context, live bool, message string, err error, args ...any) {
	args = append(args, "error", err)
	if !live && Absent(err) {
		q.log.InfoContext(ctx, message, args...)
		return
	}
	if errors.Is(err, store.ErrDown) || errors.Is(err, store.ErrBusy) {
		q.WarnSometimes(ctx, message, "", args...)
		return
	}
	q.log.ErrorContext(ctx, message, args...)
}

// WarnSometimes logs a warning about something that an outsider caused, at most once a second for
// each object concerned; "" for none.
func (q *quiet) WarnSometimes(ctx context.Context, message, object string, args ...any) {
	left, may := q.Allow(message+" "+object, quietly)
	if !may {
		return
	}
	if left > 0 {
		args = append(args, "more_of_them", left)
	}
	q.log.WarnContext(ctx, message, args...)
}

// Unread tells the operator, if unread, that an id was left out of what a provider account told about one of our objects.
func (q *quiet) Unread(ctx context.Context, account, about string, unread bool) {
	if unread {
		q.WarnSometimes(ctx, "an id that a provider told cannot be stored and is left out", account, "account", account, "reference", about)
	}
}
