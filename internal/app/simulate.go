package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// Simulate moves a sandbox payment on the merchant's demand (SBX-4)
// and returns the events that it fired.
//
// Errors: production_key_refused, transaction_not_found, conflict_state,
// balance_insufficient.
func (a *App) Simulate(ctx context.Context, scope pay.Scope, id string, action pay.Action, cause view.Cause) (pay.Payment, []pay.EventType, error) {
	if scope.Live {
		return pay.Payment{}, nil, pay.NewError(pay.CodeProductionKeyRefused, "simulation is for the sandbox only: use a test key (sk_test_…)")
	}
	before, err := a.Payment(ctx, scope, id)
	if err = cmp.Or(err, a.MayMoveMoney()); err != nil {
		return pay.Payment{}, nil, err
	}
	p, events, err := a.simulate(ctx, before, action, cause)
	if err != nil {
		return p, nil, err
	}
	fired := make([]pay.EventType, 0, len(events))
	for _, e := range events {
		fired = append(fired, e.Type)
	}
	return p, fired, nil
}

// play is the header Sandbox-Simulate on a payment that was just created.
func (a *App) play(ctx context.Context, p pay.Payment, action pay.Action, cause view.Cause) (pay.Payment, error) {
	if action == pay.SimulateChargeback {
		paid, _, err := a.simulate(ctx, p, pay.SimulatePaid, cause)
		if err != nil || paid.Status != pay.Completed { // a faulty provider confirmed nothing
			return paid, err
		}
		p = paid
	}
	next, _, err := a.simulate(ctx, p, action, cause)
	return next, err
}

func (a *App) simulate(ctx context.Context, p pay.Payment, action pay.Action, cause view.Cause) (next pay.Payment, events []pay.Event, err error) {
	if err := p.CheckSimulate(action); err != nil {
		return p, nil, err
	}
	if action == pay.SimulateRefunded {
		return a.refund(ctx, p, cause)
	}
	n := sandbox.Notification{Amount: p.Local.Decimal(), Currency: string(p.Local.Currency)}
	switch action {
	case pay.SimulatePaid:
		n.Status = "paid"
	case pay.SimulateFailed:
		n.Status, n.Reason = "declined", "do_not_honor"
	case pay.SimulateExpired:
		n.Status = "expired"
	case pay.SimulateChargeback:
		n.Status, n.Reason = "disputed", "fraudulent"
	default:
		return p, nil, fmt.Errorf("simulate %q: no such action", action)
	}
	next, events, err = a.tell(context.WithValue(ctx, playedKey{}, played{action, p.Version}), p, n, cause)
	if err == nil && len(events) == 0 {
		// Somebody else moved the payment between our read and the notice.
		err = next.CheckSimulate(action)
	}
	return next, events, err
}

// played is what somebody plays with a payment that he saw in a version.
type played struct {
	action  pay.Action
	version int64
}

type playedKey struct{}

// stillPlays refuses an action on a payment that somebody else has moved since: of two at a
// time one counts.
//
// Errors: conflict_state.
func stillPlays(ctx context.Context, read pay.Payment) error {
	if played, ok := ctx.Value(playedKey{}).(played); ok && played.version != read.Version {
		return read.CheckSimulate(played.action)
	}
	return nil
}

// tell lets the simulated provider of a payment notify us. The confirmation
// travels as a real one does: signed, and read by the provider's own code.
func (a *App) tell(ctx context.Context, p pay.Payment, n sandbox.Notification, cause view.Cause) (next pay.Payment, events []pay.Event, err error) {
	attempt, ok := p.Current()
	upstream, isSandbox := a.Config.Providers[attempt.Provider].(*sandbox.Provider)
	if !ok || !isSandbox {
		return p, nil, &pay.Error{
			Code: pay.CodeConflictState, Message: "this payment is in a provider's own test environment: what becomes of it is played there",
			Details: pay.Details{From: p.Status},
		}
	}
	n.ID, n.Reference, n.Simulated = a.NewID("ntf_", a.TimeOf(p.Scope)), p.Reference(attempt.Order), true
	next = p
	for _, sent := range upstream.Send(n) {
		read, told, err := a.notify(ctx, attempt.Provider, sent, cause)
		var shown *pay.Error
		if errors.As(err, &shown) && shown.Code == pay.CodeInvalidToken {
			continue // its fault: the provider was refused, and the payment stays as it is
		}
		if err != nil {
			return p, nil, err
		}
		next, events = read, append(events, told...)
		ctx = context.WithValue(ctx, playedKey{}, nil) // what its fault sends beside it is told as it comes
	}
	return next, events, nil
}

// refund gives all that is left back, by the code of a refund call.
func (a *App) refund(ctx context.Context, p pay.Payment, cause view.Cause) (next pay.Payment, events []pay.Event, err error) {
	next, claim, events, err := a.OpenRefund(ctx, p, pay.NewRefund{Reason: "requested_by_customer", Simulated: true},
		pay.Actor{}, base.Idempotency{}, cause)
	if err != nil {
		return p, nil, err
	}
	a.FinishRefund(ctx, claim, cause)
	return next, events, nil
}
