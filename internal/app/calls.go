package app

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	// callTimeout bounds one call to a provider.
	callTimeout = 20 * time.Second
)

// inHand returns the payment as one whose next calls are this node's.
//
// Errors: store.ErrNoHold.
func (a *Base) inHand(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	by, err := a.caller(ctx)
	return p.InHandOf(by), err
}

// caller is this node as one that begins a call now.
//
// Errors: store.ErrNoHold.
func (a *Base) caller(ctx context.Context) (pay.Caller, error) {
	node, now, err := a.store.Hold(ctx)
	return pay.CallBy(node, now), err
}

// asked is the time of the database's clock, for a question that is asked now.
//
// Errors: store.ErrNoHold.
func (a *Base) asked(ctx context.Context) (time.Time, error) {
	_, now, err := a.store.Hold(ctx)
	return now, err
}

// proved returns a payment whose outcome is not known as one whose next calls are this
// node's, and what was said of its attempt as far as that proves something: the answer to
// a question that was asked then, or, of the zero time, to a call. A pending payment is in
// nobody's hand: no other attempt follows.
func (a *Base) proved(ctx context.Context, p pay.Payment, o pay.Outcome, asked time.Time) (pay.Payment, pay.Outcome, error) {
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
func (a *Base) mayCall(ctx context.Context, p pay.Payment, attempt pay.Attempt) bool {
	node, now, err := a.store.Hold(ctx)
	return err == nil && node == p.Owner && attempt.MayStart(now)
}

// fence is asked at the last moment before a call leaves.
func (a *Base) fence(f pay.Flight) func() bool {
	return func() bool {
		now, known := a.store.Now()
		return known && f.MayStart(now)
	}
}

// flag tells the log what needs the operator.
func (a *Base) flag(ctx context.Context, written pay.Change) {
	for _, r := range written.Receipts {
		if r.Verdict == pay.Mismatched || r.Verdict == pay.Late {
			a.Log.WarnContext(ctx, "what a provider tells needs the operator", "account", r.Account, "payment", r.Payment, "verdict", r.Verdict)
		}
	}
}

// onItsWay refuses the operator's word while a call may still do what he says was not done.
func onItsWay(status pay.Status, word string) error {
	return &pay.Error{Code: pay.CodeConflictState, Details: pay.Details{From: status, Action: word, Reason: "call_on_its_way"},
		Message: "a call to a provider may still be on its way: try again in a minute"}
}

// movedOn refuses the operator's word about what was written since he looked: it went on, was
// called again, or its provider told of it.
func movedOn(status pay.Status, word string) error {
	return &pay.Error{Code: pay.CodeConflictState, Details: pay.Details{From: status, Action: word, Reason: "changed_meanwhile"},
		Message: "something was written meanwhile: look at it again"}
}

func otherwise(said string, from pay.Status, word string) error {
	return &pay.Error{Code: pay.CodeConflictState, Message: "the provider says otherwise: " + said,
		Details: pay.Details{From: from, Action: word, Reason: pay.OtherwiseSaid}}
}
