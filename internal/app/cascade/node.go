package cascade

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// TakeOver makes due what nodes had in hand that are gone.
func (c *Cascade) TakeOver(ctx context.Context) error {
	n, err := c.Store.TakeOver(ctx, c.Now())
	if n > 0 {
		c.Log.InfoContext(ctx, "payments of a node that is gone are asked about", "payments", n)
		c.Alarms[base.PaymentsLoop].Set(base.AtOnce)
	}
	return err
}

// Adopt goes on with a payment whose intent nobody knew to be written when its caller was
// told so: should it be there, it is this node's to finish.
func (c *Cascade) Adopt(p pay.Payment, routes pay.Cascade, cause view.Cause) {
	c.afterwards(p, func(ctx context.Context, read pay.Payment) error {
		if read.Version != p.Version {
			return nil // somebody else has gone on
		}
		read, err := c.Drive(ctx, read, routes, cause)
		if err == nil {
			err = c.resume(ctx, read)
		}
		if err = c.Unfinished(read, err); err != nil {
			c.Log.ErrorContext(ctx, "a payment whose intent was in doubt could not be gone on with", "payment", p.ID, "error", err)
		}
		return nil
	})
}

// revisit asks what became of a payment whose call was made, and whose outcome could not
// be written: nobody else does until it is due.
func (c *Cascade) revisit(p pay.Payment) {
	c.afterwards(p, func(ctx context.Context, read pay.Payment) error {
		if read.Answered != "" || read.Owner != p.Owner {
			return nil
		}
		return c.reconcile(ctx, read, true)
	})
}

const (
	// afterFor is how long this node looks for a payment when the database failed it,
	// with pauses that grow.
	afterFor     = time.Minute
	firstAfter   = 250 * time.Millisecond
	longestAfter = 2 * time.Second
)

// afterwards does what is left of a payment, once the database answers again.
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
			read, err := c.Store.Payments.Any(ctx, p.ID)
			if err != nil {
				continue // not there yet, or nobody can say
			}
			if failed = do(ctx, read); failed == nil {
				return
			}
		}
		if failed != nil {
			c.Log.ErrorContext(ctx, "a payment that the database failed is left to the sweep", "payment", p.ID, "error", failed)
		}
	})
}

// replayWait is how long a second request waits for the first one, or for the node that
// has taken its payment over. It ends between two polls: of two timers that end at once
// nobody knows which is heard.
const (
	replayWait = 10*time.Second - replayPoll/2
	replayPoll = 20 * time.Millisecond
)
