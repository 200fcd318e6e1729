package app

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// Serve makes this process a node that takes payments. A file is served by one process
// alone.
func (a *App) Serve(ctx context.Context) error { return a.store.Serve(ctx) }

// TakeOver makes due what nodes had in hand that are gone.
func (a *App) TakeOver(ctx context.Context) error {
	n, err := a.store.TakeOver(ctx, a.Now())
	if n > 0 {
		a.Log.Info("payments of a node that is gone are asked about", "payments", n)
		a.alarms[paymentsLoop].Set(atOnce)
	}
	return err
}

// inHand returns the payment as one whose next calls are this node's.
//
// Errors: store.ErrNoHold.
func (a *App) inHand(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	by, err := a.caller(ctx)
	return p.InHandOf(by), err
}

// caller is this node as one that begins a call now.
//
// Errors: store.ErrNoHold.
func (a *App) caller(ctx context.Context) (pay.Caller, error) {
	node, now, err := a.store.Hold(ctx)
	return pay.CallBy(node, now), err
}

// asked is the time of the database's clock, for a question that is asked now.
//
// Errors: store.ErrNoHold.
func (a *App) asked(ctx context.Context) (time.Time, error) {
	_, now, err := a.store.Hold(ctx)
	return now, err
}

// proved returns a payment whose outcome is not known as one whose next calls are this
// node's, and what was said of its attempt as far as that proves something: the answer to
// a question that was asked then, or, of the zero time, to a call. Once a payment is
// pending, no other attempt follows.
func (a *App) proved(ctx context.Context, p pay.Payment, o pay.Outcome, asked time.Time) (pay.Payment, pay.Outcome, error) {
	if p.Status != pay.Processing {
		return p, o, nil
	}
	held, err := a.inHand(ctx, p)
	attempt, _ := p.Current()
	if asked.IsZero() {
		return held, attempt.Answered(o), err
	}
	return held, attempt.Proved(o, asked), err
}

// mayCall reports whether the call of an attempt that this node has committed may still
// begin here: its node holds its lease, and nobody may believe yet that the call never
// left.
func (a *App) mayCall(ctx context.Context, p pay.Payment, attempt pay.Attempt) bool {
	node, now, err := a.store.Hold(ctx)
	return err == nil && node == p.Owner && attempt.MayStart(now)
}

// fence is asked at the last moment before a call leaves.
func (a *App) fence(f pay.Flight) func() bool {
	return func() bool {
		now, known := a.store.Now()
		return known && f.MayStart(now)
	}
}

const (
	// adoptFor is how long this node looks for a payment whose intent it does not know
	// to be written, and adoptEvery how often.
	adoptFor   = time.Minute
	adoptEvery = 250 * time.Millisecond
)

// adopt goes on with a payment whose intent nobody knew to be written when its caller was
// told so: should it be there, it is this node's to finish.
func (a *App) adopt(p pay.Payment, routes pay.Cascade, cause view.Cause) {
	a.background.Go(func() {
		look := time.NewTicker(adoptEvery)
		defer look.Stop()
		ctx := context.Background()
		for range adoptFor / adoptEvery {
			select {
			case <-a.closing:
				return
			case <-look.C:
			}
			read, err := a.store.AnyPayment(ctx, p.ID)
			if err != nil {
				continue // not there yet, or nobody can say
			}
			if read.Version == p.Version {
				if read, err = a.drive(ctx, read, routes, cause); err == nil {
					err = a.resume(ctx, read)
				}
				if err != nil {
					a.Log.Error("a payment whose intent was in doubt is left to the sweep", "payment", p.ID, "error", err)
				}
			}
			return
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
