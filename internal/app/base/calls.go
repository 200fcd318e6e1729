package base

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// InHand returns the payment as one whose next calls are this node's.
//
// Errors: store.ErrNoHold.
func (b *Base) InHand(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	by, err := b.Caller(ctx)
	return p.InHandOf(by), err
}

// Caller is this node as one that begins a call now.
//
// Errors: store.ErrNoHold.
func (b *Base) Caller(ctx context.Context) (pay.Caller, error) {
	node, now, err := b.Store.Hold(ctx)
	return pay.CallBy(node, now), err
}

// AskedAt is the time of the database's clock, for a question that is asked now.
//
// Errors: store.ErrNoHold.
func (b *Base) AskedAt(ctx context.Context) (time.Time, error) {
	_, now, err := b.Store.Hold(ctx)
	return now, err
}

// Proved returns a payment whose outcome is not known as one whose next calls are this
// node's, and what was said of its attempt as far as that proves something: the answer to
// a question that was asked then, or, of the zero time, to a call. A pending payment is in
// nobody's hand: no other attempt follows.
func (b *Base) Proved(ctx context.Context, p pay.Payment, o pay.Outcome, asked time.Time) (pay.Payment, pay.Outcome, error) {
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
	held, err := b.InHand(ctx, p)
	return held, o, err
}

// MayCall reports whether the call of an attempt that this node has committed may still
// begin here: its node holds its lease, and nobody may believe yet that the call never
// left.
func (b *Base) MayCall(ctx context.Context, p pay.Payment, attempt pay.Attempt) bool {
	node, now, err := b.Store.Hold(ctx)
	return err == nil && node == p.Owner && attempt.MayStart(now)
}

// Fence is asked at the last moment before a call leaves.
func (b *Base) Fence(f pay.Flight) func() bool {
	return func() bool {
		now, known := b.Store.Now()
		return known && f.MayStart(now)
	}
}

// FlagReceipts tells the log what needs the operator.
func (b *Base) FlagReceipts(ctx context.Context, written pay.Change) {
	for _, r := range written.Receipts {
		if r.Verdict == pay.Mismatched || r.Verdict == pay.Late {
			b.Log.WarnContext(ctx, "what a provider tells needs the operator", "account", r.Account, "payment", r.Payment, "verdict", r.Verdict)
		}
	}
}

// CallOnItsWay refuses the operator's word while a call may still do what he says was not done.
func CallOnItsWay[Status ~string](status Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(status), Action: word, Reason: "call_on_its_way"},
		Message: "a call to a provider may still be on its way: try again in a minute"}
}

// ChangedMeanwhile refuses the operator's word about what was written since he looked: it went on, was
// called again, or its provider told of it.
func ChangedMeanwhile[Status ~string](status Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(status), Action: word, Reason: "changed_meanwhile"},
		Message: "something was written meanwhile: look at it again"}
}

// SaidOtherwise refuses the operator's word where the provider says something else.
func SaidOtherwise[Status ~string](said string, from Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Message: "the provider says otherwise: " + said,
		Details: problem.Details{From: string(from), Action: word, Reason: pay.OtherwiseSaid}}
}
