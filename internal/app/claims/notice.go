package claims

import (
	"cmp"
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// ApplyRefundNotice applies a provider's notice about a refund. known is false if no refund of ours has its
// reference.
func (cl *Claims) ApplyRefundNotice(ctx context.Context, n pay.Notice, cause view.Cause) (known bool, err error) {
	id, _, ok := pay.ParseRefundReference(n.Refund)
	if !ok || !base.Storable(id) {
		return true, accounts.ErrNotOurs
	}
	err = base.Again(func() error {
		c, err := cl.Store.Claims().Any(ctx, id)
		if err != nil {
			return err
		}
		p, err := cl.Store.Payments().Any(ctx, c.Payment)
		if err != nil {
			return err
		}
		if attempt, ok := c.PaidAttempt(p); !ok || attempt.Provider != n.Account {
			return accounts.ErrElsewhere
		}
		node, err := cl.Store.Hold(ctx)
		if err != nil {
			return err
		}
		notice := n
		if c.Calling() { // otherwise the notice is compared with the refund's end
			notice.Outcome = c.Call.ProvedByNotice(n.Outcome.AsQueried(), node.At)
		}
		now := cl.TimeOf(c.Scope)
		_, change := c.ApplyRefundNotice(p, notice, cl.NewID(pay.ClaimPrefix, now), now)
		err = cl.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrDuplicate) { // a known notice
			return nil
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return true, err
}

// ApplyRefundList decides about a provider's list of what it gave back of a payment.
//
// Errors: service_unavailable while one of the refunds may be one of ours whose call is on its way:
// the provider has to send the notice again.
func (cl *Claims) ApplyRefundList(ctx context.Context, p pay.Payment, n pay.Notice) (pay.Payment, pay.Change, error) {
	claims, err := cl.Contested(ctx, p)
	if err != nil {
		return p, pay.Change{}, err
	}
	node, err := cl.Store.Hold(ctx)
	if err != nil {
		return p, pay.Change{}, err
	}
	if p, err = base.Settled(ctx, cl.Base, p); err != nil {
		return p, pay.Change{}, err
	}
	if n.Waits(p, claims, node.At) {
		return p, pay.Change{}, &problem.Error{Code: problem.ServiceUnavailable, Reason: refundMayBeThis}
	}
	now := cl.TimeOf(p.Scope)
	ids := []string{cl.NewID(pay.ClaimPrefix, now)} // one more for what only the total shows
	if n.Outcome.Back != nil {
		for range n.Outcome.Back.Refunds {
			ids = append(ids, cl.NewID(pay.ClaimPrefix, now))
		}
	}
	next, change := n.ApplyRefundList(p, claims, ids, now)
	return next, change, nil
}

// Booking is a refund that the provider or the operator has made, and that the operator books.
type Booking struct {
	Payment   string
	Amount    string // major units of the payment's local currency; empty: all that is left
	Reference string // the provider's id of the refund, or the bank's reference
	Origin    pay.Origin
	Note      string
}

// BookRefund books a refund that was made already, for the operator. The same reference is booked
// once.
//
// Errors: transaction_not_found; those of pay.NewBooking.Book.
func (cl *Claims) BookRefund(ctx context.Context, by audit.Actor, b Booking) (claim pay.Claim, err error) {
	reference := problem.Text{Param: "reference", Text: b.Reference, Most: pay.MaxRefundReference}
	if err := cmp.Or(pay.FitNote(b.Note), problem.Fit(reference), cl.MayMoveMoney()); err != nil {
		return claim, err
	}
	err = base.Again(func() error {
		p, err := cl.Store.Payments().Any(ctx, b.Payment)
		if err != nil {
			return base.OrRefuse(err, problem.New(problem.TransactionNotFound, noPaymentNamed.With(b.Payment)))
		}
		local, err := parseLocal(b.Amount, p.Price.Local.Currency)
		if err != nil {
			return err
		}
		if p, err = base.Settled(ctx, cl.Base, p); err != nil {
			return err
		}
		claims, err := cl.Contested(ctx, p)
		if err != nil {
			return err
		}
		now := cl.TimeOf(p.Scope)
		_, booked, change, err := pay.NewBooking{
			ID: cl.NewID(pay.ClaimPrefix, now), Ref: b.Reference, Origin: b.Origin, Local: local, Note: b.Note,
		}.Book(p, claims, now)
		if err != nil {
			return err
		}
		change.Audit = cl.Noted(by, p.Scope, audit.RefundBooked, booked.ID, b.Note,
			map[string]string{"payment": p.ID, "amount": booked.Local.String(), "origin": string(b.Origin), "reference": b.Reference})
		claim = booked
		return cl.Commit(ctx, change, view.Cause{RequestID: by.Request})
	})
	return claim, err
}
