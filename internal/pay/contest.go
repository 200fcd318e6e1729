package pay

import (
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// OfDispute reports whether the notice is about a dispute: its opening, its state or its end.
func (n Notice) OfDispute() bool { return n.Dispute || n.Ruling != "" }

// Contest applies a provider's notice of a dispute to the payment and its claims. claims are all
// claims of the payment, in any order. The Change always keeps the notice. It opens at most two
// claims, with the given ids: one for the dispute, and one for late money that was not reported
// before.
//
// A notice that contradicts the books is applied as far as possible and kept as mismatched for the
// operator.
func (n Notice) Contest(p Payment, claims []Claim, ids [2]string, now time.Time) (Payment, Change) {
	d := newDocket(p, claims, now)
	verdict := d.contest(n, ids)
	if verdict == Ignored && d.moved { // news that was held back has been applied
		verdict = Applied
	}
	next, change := d.done()
	change.Notices = append(change.Notices, n.kept(p.ID, verdict, now))
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

// Heard records the provider's answer to a query about a dispute; nil if there was no answer. The
// claim is looked at again, unless the answer ends it. An answer that contradicts the books is kept
// for the operator once.
func (c Claim) Heard(p Payment, claims []Claim, n *Notice, ids [2]string, now time.Time) (Payment, Change) {
	d := newDocket(p, claims, now)
	var told *KeptNotice
	if n != nil {
		if d.contest(*n, ids) == Mismatched {
			answer := *n
			answer.ID = fmt.Sprintf("answer/%s-%d", c.ID, c.Case.Asked+1)
			receipt := answer.kept(p.ID, Mismatched, now)
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

// money finds the money that an attempt took: the capture, or an inquiry about late money. seen is
// false if it is not in the books. ref is the provider's id of the money, "" if it reports none.
func (d *docket) money(order int, ref string) (inquiry *Claim, seen bool) {
	if at := d.p.strayed(order, ref); at >= 0 {
		if !d.p.Times.Completed.IsZero() && order == d.p.captured() && d.p.Attempts[order-1].MoneyRef == ref {
			return nil, false // a part of it completed the payment: it may be about either
		}
		at = d.index(d.p.Strays[at].Claim)
		if at < 0 {
			return nil, false
		}
		return &d.claims[at], true
	}
	if a := d.p.Attempts[order-1]; ref != "" && a.MoneyRef != "" && a.MoneyRef != ref {
		return nil, false // of money that was not reported yet
	}
	completed := !d.p.Times.Completed.IsZero()
	if completed && order == d.p.captured() {
		return nil, true
	}
	for i, c := range d.claims {
		if c.Kind == Inquiry && c.Call.Returned == "" && (c.Attempt == order || c.Attempt == 0 && !completed) && !d.p.named(c.ID, ref) {
			return &d.claims[i], true
		}
	}
	return nil, false
}

// contest applies a notice of a dispute and returns the verdict.
func (d *docket) contest(n Notice, ids [2]string) Verdict {
	_, order, ok := ParseReference(n.Reference)
	if !ok || order > len(d.p.Attempts) {
		return Mismatched
	}
	inquiry, seen := d.money(order, n.Outcome.MoneyRef)
	if !seen {
		if !d.p.proves(n, order) || !d.paid(n, order, ids[1]) {
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
		d.add(change)
	}
	about := ""
	if inquiry != nil {
		about = inquiry.ID
	}
	return d.judge(n, order, about, ids[0])
}

// paid books the money of an attempt that a dispute proves to have been paid.
func (d *docket) paid(n Notice, order int, claim string) bool {
	if claim == "" && !d.p.Status.Open() {
		return false
	}
	paid := Notice{ID: n.ID, Account: n.Account, Reference: n.Reference, Outcome: Outcome{Kind: Approved, MoneyRef: n.Outcome.MoneyRef, Local: d.p.Price.Local, Played: n.Outcome.Played}}
	_, change, verdict := d.p.confirm(paid, Cascade{}, claim, d.now)
	if verdict != Applied && verdict != Late {
		return false
	}
	d.add(change)
	return true
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
	case n.Instance > c.Case.instance():
		if !c.Status.Terminal() { // the next instance begins only after the first ended in the merchant's favour
			c = d.end(*c, ClaimRejected, "it went on to the next instance")
		}
		return d.open(n, order, inquiry, c, id)
	case n.Instance < c.Case.instance():
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
		if over[c.ID] || c.Kind != ChargebackClaim || c.Attempt != order && (c.Attempt != 0 || order != d.p.captured()) || !c.Case.of(inquiry) {
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
		case c.Case.ID == n.DisputeID && (c.Case.Account == n.Account || n.Account == ""):
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

// of reports whether the dispute may be about an inquiry's money; "": the capture's. In older rows,
// which do not have the inquiry, an attempt had only one money.
func (c Case) of(inquiry string) bool {
	if c.Inquiry != "" {
		return c.Inquiry == inquiry
	}
	return c.Account == "" || c.Late == (inquiry != "")
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
	case n.Reviewing: // it waits for nobody's evidence
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
		o.local, fits = o.previous.Local, told.Currency == "" || told == o.previous.Local || told == o.previous.Case.told()
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
		free += p.taking(o.previous.ID).USD
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
		if c.Kind == ChargebackClaim && stands && !over[c.ID] && c.Case.Late == o.late() && (!o.late() || c.Attempt == o.attempt && c.Case.of(o.inquiry)) {
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
	if c.Case.Account == "" { // a row from before accounts were kept
		c.Case.Account, c.Case.Round = n.Account, max(1, c.Case.Round)
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
		fits = told == c.Case.told()
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

// docket is a payment with its claims while a notice is applied to them. It joins the writes of
// several steps into one Change.
type docket struct {
	from    Payment
	p       Payment
	moved   bool    // the payment is written
	claims  []Claim // in their present state
	stored  map[string]int64
	touched []string
	change  Change
	now     time.Time
}

func newDocket(p Payment, claims []Claim, now time.Time) *docket {
	d := &docket{from: p, p: p, claims: slices.Clone(claims), stored: map[string]int64{}, now: now}
	for _, c := range claims {
		d.stored[c.ID] = c.Version
	}
	return d
}

// add merges the result of a step.
func (d *docket) add(c Change) {
	for _, next := range c.Payments { // at most one
		d.p, d.moved = next, true
	}
	for _, claim := range c.Claims {
		d.put(claim)
	}
	d.change.Transfers = append(d.change.Transfers, c.Transfers...)
	d.change.Events = append(d.change.Events, c.Events...)
	d.change.Notices = append(d.change.Notices, c.Notices...)
}

// put stores the new value of a claim.
func (d *docket) put(c Claim) {
	if at := d.index(c.ID); at >= 0 {
		d.claims[at] = c
	} else {
		d.claims = append(d.claims, c)
	}
	if !slices.Contains(d.touched, c.ID) {
		d.touched = append(d.touched, c.ID)
	}
}

func (d *docket) index(claim string) int {
	return slices.IndexFunc(d.claims, func(c Claim) bool { return c.ID == claim })
}

// done returns one Change for all steps: each row is the next version of its stored one.
func (d *docket) done() (Payment, Change) {
	change := d.change
	if d.moved {
		d.p.written(&d.from, d.now)
		change.Payments = []Payment{d.p}
	}
	for _, id := range d.touched {
		c := d.claims[d.index(id)]
		c.Version = d.stored[id] + 1
		change.Claims = append(change.Claims, c)
	}
	return d.p, change
}

// named reports whether an inquiry is about money of another id.
func (p *Payment) named(inquiry, ref string) bool {
	return slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.Claim == inquiry && ref != "" && s.MoneyRef != "" && s.MoneyRef != ref })
}
