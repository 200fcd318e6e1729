package base

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// InHand returns the payment with this node as the caller of its next calls.
//
// Errors: store.ErrNoHold.
func (b *Base) InHand(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	by, err := b.Caller(ctx)
	return p.InHandOf(by), err
}

// Caller is this node as the caller of a call that begins now.
//
// Errors: store.ErrNoHold.
func (b *Base) Caller(ctx context.Context) (pay.Caller, error) {
	node, now, err := b.Store.Hold(ctx)
	return pay.CallBy(node, now), err
}

// AskedAt is the time of the database's clock for a query that is sent now.
//
// Errors: store.ErrNoHold.
func (b *Base) AskedAt(ctx context.Context) (time.Time, error) {
	_, now, err := b.Store.Hold(ctx)
	return now, err
}

// Proved returns a payment with an unknown outcome, with this node as the caller of its next calls,
// and the part of the outcome that is proved. asked is the time of the query; zero if the outcome
// is the answer to a call. A pending payment gets no caller, because no other attempt follows it.
func (b *Base) Proved(ctx context.Context, p pay.Payment, o pay.Outcome, asked time.Time) (pay.Payment, pay.Outcome, error) {
	attempt, _ := p.Attempts.Current()
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

// MayCall reports whether this node may still begin the call of an attempt that it committed: it
// holds its lease, and no other node may assume yet that the call was never made.
func (b *Base) MayCall(ctx context.Context, p pay.Payment, attempt pay.Attempt) bool {
	node, now, err := b.Store.Hold(ctx)
	return err == nil && node == p.Owner && attempt.MayStart(now)
}

// Fence returns the check that is made at the last moment before a call leaves.
func (b *Base) Fence(f pay.Flight) func() bool {
	return func() bool {
		now, known := b.Store.Now()
		return known && f.MayStart(now)
	}
}

// FlagReceipts logs notices that need the operator.
func (b *Base) FlagReceipts(ctx context.Context, written pay.Change) {
	for _, r := range written.Receipts {
		if r.Verdict == pay.Mismatched || r.Verdict == pay.Late {
			b.Log.WarnContext(ctx, "a provider's notice needs the operator", "account", r.Account, "payment", r.Payment, "verdict", r.Verdict)
		}
	}
}

// CallOnItsWay is the error for an operator's resolution while a call may still contradict it.
func CallOnItsWay[Status ~string](status Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(status), Action: word, Reason: "call_on_its_way"},
		Message: "a call to a provider may still be on its way: try again in a minute"}
}

// ChangedMeanwhile is the error for an operator's resolution if the object changed since the
// operator read it: it moved on, was called again, or its provider reported something.
func ChangedMeanwhile[Status ~string](status Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(status), Action: word, Reason: "changed_meanwhile"},
		Message: "it was changed meanwhile: read it again"}
}

// SaidOtherwise is the error for an operator's resolution that the provider contradicts.
func SaidOtherwise[Status ~string](said string, from Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Message: "the provider says otherwise: " + said,
		Details: problem.Details{From: string(from), Action: word, Reason: pay.OtherwiseSaid}}
}
