package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/trace"
)

// errFenced: a committer's row is not as the committer left it. The database is a different one, or
// somebody claimed the row anew.
var errFenced = errors.New("the committer's row was claimed by somebody else")

const (
	// claimTimeout bounds one try to find out a transaction's fate. By then the server ends a transaction
	// whose client is gone, and so releases its row.
	claimTimeout = 6 * time.Second
	// The shortest and longest pause between tries.
	minFindPause = 20 * time.Millisecond
	maxFindPause = time.Second
	// closeGrace is how long Close waits for an unreachable database.
	closeGrace = 10 * time.Second
	// outageTries is how often a batch undone by an outage is retried while its callers wait.
	outageTries = 3
)

// committer writes batches, one at a time. Each batch first updates the committer's row: it stores the
// batch's number if the row's fence is still the committer's own. So the fate of a commit whose answer was
// lost can be found out: raising the fence waits for the transaction if it is running, bars it if it has
// not begun, and returns the number of the last written batch.
//
// The goroutine that runs flush owns it.
type committer struct {
	s      *core
	id     string
	fence  int64 // 0: not claimed, or lost
	number int64 // of the last batch begun
}

func newCommitter(s *core) *committer { return &committer{s: s, id: s.name("cmt_")} }

var (
	noteBatch = engine.Statement(`UPDATE committers SET done = $3, at = {now} WHERE id = $1 AND fence = $2 AND {unless lost} RETURNING id`)

	// A program that does not know a contract migration gets no row.
	addCommitter = engine.Standalone(`INSERT INTO committers (id, fence, done, at, schema)
SELECT $1, 1, 0, {now}, CAST($2 AS BIGINT) WHERE (` + schema.SelectContracts + `) <= CAST($2 AS BIGINT)
ON CONFLICT (id) DO UPDATE SET fence = committers.fence + 1, at = {now} RETURNING fence, done`)

	selectWritten = engine.Statement(`SELECT done FROM committers WHERE id = $1`)

	dropCommitter = engine.Standalone(`DELETE FROM committers WHERE id = $1`)

	// A committer that wrote nothing for a week has nothing to find out.
	dropCommitters = engine.Standalone(`DELETE FROM committers WHERE at < {now} - 604800000000`)
)

// firstStatement is the first statement of the next batch.
func (c *committer) firstStatement(each func(engine.Row) error) engine.Step {
	c.number++
	return engine.Step{Text: c.s.b.Text(noteBatch), Args: []any{c.id, c.fence, c.number}, Each: each, Want: 1}
}

// claim raises the fence and returns the number of the last written batch. Whatever this committer sent
// before is written by now, or never will be.
func (c *committer) claim(ctx context.Context) (done int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	c.fence = 0
	err = c.s.b.DB.Lease(ctx, c.s.b.Text(addCommitter), []any{c.id, len(c.s.migrations)}, func(r engine.Row) error { return r.Scan(&c.fence, &done) })
	if err == nil && c.fence == 0 {
		err = schema.ErrOutdated
	}
	if err != nil {
		c.fence = 0
		return 0, fmt.Errorf("claim committer %s: %w", c.id, err)
	}
	return done, nil
}

// written returns the same as claim, for a program that may no longer claim: a migration barred its row.
func (c *committer) written(ctx context.Context) (done int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	err = c.s.b.Query(ctx, selectWritten, []any{c.id}, func(r engine.Row) error { return r.Scan(&done) })
	return done, err
}

// find finds out what became of a batch, however long it takes. It gives up only when the store closes.
func (c *committer) find(number int64, cause error) (written bool, err error) {
	pause := minFindPause
	for {
		done, err := c.claim(c.s.life)
		if errors.Is(err, schema.ErrOutdated) {
			done, err = c.written(c.s.life)
		} else if err == nil {
			c.s.back()
		}
		if err == nil {
			return done == number, nil
		}
		c.s.gone(errors.Join(cause, err))
		if !engine.Rest(pause, c.s.life.Done()) {
			return false, fmt.Errorf("%w: %w", engine.ErrUnknown, err)
		}
		pause = min(2*pause, maxFindPause)
	}
}

// write runs one batch and finds out its fate.
//
// Errors: errRerun, engine.ErrUnknown, engine.ErrDown, or a statement's failure. Except for
// engine.ErrUnknown, nothing was written.
func (c *committer) write(w *write) error {
	ctx, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
	defer cancel()
	if c.fence == 0 {
		if _, err := c.claim(ctx); err != nil {
			return fmt.Errorf("%w: %w", engine.ErrDown, err)
		}
	}
	err := w.run(ctx)
	switch {
	case errors.Is(err, errFenced):
		c.fence = 0
		return fmt.Errorf("%w: %w", engine.ErrDown, err)
	case !errors.Is(err, engine.ErrUnknown):
		return err
	}
	c.s.stats.unknown.Add(1)
	written, lost := c.find(c.number, err)
	switch {
	case lost != nil:
		return lost
	case written:
		return nil
	}
	return &undone{err}
}

// undone is an outage during which a batch was proved not to be written.
type undone struct{ cause error }

func (u *undone) Error() string        { return "the transaction was not written: " + u.cause.Error() }
func (u *undone) Is(target error) bool { return target == engine.ErrDown }

// flush decides every change of the batch.
func (c *committer) flush(batch []*waiting) {
	for tries := 1; ; tries++ {
		if batch = begun(batch); len(batch) == 0 {
			return
		}
		c.s.recordWaits(batch)
		span := c.s.transaction(batch)
		w, began := newWrite(c, batch), time.Now()
		err := c.write(w)
		c.s.ended(span, err, len(batch), time.Since(began))
		switch {
		case err == nil:
			c.s.stats.commits.Add(1)
			now := time.Now()
			c.s.wrote.Store(&now)
			c.s.stats.changes.Add(int64(len(w.kept)))
			c.s.back()
			w.report()
			return
		case errors.Is(err, errRerun):
			w.reportLost()
			batch = w.kept
			tries--
		case errors.Is(err, engine.ErrUnknown):
			tellAll(batch, fmt.Errorf("%w: %w", base.ErrUnknown, err))
			return
		case errors.Is(err, engine.ErrDown), errors.Is(err, engine.ErrBusy): // no change's fault
			if tries == outageTries || c.s.away.Load() {
				c.s.gone(err)
				tellAll(batch, fmt.Errorf("%w: %w", engine.ErrDown, err))
				return
			}
		case len(batch) == 1:
			batch[0].answer(err)
			return
		default:
			// One change is at fault: each half runs by itself, and so on.
			c.s.stats.halved.Add(1)
			c.s.b.Log.Warn("a batch of changes failed; its halves run by themselves", "changes", len(batch), "error", err)
			release(batch)
			c.flush(batch[:len(batch)/2])
			c.flush(batch[len(batch)/2:])
			return
		}
		release(batch)
	}
}

// recordWaits reports how long changes waited before a committer first took them.
func (co *core) recordWaits(batch []*waiting) {
	if co.meter.Waited == nil {
		return
	}
	now := time.Now()
	for _, w := range batch {
		if !w.since.IsZero() {
			co.meter.Waited(now.Sub(w.since))
			w.since = time.Time{}
		}
	}
}

// ended reports the end of a transaction, with its number of changes.
func (co *core) ended(span *trace.Span, err error, changes int, took time.Duration) {
	defer span.End()
	if co.meter.Ended == nil && span == nil {
		return
	}
	end := Halved
	switch {
	case err == nil:
		end = Written
	case errors.Is(err, errRerun):
		end = RunAgain
	case errors.Is(err, engine.ErrUnknown):
		end = NotAnswered
	case errors.Is(err, engine.ErrDown), errors.Is(err, engine.ErrBusy):
		end = DatabaseAway
	case changes == 1:
		end = ChangeRefused
	}
	if end != Written {
		span.Fail(string(end))
	}
	if co.meter.Ended != nil {
		co.meter.Ended(end, changes, took)
	}
}

// begun takes the changes whose callers still wait.
func begun(batch []*waiting) []*waiting {
	kept := make([]*waiting, 0, len(batch))
	for _, w := range batch {
		if w.begin() {
			kept = append(kept, w)
		}
	}
	return kept
}

func release(batch []*waiting) {
	for _, w := range batch {
		w.release()
	}
}

func tellAll(batch []*waiting, err error) {
	for _, w := range batch {
		w.answer(err)
	}
}

// drop removes the committer's row when the store closes. A row that remains is purged later.
func (c *committer) drop(ctx context.Context) error {
	if c.fence == 0 {
		return nil
	}
	return c.s.b.DB.Lease(ctx, c.s.b.Text(dropCommitter), []any{c.id}, nil)
}
