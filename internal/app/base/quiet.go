package base

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/store"
	lru "github.com/hashicorp/golang-lru/v2"
)

// quietly is how long after a warning the next one of its kind may be logged.
const quietly = time.Second

// quiet bounds what strangers can write to the log: of a kind of warning one line a second,
// which says how many were left out.
type quiet struct {
	mu sync.Mutex // from a look to what follows from it
	of *lru.Cache[string, hush]
}

// quietKinds is how many kinds of warnings are known at a time.
const quietKinds = 1000

type hush struct {
	at   time.Time
	left int
}

// Say reports whether something of a kind may be told now, once in every, and how much of it
// was left out before.
func (q *quiet) Say(kind string, now time.Time, every time.Duration) (left int, may bool) {
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

// ComesAgain logs that due work was not done. While the database is away that is so of all work, and one
// line a second of a kind tells it.
func (b *Base) ComesAgain(ctx context.Context, message string, err error, args ...any) {
	args = append(args, "error", err)
	if errors.Is(err, store.ErrDown) || errors.Is(err, store.ErrBusy) {
		b.WarnSometimes(ctx, message, "", args...)
		return
	}
	b.Log.ErrorContext(ctx, message, args...)
}

// WarnSometimes logs a warning about what somebody outside did, at most once a second for each
// object of ours that it was done to, "" for none.
func (b *Base) WarnSometimes(ctx context.Context, message, object string, args ...any) {
	left, may := b.Quiet.Say(message+" "+object, b.Now(), quietly)
	if !may {
		return
	}
	if left > 0 {
		args = append(args, "more_of_them", left)
	}
	b.Log.WarnContext(ctx, message, args...)
}
