package cascade

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// ReleaseOrphans makes payments due that were in the hands of nodes that are gone.
func (c *Cascade) ReleaseOrphans(ctx context.Context) error {
	n, err := c.Store.ReleaseOrphans(ctx, c.Now())
	if n > 0 {
		c.Log.InfoContext(ctx, "payments of a dead node are queried", "payments", n)
		c.Alarms[base.PaymentsLoop].Set(base.AtOnce)
	}
	return err
}

// Adopt continues a payment whose intent may or may not have been written: its caller got an error.
// If it exists, this node must finish it.
func (c *Cascade) Adopt(p pay.Payment, routes pay.Cascade, cause view.Cause) {
	c.afterwards(p, func(ctx context.Context, read pay.Payment) error {
		if read.Version != p.Version {
			return nil // another node has continued
		}
		read, err := c.Drive(ctx, read, routes, cause)
		if err == nil {
			err = c.resume(ctx, read)
		}
		if err = c.Unfinished(read, err); err != nil {
			c.Log.ErrorContext(ctx, "a payment whose intent was in doubt could not be continued", "payment", p.ID, "error", err)
		}
		return nil
	})
}

// revisit queries a payment whose call was made and whose outcome could not be written. Otherwise
// no node does that until the payment is due.
func (c *Cascade) revisit(p pay.Payment) {
	c.afterwards(p, func(ctx context.Context, read pay.Payment) error {
		if read.Work.Answered != "" || read.Work.Owner != p.Work.Owner {
			return nil
		}
		return c.query(ctx, read, true)
	})
}

const (
	// afterFor is how long this node retries a payment after a failure of the database, with
	// growing pauses.
	afterFor     = time.Minute
	firstAfter   = 250 * time.Millisecond
	longestAfter = 2 * time.Second
)

// afterwards finishes a payment once the database answers again.
func (c *Cascade) afterwards(p pay.Payment, do func(context.Context, pay.Payment) error) {
	c.background.Go(func() {
		ctx := context.Background()
		var failed error
		for pause, spent := firstAfter, time.Duration(0); spent < afterFor; pause = min(2*pause, longestAfter) {
			over := time.NewTimer(pause)
			select {
			case <-c.closing:
				over.Stop()
				return
			case <-over.C:
				spent += pause
			}
			read, err := c.Store.Payments().Any(ctx, p.ID)
			if err != nil {
				continue // not there yet, or not known
			}
			if failed = do(ctx, read); failed == nil {
				return
			}
		}
		if failed != nil {
			c.Log.ErrorContext(ctx, "the database failed during a payment: the sweep continues it", "payment", p.ID, "error", failed)
		}
	})
}

// replayWait is how long a second request waits for the first one, or for the node that has taken
// over its payment. It ends between two polls: if two timers ended at the same time, either could
// be seen first.
const (
	replayWait = 10*time.Second - replayPoll/2
	replayPoll = 20 * time.Millisecond
)
