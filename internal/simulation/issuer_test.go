package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// issuer is how a provider reports disputes, in one world.
type issuer struct {
	names   bool // disputes have an id; without one a charge has one dispute at most
	tells   bool // it reports the amount of a dispute
	answers bool // disputes can be queried
	hushes  int  // one of this many disputes is not reported when it is opened
	appeals int  // one of this many disputes that the merchant won goes to the second instance
}

// dispute is a row of the provider's books.
type dispute struct {
	id       string
	of       *charge
	amount   money.Amount
	instance int
	status   string // open, won, lost
	told     bool   // its opening was reported
}

func (w *world) newIssuer() issuer {
	c := w.turns
	i := issuer{names: !c.one(4), tells: !c.one(3), answers: c.one(2)}
	if c.one(2) {
		i.hushes = 1 + c.chance.IntN(4)
	}
	if c.one(2) {
		i.appeals = 1 + c.chance.IntN(3)
	}
	return i
}

// disputed returns a charge's disputes, in the order in which they came.
func (u *upstream) disputed(c *charge) (list []*dispute) {
	for _, id := range slices.Sorted(maps.Keys(u.disputes)) {
		if d := u.disputes[id]; d.of == c {
			list = append(list, d)
		}
	}
	return list
}

// dispute takes a charge's money back for a while or for good: all that is not in another
// dispute, or a part of it.
func (u *upstream) dispute(made *charge) {
	c := u.w.turns
	before := u.disputed(made)
	if made.status != "paid" || made.paid != made.asked || len(before) > 0 && !(u.issuer.names && u.issuer.tells) || u.gave(made) {
		return
	}
	left := made.paid
	for _, d := range before {
		left.Minor -= d.amount.Minor
	}
	if left.Minor <= 1 {
		return
	}
	d := &dispute{id: fmt.Sprintf("%s-d%d", made.ref, len(before)+1), of: made, amount: left, instance: 1, status: "open"}
	if u.issuer.tells && c.one(2) {
		d.amount.Minor = 1 + c.chance.Int64N(left.Minor-1)
	}
	u.disputes[d.id] = d
	u.w.count("disputes")
	if d.told = !c.one(u.issuer.hushes); d.told {
		u.tellOf(d)
	}
	u.ends(d)
}

// gave reports whether a refund of a charge was made or will be.
func (u *upstream) gave(made *charge) bool {
	for _, r := range u.refunds {
		if r.charge == made.ref && r.status != "failed" {
			return true
		}
	}
	return slices.ContainsFunc(made.panel, func(r *panelRefund) bool { return !r.failed })
}

// ends lets the issuer rule on a dispute's present instance.
func (u *upstream) ends(d *dispute) {
	c := u.w.turns
	wait, end := c.between(time.Hour, 48*time.Hour), []string{"won", "lost"}[c.chance.IntN(2)]
	u.w.aside.Go(func() {
		time.Sleep(wait)
		c.turn(fmt.Sprintf("%s rules on %s", u.name, d.id))
		d.status = end
		if end == "won" && !u.issuer.names && u.issuer.answers && d.told && !u.silent && c.one(2) {
			// A mediation: the charge is paid again, and that is all that is told.
			u.w.count("mediations that the seller won")
			u.tell(d.of.ref, d.id+"/paid again")
		} else {
			u.tellOf(d)
		}
		if end != "won" || d.instance == 2 || u.gave(d.of) || !c.one(u.issuer.appeals) {
			return
		}
		u.w.count("second instances")
		d.instance, d.status = 2, "open"
		if c.one(2) {
			u.tellOf(d)
		}
		u.ends(d)
	})
}

// tellOf notifies of a dispute's present state.
func (u *upstream) tellOf(d *dispute) {
	u.send(news{ID: fmt.Sprintf("%s/%d/%s", d.id, d.instance, d.status), Ref: d.of.ref, Dispute: d.id, Instance: d.instance, Status: d.status})
}

// notice is the state of a dispute in the core's terms.
func (u *upstream) notice(d *dispute, instance int, status string) pay.Notice {
	n := pay.Notice{Account: u.name, Reference: d.of.ref, Instance: instance, Dispute: status == "open"}
	switch status {
	case "won":
		n.Ruling = pay.DisputeWon
	case "lost":
		n.Ruling = pay.DisputeLost
	}
	if u.issuer.names {
		n.DisputeID = d.id
	}
	if u.issuer.tells {
		n.Outcome.Local, n.Outcome.MoneyRef = d.amount, d.of.money(0)
	}
	n.Outcome.Message = "the shopper says that it was not him"
	return n
}

// asker is a client whose provider answers queries about disputes.
type asker struct{ client }

// CanQueryDispute implements provider.DisputeQuerier.
func (asker) CanQueryDispute(provider.DisputeRequest) bool { return true }

// QueryDispute implements provider.DisputeQuerier.
func (c asker) QueryDispute(ctx context.Context, r provider.DisputeRequest) (n pay.Notice, known bool) {
	o := c.call(ctx, "query dispute "+r.Charge.Reference+" "+r.ID, func() pay.Outcome {
		for _, d := range c.u.disputed(c.u.charges[r.Charge.Reference]) {
			if r.ID == "" || r.ID == d.id {
				n = c.u.notice(d, d.instance, d.status)
				return pay.Outcome{Kind: pay.Approved}
			}
		}
		return pay.Outcome{Kind: pay.Missing}
	})
	return n, o.Kind == pay.Approved
}

// checkDisputes compares the issuers' decisions with our claims.
func (w *world) checkDisputes(all *books, u *upstream, p pay.Payment, c *charge) {
	_, order, _ := pay.ParseReference(c.ref)
	for _, d := range u.disputed(c) {
		followed := map[string]bool{}
		var last []pay.Claim
		for _, claim := range all.claims {
			if claim.Kind == pay.ChargebackClaim && claim.Payment == p.ID && claim.Attempt == order && (!u.issuer.names || claim.Case.ID == d.id) {
				followed[claim.Previous] = true
				last = append(last, claim)
			}
		}
		last = slices.DeleteFunc(last, func(claim pay.Claim) bool { return followed[claim.ID] })
		var ends []string
		for _, claim := range last {
			ends = append(ends, string(claim.Status))
		}
		given := slices.ContainsFunc(p.Strays, func(s pay.Stray) bool { return s.Order == order && s.End == pay.GivenBack })
		switch want := map[string]string{"won": "rejected", "lost": "approved"}[d.status]; {
		case len(last) == 0 && given && mismatched(all, p.ID): // late money that was given back by hand: the operator has to deal with it
		case len(last) != 1 || ends[0] != want:
			w.find(disputesAgree, p.ID, "dispute %s was %s by instance %d, and its claims are %s", d.id, d.status, d.instance, strings.Join(ends, " and "))
		case u.issuer.tells && last[0].Local != d.amount:
			w.find(disputesAgree, p.ID, "dispute %s is about %s, and its claim about %s", d.id, d.amount, last[0].Local)
		}
	}
}
