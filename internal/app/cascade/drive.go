package cascade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Unfinished tells that a payment is there whose outcome could not be written: 503 alone
// would say that nothing was done. This node goes on with it.
func (c *Cascade) Unfinished(p pay.Payment, err error) error {
	if err == nil {
		return nil
	}
	var shown *problem.Error
	if !errors.As(err, &shown) || shown.Code != problem.ServiceUnavailable {
		return err
	}
	if shown.Details.TransactionID == "" {
		c.revisit(p)
		err = goesOn(p.ID, err)
	}
	return err
}

// goesOn tells a create call that its payment is there, and that what becomes of it is not
// known in time.
func goesOn(id string, cause error) error {
	return &problem.Error{Code: problem.ServiceUnavailable, Cause: cause, Details: problem.Details{Reason: store.OutcomeUnknown, TransactionID: id},
		Message: "the payment was made, and what became of it is not known in time: read it, or repeat the request with the same Idempotency-Key"}
}

// Finish goes on with what is played in the create call and notes its reply, where this node has
// the payment in hand. Where another one has taken it over, it waits for that one.
func (c *Cascade) Finish(ctx context.Context, p pay.Payment, cause view.Cause) (pay.Payment, error) {
	if p.Answered != "" {
		return p, nil
	}
	if p.Status != pay.Pending {
		answered, err := c.awaitAnswer(ctx, p.Scope, p.ID)
		if errors.Is(err, errStillRuns) {
			return p, goesOn(p.ID, err)
		}
		return answered, err
	}
	p, err := c.Play(ctx, p, cause)
	if err == nil && p.Answered == "" { // a faulty provider played nothing
		p, err = c.answer(ctx, p)
	}
	return p, err
}

// Begin returns the change that makes a payment: with its first attempt, or
// failed where no provider serves it.
func Begin(p pay.Payment, routes pay.Cascade, now time.Time) (pay.Payment, pay.Change) {
	if first, ok := p.Next(routes.Routes); ok {
		return p.Try(first, now)
	}
	return p.Exhaust(now)
}

// answer notes the reply of a create call, which its replays wait for.
func (c *Cascade) answer(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	err := base.Again(func() error {
		read, err := c.Store.Payments.Any(ctx, p.ID)
		if err != nil {
			return err
		}
		p = read
		if read.Answered != "" {
			return nil
		}
		next, change := read.Reply(c.TimeOf(read.Scope))
		if err := c.Commit(ctx, change, view.Cause{}); err != nil {
			return err
		}
		p = next
		return nil
	})
	return p, err
}

// Drive calls providers until the payment waits for somebody else. Each call
// stands between two commits, and is made by whoever committed its intent: the
// payment that he has is the one that he wrote.
func (c *Cascade) Drive(ctx context.Context, p pay.Payment, routes pay.Cascade, cause view.Cause) (pay.Payment, error) {
	for range 2 * (len(routes.Routes) + 1) {
		attempt, ok := p.Current()
		if p.Status != pay.Processing || !ok || attempt.Status != pay.Sending || c.Shut() {
			return p, nil
		}
		var err error
		mine := false
		if c.MayCall(ctx, p, attempt) {
			p, mine, err = c.Settle(ctx, p, attempt, c.charge(ctx, p, attempt), time.Time{}, routes, cause)
		} else {
			p, mine, err = c.resend(ctx, p)
		}
		if err != nil || !mine {
			return p, err
		}
	}
	return p, nil
}

// resend is the intent to call again with the same reference, by this node. false where
// somebody else has moved the payment.
func (c *Cascade) resend(ctx context.Context, p pay.Payment) (pay.Payment, bool, error) {
	held, err := c.InHand(ctx, p)
	if err != nil {
		return p, false, err
	}
	next, change := held.Resend(c.TimeOf(p.Scope))
	err = c.Commit(ctx, change, view.Cause{})
	if errors.Is(err, store.ErrStale) {
		return p, false, nil
	}
	return next, err == nil, err
}

// charge makes the call of an attempt.
func (c *Cascade) charge(ctx context.Context, p pay.Payment, attempt pay.Attempt) pay.Outcome {
	upstream, ok := c.providers.Upstream(attempt.Provider)
	if !ok {
		return pay.Outcome{Kind: pay.Unavailable, Decline: "not_configured"}
	}
	ctx, cancel := context.WithTimeout(provider.Fenced(ctx, c.Fence(attempt.Flight)), pay.CallTimeout)
	defer cancel()
	return c.providers.Watched(ctx, p, attempt.Provider, func() pay.Outcome {
		ctx, call := c.Calling(ctx, base.OpCharge, attempt.Provider, p.Reference(attempt.Order))
		return call.Heard(ctx, upstream.Charge(ctx, c.Request(p, attempt)))
	})
}

// Request is what a provider is told of an attempt.
func (c *Cascade) Request(p pay.Payment, attempt pay.Attempt) provider.Request {
	return provider.Request{
		Reference: p.Reference(attempt.Order), ProviderRef: attempt.ProviderRef, Amount: p.Price.Amount, Local: p.Price.Local,
		Rail: c.catalog.ByID[p.Way.RailID].Key, RailID: p.Way.RailID, Method: p.Way.Method, Country: p.Way.Country, Sync: p.Way.Sync, Buyer: p.Buyer, ReturnURL: p.Page.ReturnURL,
		PageURL: view.PageURL(c.CheckoutURL, p.ID), Created: p.Times.Created, Sent: time.UnixMicro(attempt.Started), Expires: p.Times.Created.Add(p.Way.Window), Now: c.TimeOf(p.Scope), Script: p.Script,
	}
}

// Settle commits what came of an attempt. Where a notification came first, the
// answer is read as one more notification: nothing that was told is lost. mine says
// that the payment is as this call wrote it: only then its next call is the caller's.
// asked is when a question was asked, in the database's clock; zero: it was a call.
func (c *Cascade) Settle(ctx context.Context, p pay.Payment, attempt pay.Attempt, said pay.Outcome, asked time.Time, routes pay.Cascade, cause view.Cause) (_ pay.Payment, mine bool, _ error) {
	read := p
	err := base.Again(func() error {
		held, o, err := c.Proved(ctx, read, said, asked)
		if err != nil {
			return err
		}
		now := c.TimeOf(read.Scope)
		var next pay.Payment
		var change pay.Change
		current, _ := read.Current()
		switch {
		case read.Status.Open() && current.Order == attempt.Order:
			next, change = held.Resolve(o, routes, now)
		case o.Kind == pay.Approved:
			next, change = held.Confirm(pay.Notice{
				// Whoever writes it wins the version, so it cannot be known already.
				ID: fmt.Sprintf("answer/%s v%d", read.Reference(attempt.Order), read.Version), Account: attempt.Provider,
				Reference: read.Reference(attempt.Order), Outcome: o,
			}, routes, c.NewID(pay.ClaimPrefix, now), now)
		default:
			p = read
			return c.deny(ctx, read, attempt.Order, said, cause)
		}
		err = c.Commit(ctx, change, cause)
		if err == nil {
			c.FlagReceipts(ctx, change)
			p, mine = next, true
			return nil
		}
		if errors.Is(err, store.ErrStale) {
			if again, readErr := c.Store.Payments.Any(ctx, p.ID); readErr == nil {
				read = again
			} else {
				err = readErr
			}
		}
		return err
	})
	return p, mine, err
}

// deny keeps for the operator what a provider answered against his word.
func (c *Cascade) deny(ctx context.Context, p pay.Payment, order int, said pay.Outcome, cause view.Cause) error {
	change, denied := p.Denied(order, said, c.TimeOf(p.Scope))
	if !denied {
		return nil
	}
	err := c.Commit(ctx, change, cause)
	if errors.Is(err, store.ErrDuplicate) { // he knows
		return nil
	}
	if err == nil {
		c.FlagReceipts(ctx, change)
	}
	return err
}

// Repeat returns what the first request with the key made, waiting for its
// reply.
func (c *Cascade) Repeat(ctx context.Context, scope tenant.Scope, i base.Idempotency) (pay.Payment, error) {
	once, err := c.Store.Idempotency.Get(ctx, i.KeyIn(scope))
	if err != nil {
		return pay.Payment{}, err
	}
	if once.Hash != i.Hash {
		return pay.Payment{}, i.Reused(once.Hash)
	}
	return c.awaitAnswer(ctx, scope, once.Object)
}

// errStillRuns: the first request with the key is not answered yet.
var errStillRuns error = &problem.Error{
	Code: problem.IdempotencyConflict, Message: "the first request with this Idempotency-Key still runs: retry later",
	Details: problem.Details{Reason: "request_in_progress"},
}

// awaitAnswer waits for the reply of a create call that somebody else makes.
//
// Errors: errStillRuns.
func (c *Cascade) awaitAnswer(ctx context.Context, scope tenant.Scope, id string) (pay.Payment, error) {
	ctx, cancel := context.WithTimeout(ctx, replayWait)
	defer cancel()
	poll := time.NewTicker(replayPoll)
	defer poll.Stop()
	for {
		p, err := c.Store.Payments.Get(ctx, scope, id)
		if err == nil && p.Answered != "" {
			return p, nil
		}
		if err != nil && ctx.Err() == nil {
			return pay.Payment{}, err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // also where both are ready, of which one is chosen by chance
			return pay.Payment{}, errStillRuns
		}
	}
}
