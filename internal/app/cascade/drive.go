package cascade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// DriveAndAnswer calls providers until a new payment waits for its shopper or a provider, and returns it as the
// create call replies with it.
func (c *Cascade) DriveAndAnswer(ctx context.Context, p pay.Payment, routes pay.Cascade, cause view.Cause) (pay.Payment, error) {
	asked := regained(p)
	p, err := c.Drive(ctx, p, routes, cause)
	if err == nil && !asked {
		p, err = c.finish(ctx, p, cause)
	}
	return p, c.Unfinished(p, err)
}

// Start calls providers until a new payment waits for its shopper or a provider.
func (c *Cascade) Start(ctx context.Context, p pay.Payment, routes pay.Cascade, cause view.Cause) (pay.Payment, error) {
	p, err := c.Drive(ctx, p, routes, cause)
	return p, c.Unfinished(p, err)
}

// Unfinished is the error for a payment that exists, but whose outcome could not be written: a 503
// alone would say that nothing was done. This node continues with the payment.
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

// goesOn is the error for a create call whose payment exists, but whose outcome is not known in
// time.
func goesOn(id string, cause error) error {
	return &problem.Error{Code: problem.ServiceUnavailable, Cause: cause, Details: problem.Details{Reason: store.OutcomeUnknown, TransactionID: id},
		Reason: outcomeUnknown}
}

// finish continues what is played in the create call and records its reply, if this node has the
// payment in hand. If another node has taken it over, it waits for that node.
func (c *Cascade) finish(ctx context.Context, p pay.Payment, cause view.Cause) (pay.Payment, error) {
	if p.Work.Answered != "" {
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
	if err == nil && p.Work.Answered == "" { // a faulty provider played nothing
		p, err = c.answer(ctx, p)
	}
	return p, err
}

// answer records the reply of a create call, for which its replays wait.
func (c *Cascade) answer(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	err := base.Again(func() error {
		read, err := c.Store.Payments().Any(ctx, p.ID)
		if err != nil {
			return err
		}
		p = read
		if read.Work.Answered != "" {
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

// Drive calls providers until the payment waits for its shopper or a provider. Each call is made between two
// commits, by the one who committed its intent.
func (c *Cascade) Drive(ctx context.Context, p pay.Payment, routes pay.Cascade, cause view.Cause) (pay.Payment, error) {
	if regained(p) {
		return c.askAfter(ctx, p)
	}
	for range 2 * (len(routes.Routes) + 1) {
		attempt, ok := p.Attempts.Current()
		if p.Status != pay.Processing || !ok || attempt.Status != pay.Sending || c.Shut() {
			return p, nil
		}
		var err error
		goesOn := false
		if c.mayCall(ctx, p, attempt) {
			p, goesOn, err = c.ApplyAnswer(ctx, p, attempt, c.charge(ctx, p, attempt), time.Time{}, routes, cause)
		} else {
			p, goesOn, err = c.resend(ctx, p)
		}
		if err != nil || !goesOn {
			return p, err
		}
	}
	return p, nil
}

// mayCall reports whether this node may still begin the call of an attempt that it committed: it
// holds its lease, and no other node may assume yet that the call was never made.
func (c *Cascade) mayCall(ctx context.Context, p pay.Payment, attempt pay.Attempt) bool {
	by, err := c.Store.Hold(ctx)
	return err == nil && by.Node == p.Work.Owner && attempt.MayStart(by.At)
}

// resend is this node's intent to repeat the call with the same reference. false: the payment was
// changed by another node or a notification.
func (c *Cascade) resend(ctx context.Context, p pay.Payment) (pay.Payment, bool, error) {
	by, err := c.Store.Hold(ctx)
	if err != nil {
		return p, false, err
	}
	next, change := p.Resend(by, c.TimeOf(p.Scope))
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
		r := c.Request(p, attempt)
		if _, shop, err := c.Tenant(ctx, base.Principal{Scope: p.Scope}); err == nil { // the charge can do without
			r.Shop = shop.Name
		}
		return call.EndedCharge(ctx, upstream.Charge(ctx, r))
	})
}

// Request is the request to a provider for an attempt.
func (c *Cascade) Request(p pay.Payment, attempt pay.Attempt) provider.Request {
	begun := p.Times.Created
	for _, a := range p.Attempts[:attempt.Order] {
		if a.Again { // the shopper's time began again
			begun = time.UnixMicro(a.Started).UTC()
		}
	}
	return provider.Request{
		Reference: p.Reference(attempt.Order), ProviderRef: attempt.ProviderRef, MoneyRef: attempt.MoneyRef, Amount: p.Price.Amount, Local: p.Price.Local,
		Rail: c.catalog.ByID[p.Way.RailID].Key, RailID: p.Way.RailID, Method: p.Way.Method, Country: p.Way.Country, Sync: p.Way.Sync, Merchant: p.Merchant, Buyer: p.Order.Buyer,
		OrderID: p.Order.ID, Purchase: p.Order.Purchase, Lang: p.Page.Lang,
		PageURL: view.PageURL(c.CheckoutURL, p.ID), BackURL: view.Keyed(view.PageURL(c.CheckoutURL, p.ID), base.PageKey(c.Vault, p.ID)), Created: p.Times.Created, Sent: time.UnixMicro(attempt.Started), Expires: begun.Add(p.Way.Window), Now: c.TimeOf(p.Scope), Script: p.Script,
		Installments: p.Terms.Installments,
	}
}

// ApplyAnswer commits the outcome of an attempt. If a notification came first, the outcome is treated as
// another notification, so that no news is lost. goesOn is true if the payment is as this call wrote
// it: only then does the caller make its next call. asked is the time of a query, in the database's
// clock; zero for a call.
func (c *Cascade) ApplyAnswer(ctx context.Context, p pay.Payment, attempt pay.Attempt, said pay.Outcome, asked time.Time, routes pay.Cascade, cause view.Cause) (_ pay.Payment, goesOn bool, _ error) {
	read := p
	err := base.Again(func() error {
		o, err := c.proved(ctx, read, said, asked, &routes)
		if err != nil {
			return err
		}
		now := c.TimeOf(read.Scope)
		var next pay.Payment
		var change pay.Change
		current, _ := read.Attempts.Current()
		switch {
		case read.Status.Open() && current.Order == attempt.Order:
			next, change = read.ApplyAnswer(o, routes, now)
		case o.Kind == pay.Approved || o.Kind == pay.Reversed || len(o.Also) > 0 && current.Order != attempt.Order:
			next, change = read.ApplyNotice(pay.Notice{
				// Only the writer of this version can write it, so it cannot exist already.
				ID: fmt.Sprintf("answer/%s v%d", read.Reference(attempt.Order), read.Version), Account: attempt.Provider,
				Reference: read.Reference(attempt.Order), Outcome: o,
			}, routes, c.NewID(pay.ClaimPrefix, now), now)
		case read.Following() && current.Order == attempt.Order:
			next, change = read.ApplyLook(o, c.NewID(pay.ClaimPrefix, now), now)
		default:
			p = read
			return c.keepContradiction(ctx, read, attempt.Order, said, cause)
		}
		err = c.Commit(ctx, change, cause)
		if err == nil {
			p, goesOn = next, true
			return nil
		}
		if errors.Is(err, store.ErrStale) {
			if again, readErr := c.Store.Payments().Any(ctx, p.ID); readErr == nil {
				read = again
			} else {
				err = readErr
			}
		}
		return err
	})
	return p, goesOn, err
}

// proved returns the part of an outcome that is proved, and makes this node the caller of the
// payment's next call. asked is the time of the query; zero if the outcome is the answer to a call.
// A pending payment gets no caller, because no other attempt follows it.
//
// Errors: store.ErrNoHold.
func (c *Cascade) proved(ctx context.Context, p pay.Payment, o pay.Outcome, asked time.Time, routes *pay.Cascade) (_ pay.Outcome, err error) {
	routes.By = pay.Caller{}
	c.AssignClaims(p, &o, routes)
	attempt, _ := p.Attempts.Current()
	if !p.Status.Open() && !p.Following() || p.Status == pay.Pending && attempt.Calls <= 1 {
		return o, nil
	}
	if asked.IsZero() {
		o = attempt.ProvedByCall(o)
	} else {
		o = attempt.ProvedByQuery(o, asked)
	}
	if p.Status == pay.Processing {
		routes.By, err = c.Store.Hold(ctx)
	}
	return o, err
}

// AssignClaims sets the ids of the claims that the money of an outcome may open.
func (c *Cascade) AssignClaims(p pay.Payment, o *pay.Outcome, routes *pay.Cascade) {
	if o.Kind != pay.Approved && o.Kind != pay.Reversed && len(o.Also) == 0 {
		return
	}
	now := c.TimeOf(p.Scope)
	routes.Claim = c.NewID(pay.ClaimPrefix, now)
	o.Also = slices.Clone(o.Also)
	for i := range o.Also {
		o.Also[i].Claim = c.NewID(pay.ClaimPrefix, now)
	}
}

// keepContradiction keeps a provider's answer that contradicts the operator's resolution, for the operator.
func (c *Cascade) keepContradiction(ctx context.Context, p pay.Payment, order int, said pay.Outcome, cause view.Cause) error {
	change, denied := said.Contradiction(p, order, c.TimeOf(p.Scope))
	if !denied {
		return nil
	}
	err := c.Commit(ctx, change, cause)
	if errors.Is(err, store.ErrDuplicate) { // the operator has it already
		return nil
	}
	return err
}

// Repeat returns the payment of the first request with the key, after waiting for that request's
// reply.
func (c *Cascade) Repeat(ctx context.Context, scope merchants.Scope, i base.Idempotency) (pay.Payment, error) {
	once, err := c.Store.Idempotency().Get(ctx, i.KeyIn(scope))
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
	Code: problem.IdempotencyConflict, Reason: stillRuns,
	Details: problem.Details{Reason: "request_in_progress"},
}

// awaitAnswer waits for the reply of a create call that another request or node makes.
//
// Errors: errStillRuns.
func (c *Cascade) awaitAnswer(ctx context.Context, scope merchants.Scope, id string) (pay.Payment, error) {
	ctx, cancel := context.WithTimeout(ctx, replayWait)
	defer cancel()
	poll := time.NewTicker(replayPoll)
	defer poll.Stop()
	for {
		p, err := c.Store.Payments().Get(ctx, scope, id)
		if err == nil && p.Work.Answered != "" {
			return p, nil
		}
		if err != nil && ctx.Err() == nil {
			return pay.Payment{}, err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // if both are ready, select chooses at random
			return pay.Payment{}, errStillRuns
		}
	}
}
