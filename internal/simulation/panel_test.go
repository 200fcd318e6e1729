package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// panelRefund is a refund that a provider made by itself: in its panel, or because it decided so.
type panelRefund struct {
	id     string
	amount money.Amount
	failed bool
}

// left is what the shopper has not got back of a charge's first money, by refunds or by disputes.
func (u *upstream) left(made *charge) int64 {
	left := made.paid.Minor
	for _, r := range u.refunds {
		if r.charge == made.ref && r.money == made.money(0) && r.status != "failed" {
			left -= r.amount.Minor
		}
	}
	for _, r := range made.panel {
		if !r.failed {
			left -= r.amount.Minor
		}
	}
	for _, d := range u.disputed(made) {
		if d.status != "won" {
			left -= d.amount.Minor
		}
	}
	return left
}

// whole reports whether the provider gave back all of a charge by itself.
func (c *charge) whole() bool {
	left := c.paid.Minor
	for _, r := range c.panel {
		if !r.failed {
			left -= r.amount.Minor
		}
	}
	return c.status == "paid" && left == 0
}

// reversed adds what went back to the outcome of a paid charge.
func (u *upstream) reversed(made *charge, o pay.Outcome) pay.Outcome {
	back := &pay.Reversal{Total: money.New(0, made.paid.Currency)}
	add := func(r pay.ProviderRefund) {
		if back.Refunds = append(back.Refunds, r); r.Kind != pay.Declined {
			back.Total.Minor += r.Local.Minor
		}
	}
	for _, r := range u.refunds {
		if r.charge == made.ref && r.money == made.money(0) {
			add(pay.ProviderRefund{ID: r.outcome().ProviderRef, Reference: r.ref, Kind: r.outcome().Kind, Local: r.amount})
		}
	}
	slices.SortFunc(back.Refunds, func(a, b pay.ProviderRefund) int { return map[bool]int{true: -1, false: 1}[a.ID < b.ID] })
	for _, r := range made.panel {
		add(pay.ProviderRefund{ID: r.id, Kind: map[bool]pay.OutcomeKind{true: pay.Declined, false: pay.Approved}[r.failed], Local: r.amount})
	}
	if len(back.Refunds) == 0 {
		return o
	}
	if o.Back = back; back.Total.IsPositive() {
		o.Kind = pay.Reversed
	}
	return o
}

// panels lets a provider give back a paid charge by itself: at once, so that the refund is the first
// news, or in the hours after. It may fail later. A provider that tells nothing cannot be known.
func (u *upstream) panels(made *charge) {
	c := u.w.turns
	if u.silent || made.paid != made.asked || u.w.eye == nil { // without an eye, the world is being prepared
		return
	}
	if c.one(25) {
		u.giveBack(made, 1)
		return
	}
	if !c.one(6) {
		return
	}
	times, wait := 1+c.chance.IntN(3), c.about(time.Second, 20*time.Hour)
	u.w.aside.Go(func() {
		for n := range times {
			time.Sleep(wait)
			c.turn(fmt.Sprint(u.name, " gives back ", made.ref, " by itself"))
			if !u.silent && u.giveBack(made, n+1) {
				u.tell(made.ref, fmt.Sprint(made.ref, "/panel", n+1))
			}
		}
	})
}

// giveBack makes one refund of the provider's own. It returns false if nothing is left, or if the
// shopper disputes the charge.
func (u *upstream) giveBack(made *charge, n int) bool {
	c := u.w.turns
	left := u.left(made)
	if left <= 0 || len(u.disputed(made)) > 0 {
		return false
	}
	r := &panelRefund{id: fmt.Sprint("panel:", made.ref, ":", n), amount: money.New(left, made.paid.Currency)}
	if c.one(2) {
		r.amount.Minor = 1 + c.chance.Int64N(left)
	}
	made.panel = append(made.panel, r)
	u.w.count("refunds of the provider's own")
	if c.one(4) {
		wait := c.about(time.Minute, 30*time.Hour)
		u.w.aside.Go(func() {
			time.Sleep(wait)
			c.turn(fmt.Sprint(u.name, " gets back ", r.id))
			if u.silent {
				return
			}
			r.failed = true
			u.w.count("refunds of the provider's own that failed later")
			u.tell(made.ref, fmt.Sprint(made.ref, "/panel", n, "/failed"))
		})
	}
	return true
}

// failsLate lets a refund of ours that was confirmed fail later: the shopper's bank sent it back.
func (u *upstream) failsLate(made *refund) {
	c := u.w.turns
	if u.silent || !c.one(8) {
		return
	}
	wait := c.about(time.Minute, 30*time.Hour)
	u.w.aside.Go(func() {
		time.Sleep(wait)
		c.turn(u.name + " gets back refund " + made.ref)
		if made.status != "done" || u.silent {
			return
		}
		made.status = "failed"
		u.w.count("refunds that failed after their confirmation")
		u.tell(made.ref, made.ref+"/came back")
	})
}

// takeBack lets the operator book refunds that came back, and whose news decided nothing: the operator had approved them.
func (w *world) takeBack() {
	w.turns.turn("the operator reads of refunds that came back")
	n := w.anyone()
	list, err := n.app.Claims.AnyList(lane(context.Background(), "operator"), "", pay.UserDispute, 1000)
	if err != nil {
		w.find(operatorWorks, "", "%v", err)
	}
	for _, c := range list {
		if c.Origin != pay.ByMerchant || !c.Status.Pays() || c.Call.Returned != "" || w.refunded(c) {
			continue
		}
		told, err := w.eye.Notices().Of(context.Background(), c.Payment)
		if err != nil || !slices.ContainsFunc(told, func(r pay.KeptNotice) bool { return r.Verdict == pay.Mismatched }) {
			continue
		}
		r := claims.Resolution{ID: c.ID, Word: pay.ReturnRefund, Note: "the provider's books"}
		if _, err := n.app.Claims.Resolve(lane(context.Background(), "operator"), n.app.Self(), r); err != nil {
			w.find(operatorWorks, c.Payment, "take back %s: %v", c.ID, err)
		}
		w.count("refunds taken back by the operator")
	}
}

// checkPanel compares the refunds that a provider made by itself with our claims. One that the books
// cannot have is a task for the operator.
func (w *world) checkPanel(all *books, u *upstream, p pay.Payment, made *charge) {
	_, order, _ := pay.ParseReference(made.ref)
	if !captured(p) || p.End.Captured != order {
		return // checkCharge has looked at it
	}
	for _, r := range made.panel {
		at := slices.IndexFunc(all.claims, func(c pay.Claim) bool { return c.Payment == p.ID && c.Call.Ref == r.id })
		switch task := mismatched(all, p.ID); {
		case task:
		case at < 0 && !r.failed:
			w.find(refundsAgree, p.ID, "%s gave %s of %s back by itself (%s), and we do not know it", u.name, r.amount, made.ref, r.id)
		case at < 0:
		case all.claims[at].Local != r.amount, all.claims[at].Origin != pay.ByProvider, (all.claims[at].Call.Returned != "") != r.failed:
			w.find(refundsAgree, p.ID, "%s gave %s back by itself (%s, failed %t), and its claim is %s", u.name, r.amount, r.id, r.failed, all.claims[at])
		}
	}
}

// mismatched reports whether a notice about the payment waits for the operator.
func mismatched(all *books, payment string) bool {
	return slices.ContainsFunc(all.receipts[payment], func(r pay.KeptNotice) bool { return r.Verdict == pay.Mismatched })
}

// give handles a refund that arrives.
func (u *upstream) give(r provider.RefundRequest) pay.Outcome {
	if known, again := u.refunds[r.Reference]; again {
		return known.outcome()
	}
	if u.w.turns.one(u.fickle) {
		u.w.count("calls refused and forgotten")
		return pay.Outcome{Kind: pay.Declined, Decline: "busy"}
	}
	made := &refund{ref: r.Reference, charge: r.Charge.Reference, money: r.Charge.MoneyRef, amount: r.Local, status: "done"}
	from, known := u.charges[made.charge]
	left, disputed := int64(0), false
	if known {
		if made.money == "" {
			made.money = from.money(0)
		}
		if left = u.left(from); made.money != from.money(0) {
			left = from.moneys()[made.money].Minor
			for _, other := range u.refunds {
				if other.charge == made.charge && other.money == made.money && other.status != "failed" {
					left -= other.amount.Minor
				}
			}
		}
		disputed = slices.ContainsFunc(u.disputed(from), func(d *dispute) bool { return d.status == "open" })
	}
	c := u.w.turns
	switch {
	case !known || disputed || left < made.amount.Minor || c.one(u.declines):
		made.status = "failed"
	case c.one(3):
		made.status = "open"
		wait := c.about(time.Second, 3*time.Hour)
		u.w.aside.Go(func() {
			time.Sleep(wait)
			c.turn(u.name + " settles refund " + made.ref)
			made.status = "done"
			if c.one(5) {
				made.status = "failed"
			}
			u.tell(made.ref, made.ref+"/"+made.status)
			u.failsLate(made)
		})
	default:
		u.failsLate(made)
	}
	if made.status != "failed" && len(u.disputed(from)) > 0 {
		u.w.count("refunds after disputes")
	}
	u.w.count("refunds at providers")
	u.refunds[r.Reference] = made
	return made.outcome()
}
