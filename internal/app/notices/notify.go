// Package notices applies providers' notifications, once each. The cascade, refunds and payouts
// decide what follows. A notice that does not fit is kept for the operator.
package notices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Notices applies providers' notifications.
type Notices struct {
	*base.Base
	providers *accounts.Providers
	cascade   *cascade.Cascade
	refunds   *claims.Claims
	payouts   *payouts.Payouts
}

// New returns a Notices that passes notices to the cascade, refunds and payouts.
func New(b *base.Base, providers *accounts.Providers, c *cascade.Cascade, refunds *claims.Claims, po *payouts.Payouts) *Notices {
	return &Notices{b, providers, c, refunds, po}
}

// Notify applies a provider's notification. Each notice is applied at most once, by the same code
// as the sweep's answers.
//
// Errors: invalid_token if it is not signed by the provider, or if there is no such account; invalid_request if it cannot be read, service_unavailable if the
// provider has to send it again.
func (nt *Notices) Notify(ctx context.Context, account string, n accounts.Notification) error {
	if err := nt.MayMoveMoney(); err != nil {
		return err // the provider sends it again
	}
	d, _ := nt.providers.Connector(account)
	if listener, ok := d.Payouts.(provider.PayoutListener); ok {
		return nt.payouts.ApplyPayoutNotices(ctx, account, listener, n)
	}
	_, _, err := nt.ApplyNotices(ctx, account, n, nil, view.Cause{})
	return err
}

// ApplyNotices is Notify for charges and refunds. It returns the last payment concerned, zero if no notice is about one of
// ours, and all events.
// may can refuse a notice because of the payment's present state; nil refuses nothing.
func (nt *Notices) ApplyNotices(ctx context.Context, account string, n accounts.Notification, may func(pay.Payment) error, cause view.Cause) (p pay.Payment, events []pay.Event, err error) {
	upstream, ok := nt.providers.Upstream(account)
	if !ok {
		return p, nil, accounts.Unsigned(nil) // so that a stranger cannot find out which accounts there are
	}
	notices, err := nt.providers.Notices(ctx, account, upstream, n)
	if err != nil {
		return p, nil, nt.providers.RefuseNotice(ctx, account, err)
	}
	// A notice that cannot be applied does not stop the others.
	var failed error
	for _, notice := range notices {
		next, told, err := nt.applyNotice(ctx, account, notice, may, cause)
		if errors.Is(err, accounts.ErrNotOurs) {
			if err = nt.providers.KeepUnknown(ctx, account, notice.Unknown(), err); err == nil {
				continue
			}
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		p, events = next, append(events, told...)
	}
	return p, events, failed
}

// applyNotice applies one notice.
func (nt *Notices) applyNotice(ctx context.Context, account string, notice pay.Notice, may func(pay.Payment) error, cause view.Cause) (p pay.Payment, events []pay.Event, err error) {
	if !base.Storable(notice.ID) {
		return p, nil, problem.New(problem.InvalidRequest, base.NotUnderstood)
	}
	notice, unread := notice.Storable()
	nt.Quiet.Unread(ctx, account, notice.Reference, unread)
	notice.Account = account
	notice, known, err := nt.ofRefund(ctx, notice, cause)
	if known || err != nil {
		return p, nil, err
	}
	id, _, ok := pay.ParseReference(notice.Reference)
	if !ok || !base.Storable(id) {
		return p, nil, accounts.ErrNotOurs
	}
	if err := nt.refunds.Prove(ctx, notice, cause); err != nil {
		return p, nil, err
	}
	var routes pay.Cascade
	opened := false // this notice opens the next attempt
	err = base.Again(func() error {
		read, err := nt.Store.Payments().Any(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nt.toldOfLost(ctx, notice)
		}
		if err != nil {
			return err
		}
		if may != nil {
			if err := may(read); err != nil {
				return err
			}
		}
		if !read.Attempts.WentTo(notice.Reference, account) {
			return accounts.ErrElsewhere
		}
		notice := notice
		routes = nt.providers.Routes(read)
		if notice.Outcome, routes.By, err = nt.proved(ctx, read, notice); err != nil {
			return err
		}
		nt.cascade.AssignClaims(read, &notice.Outcome, &routes)
		now := nt.TimeOf(read.Scope)
		next, change, err := nt.decide(ctx, read, notice, routes, now)
		if err != nil {
			return err
		}
		err = nt.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrDuplicate) { // a known notice
			p = read
			return nil
		}
		if err != nil {
			return err
		}
		p, events, opened = next, change.Events, len(next.Attempts) > len(read.Attempts)
		return nil
	})
	if err != nil {
		return p, nil, err
	}
	nt.refunds.AskNameless(ctx, p, notice)
	if !opened { // a call that is under way belongs to another one
		return p, events, nil
	}
	// A soft decline opened the next attempt: make its call.
	p, err = nt.cascade.Drive(context.WithoutCancel(ctx), p, routes, cause)
	return p, events, err
}

// ofRefund applies a notice of a refund of ours, and passes other notices on. One that somebody made at the provider may have the
// charge's reference, or name the charge beside its own: then known is false, and the notice is one of that charge.
//
// Errors: accounts.ErrNotOurs if it is neither.
func (nt *Notices) ofRefund(ctx context.Context, n pay.Notice, cause view.Cause) (_ pay.Notice, known bool, err error) {
	if n.Refund == "" {
		return n, false, nil
	}
	if known, err := nt.refunds.ApplyRefundNotice(ctx, n, cause); known || err != nil {
		return n, known, err
	}
	n.Reference, n.Refund, n.Outcome = cmp.Or(n.Reference, n.Refund), "", theirRefund(n.Outcome)
	id, _, _ := pay.ParseReference(n.Reference)
	if _, err := nt.Store.Payments().Any(ctx, id); err != nil {
		return n, false, base.OrRefuse(err, accounts.ErrNotOurs)
	}
	return n, false, nil
}

// theirRefund is what a refund of the provider's own says of its charge.
func theirRefund(o pay.Outcome) pay.Outcome {
	back := &pay.Reversal{Refunds: []pay.ProviderRefund{{ID: o.ProviderRef, Kind: o.Kind, Local: o.Local, News: true}}}
	if o.Kind == pay.Approved {
		back.Total = o.Local
	}
	return pay.Outcome{Kind: pay.Reversed, MoneyRef: o.MoneyRef, Message: o.Message, Back: back}
}

// proved returns the part of a notice's outcome that is proved, and the caller of the payment's next
// call, zero if none may follow.
//
// Errors: store.ErrNoHold.
func (nt *Notices) proved(ctx context.Context, p pay.Payment, n pay.Notice) (pay.Outcome, pay.Caller, error) {
	if n.Outcome.Kind == pay.Reversed && n.Outcome.Local.Currency == "" {
		n.Outcome.Local = p.Price.Local // the provider does not say how much was paid
	}
	attempt, ok := p.Attempts.Current()
	if !ok || !p.Status.Open() && !p.Following() || p.Status == pay.Pending && attempt.Calls <= 1 || n.OfDispute() {
		return n.Outcome, pay.Caller{}, nil
	}
	by, err := nt.Store.Hold(ctx)
	if err != nil {
		return n.Outcome, pay.Caller{}, err
	}
	if n.Reference == p.Reference(attempt.Order) {
		n.Outcome = attempt.ProvedByNotice(n.Outcome.AsQueried(), by.At)
	}
	if p.Status != pay.Processing {
		by = pay.Caller{}
	}
	return n.Outcome, by, nil
}

// Notifications lists the notices of a payment in the order in which they came. If payment is "",
// it lists the mismatched notices of all tenants that wait for the operator.
func (nt *Notices) Notifications(ctx context.Context, payment string, limit int) ([]pay.KeptNotice, error) {
	if payment != "" {
		return nt.Store.Notices().Of(ctx, payment)
	}
	return nt.Store.Notices().Unclosed(ctx, "", limit)
}

// Unknown lists notices about objects that the books do not have, newest first; those of other systems
// as well, which need nobody. One that was closed has the verdict pay.Closed.
func (nt *Notices) Unknown(ctx context.Context, limit int) (list []pay.KeptNotice, err error) {
	kept, err := nt.Store.Notices().Unknown(ctx, "", limit)
	closed := map[string]bool{}
	for _, n := range kept { // the record of a closing is newer than the notice
		switch {
		case n.Verdict == pay.Closed:
			closed[n.ID] = true
			continue
		case closed[n.Closing()]:
			n.Verdict = pay.Closed
		}
		list = append(list, n)
	}
	return list, err
}

// Waits reports whether a notice waits for the operator.
func (nt *Notices) Waits(ctx context.Context, n pay.KeptNotice) (bool, error) {
	if n.Verdict != pay.Mismatched {
		return false, nil
	}
	_, err := nt.Store.Notices().Get(ctx, n.Closing())
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// Notification reads a notice.
//
// Errors: store.ErrNotFound.
func (nt *Notices) Notification(ctx context.Context, id string) (pay.KeptNotice, error) {
	r, err := nt.Store.Notices().Get(ctx, id)
	if err != nil {
		return r, fmt.Errorf("notification %s: %w", id, err)
	}
	return r, nil
}

// CloseNotification records that the operator has dealt with a notice that did not fit its payment.
// It causes no more warnings. The payment does not change; when its last such notice is closed, it
// needs no attention any more, and the merchant gets an event.
//
// Errors: store.ErrNotFound, and an error if the notice does not wait for the operator.
func (nt *Notices) CloseNotification(ctx context.Context, by audit.Actor, id, note string) error {
	r, err := nt.Notification(ctx, id)
	if err = cmp.Or(err, pay.FitNote(note)); err != nil {
		return err
	}
	switch {
	case r.Payment == "":
		return nt.closeAs(ctx, by, r, note, merchants.Scope{}, nt.Now(), nil)
	case strings.HasPrefix(r.Payment, pay.WithdrawalPrefix):
		w, err := nt.Store.Withdrawals().Any(ctx, r.Payment)
		if err != nil {
			return err
		}
		return nt.closeAs(ctx, by, r, note, w.Scope, nt.TimeOf(w.Scope), map[string]string{"withdrawal": w.ID})
	}
	err = base.Again(func() error {
		p, err := nt.Store.Payments().Any(ctx, r.Payment)
		if err != nil {
			return err
		}
		now := nt.TimeOf(p.Scope)
		change, err := r.Close(note, now)
		if err != nil {
			return err
		}
		if last, err := nt.lastOpen(ctx, r); err != nil {
			return err
		} else if _, dealt, ended := p.Dealt(now); last && ended {
			change.Payments, change.Events = dealt.Payments, dealt.Events
		}
		change.Audit = nt.Noted(by, p.Scope, audit.NotificationClosed, r.ID, note, map[string]string{"payment": p.ID})
		return nt.Commit(ctx, change, view.Cause{})
	})
	if errors.Is(err, store.ErrDuplicate) {
		return fmt.Errorf("notification %s was closed before", id)
	}
	return err
}

// closeAs is CloseNotification for a notice whose object does not change.
func (nt *Notices) closeAs(ctx context.Context, by audit.Actor, r pay.KeptNotice, note string, scope merchants.Scope, now time.Time, about map[string]string) error {
	change, err := r.Close(note, now)
	if err != nil {
		return err
	}
	change.Audit = nt.Noted(by, scope, audit.NotificationClosed, r.ID, note, about)
	err = nt.Store.Commit(ctx, change)
	if errors.Is(err, store.ErrDuplicate) {
		return fmt.Errorf("notification %s was closed before", r.ID)
	}
	return err
}

// lastOpen reports whether no other mismatched notice of the payment waits for the operator.
func (nt *Notices) lastOpen(ctx context.Context, r pay.KeptNotice) (bool, error) {
	told, err := nt.Store.Notices().Of(ctx, r.Payment)
	return pay.LastOpen(told, r), err
}

// decide applies a notice to a dispute's claims if it is about a dispute, to those of refunds if it
// lists what went back, else to the payment.
func (nt *Notices) decide(ctx context.Context, p pay.Payment, n pay.Notice, routes pay.Cascade, now time.Time) (pay.Payment, pay.Change, error) {
	if n.OfRefunds(p) {
		return nt.refunds.ApplyRefundList(ctx, p, n)
	}
	if !n.OfDispute() {
		next, change := p.ApplyNotice(n, routes, nt.NewID(pay.ClaimPrefix, now), now)
		return next, change, nil
	}
	claims, err := nt.refunds.Contested(ctx, p)
	if err != nil {
		return p, pay.Change{}, err
	}
	next, change := n.ApplyDispute(p, claims, nt.refunds.NewIDs(now), now)
	return next, change, nil
}

// toldOfLost keeps a notice about a charge that the database may have lost. The request for the
// charge may still be repeated, so the provider has to send the notification again.
//
// Errors: accounts.ErrNotOurs if there was no restore, service_unavailable.
func (nt *Notices) toldOfLost(ctx context.Context, n pay.Notice) error {
	mark, long := id.MarkOf(n.Reference[:strings.LastIndex(n.Reference, "-")])
	if !long || !nt.RecoveryState.Load().Active(nt.Now()) {
		return accounts.ErrNotOurs
	}
	local := n.Outcome.Local
	if local.IsPositive() {
		found := pay.Found{Version: 1, Account: n.Account, Reference: n.Reference, Mark: mark, Kind: pay.FoundCharge, FoundNotes: pay.FoundNotes{
			ProviderRef: n.Outcome.ProviderRef, Minor: local.Minor, Currency: local.Currency, At: nt.Now().UnixMicro(),
		}}
		if err := base.UnlessStale(nt.Store.Commit(ctx, pay.Change{Found: []pay.Found{found}})); err != nil { // stale: it is known
			return err
		}
	}
	nt.Quiet.WarnSometimes(ctx, "a notification is about a charge that the database has lost", n.Account, "account", n.Account, "reference", n.Reference)
	return &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: pay.Recovering}, Reason: notKnownYet}
}
