package claims

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// OldestDispute returns the earliest deadline of all open disputes in production; zero if there are
// none.
func (cl *Claims) OldestDispute(ctx context.Context) (time.Time, error) {
	return cl.Store.Claims().OldestDispute(ctx)
}

// Contested reads the claims that news of a dispute may be about.
func (cl *Claims) Contested(ctx context.Context, p pay.Payment) ([]pay.Claim, error) {
	return cl.Store.Claims().Of(ctx, []string{p.ID})
}

// NewIDs makes the ids that news of a dispute may need.
func (cl *Claims) NewIDs(now time.Time) [2]string {
	return [2]string{cl.NewID(pay.ClaimPrefix, now), cl.NewID(pay.ClaimPrefix, now)}
}

// Prove queries the provider about a disputed charge whose money is not in our books, if the
// dispute does not prove that it was paid in the right amount. The answer is committed before the
// dispute is applied. Without an answer, the dispute waits for the money.
func (cl *Claims) Prove(ctx context.Context, n pay.Notice, cause view.Cause) error {
	if !n.OfDispute() {
		return nil
	}
	id, _, ok := pay.ParseReference(n.Reference)
	if !ok || !base.Storable(id) {
		return nil
	}
	p, err := cl.Store.Payments().Any(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !p.Attempts.WentTo(n.Reference, n.Account) {
		return nil
	}
	if err != nil {
		return err
	}
	claims, err := cl.Contested(ctx, p)
	if err != nil {
		return err
	}
	attempt, unproved := n.Unproved(p, claims)
	upstream, configured := cl.providers.Upstream(attempt.Provider)
	if !unproved || !configured {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	asking, call := cl.Calling(asking, base.OpQuery, attempt.Provider, p.Reference(attempt.Order))
	o := call.EndedCharge(asking, upstream.Query(asking, cl.cascade.Request(p, attempt)).AsQueried())
	if o.Kind != pay.Approved {
		return nil
	}
	_, _, err = cl.cascade.ApplyAnswer(context.WithoutCancel(ctx), p, attempt, o, time.Time{}, cl.providers.Routes(p), cause)
	return err
}

// lookAtDispute queries the provider about a dispute, if possible, and ends the claim if its
// deadline for evidence has passed. A provider that can be queried decides first: without its answer
// nothing ends, and a deadline of our own ends no dispute that it calls open. A dispute that is open
// for too long is logged for the operator.
func (cl *Claims) lookAtDispute(ctx context.Context, c pay.Claim) error {
	c, lapses, err := cl.askDispute(ctx, c)
	if err != nil || c.Status.Terminal() {
		return err
	}
	now := cl.TimeOf(c.Scope)
	if c.Stale(now) {
		cl.Log.WarnContext(ctx, "a dispute is open long after its deadline: ask the provider, and end it with cascada claim resolve",
			"claim", c.ID, "payment", c.Payment, "account", c.Case.Account, "dispute", c.Case.ID, "deadline", c.DueBy)
	}
	if !c.Overdue(now) || !lapses {
		return nil
	}
	_, err = cl.resolveClaim(ctx, c, pay.Lapse, pay.PartySystem, "no evidence came in time", nil, view.Cause{})
	return orMoved(err)
}

// orMoved ignores the error that the claim was decided meanwhile.
func orMoved(err error) error {
	var moved *problem.Error
	if errors.As(err, &moved) && (moved.Code == problem.ClaimAlreadyResolved || moved.Code == problem.ConflictState) {
		return nil // evidence or a ruling came at the last moment
	}
	return err
}

// AskNameless queries the open disputes of a payment that the provider knows only by the payment's
// state, if a notice says that it is paid: they may have ended.
func (cl *Claims) AskNameless(ctx context.Context, p pay.Payment, n pay.Notice) {
	if n.Outcome.Kind != pay.Approved || n.OfDispute() || p.Disputes.OpenOnCapture() == "" {
		return
	}
	claims, err := cl.Contested(ctx, p)
	for _, c := range claims {
		attempt, _ := c.PaidAttempt(p)
		querier, _ := cl.disputeQuerier(provider.DisputeRequest{Charge: cl.cascade.Request(p, attempt)}, attempt)
		if c.Kind == pay.ChargebackClaim && !c.Status.Terminal() && c.Case.ID == "" && querier != nil {
			_, _, failed := cl.askDispute(ctx, c)
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		cl.Log.ErrorContext(ctx, "a dispute could not be queried; it is queried again", "payment", p.ID, "error", err)
	}
}

// askDispute queries a dispute and commits the answer. No answer is committed too: it sets the time
// of the next query. lapses: the deadline for evidence may end the claim, because the provider cannot
// be queried, or because it set the deadline and says that the dispute is open.
func (cl *Claims) askDispute(ctx context.Context, c pay.Claim) (_ pay.Claim, lapses bool, _ error) {
	p, err := cl.Store.Payments().Any(ctx, c.Payment)
	if err != nil {
		return c, false, err
	}
	answer, can := cl.disputeAt(ctx, p, c)
	lapses = !can || answer != nil && !answer.RespondBy.IsZero()
	err = base.Again(func() error {
		p, err := cl.Store.Payments().Any(ctx, c.Payment)
		if err != nil {
			return err
		}
		claims, err := cl.Contested(ctx, p)
		if err != nil {
			return err
		}
		now := cl.TimeOf(c.Scope)
		for _, read := range claims {
			if read.ID != c.ID {
				continue
			}
			if c = read; c.Status.Terminal() {
				return nil
			}
			_, change := c.ApplyDisputeAnswer(p, claims, answer, cl.NewIDs(now), now)
			if err := cl.Commit(ctx, change, view.Cause{}); err != nil {
				return err
			}
			for _, next := range change.Claims {
				if next.ID == c.ID {
					c = next
				}
			}
		}
		return nil
	})
	return c, lapses, err
}

// disputeQuerier is the provider that can be queried about a dispute; nil if there is none. can is
// true without one if only its account is missing.
func (cl *Claims) disputeQuerier(asked provider.DisputeRequest, attempt pay.Attempt) (q provider.DisputeQuerier, can bool) {
	upstream, configured := cl.providers.Upstream(attempt.Provider)
	if !configured {
		return nil, attempt.Provider != ""
	}
	if querier, queries := upstream.(provider.DisputeQuerier); queries && querier.CanQueryDispute(asked) {
		return querier, true
	}
	return nil, false
}

// disputeAt queries a claim's provider about its dispute; nil without an answer. can is false if the
// provider has no call for it.
func (cl *Claims) disputeAt(ctx context.Context, p pay.Payment, c pay.Claim) (answer *pay.Notice, can bool) {
	attempt, _ := c.PaidAttempt(p)
	asked := provider.DisputeRequest{ID: c.Case.ID, Charge: cl.cascade.Request(p, attempt)}
	querier, can := cl.disputeQuerier(asked, attempt)
	if querier == nil {
		return nil, can
	}
	ctx, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	ctx, call := cl.Calling(ctx, base.OpQueryDispute, attempt.Provider, p.Reference(attempt.Order))
	n, known := querier.QueryDispute(ctx, asked)
	call.Ended(ctx, map[bool]string{true: "known", false: string(pay.Unknown)}[known], "")
	if !known || !n.OfDispute() || n.Reference != p.Reference(attempt.Order) {
		return nil, true
	}
	n, unread := n.Storable()
	cl.Quiet.Unread(ctx, attempt.Provider, n.Reference, unread)
	n.Account = attempt.Provider
	return &n, true
}
