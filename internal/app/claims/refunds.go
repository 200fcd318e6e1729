package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Refunds give money back: what merchants refund, and what banks take back by a dispute. Each is a
// claim. It is safe for use by many goroutines.
type Refunds struct {
	*base.Base
	providers *acquiring.Providers
	cascade   *cascade.Cascade
	lanes     *acquiring.Lanes // what providers are asked about refunds, with bounds of their own
}

// NewRefunds returns the refunds and disputes of payments that went through a cascade.
func NewRefunds(b *base.Base, providers *acquiring.Providers, through *cascade.Cascade) *Refunds {
	return &Refunds{Base: b, providers: providers, cascade: through, lanes: acquiring.NewLanes(b.Now)}
}

// Drain waits for the questions that are under way.
func (rf *Refunds) Drain() { rf.lanes.Drain() }

// Silent counts the provider accounts that do not answer questions about refunds.
func (rf *Refunds) Silent() int { return rf.lanes.Silent() }

// NewRefund is what a refund call asks for (REF-1).
type NewRefund struct {
	Payment     string
	Amount      string // JSON text, local major units; empty: all that is left
	Reason      string
	Idempotency base.Idempotency
	By          audit.Actor
}

// Refund opens a refund and makes it at the provider. The reply shows it as it
// was opened, pending: its claim tells what becomes of it, and a repeat gets
// the same. replayed says that an earlier request with the same key had
// opened it.
//
// Errors: transaction_not_found, idempotency_conflict, and those of
// pay.Payment.Refund.
func (rf *Refunds) Refund(ctx context.Context, scope tenant.Scope, n NewRefund) (r pay.Refund, replayed bool, err error) {
	if r, found, err := rf.refundBefore(ctx, scope, n.Idempotency); found || err != nil {
		return r, found, err
	}
	p, err := rf.cascade.Payment(ctx, scope, n.Payment)
	if err = cmp.Or(err, rf.MayMoveMoney()); err != nil {
		return r, false, err
	}
	amount, err := parseLocal(n.Amount, p.Price.Local.Currency)
	if err != nil {
		return r, false, err
	}
	cause := view.Cause{RequestID: n.By.Request, IdempotencyKey: n.Idempotency.Key}
	asked := pay.NewRefund{Amount: amount, Reason: n.Reason}
	if at, _, found, err := rf.FoundOf(ctx, n.Idempotency.Mark(scope), pay.FoundRefund); err != nil || found {
		if err != nil {
			return r, false, err
		}
		r, err = rf.regainRefund(ctx, p, asked, at, n, cause)
		return r, err == nil, err
	}
	_, claim, _, err := rf.OpenRefund(ctx, p, asked, nil, n.By, n.Idempotency, cause)
	if errors.Is(err, store.ErrDuplicate) { // by a request at the same time
		return rf.refundBefore(ctx, scope, n.Idempotency)
	}
	if err != nil {
		return r, false, err
	}
	rf.FinishRefund(ctx, claim, cause)
	return claim.Opened(), false, nil
}

// FinishRefund makes a refund whose intent is committed: from there it is ours to finish,
// whether its caller waits or not, and whether its outcome can be written or not.
func (rf *Refunds) FinishRefund(ctx context.Context, c pay.Claim, cause view.Cause) pay.Claim {
	made, err := rf.makeRefund(context.WithoutCancel(ctx), c, cause)
	if err != nil {
		rf.Log.ErrorContext(ctx, "a refund's outcome is not written; it is asked about again", "claim", c.ID, "error", err)
		return c
	}
	return made
}

// refundBefore returns what an earlier request with the key opened.
func (rf *Refunds) refundBefore(ctx context.Context, scope tenant.Scope, i base.Idempotency) (r pay.Refund, found bool, err error) {
	id, found, err := rf.Earlier(ctx, scope, i)
	if err != nil || !found {
		return r, false, err
	}
	claim, err := rf.Store.Claims.Get(ctx, scope, id)
	return claim.Opened(), err == nil, err
}

// parseLocal reads a refund's amount from its JSON text (REF-1);
// zero for none.
func parseLocal(text string, currency money.Currency) (money.Amount, error) {
	if text == "" {
		return money.New(0, currency), nil
	}
	amount, err := money.Parse(text, currency)
	switch {
	case errors.Is(err, money.ErrPrecision):
		return amount, problem.Field(problem.AmountInvalid, "amount", fmt.Sprintf("amount has more decimals than %s, which has %d", currency, currency.Exponent()))
	case errors.Is(err, money.ErrRange) && !strings.HasPrefix(text, "-"):
		return amount, problem.Field(problem.AmountAboveMaximum, "amount", "amount must be at most what is left to refund, which is the payment's refundableAmountLocal; leave amount out to refund all of it")
	case err != nil || !amount.IsPositive():
		return amount, problem.Field(problem.AmountInvalid, "amount", "amount must be a number above zero, in "+string(currency)+", such as 49.90")
	}
	return amount, nil
}

// OpenRefund commits the intent of a refund. Who loses a race for the payment
// or the balance decides again; ErrDuplicate when the key was taken. may refuses it of
// the payment as it stands, nil never does. What nobody does is not audited.
func (rf *Refunds) OpenRefund(ctx context.Context, p pay.Payment, n pay.NewRefund, may func(pay.Payment) error, by audit.Actor, i base.Idempotency, cause view.Cause) (next pay.Payment, claim pay.Claim, events []pay.Event, err error) {
	defer rf.Turns.Take(p.ID)()
	if err := rf.MayMoveMoney(); err != nil && n.ID == "" {
		return next, claim, nil, err
	}
	fixed := n.ID
	err = base.Again(func() (err error) {
		if n.Caller, err = rf.Caller(ctx); err != nil {
			return err
		}
		now := rf.TimeOf(p.Scope)
		balances, err := rf.Store.Books.Balances(ctx, p.Scope)
		if err != nil {
			return err
		}
		read, err := rf.Store.Payments.Any(ctx, p.ID)
		if err != nil {
			return err
		}
		if may != nil {
			if err := may(read); err != nil {
				return err
			}
		}
		if n.Released, err = rf.released(ctx, read); err != nil {
			return err
		}
		if n.ID = fixed; fixed == "" {
			n.ID = rf.MarkedID(pay.ClaimPrefix, now, i.Mark(p.Scope))
		}
		var change pay.Change
		if next, claim, change, err = read.Refund(n, balances, now); err != nil {
			// The same request may have been first meanwhile, and be the reason.
			if _, found, other := rf.Earlier(ctx, p.Scope, i); found || other != nil {
				return cmp.Or(other, store.ErrDuplicate)
			}
			return err
		}
		change.Once = i.Guard(p.Scope, claim.ID, now)
		if by != (audit.Actor{}) {
			change.Audit = rf.Audited(by, p.Scope, audit.RefundOpened, claim.ID, map[string]string{"payment": p.ID, "amount": claim.Local.String()})
		}
		events = change.Events
		return rf.Commit(ctx, change, cause)
	})
	return next, claim, events, err
}

// released reports whether the release of the reserve that holds a payment's part has
// begun. A day that no settlement has claimed yet has no row, and is not released.
func (rf *Refunds) released(ctx context.Context, p pay.Payment) (bool, error) {
	if p.Terms.Reserve == 0 {
		return false, nil
	}
	day := p.ReserveDay()
	found, err := rf.Store.Reserves.ByID(ctx, []string{day})
	return found[day].Closed(), err
}

// makeRefund tells the provider to make a refund whose intent this call has committed,
// and commits what came of it. Where that took too long, the refund is left to the sweep,
// which asks first.
func (rf *Refunds) makeRefund(ctx context.Context, c pay.Claim, cause view.Cause) (pay.Claim, error) {
	to, configured, err := rf.refundAt(ctx, c)
	if err != nil {
		return c, err
	}
	o := pay.Outcome{Kind: c.Call.State} // nothing was asked, so nothing is known anew
	if configured {
		mayLeave := rf.Fence(c.Call.Flight)
		if !mayLeave() || rf.Shut() {
			return c, nil
		}
		ctx, cancel := context.WithTimeout(provider.Fenced(ctx, mayLeave), pay.CallTimeout)
		defer cancel()
		ctx, call := rf.Calling(ctx, base.OpRefund, to.account, to.request.Reference)
		o = call.Heard(ctx, to.upstream.Refund(ctx, to.request))
	}
	return rf.called(ctx, c, o, cause)
}

// askRefund asks the provider, where it may be asked, what became of a refund and commits
// the answer. Where it may not, nobody knows.
func (rf *Refunds) askRefund(ctx context.Context, c pay.Claim, may bool) (pay.Claim, error) {
	to, configured, err := rf.refundAt(ctx, c)
	if err != nil {
		return c, err
	}
	asked, err := rf.AskedAt(ctx)
	if err != nil {
		return c, err
	}
	o := pay.Outcome{Kind: c.Call.State}
	switch {
	case !configured:
	case !may:
		o = pay.Outcome{Kind: pay.Unknown}
	default:
		asking, cancel := context.WithTimeout(ctx, pay.CallTimeout)
		defer cancel()
		asking, call := rf.Calling(asking, base.OpQueryRefund, to.account, to.request.Reference)
		o = call.Heard(asking, to.upstream.QueryRefund(asking, to.request))
		rf.lanes.Heard(to.account, o.Asked().Kind != pay.Unknown)
	}
	return rf.called(ctx, c, c.Call.Proved(o.Asked(), asked), view.Cause{})
}

// refundAccount is where a claim's refund is made.
type refundAccount struct {
	account  string
	upstream provider.Provider
	request  provider.RefundRequest
}

// refundAt finds it; false where the account is not configured.
func (rf *Refunds) refundAt(ctx context.Context, c pay.Claim) (refundAccount, bool, error) {
	p, err := rf.Store.Payments.Any(ctx, c.Payment)
	if err != nil {
		return refundAccount{}, false, err
	}
	attempt, ok := p.Taker(c)
	upstream, configured := rf.providers.Upstream(attempt.Provider)
	if !ok || !configured {
		rf.Log.WarnContext(ctx, "a refund waits for a provider that is not configured", "claim", c.ID, "account", attempt.Provider)
		return refundAccount{}, false, nil
	}
	return refundAccount{attempt.Provider, upstream, provider.RefundRequest{
		Reference: c.Reference(), RefundRef: c.Call.Ref, Charge: rf.cascade.Request(p, attempt), Local: c.Local, Reason: c.Reason,
		Sent: c.Call.SentAt(),
	}}, true, nil
}

// called commits what came of a refund at the provider, as it stood then.
func (rf *Refunds) called(ctx context.Context, then pay.Claim, o pay.Outcome, cause view.Cause) (pay.Claim, error) {
	c, err := rf.onClaim(ctx, then.ID, cause, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		next, change := c.Answered(p, then, o, rf.TimeOf(c.Scope))
		return next, change, nil
	})
	if errors.Is(err, store.ErrDuplicate) { // the operator knows
		return then, nil
	}
	return c, err
}
