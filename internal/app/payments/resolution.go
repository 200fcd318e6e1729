package payments

import (
	"cmp"
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/view"
)

// Resolve resolves a payment by the operator's finding, and returns the payment with the provider's
// answer. The provider is queried first, if possible: its answer takes precedence.
//
// Errors: store.ErrNotFound; conflict_state if the payment's end is known, or if the provider says
// otherwise (details.reason).
func (pa *Payments) Resolve(ctx context.Context, by audit.Actor, r base.Resolution) (p pay.Payment, said pay.OutcomeKind, err error) {
	p, err = pa.Store.Payments().Any(ctx, r.ID)
	if err = cmp.Or(err, r.Fit()); err != nil {
		return p, "", err
	}
	attempt, ok := p.Attempts.Current()
	if !ok {
		return p, "", known(p.Status, r.Word)
	}
	if !p.Status.Open() && p.Status != pay.Failed && p.Status != pay.Expired {
		return p, "", known(p.Status, r.Word) // whatever its provider says
	}
	node, err := pa.Store.Hold(ctx)
	if err != nil {
		return p, "", err
	}
	asking := ctx
	if r.Word == pay.WordNotCharged {
		asking = provider.Looking(ctx)
	}
	o := pa.cascade.Ask(asking, p, attempt, true)
	if o.Kind == pay.Awaiting && r.Word == pay.WordNotCharged {
		// The shopper must not pay it any more.
		if ended, can := pa.cascade.Cancel(asking, p, attempt); can && ended.Kind != pay.Unknown {
			o = ended
		}
	}
	if r.Word.Contradicts(p, o) && !r.Force {
		return p, o.Kind, base.SaidOtherwise(string(o.Kind), p.Status, string(r.Word))
	}
	if r.Word == pay.WordNotCharged && p.Status == pay.Processing && o.Kind != pay.Approved && attempt.OnItsWay(node.At) {
		return p, o.Kind, base.CallOnItsWay(p.Status, string(r.Word))
	}
	resolved, err := base.Decide(func() (pay.Payment, error) {
		read, err := pa.Store.Payments().Any(ctx, r.ID)
		if err != nil {
			return read, err
		}
		if read.Version != p.Version {
			return read, base.ChangedMeanwhile(read.Status, string(r.Word))
		}
		now := pa.TimeOf(read.Scope)
		next, change, err := r.Word.Resolve(read, o, pa.NewID(pay.ClaimPrefix, now), now)
		if err != nil {
			return read, err
		}
		change.Audit = pa.Noted(by, read.Scope, audit.PaymentResolved, read.ID, r.Note, r.ToldOf(string(o.Kind)))
		return next, pa.Commit(ctx, change, view.Cause{RequestID: by.Request})
	})
	if err != nil {
		return p, o.Kind, err
	}
	return resolved, o.Kind, nil
}

func known(from pay.Status, w pay.Word) error {
	return &problem.Error{Code: problem.ConflictState, Reason: pay.PaymentEndKnown.With(from),
		Details: problem.Details{From: string(from), Action: string(w)}}
}

// Unsure lists payments with an unknown outcome, oldest first, for the operator.
func (pa *Payments) Unsure(ctx context.Context, limit int) ([]pay.Payment, error) {
	return pa.Store.Payments().Unsure(ctx, limit)
}
