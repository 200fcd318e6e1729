package claims

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/work"
)

// Claims gives money back: refunds by merchants, and disputes by the issuer. Each is a claim. It
// is safe for use by many goroutines.
type Claims struct {
	*base.Base
	providers *accounts.Providers
	cascade   *cascade.Cascade
	lanes     *accounts.Lanes // queries to providers about refunds; they have limits of their own
	evidence  *accounts.Lanes // evidence to providers, which takes long
	opening   work.Turns      // by payment: refunds are opened one at a time, since many at once would lose races by version
}

// New returns the refunds and disputes of payments that went through the cascade.
func New(b *base.Base, providers *accounts.Providers, through *cascade.Cascade) *Claims {
	return &Claims{Base: b, providers: providers, cascade: through, lanes: accounts.NewLanes(b.Now), evidence: accounts.NewLanes(b.Now)}
}

// Drain waits for calls that are under way.
func (cl *Claims) Drain() {
	cl.lanes.Drain()
	cl.evidence.Drain()
}

// Silent counts the provider accounts that do not answer queries about refunds.
func (cl *Claims) Silent() int { return cl.lanes.Silent() }

// NewRefund is a request for a refund (REF-1).
type NewRefund struct {
	Payment     string
	Amount      string // JSON text, local major units; empty: all that is left
	Currency    string // of Amount, in any case; empty: the payment's
	Reason      string
	Idempotency base.Idempotency
	By          audit.Actor
}

// Refund opens a refund and makes it at the provider. The reply shows the refund as it was opened,
// pending: its claim shows the result. A repeat gets the same reply. replayed: an earlier request
// with the same key had opened it.
//
// Errors: transaction_not_found, idempotency_conflict, and those of
// pay.Payment.Refund.
func (cl *Claims) Refund(ctx context.Context, scope merchants.Scope, n NewRefund) (r pay.Refund, replayed bool, err error) {
	if r, found, err := cl.refundBefore(ctx, scope, n.Idempotency); found || err != nil {
		return r, found, err
	}
	cause := view.Cause{RequestID: n.By.Request, IdempotencyKey: n.Idempotency.Key}
	made, err := cl.requestRefund(ctx, scope, n, cause)
	if errors.Is(err, store.ErrDuplicate) { // by a request at the same time
		return cl.refundBefore(ctx, scope, n.Idempotency)
	}
	if err != nil {
		return r, false, err
	}
	if !made.replayed {
		cl.FinishRefund(ctx, made, cause)
	}
	return made.claim.Opened(), made.replayed, nil
}

// requestRefund commits the intent of a refund. It reads the payment once, in its turn.
func (cl *Claims) requestRefund(ctx context.Context, scope merchants.Scope, n NewRefund, cause view.Cause) (made Claimed, err error) {
	done, err := cl.opening.Lock(ctx, turnOf(scope, n.Payment))
	if err != nil {
		return made, err
	}
	defer done()
	p, err := cl.cascade.Payment(ctx, scope, n.Payment)
	if err = cmp.Or(err, problem.Fit(problem.Text{Param: "reason", Text: n.Reason, Most: pay.MaxRefundReason}), cl.MayMoveMoney()); err != nil {
		return made, err
	}
	if currency := p.Price.Local.Currency; n.Currency != "" && !strings.EqualFold(n.Currency, string(currency)) {
		return made, problem.Field(problem.InvalidRequest, "currency", refundInOtherCurrency.With(currency))
	}
	amount, err := parseLocal(n.Amount, p.Price.Local.Currency)
	if err != nil {
		return made, err
	}
	asked := pay.NewRefund{Amount: amount, Reason: n.Reason}
	made, _, err = cl.openRefund(ctx, p, asked, cl.providerRefunds, n.By, n.Idempotency, cause)
	return made, err
}

// turnOf is the key of a payment's turn. Others than its merchant, who may guess its id, do not wait in it.
func turnOf(scope merchants.Scope, payment string) string { return scope.Merchant + " " + payment }

// providerRefunds returns an error if the provider that has a payment's money refunds none of its method.
//
// Errors: conflict_state.
func (cl *Claims) providerRefunds(p pay.Payment) error {
	attempt, _ := p.Attempts.Get(p.End.Captured)
	upstream, ok := cl.providers.Upstream(attempt.Provider)
	if !ok || provider.Refunds(upstream, cl.cascade.Request(p, attempt).Rail) {
		return nil
	}
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{Reason: "method_not_refundable"},
		Reason: methodNotRefundable}
}

// FinishRefund makes a refund whose intent is committed. From here we must finish it, even if the
// caller no longer waits, and even if its outcome cannot be written.
func (cl *Claims) FinishRefund(ctx context.Context, of Claimed, cause view.Cause) pay.Claim {
	made, err := cl.makeRefund(context.WithoutCancel(ctx), of, cause)
	if err != nil {
		cl.Log.ErrorContext(ctx, "a refund's outcome was not written; it is queried again", "claim", of.claim.ID, "error", err)
		return of.claim
	}
	return made
}

// refundBefore returns the refund of an earlier request with the same key.
func (cl *Claims) refundBefore(ctx context.Context, scope merchants.Scope, i base.Idempotency) (r pay.Refund, found bool, err error) {
	id, found, err := cl.Earlier(ctx, scope, i)
	if err != nil || !found {
		return r, false, err
	}
	claim, err := cl.Store.Claims().Get(ctx, scope, id)
	return claim.Opened(), err == nil, err
}

// parseLocal reads a refund's amount from its JSON text (REF-1); zero for an empty text.
func parseLocal(text string, currency money.Currency) (money.Amount, error) {
	if text == "" {
		return money.New(0, currency), nil
	}
	amount, err := money.Parse(text, currency)
	switch {
	case errors.Is(err, money.ErrPrecision):
		return amount, problem.Field(problem.AmountInvalid, "amount", refundTooManyDecimals.With(currency, currency.Exponent()))
	case errors.Is(err, money.ErrRange) && !strings.HasPrefix(text, "-"):
		return amount, problem.Field(problem.AmountAboveMaximum, "amount", refundBeyondRefundable)
	case err != nil || !amount.IsPositive():
		return amount, problem.Field(problem.AmountInvalid, "amount", refundAmountUnreadable.With(currency))
	}
	return amount, nil
}

// Claimed is a claim with its payment, as they were read, or as they were written a moment ago. What is decided of it is read again
// only if it was changed meanwhile.
type Claimed struct {
	claim   pay.Claim
	payment pay.Payment // zero: to be read
	// replayed: an earlier request made the refund, or a provider has it of one. It is not requested.
	replayed bool
}

// Payment is the payment.
func (c Claimed) Payment() pay.Payment { return c.payment }

// OpenRefund is requestRefund for the sandbox, without a key. may can refuse the refund of the payment's present state.
func (cl *Claims) OpenRefund(ctx context.Context, scope merchants.Scope, payment string, n pay.NewRefund, may func(pay.Payment) error, cause view.Cause) (made Claimed, events []pay.Event, err error) {
	done, err := cl.opening.Lock(ctx, turnOf(scope, payment))
	if err != nil {
		return made, nil, err
	}
	defer done()
	p, err := cl.cascade.Payment(ctx, scope, payment)
	if err = cmp.Or(err, cl.MayMoveMoney()); err != nil {
		return made, nil, err
	}
	return cl.openRefund(ctx, p, n, may, audit.Actor{}, base.Idempotency{}, cause)
}

// openRefund commits the intent of a refund, unless a provider has made it for the same request before a restore: see decideRefund.
func (cl *Claims) openRefund(ctx context.Context, p pay.Payment, n pay.NewRefund, may func(pay.Payment) error, by audit.Actor, i base.Idempotency, cause view.Cause) (made Claimed, events []pay.Event, err error) {
	if made, err := cl.regainRefund(ctx, p, n, by, i, cause); err != nil || made.replayed {
		return made, nil, err
	}
	return cl.decideRefund(ctx, p, n, may, by, i, cause)
}

// decideRefund commits the intent of a refund of a payment that was read with its settlement. If the payment or the balance changed
// meanwhile, it reads and decides again. It returns ErrDuplicate if the key was used. may can refuse the refund of the payment's
// present state; nil never does. Without an actor there is no audit entry.
func (cl *Claims) decideRefund(ctx context.Context, p pay.Payment, n pay.NewRefund, may func(pay.Payment) error, by audit.Actor, i base.Idempotency, cause view.Cause) (made Claimed, events []pay.Event, err error) {
	fixed, changed := n.ID, false
	err = base.Again(func() (err error) {
		if changed {
			if p, err = cl.Store.Payments().Any(ctx, p.ID); err == nil {
				p, err = base.Settled(ctx, cl.Base, p)
			}
		}
		if changed = true; err != nil {
			return err
		}
		if n.Caller, err = cl.Store.Hold(ctx); err != nil {
			return err
		}
		now := cl.TimeOf(p.Scope)
		balances, err := cl.Store.Books().Balances(ctx, p.Scope)
		if err != nil {
			return err
		}
		if may != nil {
			if err := may(p); err != nil {
				return err
			}
		}
		if n.Released, err = cl.released(ctx, p); err != nil {
			return err
		}
		if n.ID = fixed; fixed == "" {
			n.ID = cl.MarkedID(pay.ClaimPrefix, now, i.Mark(cl.Vault, p.Scope))
		}
		next, claim, change, err := p.Refund(n, balances, now)
		if err != nil {
			// The same request may have come first, and be the reason for the error.
			if _, found, other := cl.Earlier(ctx, p.Scope, i); found || other != nil {
				return cmp.Or(other, store.ErrDuplicate)
			}
			return err
		}
		change.Once = i.Guard(p.Scope, claim.ID, now)
		if by != (audit.Actor{}) {
			change.Audit = cl.Audited(by, p.Scope, audit.RefundOpened, claim.ID, map[string]string{"payment": p.ID, "amount": claim.Local.String()})
		}
		made, events = Claimed{claim: claim, payment: next}, change.Events
		return cl.Commit(ctx, change, cause)
	})
	return made, events, err
}

// released reports whether the release of the payment's reserve has begun. A day that no settlement
// has collected yet has no row, and is not released.
func (cl *Claims) released(ctx context.Context, p pay.Payment) (bool, error) {
	if p.Terms.Reserve == 0 {
		return false, nil
	}
	day := pay.ReserveOf(p)
	found, err := cl.Store.Reserves().ByID(ctx, []string{day})
	return found[day].Closed(), err
}

// makeRefund requests a refund whose intent this call has committed, and commits the outcome. If it
// is too late for the call, the refund is left to the sweep, which queries first.
func (cl *Claims) makeRefund(ctx context.Context, of Claimed, cause view.Cause) (pay.Claim, error) {
	c := of.claim
	to, configured := cl.refundAt(ctx, c, of.payment)
	o := pay.Outcome{Kind: c.Call.State} // no call was made, so nothing new is known
	if configured {
		mayLeave := cl.Fence(c.Call.Flight)
		if !mayLeave() || cl.Shut() {
			return c, nil
		}
		ctx, cancel := context.WithTimeout(provider.Fenced(ctx, mayLeave), pay.CallTimeout)
		defer cancel()
		ctx, call := cl.Calling(ctx, base.OpRefund, to.account, to.request.Reference)
		o = call.EndedCharge(ctx, to.upstream.Refund(ctx, to.request))
	}
	return cl.applyRefundAnswer(ctx, of, o, cause)
}

// askRefund queries the provider about a refund, if the account may be queried, and commits the
// answer. If it may not, the outcome is unknown.
func (cl *Claims) askRefund(ctx context.Context, c pay.Claim, may bool) (pay.Claim, error) {
	p, err := cl.Store.Payments().Any(ctx, c.Payment)
	if err != nil {
		return c, err
	}
	to, configured := cl.refundAt(ctx, c, p)
	node, err := cl.Store.Hold(ctx)
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
		asking, call := cl.Calling(asking, base.OpQueryRefund, to.account, to.request.Reference)
		o = call.EndedCharge(asking, to.upstream.QueryRefund(asking, to.request))
		cl.lanes.Record(ctx, to.account, o.AsQueried().Kind != pay.Unknown)
	}
	return cl.applyRefundAnswer(ctx, Claimed{claim: c}, c.Call.ProvedByQuery(o.AsQueried(), node.At), view.Cause{})
}

// refundAccount is the account at which a claim's refund is made.
type refundAccount struct {
	account  string
	upstream provider.Provider
	request  provider.RefundRequest
}

// refundAt finds the account; false if it is not configured.
func (cl *Claims) refundAt(ctx context.Context, c pay.Claim, p pay.Payment) (refundAccount, bool) {
	attempt, ok := c.PaidAttempt(p)
	upstream, configured := cl.providers.Upstream(attempt.Provider)
	if !ok || !configured {
		cl.Log.WarnContext(ctx, "a refund waits for a provider that is not configured", "claim", c.ID, "account", attempt.Provider)
		return refundAccount{}, false
	}
	first, last := c.Call.SentAt()
	return refundAccount{attempt.Provider, upstream, provider.RefundRequest{
		Reference: c.Reference(), RefundRef: c.Call.Ref, Charge: cl.cascade.Request(p, attempt), Local: c.Local, Reason: c.Reason,
		Sent: first, Last: last,
	}}, true
}

// applyRefundAnswer commits the outcome of a call or query about the refund; before is the claim as it was at the call.
func (cl *Claims) applyRefundAnswer(ctx context.Context, before Claimed, o pay.Outcome, cause view.Cause) (pay.Claim, error) {
	known := before
	if before.claim.Kind != pay.UserDispute { // news of a dispute may have been held back meanwhile, of which only the payment tells
		known = Claimed{claim: pay.Claim{ID: before.claim.ID}}
	}
	c, err := cl.decideOn(ctx, known, cause, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		next, change := c.ApplyRefundAnswer(p, before.claim, o, cl.TimeOf(c.Scope))
		return next, change, nil
	})
	if errors.Is(err, store.ErrDuplicate) { // the operator has it already
		return before.claim, nil
	}
	return c.claim, err
}
