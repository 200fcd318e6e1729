package pay

import (
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// OfDispute reports whether the notice is about a dispute: its opening, its state or its end.
func (n Notice) OfDispute() bool { return n.Dispute || n.Ruling != "" }

// ApplyDispute applies a provider's notice of a dispute to the payment and its claims. claims are all
// claims of the payment, in any order. The Change always keeps the notice. It opens at most two
// claims, with the given ids: one for the dispute, and one for late money that was not reported
// before.
//
// A notice that contradicts the books is applied as far as possible and kept as mismatched for the
// operator.
func (n Notice) ApplyDispute(p Payment, claims []Claim, ids [2]string, now time.Time) (Payment, Change) {
	d := newDocket(p, claims, now)
	verdict := d.applyDispute(n, ids)
	if verdict == Ignored && d.moved { // news that was held back has been applied
		verdict = Applied
	}
	next, change := d.done()
	change.Notices = append(change.Notices, n.stored(p.ID, verdict, now))
	return next, change
}

// Unproved reports whether the notice is of a dispute about money that is not in our books, and does
// not itself prove that the charge was paid in the right amount. Then the provider must be queried.
// It returns the attempt.
func (n Notice) Unproved(p Payment, claims []Claim) (Attempt, bool) {
	_, order, ok := ParseReference(n.Reference)
	if !ok || order > len(p.Attempts) || !n.OfDispute() {
		return Attempt{}, false
	}
	_, seen := newDocket(p, claims, time.Time{}).money(order, n.Outcome.MoneyRef)
	return p.Attempts[order-1], !seen && !p.proves(n, order)
}

// proves reports whether the dispute's amount proves that the charge was paid in the right amount:
// a dispute of the full amount implies that the full amount was paid.
func (p *Payment) proves(n Notice, order int) bool {
	return n.Outcome.Local == p.Price.Local && p.Attempts[order-1].Decline != amountMismatch
}

// ApplyDisputeAnswer records the provider's answer to a query about a dispute; nil if there was no answer. The
// claim is looked at again, unless the answer ends it. An answer that contradicts the books is kept
// for the operator once.
func (c Claim) ApplyDisputeAnswer(p Payment, claims []Claim, n *Notice, ids [2]string, now time.Time) (Payment, Change) {
	d := newDocket(p, claims, now)
	var told *KeptNotice
	if n != nil {
		if d.applyDispute(*n, ids) == Mismatched {
			answer := *n
			answer.ID = fmt.Sprintf("answer/%s-%d", c.ID, c.Case.Asked+1)
			receipt := answer.stored(p.ID, Mismatched, now)
			told = &receipt
		}
	}
	at := d.index(c.ID)
	if at < 0 {
		return p, Change{}
	}
	if c = d.claims[at]; !c.Status.Terminal() {
		odd := c.Case.Odd
		c.Case.Asked++
		c.Case.Odd = odd || told != nil
		if c.DueAt = c.lookAgain(now); odd {
			told = nil
		}
		d.put(c)
	}
	next, change := d.done()
	if told != nil {
		change.Notices = append(change.Notices, *told)
	}
	return next, change
}

// applyDispute applies a notice of a dispute and returns the verdict.
func (d *docket) applyDispute(n Notice, ids [2]string) Verdict {
	_, order, ok := ParseReference(n.Reference)
	if !ok || order > len(d.p.Attempts) {
		return Mismatched
	}
	inquiry, seen := d.money(order, n.Outcome.MoneyRef)
	if !seen {
		if !d.p.proves(n, order) || !d.bookProved(n, order, ids[1]) {
			return d.hold(n, ids)
		}
		inquiry, seen = d.money(order, n.Outcome.MoneyRef)
	}
	switch {
	case !seen:
		return d.hold(n, ids)
	case inquiry == nil, inquiry.Status == ClaimRejected:
	case inquiry.Calling(): // the refund may still succeed or be refused
		return d.hold(n, ids)
	case inquiry.Status.Terminal(): // the shopper already has it back
		return Mismatched
	default:
		// From here the issuer decides: the merchant gets the money, unless the dispute is lost.
		_, change := inquiry.resolve(d.p, ClaimRejected, PartyIssuer, "the shopper disputes it with the issuer", d.now)
		d.settle(change)
	}
	about := ""
	if inquiry != nil {
		about = inquiry.ID
	}
	return d.judge(n, order, about, ids[0])
}

// bookProved books the money of an attempt that a dispute proves to have been paid.
func (d *docket) bookProved(n Notice, order int, claim string) bool {
	if claim == "" && !d.p.Status.Open() {
		return false
	}
	paid := Outcome{Kind: Approved, MoneyRef: n.Outcome.MoneyRef, Local: d.p.Price.Local, Played: n.Outcome.Played}
	_, change, verdict := d.p.paid(order, paid, Cascade{}, claim, d.now)
	if verdict != Applied && verdict != Late {
		return false
	}
	d.settle(change)
	return true
}

// settle is add for a step after which news that was held back may be applied.
func (d *docket) settle(c Change) {
	_, c = d.p.applyHeld(c, d.now)
	d.add(c)
}

// judge applies the notice to the claims of its dispute.
func (d *docket) judge(n Notice, order int, inquiry, id string) Verdict {
	n.Instance = max(1, n.Instance)
	c, unclear := d.of(n, order, inquiry)
	switch {
	case unclear:
		return Mismatched
	case c == nil:
		return d.open(n, order, inquiry, nil, id)
	case n.Instance > c.Case.Instance:
		if !c.Status.Terminal() { // the next instance begins only after the first ended in the merchant's favour
			c = d.end(*c, ClaimRejected, "it went on to the next instance")
		}
		return d.open(n, order, inquiry, c, id)
	case n.Instance < c.Case.Instance:
		return Ignored // out of date
	case !c.Status.Terminal():
		return d.goOn(*c, n)
	case n.Ruling == "" && (n.DisputeID != "" || !c.Case.Opened):
		if !c.Case.Opened { // its end was reported first
			c.Case.Opened = true
			d.put(*c)
		}
		return Ignored
	case n.Ruling == "":
		return Mismatched // the same dispute, or another one: they cannot be told apart
	case n.Ruling.status().Pays() == c.Status.Pays():
		return Ignored
	}
	return d.open(n, order, inquiry, c, id) // the provider changed its ruling
}

// of finds the last claim of the notice's dispute, the one that no other claim follows. unclear:
// the notice may mean more than one claim.
func (d *docket) of(n Notice, order int, inquiry string) (found *Claim, unclear bool) {
	var nameless *Claim
	open, over := 0, d.followed()
	for i := range d.claims {
		c := &d.claims[i]
		if over[c.ID] || c.Kind != ChargebackClaim || c.Attempt != order || c.Case.Inquiry != inquiry {
			continue
		}
		switch {
		case n.DisputeID == "":
			// An open claim takes precedence over one that has ended.
			if found == nil || !c.Status.Terminal() || found.Status.Terminal() && c.CreatedAt.After(found.CreatedAt) {
				found = c
			}
			if !c.Status.Terminal() {
				open++
			}
		case c.Case.ID == n.DisputeID && c.Case.Account == n.Account:
			found = c
		case c.Case.ID == "" && (!c.Status.Terminal() || n.Ruling != ""):
			nameless = c
		}
	}
	if found == nil {
		found = nameless
	}
	return found, open > 1
}

// followed are the claims that another claim follows.
func (d *docket) followed() map[string]bool {
	over := map[string]bool{}
	for _, c := range d.claims {
		over[c.Previous] = true
	}
	return over
}

// open opens the claim of a dispute, and ends it if the notice reports the end.
func (d *docket) open(n Notice, order int, inquiry string, previous *Claim, id string) Verdict {
	o := opening{claim: id, notice: n, attempt: order, inquiry: inquiry, round: 1}
	if previous != nil {
		before := *previous
		o.previous = &before
		if n.DisputeID == "" {
			o.notice.DisputeID = before.Case.ID
		}
	}
	for _, c := range d.claims {
		if c.Kind == ChargebackClaim && (c.Case.ID == o.notice.DisputeID || o.notice.DisputeID == "") {
			o.round++
		}
	}
	verdict := Applied
	if !d.measure(&o) {
		verdict = Mismatched
	}
	_, claim, change := d.p.openDispute(o, d.now)
	d.add(change)
	switch {
	case n.Ruling != "":
		d.end(claim, n.Ruling.status(), n.Outcome.Message)
	case n.Reviewing: // the bank decides: no evidence is wanted
		d.goOn(claim, n)
	}
	return verdict
}

// measure sets how much of the payment a dispute is about. If the provider reports no amount, it is
// the amount of the dispute's previous claim, or all that is left. A part is worth its share in
// USD, rounded down; the last part is worth all cents that are left. So refunds and disputes
// together never exceed the money, and together can reach all of it. fits is false if the reported
// amount contradicts the books.
func (d *docket) measure(o *opening) (fits bool) {
	p, told := d.p, o.notice.Outcome.Local
	left := money.New(d.localLeft(o), p.Price.Local.Currency)
	back := o.previous != nil && o.previous.Status.Pays()
	o.local, fits = told, true
	switch {
	case back: // the dispute is about the amount that the shopper got then
		o.local, fits = o.previous.Local, told.Currency == "" || told == o.previous.Local || told == o.previous.Case.disputed()
	case told.Currency == "" && o.previous != nil:
		o.local = o.previous.Local
	case told.Currency == "":
		o.local, fits = left, left.IsPositive()
	case told.Currency != p.Price.Local.Currency || !told.IsPositive() || told.Minor > p.came(o.inquiry).Minor:
		o.local, fits = left, false
	default:
		fits = told.Minor <= left.Minor
	}
	if !o.local.IsPositive() {
		o.local = p.came(o.inquiry)
	}
	free := p.uncontested(o.inquiry)
	if back {
		free += p.disputeEntry(o.previous.ID).USD
	}
	o.usd = money.New(p.worth(o.inquiry), money.USD).Fraction(o.local.Minor, p.came(o.inquiry).Minor, money.Down).Minor
	if o.local == left {
		o.usd = max(0, free)
	}
	return fits
}

// localLeft is the part of the disputed money, in local minor units, that no refund and no other
// dispute is about. The amount of an earlier claim of the same dispute counts as left.
func (d *docket) localLeft(o *opening) int64 {
	left, over := d.p.came(o.inquiry).Minor, d.followed()
	if !o.late() {
		left -= d.p.Refunds.Local
	}
	if o.previous != nil {
		over[o.previous.ID] = true
	}
	for _, c := range d.claims {
		stands := !c.Status.Terminal() || c.Status.Pays()
		if c.Kind == ChargebackClaim && stands && !over[c.ID] && c.Case.Inquiry == o.inquiry {
			left -= c.Local.Minor
		}
	}
	return max(0, left)
}

// goOn applies the notice to its dispute's open claim.
func (d *docket) goOn(c Claim, n Notice) Verdict {
	before := c
	if c.Case.ID == "" && n.DisputeID != "" { // reported only now
		c.Case.ID, c.Case.Round = n.DisputeID, 1
	}
	if n.Stage != "" {
		c.Case.Stage = n.Stage
	}
	if c.Network == "" {
		c.Network = n.Network
	}
	told, fits := n.Outcome.Local, true
	switch {
	case told.Currency == "":
	case c.Case.Currency == "":
		if fits = told == c.Local; fits {
			c.Case.Minor, c.Case.Currency = told.Minor, string(told.Currency)
		}
	default:
		fits = told == c.Case.disputed()
	}
	if n.Ruling != "" && fits {
		d.end(c, n.Ruling.status(), n.Outcome.Message)
		return Applied
	}
	c.Case.Opened = true
	if n.Ruling == "" && c.Status == ClaimNeedsEvidence {
		if n.RespondBy.After(d.now) {
			c.DueBy = n.RespondBy
		}
		if n.Reviewing {
			c.Status = ClaimUnderReview
			c = c.step(PartyIssuer, "the evidence is under review", d.now)
		}
		c.DueAt = c.lookAgain(d.now)
	}
	changed := c.Case != before.Case || c.Status != before.Status || c.Network != before.Network || !c.DueBy.Equal(before.DueBy)
	if changed {
		d.put(c.written(d.now))
		if next, staged := d.p.stage(c); staged {
			d.p, d.moved = next, true
		}
	}
	switch {
	case !fits:
		return Mismatched // the amount differs from the claim's: the operator looks into it
	case changed:
		return Applied
	}
	return Ignored
}

// end resolves a claim by the issuer's ruling.
func (d *docket) end(c Claim, to ClaimStatus, note string) *Claim {
	c, change := c.resolve(d.p, to, PartyIssuer, note, d.now)
	d.add(change)
	return &c
}

// Held is news of a dispute that cannot be applied yet: its money is not in the books, or is on its
// way back. It is applied when that is settled. The operator sees it as a mismatched notice.
type Held struct {
	IDs       [2]string `json:"ids"` // of the claims that it may open
	Notice    string    `json:"notice"`
	Account   string    `json:"account"`
	Reference string    `json:"reference"`
	Dispute   string    `json:"dispute,omitempty"` // the provider's id of the dispute
	Instance  int       `json:"instance,omitempty"`
	Stage     string    `json:"stage,omitempty"`
	Ruling    Ruling    `json:"ruling,omitempty"`
	Minor     int64     `json:"minor,omitempty"`
	Currency  string    `json:"currency,omitempty"`
	Message   string    `json:"message,omitempty"`
	Network   string    `json:"network,omitempty"`
	RespondBy int64     `json:"respondBy,omitempty"` // microseconds UTC
	Played    bool      `json:"simulated,omitempty"`
}

// maxHeld is the most news that a payment holds. Further news is only kept for the operator.
const maxHeld = 20

// hold keeps a notice until it can be applied.
func (d *docket) hold(n Notice, ids [2]string) Verdict {
	if len(d.p.Disputes.Held) >= maxHeld {
		return Mismatched
	}
	h := Held{
		IDs:       ids,
		Notice:    n.ID,
		Account:   n.Account,
		Reference: n.Reference,
		Dispute:   n.DisputeID,
		Instance:  n.Instance,
		Stage:     n.Stage,
		Ruling:    n.Ruling,
		Minor:     n.Outcome.Local.Minor,
		Currency:  string(n.Outcome.Local.Currency),
		Message:   n.Outcome.Message,
		Network:   n.Network,
		Played:    n.Outcome.Played,
	}
	if !n.RespondBy.IsZero() {
		h.RespondBy = n.RespondBy.UnixMicro()
	}
	d.p.Disputes.Held = append(slices.Clip(d.p.Disputes.Held), h)
	d.moved = true
	return Mismatched
}

func (h Held) notice() Notice {
	n := Notice{
		ID:        h.Notice,
		Account:   h.Account,
		Reference: h.Reference,
		DisputeID: h.Dispute,
		Instance:  h.Instance,
		Stage:     h.Stage,
		Dispute:   h.Ruling == "",
		Ruling:    h.Ruling,
		Network:   h.Network,
		Outcome:   Outcome{Message: h.Message, Local: money.New(h.Minor, money.Currency(h.Currency)), Played: h.Played},
	}
	if h.RespondBy != 0 {
		n.RespondBy = time.UnixMicro(h.RespondBy).UTC()
	}
	return n
}

// applyHeld applies the news that was held back, once a change, not written yet, has settled where
// its money is (Change.settles). News that still cannot be applied stays held. Whoever decides by a function below this file calls
// it next.
func (p Payment) applyHeld(change Change, now time.Time) (Payment, Change) {
	settles := change.settles
	if change.settles = false; !settles {
		return p, change
	}
	if len(change.Payments) > 0 {
		p = change.Payments[0]
	}
	if len(p.Disputes.Held) == 0 {
		return p, change
	}
	held := p.Disputes.Held
	d := newDocket(p, nil, now)
	d.from.Version, d.from.Status = p.Version-1, p.Stored
	if len(change.Payments) == 0 {
		d.from = p
	}
	d.p.Disputes.Held, d.moved = nil, true
	for _, c := range change.Claims {
		d.stored[c.ID] = c.Version - 1
		d.put(c)
	}
	rest := change
	rest.Payments, rest.Claims = nil, nil
	d.change = rest
	for _, h := range held {
		d.applyDispute(h.notice(), h.IDs)
	}
	return d.done()
}
