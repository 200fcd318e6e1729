// Package sandbox simulates the outside world for integrators: the notices of simulated providers
// and banks, and the time of a test clock. Production does not use it.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// Sandbox simulates the outside world: notices of simulated providers, and the time of a merchant's
// clock. Nothing of it reaches production.
type Sandbox struct {
	*base.Base
	providers *accounts.Providers
	cascade   *cascade.Cascade
	refunds   *claims.Claims
	listener  *notices.Notices
	simulated map[string]provider.Provider // by account
}

// New returns the sandbox of a service, with its simulated providers.
func New(b *base.Base, providers *accounts.Providers, c *cascade.Cascade, refunds *claims.Claims, listener *notices.Notices, simulated map[string]provider.Provider) *Sandbox {
	return &Sandbox{b, providers, c, refunds, listener, simulated}
}

// Simulate moves a sandbox payment at the merchant's request (SBX-4) and returns the events that
// this made.
//
// Errors: production_key_refused, transaction_not_found, conflict_state,
// balance_insufficient.
func (sb *Sandbox) Simulate(ctx context.Context, scope merchants.Scope, id string, simulated SimulatedAction, cause view.Cause) (pay.Payment, []webhooks.EventType, error) {
	if scope.Live {
		return pay.Payment{}, nil, merchants.NoSimulation("")
	}
	before, err := sb.cascade.Payment(ctx, scope, id)
	if err = cmp.Or(err, sb.MayMoveMoney()); err != nil {
		return pay.Payment{}, nil, err
	}
	p, events, err := sb.Move(ctx, before, simulated, cause)
	if err != nil {
		return p, nil, err
	}
	fired := make([]webhooks.EventType, 0, len(events))
	for _, e := range events {
		fired = append(fired, e.Type)
	}
	return p, fired, nil
}

// Play applies the header Sandbox-Simulate to a payment that was just created.
func (sb *Sandbox) Play(ctx context.Context, p pay.Payment, cause view.Cause) (pay.Payment, error) {
	simulated := SimulatedAction(p.Script.Action)
	if simulated == Chargeback {
		paid, _, err := sb.Move(ctx, p, Paid, cause)
		if err != nil || paid.Status != pay.Completed { // a faulty provider confirmed nothing
			return paid, err
		}
		p = paid
	}
	next, _, err := sb.Move(ctx, p, simulated, cause)
	return next, err
}

// Move is Simulate for a payment that was read, for any caller. It returns the events themselves.
func (sb *Sandbox) Move(ctx context.Context, p pay.Payment, simulated SimulatedAction, cause view.Cause) (next pay.Payment, events []pay.Event, err error) {
	if err := simulated.allows(p); err != nil {
		return p, nil, err
	}
	if simulated == Refunded {
		return sb.refund(ctx, p, cause)
	}
	n := sandbox.Notification{Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)}
	switch simulated {
	case Paid:
		n.Status = "paid"
	case Failed:
		n.Status, n.Reason = "declined", string(decline.DoNotHonor)
		if first := firstAnswer(p); first != "" && first != sandbox.Challenge { // as the card's page would
			n.Reason = string(first)
		}
	case Expired:
		n.Status = "expired"
	case Chargeback:
		n.Status, n.Reason = "disputed", "fraudulent"
	default:
		return p, nil, fmt.Errorf("simulate %q: no such action", simulated)
	}
	next, events, err = sb.Notify(ctx, p, n, simulated.unmoved(p), cause)
	if err == nil && len(events) == 0 {
		// The payment was changed between our read and the notice.
		err = simulated.allows(next)
	}
	return next, events, err
}

// Notify makes the simulated provider of a payment notify us. The notification is handled like a real
// one: it is signed, and read by the provider's own code. may can refuse it because of the
// payment's present state; nil refuses nothing.
func (sb *Sandbox) Notify(ctx context.Context, p pay.Payment, n sandbox.Notification, may func(pay.Payment) error, cause view.Cause) (next pay.Payment, events []pay.Event, err error) {
	attempt, ok := p.Attempts.Current()
	upstream, isSandbox := sb.simulated[attempt.Provider].(*sandbox.Provider)
	if !ok || !isSandbox {
		return p, nil, &problem.Error{
			Code: problem.ConflictState, Reason: simulateElsewhere,
			Details: problem.Details{From: string(p.Status)},
		}
	}
	n.ID, n.Reference, n.Simulated = sb.NewID("ntf_", sb.TimeOf(p.Scope)), p.Reference(attempt.Order), true
	next = p
	for _, sent := range upstream.Send(n) {
		read, told, err := sb.listener.ApplyNotices(ctx, attempt.Provider, sent, may, cause)
		var shown *problem.Error
		if errors.As(err, &shown) && shown.Code == problem.InvalidToken {
			continue // a simulated fault: the notification was refused, and the payment does not change
		}
		if err != nil {
			return p, nil, err
		}
		if read.ID == "" { // a fault made its reference unreadable
			continue
		}
		next, events = read, append(events, told...)
		may = nil // extra notifications of the fault are applied as they come
	}
	return next, events, nil
}

// refund gives back all that is left, by the code of a refund call.
func (sb *Sandbox) refund(ctx context.Context, p pay.Payment, cause view.Cause) (next pay.Payment, events []pay.Event, err error) {
	made, events, err := sb.refunds.OpenRefund(ctx, p.Scope, p.ID, pay.NewRefund{Reason: "requested_by_customer", Played: true}, Refunded.allows, cause)
	if err != nil {
		return p, nil, err
	}
	sb.refunds.FinishRefund(ctx, made, cause)
	return made.Payment(), events, nil
}
