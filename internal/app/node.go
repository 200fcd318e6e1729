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
		a.Log.InfoContext(ctx, "payments of a node that is gone are asked about", "payments", n)
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
// a question that was asked then, or, of the zero time, to a call. A pending payment is in
// nobody's hand: no other attempt follows.
func (a *App) proved(ctx context.Context, p pay.Payment, o pay.Outcome, asked time.Time) (pay.Payment, pay.Outcome, error) {
	attempt, _ := p.Current()
	if !p.Status.Open() || p.Status == pay.Pending && attempt.Calls <= 1 {
		return p, o, nil
	}
	if asked.IsZero() {
		o = attempt.Answered(o)
	} else {
		o = attempt.Proved(o, asked)
	}
	if p.Status != pay.Processing {
		return p, o, nil
	}
	held, err := a.inHand(ctx, p)
	return held, o, err
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

// adopt goes on with a payment whose intent nobody knew to be written when its caller was
// told so: should it be there, it is this node's to finish.
func (a *App) adopt(p pay.Payment, routes pay.Cascade, cause view.Cause) {
	a.afterwards(p, func(ctx context.Context, read pay.Payment) error {
		if read.Version != p.Version {
			return nil // somebody else has gone on
		}
		read, err := a.drive(ctx, read, routes, cause)
		if err == nil {
			err = a.resume(ctx, read)
		}
		if err = a.unfinished(read, err); err != nil {
			a.Log.ErrorContext(ctx, "a payment whose intent was in doubt could not be gone on with", "payment", p.ID, "error", err)
		}
		return nil
	})
}

// revisit asks what became of a payment whose call was made, and whose outcome could not
// be written: nobody else does until it is due.
func (a *App) revisit(p pay.Payment) {
	a.afterwards(p, func(ctx context.Context, read pay.Payment) error {
		if read.Answered != "" || read.Owner != p.Owner {
			return nil
		}
		return a.reconcile(ctx, read, true)
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
func (a *App) afterwards(p pay.Payment, do func(context.Context, pay.Payment) error) {
	a.background.Go(func() {
		ctx := context.Background()
		var failed error
		for pause, spent := firstAfter, time.Duration(0); spent < afterFor; pause = min(2*pause, longestAfter) {
			over := time.NewTimer(pause)
			select {
			case <-a.closing:
				over.Stop()
				return
			case <-over.C:
				spent += pause
			}
			read, err := a.store.AnyPayment(ctx, p.ID)
			if err != nil {
				continue // not there yet, or nobody can say
			}
			if failed = do(ctx, read); failed == nil {
				return
			}
		}
		if failed != nil {
			a.Log.ErrorContext(ctx, "a payment that the database failed is left to the sweep", "payment", p.ID, "error", failed)
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
