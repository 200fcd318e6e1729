package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RefundCall is a claim's refund at the provider. The zero value means that there is none.
type RefundCall struct {
	State OutcomeKind `json:"state,omitempty"` // of the last call or query
	Round int         `json:"round,omitempty"` // counts refusals: each round is a new refund for the provider
	Tries int         `json:"tries,omitempty"` // calls and queries of this round
	Ref   string      `json:"ref,omitempty"`   // the provider's id of the refund
	Sent  int64       `json:"sent,omitempty"`  // when this round was first requested, microseconds UTC; 0: it was not requested by us
	Again int64       `json:"again,omitempty"` // when it was last requested again, likewise; 0: never
	To    ClaimStatus `json:"to,omitempty"`    // what the claim becomes once the provider confirms
	Other bool        `json:"other,omitempty"` // it reported another amount: the operator has the notice
	// Returned is the id of the claim that took the money back, after the refund had been confirmed.
	Returned string `json:"-"`
	// Found: it is in the provider's own list, from before a restore, and was not requested since.
	Found bool `json:"found,omitempty"`
	// ByHand is the operator's reference of a bank transfer that gave the money back; then the
	// provider was not asked.
	ByHand string `json:"byHand,omitempty"`
	Flight
}

// SentAt is when this round was first and last requested; the zero time if we did not request it.
func (r RefundCall) SentAt() (first, last time.Time) {
	if r.Sent != 0 {
		first = time.UnixMicro(r.Sent).UTC()
	}
	if last = first; r.Again != 0 {
		last = time.UnixMicro(r.Again).UTC()
	}
	return first, last
}

// Unanswered reports whether the provider may have made the refund. Then it is queried, and not
// requested again.
func (c Claim) Unanswered() bool {
	switch c.Call.State {
	case Sending, Unknown, Awaiting:
		return true
	}
	return false
}

// ParseRefundReference returns the claim's id and the round of a refund.
func ParseRefundReference(ref string) (claim string, round int, ok bool) {
	id, round, ok := ParseReference(ref)
	return ClaimPrefix + strings.TrimPrefix(id, PaymentPrefix), round, ok
}

// send is the intent to refund an inquiry's money. The claim's status becomes to when the provider
// confirms.
func (c Claim) send(to ClaimStatus, actor, note string, now time.Time) (Claim, Change) {
	c = c.written(now)
	c.Call = RefundCall{State: Sending, Round: c.Call.Round + 1, Tries: 1, Sent: now.UnixMicro(), To: to, Flight: Flight{}.begin(c.caller)}
	c.DueAt = now.Add(callLease)
	c = c.step(actor, note, now)
	return c, Change{Claims: []Claim{c}}
}

// InHandOf sets the node that makes the call decided on next.
func (c Claim) InHandOf(caller Caller) Claim {
	c.caller = caller
	return c
}

// Resend is the intent to request the refund again under the same reference: the provider has
// proved that it did not make it.
func (c Claim) Resend(now time.Time) (Claim, Change) {
	c = c.written(now)
	c.Call.State, c.Call.Again, c.Call.Flight = Sending, now.UnixMicro(), c.Call.begin(c.caller)
	c.DueAt = now.Add(callLease)
	return c, Change{Claims: []Claim{c}}
}

// ApplyRefundAnswer applies the answer to a call or a query about the refund; before is the claim as it was at
// the call. If the refund was requested again, only "accepted" counts: one of two calls may be
// refused. An answer that contradicts a refund that has ended is kept for the operator.
func (c Claim) ApplyRefundAnswer(p Payment, before Claim, o Outcome, now time.Time) (Claim, Change) {
	same, again := before.Call.Round == c.Call.Round, before.Call.Calls != c.Call.Calls
	switch {
	case c.contradicts(before.Call.Round, o) && (o.Kind == Approved || !again):
		taker, _ := c.PaidAttempt(p)
		told := Notice{
			ID: fmt.Sprintf("answer/%s %s", before.Reference(), o.Kind), Account: taker.Provider,
			Body: fmt.Appendf(nil, "the provider says that refund %s of %s is %s; the claim is %s of %s", before.Reference(), o.Local, o.Kind, c.Status, c.Local),
		}
		return c, Change{Notices: []KeptNotice{told.stored(p.ID, Mismatched, now)}}
	case !same, again && o.Kind != Approved && o.Kind != Awaiting:
		return c, Change{}
	case o.Kind == Approved && c.Call.State == Unknown && c.Version != before.Version:
		// A notice that came meanwhile may say that it failed since, and decided nothing because the refund was called twice: ask again.
		o = Outcome{Kind: Unknown, Decline: "older_than_a_notice", ProviderRef: o.ProviderRef}
	}
	return c.ApplyRefundOutcome(p, o, now)
}

// fails reports whether a provider says that a refund which it had confirmed was not made after all:
// the shopper's bank sent it back. Another refund's id proves nothing about this one, and if it was
// called twice, one call may be refused. What the operator approved is for the operator.
func (c Claim) fails(round int, o Outcome) bool {
	known := o.ProviderRef != "" && c.Call.Ref != ""
	same := known && o.ProviderRef == c.Call.Ref || !known && c.Call.Calls <= 1
	return o.Kind == Declined && c.Call.State == Approved && round == c.Call.Round && same && c.Kind != ChargebackClaim && c.Status.Pays() && c.Call.Returned == ""
}

// contradicts reports whether a provider's answer about a round contradicts our records: made, but
// the round is another one, was refused or given up, or had another amount; or refused, but the
// shopper counts as paid.
func (c Claim) contradicts(round int, o Outcome) bool {
	same, open := round == c.Call.Round, c.Calling()
	switch o.Kind {
	case Approved:
		return !same || !open && (!c.Status.Pays() || c.misfits(o))
	case Declined:
		return same && !open && c.Status.Pays()
	}
	return false
}

// Contradiction is the provider's last answer about a refund under way if it contradicts the operator's
// decision, else "". An accepted refund, or another amount, contradicts both decisions. A refusal
// contradicts only an approval.
func (c Claim) Contradiction(v ClaimVerb) string {
	switch {
	case !c.Calling():
	case c.Call.Other:
		return "another amount"
	case c.Call.State == Awaiting, v == Approve && !c.Unanswered():
		return string(c.Call.State)
	}
	return ""
}

// ApplyRefundOutcome records the answer to a call or a query about the refund, and decides what follows: the
// claim is resolved, or due again. It does nothing if the claim's call is over.
func (c Claim) ApplyRefundOutcome(p Payment, o Outcome, now time.Time) (Claim, Change) {
	if !c.Calling() {
		return c, Change{}
	}
	if c.misfits(o) || c.Call.Other && o.Kind != Approved {
		return c.hold(p, o, now)
	}
	o = c.Call.UnlessListed(o)
	pause := c.Call.pause()
	if o.Kind != Unknown || c.Call.State != Awaiting { // an accepted refund stays accepted
		c.Call.State = o.Kind
	}
	c.Call.Tries++
	if o.ProviderRef != "" {
		c.Call.Ref = o.ProviderRef
	}
	switch o.Kind {
	case Approved:
		c, change := c.resolve(p, c.Call.To, PartyProvider, "", now)
		_, change = p.applyHeld(change, now)
		return c, change
	case Declined:
		c, change := c.refused(p, o, now)
		_, change = p.applyHeld(change, now)
		return c, change
	case Missing:
		pause = 0 // requested again at once; later with the pause
	case Awaiting:
		pause = max(pause, sweepEvery)
	}
	c = c.written(now)
	c.DueAt = now.Add(pause)
	if o.CheckAt.After(now) {
		c.DueAt = o.CheckAt
	}
	return c, Change{Claims: []Claim{c}}
}

// misfits reports whether a provider says that a different amount went back.
func (c Claim) misfits(o Outcome) bool {
	return o.Kind == Approved && o.Local.Currency != "" && o.Local != c.Local
}

// hold keeps a refund open if its provider answers that a different amount went back. The answer is
// kept for the operator, once, like a notification. Some money may be gone, so the refund is
// queried and not requested again. Only a confirmation of the right amount, or the operator, ends
// it: a refusal or "missing" does not.
func (c Claim) hold(p Payment, o Outcome, now time.Time) (Claim, Change) {
	var change Change
	if !c.Call.Other {
		taker, _ := c.PaidAttempt(p)
		told := Notice{
			ID: fmt.Sprintf("answer/%s %s", c.Reference(), o.Local), Account: taker.Provider,
			Body: fmt.Appendf(nil, "when queried about refund %s, the provider says that %s went back, not %s", c.ID, o.Local, c.Local),
		}
		change.Notices = []KeptNotice{told.stored(p.ID, Mismatched, now)}
	}
	pause := c.Call.pause()
	c.Call.State, c.Call.Other = Unknown, true
	c.Call.Tries++
	if o.ProviderRef != "" {
		c.Call.Ref = o.ProviderRef
	}
	c = c.written(now)
	c.DueAt = now.Add(pause)
	change.Claims = []Claim{c}
	return c, change
}

// refused ends a refund that the provider will not make. The merchant keeps the money. For late
// money, the operator has to find another way.
func (c Claim) refused(p Payment, o Outcome, now time.Time) (Claim, Change) {
	note := o.Message
	if note == "" {
		note = "the provider refused the refund"
	}
	if c.Kind == UserDispute {
		return c.resolve(p, ClaimRejected, PartyProvider, note, now)
	}
	c.Call = RefundCall{Round: c.Call.Round}
	c = c.written(now)
	if c.DueAt = (time.Time{}); c.Status == ClaimNeedsEvidence {
		// Its deadline may have passed: from here the operator decides.
		c.Status = ClaimUnderReview
	}
	c = c.step(PartyProvider, note, now)
	return c, Change{Claims: []Claim{c}, settles: true}
}

// pause is how long to wait before the next query.
func (r RefundCall) pause() time.Duration { return queryPauses.after(r.Tries) }

// PaidAttempt returns the attempt of the payment that took the claim's money, with the provider's ids of
// that money: an attempt may have been paid several times.
func (c Claim) PaidAttempt(p Payment) (Attempt, bool) {
	taker, ok := p.Attempts.Get(c.Attempt)
	if !ok {
		return Attempt{}, false
	}
	for _, s := range p.Strays {
		if s.Claim != "" && s.Claim == c.inquiry() && s.ProviderRef+s.MoneyRef != "" {
			taker.ProviderRef, taker.MoneyRef = s.ProviderRef, s.MoneyRef
		}
	}
	return taker, true
}

// inquiry is the inquiry about the money that the claim demands; "": the capture's money.
func (c Claim) inquiry() string {
	if c.Kind == Inquiry {
		return c.ID
	}
	return c.Case.Inquiry
}

// OfRefunds reports whether the notice lists what the provider gave back of money that is in our
// books. Then ApplyRefundList applies it, which needs the payment's claims.
func (n Notice) OfRefunds(p Payment) bool {
	_, order, ok := ParseReference(n.Reference)
	lists := n.Outcome.Kind == Reversed || n.Outcome.Kind == Approved && n.Outcome.Back != nil
	return ok && order <= len(p.Attempts) && !n.OfDispute() && lists &&
		(p.Attempts[order-1].Status == Approved || p.strayed(order, n.Outcome.MoneyRef) >= 0)
}

// Waits reports whether a refund that the provider lists may be one of ours whose call is still on
// its way, at a time of the database's clock. Its answer says which one it is.
func (n Notice) Waits(p Payment, claims []Claim, at time.Time) bool {
	if !n.OfRefunds(p) {
		return false
	}
	d := newDocket(p, claims, at)
	_, order, _ := ParseReference(n.Reference)
	inquiry, _ := d.money(order, n.Outcome.MoneyRef)
	return slices.ContainsFunc(d.reported(n.Outcome, inquiry, order), func(r ProviderRefund) bool {
		ours := d.underWay(r)
		return d.knows(r) == nil && ours != nil && ours.Call.OnItsWay(at)
	})
}

// reported lists the refunds of an outcome. What its total has beyond them is one more. A total
// without a list counts our own refunds that are made or under way. inquiry is the claim about the money if
// that is stray.
func (d *docket) reported(o Outcome, inquiry *Claim, order int) []ProviderRefund {
	if o.Back == nil {
		return []ProviderRefund{{Kind: Approved}} // something went back, the operator has to find out what
	}
	rest, list := o.Back.Total, o.Back.Refunds
	for _, r := range list {
		if r.Kind != Declined && r.Local.Currency == rest.Currency && r.Local.IsPositive() && rest.IsPositive() { // whatever the amounts, no overflow
			rest.Minor -= r.Local.Minor
		}
	}
	switch {
	case len(list) > 0:
	case inquiry != nil && (inquiry.Status.Pays() && inquiry.Call.ByHand == "" || inquiry.Calling()):
		rest.Minor -= inquiry.Local.Minor
	case inquiry == nil:
		rest.Minor -= d.p.Refunds.Local
		for _, c := range d.claims {
			switch {
			case c.Kind == ChargebackClaim && c.Call.Ref != "":
				rest.Minor -= c.Local.Minor
			case c.Origin == ByOperator && c.Status.Pays() && c.Call.Returned == "": // no provider has it in its total
				rest.Minor += c.Local.Minor
			}
		}
	}
	if rest.IsPositive() {
		list = append(slices.Clip(list), ProviderRefund{ID: fmt.Sprintf("%s%s of %d %s", onlyTotal, o.Back.Total, order, o.MoneyRef), Kind: Approved, Local: rest})
	}
	// What failed makes room for what was made after it.
	return slices.Concat(refundsThat(list, true), refundsThat(list, false))
}

// onlyTotal begins our id of a refund that only a total shows.
const onlyTotal = "total "

// knows is the claim of a refund that the provider lists; nil if there is none.
func (d *docket) knows(r ProviderRefund) *Claim {
	claim, _, ours := ParseRefundReference(r.Reference)
	for i, c := range d.claims {
		if r.ID != "" && c.Call.Ref == r.ID || ours && c.ID == claim {
			return &d.claims[i]
		}
	}
	return nil
}

// applyRefund applies one refund of a provider's list; id is for its claim, inquiry is the claim about the money if that is stray.
func (d *docket) applyRefund(r ProviderRefund, order int, inquiry *Claim, id string) Verdict {
	if known := d.knows(r); known != nil {
		return d.applyKnownRefund(*known, r, id)
	}
	total := func(c Claim) bool { // of the same money
		return strings.HasPrefix(c.Call.Ref, onlyTotal) && c.Call.Returned == "" && c.Attempt == order && (inquiry == nil && c.Kind == UserDispute || inquiry != nil && c.ID == inquiry.ID)
	}
	switch {
	case r.Kind != Approved:
		return Ignored // one that is not made yet is reported again
	case id == "", r.ID == "", r.Reference != "", d.underWay(r) != nil, slices.ContainsFunc(d.claims, total):
		return Mismatched // the refund may be one of ours, or be part of a total that is booked
	}
	for i, c := range d.claims { // of ours that the operator approved without an answer
		if c.Kind == UserDispute && c.Origin == ByMerchant && c.Status.Pays() && c.Call.Ref == "" && c.Call.Returned == "" && c.Local == r.Local {
			d.claims[i].Call.Ref = r.ID
			d.put(d.claims[i].written(d.now))
			return Ignored
		}
	}
	if inquiry != nil {
		return d.applyLateRefund(*inquiry, r)
	}
	for _, c := range d.claims { // a dispute without an id, which ended by giving the money back
		if c.Kind != ChargebackClaim || c.Case.ID != "" || c.Local != r.Local || c.Call.Ref != "" || c.Status.Terminal() && !c.Status.Pays() {
			continue
		}
		c.Call.Ref = r.ID
		if c.Status.Terminal() {
			d.put(c.written(d.now))
			return Ignored
		}
		d.end(c, ClaimApproved, "the provider gave the money back")
		return Applied
	}
	left := d.localLeft(&opening{})
	if r.Local.Currency == d.p.Price.Local.Currency && r.Local.IsPositive() && r.Local.Minor <= left {
		_, _, change := d.p.book(madeRefund{id: id, ref: r.ID, origin: ByProvider, local: r.Local, attempt: order, reason: cmp.Or(r.Note, "the provider gave it back")}, d.now)
		d.add(change)
		return Applied
	}
	return Mismatched
}

// applyKnownRefund handles a refund in a provider's list that is in the books; id is for the claim of one that failed. The answers to our
// calls tell of ours.
func (d *docket) applyKnownRefund(known Claim, r ProviderRefund, id string) Verdict {
	claim, round, ours := ParseRefundReference(r.Reference)
	if ours = ours && claim == known.ID; !ours { // or another system's reference has the form of ours
		round = known.Call.Round
	}
	told := Outcome{Kind: r.Kind, ProviderRef: r.ID, Local: r.Local}
	failed := r.Kind == Declined && known.Status.Pays() && known.Call.Returned == ""
	switch {
	case strings.HasPrefix(r.ID, onlyTotal):
		return Mismatched // more went back than this total showed before
	case failed && id != "" && known.Kind != ChargebackClaim && (known.Origin == ByProvider || known.fails(round, told)):
		d.comeBack(known, id, cmp.Or(r.Note, "the refund failed after it had been made"))
		return Applied
	case failed && !known.Calling():
		return Mismatched
	case r.Kind != Approved:
		return Ignored
	case r.Local.Currency == known.Local.Currency && r.Local != known.Local, ours && known.contradicts(round, told),
		ours && r.ID != "" && known.Call.Ref != "" && known.Call.Ref != r.ID, r.News && known.Call.Returned != "":
		return Mismatched // of another amount, refused here, made twice, or made again after it had failed
	}
	return Ignored
}

// applyLateRefund ends the inquiry about late money that the provider gave back.
func (d *docket) applyLateRefund(c Claim, r ProviderRefund) Verdict {
	if c.Status.Terminal() || c.Calling() || c.Local != r.Local {
		return Mismatched
	}
	c.Call.Ref, c.Origin = r.ID, ByProvider
	_, change := c.resolve(d.p, ClaimApproved, PartyProvider, cmp.Or(r.Note, "the provider gave the money back"), d.now)
	d.settle(change)
	return Applied
}

// UnlessListed adapts the answer to a query about a refund: see Attempt.UnlessListed.
func (r RefundCall) UnlessListed(o Outcome) Outcome { return Attempt{Found: r.Found}.UnlessListed(o) }
