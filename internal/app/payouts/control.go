package payouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store"
)

// LimitPayouts changes the limits for withdrawals of a merchant in an environment, or with "" of
// all merchants together, and returns them.
//
// Errors: invalid_request; store.ErrNotFound for an unknown merchant; those of base.DualControls.Require, unless payouts are stopped.
func (po *Payouts) LimitPayouts(ctx context.Context, by audit.Actor, merchant string, live bool, change func(*pay.PayoutLimits)) (set pay.PayoutControl, err error) {
	if merchant != "" {
		if _, err := po.Store.Merchants().Get(ctx, merchant); err != nil {
			return set, fmt.Errorf("merchant %s: %w", merchant, err)
		}
	}
	err = base.Again(func() error {
		present, err := po.Control(ctx, merchant, live)
		if err != nil {
			return err
		}
		limits := present.PayoutLimits
		if change(&limits); limits == present.PayoutLimits {
			set = present
			return nil
		}
		if !present.Stops(limits) {
			if err := po.Dual.Require(ctx, by, base.Ask{
				Right: operators.Limits, Kind: "payouts.limits", Subject: present.ID, Details: limitDetails(limits), Body: limited{merchant, live, limits, present.PayoutLimits},
			}); err != nil {
				return err
			}
		}
		next, written, err := present.Set(limits)
		if err != nil {
			return err
		}
		written.Audit = po.Audited(by, merchants.Scope{Merchant: merchant, Live: live}, audit.PayoutsLimited, next.ID, limitDetails(limits))
		if written.Settlements, err = po.wakened(ctx, present, limits); err != nil {
			return err
		}
		set = next
		return po.Store.Commit(ctx, written)
	})
	return set, err
}

// limited are limits of a merchant, or of all.
type limited struct {
	Merchant string
	Live     bool
	Limits   pay.PayoutLimits
	Before   pay.PayoutLimits // when it was proposed
}

func limitDetails(l pay.PayoutLimits) map[string]string {
	return map[string]string{
		"stopped": l.Stopped, "approvalAbove": strconv.FormatInt(l.ApprovalAbove, 10),
		"hourly": strconv.FormatInt(l.Hourly, 10), "daily": strconv.FormatInt(l.Daily, 10),
		"schedule": l.Schedule.Word(), "minimum": strconv.FormatInt(l.Minimum, 10), "days": l.Days,
	}
}

// wakened is woken if new limits make a merchant's payouts automatic.
func (po *Payouts) wakened(ctx context.Context, present pay.PayoutControl, limits pay.PayoutLimits) ([]pay.Settlement, error) {
	if present.Merchant == "" {
		return nil, nil
	}
	scope := merchants.Scope{Merchant: present.Merchant, Live: present.Live}
	terms, err := po.terms(ctx, scope)
	next := limits.Payouts(terms.Payouts)
	if err != nil || next == present.Payouts(terms.Payouts) || !next.Automatic {
		return nil, err
	}
	return po.woken(ctx, scope)
}

func (po *Payouts) terms(ctx context.Context, scope merchants.Scope) (merchants.Terms, error) {
	m, err := po.Store.Merchants().Get(ctx, scope.Merchant)
	if err != nil {
		return merchants.Terms{}, err
	}
	return po.plans.Terms(ctx, scope, m)
}

// Agreed is how a merchant is paid out now: as its price plan says, or as the operator set it for the merchant.
func Agreed(ctx context.Context, po *Payouts, scope merchants.Scope) (merchants.Payouts, error) {
	control, err := po.Control(ctx, scope.Merchant, scope.Live)
	if err != nil {
		return merchants.Payouts{}, err
	}
	terms, err := po.terms(ctx, scope)
	return control.Payouts(terms.Payouts), err
}

// woken is the newest settlement that is owed, which looks for all from now on. While nothing was agreed, it looked once a day.
func (po *Payouts) woken(ctx context.Context, scope merchants.Scope) ([]pay.Settlement, error) {
	list, err := po.Store.Settlements().Uncovered(ctx, scope)
	if err != nil {
		return nil, err
	}
	made, err := po.Store.Withdrawals().Uncovering(ctx, scope)
	if err != nil {
		return nil, err
	}
	_, of := pay.Owed(list, made)
	if len(of) == 0 {
		return nil, nil
	}
	newest := of[len(of)-1]
	newest.DueAt = time.Time{} // the loop checks at once, not at its next time
	return newest.Woken(po.TimeOf(scope)), nil
}

// Control reads one control; a new one if there is none.
func (po *Payouts) Control(ctx context.Context, merchant string, live bool) (pay.PayoutControl, error) {
	id := pay.PayoutControlID(merchant, live)
	list, err := po.Store.Withdrawals().Controls(ctx, merchant, live)
	for _, c := range list {
		if c.ID == id {
			return c, err
		}
	}
	return pay.PayoutControl{ID: id, Merchant: merchant, Live: live}, err
}

// Controls lists the limits for withdrawals, for the operator.
func (po *Payouts) Controls(ctx context.Context) ([]pay.PayoutControl, error) {
	return po.Store.Withdrawals().AllControls(ctx)
}

// passed is a withdrawal that passes the limits, and why.
type passed struct{ Withdrawal, Note string }

// ApproveWithdrawal lets a withdrawal pass the limits.
//
// Errors: store.ErrNotFound, conflict_state, store.ErrNotProved; those of base.DualControls.Require.
func (po *Payouts) ApproveWithdrawal(ctx context.Context, by audit.Actor, id, note string) (approved pay.Withdrawal, err error) {
	if err := pay.FitNote(note); err != nil {
		return approved, err
	}
	err = base.Again(func() error {
		w, err := po.Store.Withdrawals().Any(ctx, id)
		if err != nil {
			return err
		}
		next, change, err := w.Approve(by.ID, po.TimeOf(w.Scope))
		if err == nil {
			err = po.provedAsIs(ctx, w)
		}
		if err == nil {
			err = po.Dual.Require(ctx, by, base.Ask{
				Right: operators.Payouts, Kind: "withdrawal.approve", Subject: w.ID, Body: passed{w.ID, note},
				Details: map[string]string{"merchant": w.Merchant, "amount": strconv.FormatInt(w.Amount, 10), "note": note},
			})
		}
		if err != nil {
			return err
		}
		change.Audit = po.Noted(by, w.Scope, audit.WithdrawalApproved, w.ID, note, map[string]string{"amount": strconv.FormatInt(w.Amount, 10)})
		approved = next
		return po.Store.Commit(ctx, change)
	})
	return approved, err
}

// WaitingWithdrawals lists withdrawals that are due and not sent, with the reason, oldest first.
func (po *Payouts) WaitingWithdrawals(ctx context.Context, limit int) ([]pay.Withdrawal, error) {
	return po.Store.Withdrawals().Waiting(ctx, "", limit)
}

// errHeld says that the gate holds a withdrawal.
var errHeld = errors.New("the gate holds the withdrawal")

// floatLook is the pause before an account is chosen again for a withdrawal whose float others took: there may be another, and
// the next choice sees what is left.
const floatLook = time.Second

// lacksFloat records that other payouts took the float for a withdrawal. Soon an account is chosen
// again.
//
// It returns errHeld.
func (po *Payouts) lacksFloat(ctx context.Context, w pay.Withdrawal, now time.Time) error {
	w.Waiting = "" // written even if it waits for that already
	_, change, _ := w.Wait(string(pay.WaitsFloat), now.Add(floatLook), now)
	return cmp.Or(po.Store.Commit(ctx, change), errHeld)
}

// sending records that a withdrawal is about to be sent, if the gate lets it through. missing: it was sent before, and its account
// proved that it does not have it.
//
// Errors: errHeld if the gate holds it, base.ErrDoneByOthers if it has moved on.
func (po *Payouts) sending(ctx context.Context, w pay.Withdrawal, route pay.PayoutRoute, by pay.Caller, missing bool) (sent pay.Withdrawal, err error) {
	now := po.TimeOf(w.Scope)
	err = base.Again(func() error {
		p, err := po.gate(ctx, w, now)
		if err != nil {
			return err
		}
		if p.why != pay.Payable {
			return po.turnAway(ctx, w, p, missing)
		}
		if w.Status != pay.WithdrawalPending { // an account with enough float has the withdrawal already
			return po.sendAgain(ctx, &sent, w, route, p, by, now)
		}
		// Read again: the withdrawal may have waited in its account's lane for long.
		have, err := po.floats.free(ctx, 1)
		if err != nil {
			return err
		}
		need, free := have.of(route.Account, w)
		if need.Minor > free.Minor {
			return po.lacksFloat(ctx, w, now)
		}
		route.Float = need
		next, change := w.Send(route, by, now)
		change.Controls = p.counted
		if err = po.Store.Commit(ctx, change); !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrInsufficient) {
			sent = next
			return err
		}
		if errors.Is(err, store.ErrInsufficient) {
			return po.lacksFloat(ctx, w, now)
		}
		return po.movedOn(ctx, w, err)
	})
	return sent, err
}

// sendAgain records that a withdrawal is sent to its account once more.
func (po *Payouts) sendAgain(ctx context.Context, sent *pay.Withdrawal, w pay.Withdrawal, route pay.PayoutRoute, p passage, by pay.Caller, now time.Time) error {
	next, change := w.Send(route, by, now)
	change.Controls = p.counted
	err := po.Store.Commit(ctx, change)
	if errors.Is(err, store.ErrStale) {
		return po.movedOn(ctx, w, err)
	}
	*sent = next
	return err
}

// movedOn returns stale if only something beside the withdrawal has changed, such as its wallet or what was counted of other
// payouts, and base.ErrDoneByOthers if the withdrawal has moved on.
func (po *Payouts) movedOn(ctx context.Context, w pay.Withdrawal, stale error) error {
	read, err := po.Store.Withdrawals().Get(ctx, w.Scope, w.ID)
	if err != nil {
		return err
	}
	if read.Version != w.Version {
		return base.ErrDoneByOthers
	}
	return stale
}
