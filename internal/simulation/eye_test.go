package simulation

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// look opens the eye: a Store without faults.
func (w *world) look(sealKey []byte) (err error) {
	w.versions, w.sessions = map[string]int64{}, map[string]merchants.Scope{}
	w.statuses, w.passed = map[string]pay.Status{}, map[string]bool{}
	w.eye, err = store.Open(context.Background(), "", store.Options{Shared: w.shared, SealKey: sealKey, Written: w.see})
	return err
}

// see checks every change when it is written.
func (w *world) see(change *pay.Change) {
	w.quick(change)
	for _, s := range change.Sessions {
		if _, known := w.sessions[s.ID]; !known && s.Version == 1 { // a node that was killed did not report its first version
			w.began(s.ID, s.Merchant)
		}
		w.sessions[s.ID] = s.Scope
	}
	for _, p := range change.Payments {
		if p.Version < w.versions[p.ID] { // its node was stalled before it reported the change
			continue
		}
		if p.Version == 1 && w.versions[p.ID] == 0 && p.Live {
			w.began(p.ID, p.Merchant)
		}
		w.versions[p.ID] = p.Version
		if before, known := w.statuses[p.ID]; known && before != p.Status && !follows(before, p) {
			w.find(lifeGoesOn, p.ID, "%s was %s, and is %s", p.ID, before, p.Status)
		}
		if current, ok := p.Attempts.Current(); ok && p.Status == pay.Failed && w.statuses[p.ID] != pay.Failed {
			ref := p.Reference(current.Order)
			made := w.upstreams[current.Provider].charges[ref]
			// If a charge cannot be ended, the shopper may still pay a payment that the shop
			// canceled.
			u := w.upstreams[current.Provider]
			payable := p.End.Canceled() && (!u.cancels || u.stubborn) || overdue(p)
			if made != nil && !made.lied && !payable && len(made.panel) == 0 && (made.status == "open" || made.status == "paid" && made.paid == made.asked) {
				w.find(failsUnpaid, p.ID, "%s has failed, and %s is %s", p.ID, ref, made.status)
			}
		}
		w.statuses[p.ID] = p.Status
		for _, attempt := range p.Attempts {
			ref := p.Reference(attempt.Order)
			if attempt.Status != pay.Missing || w.passed[ref] {
				continue
			}
			w.passed[ref] = true
			// The operator may also have resolved a refused charge.
			u := w.upstreams[attempt.Provider]
			if u == nil || u.charges[ref] == nil || u.charges[ref].lied {
				continue
			}
			if status := u.charges[ref].status; status == "open" || status == "paid" || p.End.Failure == nil || p.End.Failure.Code != "not_charged" {
				w.find(chargedOnce, p.ID, "%s counts as missing, and %s has it", ref, u.name)
			}
		}
	}
}

// follows reports whether a payment may go from one status to another.
func follows(from pay.Status, p pay.Payment) bool {
	to := p.Status
	switch from {
	case pay.Processing:
		return true
	case pay.Pending:
		current, _ := p.Attempts.Current()
		return to != pay.Processing || current.Again && current.Status == pay.Sending
	case pay.Completed:
		return to == pay.Refunded || to == pay.Chargeback
	case pay.Refunded:
		return to == pay.Chargeback
	}
	return false
}

// overdue reports whether the time of a card's page was over when its payment failed. As after an expiry, the page may be open still.
func overdue(p pay.Payment) bool {
	return p.Way.Sync && !p.Times.Expires.IsZero() && !p.Times.Failed.Before(p.Times.Expires)
}

// arrived checks each new charge at a provider.
func (w *world) arrived(u *upstream, made *charge) {
	if w.passed[made.ref] {
		w.find(chargedOnce, made.payment, "%s arrived at %s after it counted as missing", made.ref, u.name)
	}
	for _, name := range accountIDs {
		for _, other := range w.upstreams[name].charges {
			if other != made && !other.lied && other.payment == made.payment && (other.status == "open" || other.status == "paid") && made.status != "declined" && made.status != "soft" {
				w.find(chargedOnce, made.payment, "%s arrived at %s while %s had %s", made.ref, u.name, name, other.ref)
			}
		}
	}
}
