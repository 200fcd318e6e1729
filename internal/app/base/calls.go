package base

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Fence returns the check that is made at the last moment before a call leaves.
func (b *Base) Fence(f pay.Flight) func() bool {
	return func() bool {
		now, known := b.Store.Now()
		return known && f.MayStart(now)
	}
}

// flagNotices logs notices that need the operator.
func (b *Base) flagNotices(ctx context.Context, written pay.Change) {
	for _, r := range written.Notices {
		if r.Verdict == pay.Mismatched || r.Verdict == pay.Late {
			b.Log.WarnContext(ctx, "a provider's notice needs the operator", "account", r.Account, "payment", r.Payment, "verdict", r.Verdict)
		}
	}
}

// CallOnItsWay is the error for an operator's resolution while a call may still contradict it.
func CallOnItsWay[Status ~string](status Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(status), Action: word, Reason: "call_on_its_way"},
		Reason: callOnItsWay}
}

// ChangedMeanwhile is the error for an operator's resolution if the object changed since the
// operator read it: it moved on, was called again, or its provider reported something.
func ChangedMeanwhile[Status ~string](status Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(status), Action: word, Reason: "changed_meanwhile"},
		Reason: changedMeanwhile}
}

// SaidOtherwise is the error for an operator's resolution that the provider contradicts.
func SaidOtherwise[Status ~string](said string, from Status, word string) error {
	return &problem.Error{Code: problem.ConflictState, Reason: providerSaysOtherwise.With(said),
		Details: problem.Details{From: string(from), Action: word, Reason: pay.OtherwiseSaid}}
}
