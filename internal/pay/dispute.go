package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// DisputeEntry is a dispute of a payment: its state, and the amount that it holds or took of the payment's
// money. One that the payment won stays listed, with nothing taken.
type DisputeEntry struct {
	Claim   string      `json:"claim"`
	Status  ClaimStatus `json:"status"`            // of the claim
	Local   int64       `json:"local,omitempty"`   // disputed amount, local minor units
	USD     int64       `json:"usd"`               // cents: held while the claim is open, the shopper's once it is lost
	Short   int64       `json:"short,omitempty"`   // cents: lost, but not available when the dispute was lost
	Open    bool        `json:"open,omitempty"`    // the claim is not resolved
	Attempt int         `json:"attempt,omitempty"` // order of the attempt whose late money it is about; 0: the capture
	Inquiry string      `json:"inquiry,omitempty"` // of late money: the inquiry about it; "": the capture
	// Followed: another claim of the same dispute follows, and that one counts.
	Followed bool `json:"followed,omitempty"`
}

// Disputed is the amount, in the shopper's currency, that the dispute of a payment of that price is
// about.
func (en DisputeEntry) Disputed(p Price) money.Amount { return money.New(en.Local, p.Local.Currency) }

// lost is the part of the capture, in local minor units, that lost disputes are about. No refund
// gives it back.
func (p *Payment) lost() (minor int64) {
	for _, t := range p.Disputes.Entries {
		if t.Attempt == 0 && !t.Open && !t.Followed && t.Status.Pays() {
			minor += t.Local
		}
	}
	return minor
}

// OpenOnCapture is the id of a chargeback claim on the capture that is not resolved, "" if there is
// none. Claims on late money do not count: refunds do not give late money back.
func (d Disputes) OpenOnCapture() string {
	for _, t := range d.Entries {
		if t.Open && t.Attempt == 0 {
			return t.Claim
		}
	}
	return ""
}

// Won reports whether the disputes of the capture have all ended, and none for the shopper.
func (d Disputes) Won() bool {
	return len(d.Entries) > 0 && !slices.ContainsFunc(d.Entries, func(t DisputeEntry) bool {
		return t.Attempt == 0 && !t.Followed && (t.Open || t.Status.Pays())
	})
}

// Open lists the open chargeback claims on the payment in the order of their opening.
func (d Disputes) Open() (list []string) {
	for _, t := range d.Entries {
		if t.Open {
			list = append(list, t.Claim)
		}
	}
	return list
}

// uncontested is the part of the capture ("") or of an inquiry's late money that no refund and no
// dispute holds or took, in USD cents. It is below zero only if the sandbox played a refund during
// a dispute.
func (p *Payment) uncontested(inquiry string) int64 {
	left := p.worth(inquiry)
	if inquiry == "" {
		left -= p.Refunds.USD.USD
	}
	for _, t := range p.Disputes.Entries {
		if t.Inquiry == inquiry {
			left -= t.USD
		}
	}
	return left
}

// disputeEntry returns the amount that a claim's dispute holds or took.
func (p *Payment) disputeEntry(claim string) DisputeEntry {
	if at := p.disputeAt(claim); at >= 0 {
		return p.Disputes.Entries[at]
	}
	return DisputeEntry{}
}

func (p *Payment) disputeAt(claim string) int {
	return slices.IndexFunc(p.Disputes.Entries, func(t DisputeEntry) bool { return t.Claim == claim })
}

// withDispute sets the state of a claim's dispute and the amount that it holds or took. The slice is new:
// values that were handed out do not change.
func (p Payment) withDispute(t DisputeEntry) Payment {
	list, at := slices.Clone(p.Disputes.Entries), p.disputeAt(t.Claim)
	if at < 0 {
		list = append(list, t)
	} else {
		list[at] = t
	}
	p.Disputes.Entries = list
	return p
}

// opening is the input from which the claim of a dispute is opened.
type opening struct {
	claim    string
	notice   Notice
	attempt  int    // order of the attempt that took the money
	inquiry  string // of money that came after the payment had ended, or again
	local    money.Amount
	usd      int64
	round    int
	previous *Claim // the claim of this dispute that ended before
}

// late reports whether the dispute is not about the capture.
func (o opening) late() bool { return o.inquiry != "" }

// openDispute opens a chargeback claim, freezes its part of the money that no refund and no other
// dispute took, and takes the fee, once for each dispute. It may take available below zero
// (CLAIM-6). If an earlier claim of the dispute paid the shopper, that money is held again, because
// the result is open again.
//
// A played dispute leaves the payment completed; a real one moves it to chargeback (CLAIM-14). A
// dispute of late money does not change the payment, which had ended without it.
func (p Payment) openDispute(o opening, now time.Time) (Payment, Claim, Change) {
	from, n := p, o.notice
	if _, can := p.Status.After(Dispute); can && !n.Outcome.Played && !o.late() {
		p.move(Dispute, now)
	}
	p.Disputes.Any = true
	claim := p.claim(o.claim, ChargebackClaim, ClaimNeedsEvidence, o.local, o.usd, PartyIssuer, now)
	claim.Reason = n.Outcome.Message
	claim.Network = n.Network
	claim.Attempt = o.attempt
	claim.Case = Case{
		Account:  n.Account,
		ID:       n.DisputeID,
		Round:    o.round,
		Instance: n.Instance,
		Stage:    n.Stage,
		Minor:    n.Outcome.Local.Minor,
		Currency: string(n.Outcome.Local.Currency),
		Opened:   n.Ruling == "",
		Inquiry:  o.inquiry,
	}
	entry := DisputeEntry{Claim: claim.ID, Status: claim.Status, Local: o.local.Minor, Open: true, Inquiry: o.inquiry}
	if o.late() {
		entry.Attempt = o.attempt
	}
	back := int64(0)
	if o.previous == nil {
		claim.Fee, claim.Tax, claim.Taxed = p.Terms.Dispute.Total(), p.Terms.Dispute.Tax, p.Terms.Taxed
	} else {
		claim.Previous = o.previous.ID
		if o.previous.Status.Pays() {
			back = p.disputeEntry(o.previous.ID).USD
		}
		p = p.withDispute(DisputeEntry{Claim: o.previous.ID, Status: o.previous.Status, Local: o.previous.Local.Minor, Attempt: entry.Attempt, Inquiry: o.inquiry, Followed: true})
	}
	hold := max(0, min(o.usd-back, p.uncontested(entry.Inquiry)-back))
	claim.Frozen = back + hold
	entry.USD = claim.Frozen
	p = p.withDispute(entry)
	p.written(&from, now)
	if claim.DueBy = n.RespondBy; !claim.DueBy.After(now) {
		claim.DueBy = now.Add(evidenceWindow)
	}
	claim.DueAt = claim.lookAgain(now)
	claim, created := claim.event(webhooks.ChargebackCreated, p, now)
	claim, opened := claim.event(webhooks.ClaimOpened, p, now)
	return p, claim, Change{
		Payments: []Payment{p}, Claims: []Claim{claim}, Events: []Event{created, opened},
		Transfers: moving(
			claim.transfer("reversal", ledger.ChargebackReversal, now,
				ledger.Posting{Account: ledger.Chargebacks, Amount: -back},
				ledger.Posting{Account: ledger.Frozen, Amount: back}),
			claim.transfer("hold", ledger.ChargebackHold, now,
				ledger.Posting{Account: ledger.Available, Amount: -hold},
				ledger.Posting{Account: ledger.Frozen, Amount: hold}),
			claim.transfer("fee", ledger.ChargebackFee, now,
				ledger.Posting{Account: ledger.Available, Amount: -claim.Fee},
				ledger.Posting{Account: ledger.ChargebackFees, Amount: claim.Fee - claim.Tax},
				ledger.Posting{Account: ledger.FeeTaxes, Amount: claim.Tax}),
		),
	}
}

// endDispute pays the shopper the disputed amount, less what the shopper got back in other ways, or
// releases the frozen money to the merchant. The fee is kept: the issuer charged it for the case,
// whatever the outcome.
//
// It takes more than is frozen if a refund that was under way when the dispute came was refused
// later. Only a played refund can be opened during a dispute; its amount is not paid a second time.
func (c Claim) endDispute(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	from, entry := p, DisputeEntry{Claim: c.ID, Status: to, Local: c.Local.Minor}
	if c.Case.Inquiry != "" {
		entry.Attempt, entry.Inquiry = c.Attempt, c.Case.Inquiry
	}
	if to.Pays() {
		entry.USD = min(c.USD, max(0, c.Frozen+p.uncontested(entry.Inquiry)))
		entry.Short = c.USD - entry.USD
	}
	p = p.gone(entry, now)
	owed, frozen := entry.USD, min(c.Frozen, entry.USD)
	kept := c.Frozen - frozen
	p = p.withDispute(entry)
	p, more := p.payShort(c.suffix(), now)
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}, Transfers: append(moving(
		c.transfer("paid", ledger.ChargebackPaid, now,
			ledger.Posting{Account: ledger.Frozen, Amount: -frozen},
			ledger.Posting{Account: ledger.Available, Amount: frozen - owed},
			ledger.Posting{Account: ledger.Chargebacks, Amount: owed}),
		c.transfer("release", ledger.ChargebackRelease, now,
			ledger.Posting{Account: ledger.Frozen, Amount: -kept},
			ledger.Posting{Account: ledger.Available, Amount: kept}),
	), more...)}
}

// payShort pays what lost disputes could not take when they were lost, once the money becomes free:
// a refund was refused, or another dispute was won. by names the cause; the transfers' ids contain
// it, so that each is written once.
func (p Payment) payShort(by string, now time.Time) (Payment, []ledger.Transfer) {
	var paid []ledger.Transfer
	for _, t := range p.Disputes.Entries {
		usd := min(t.Short, p.uncontested(t.Inquiry))
		if usd <= 0 {
			continue
		}
		t.Short -= usd
		t.USD += usd
		p = p.withDispute(t).gone(t, now)
		part := p.came(t.Inquiry).Fraction(usd, p.worth(t.Inquiry), money.Down)
		lost := Claim{ID: t.Claim, Scope: p.Scope, Payment: p.ID, Local: part}
		paid = append(paid, lost.transfer("paid-"+by, ledger.ChargebackPaid, now,
			ledger.Posting{Account: ledger.Available, Amount: -usd},
			ledger.Posting{Account: ledger.Chargebacks, Amount: usd}))
	}
	return p, paid
}

// stage sets the status of an open dispute's claim on its payment. It returns false if that changes
// nothing.
func (p Payment) stage(c Claim) (Payment, bool) {
	t := p.disputeEntry(c.ID)
	if t.Claim == "" || t.Status == c.Status {
		return p, false
	}
	t.Status, t.Local = c.Status, c.Local.Minor
	return p.withDispute(t), true
}

// gone moves the payment to chargeback once the shopper has the money of a dispute of its capture.
// What that dispute is about cannot be refunded any more (PAY-29).
func (p Payment) gone(t DisputeEntry, now time.Time) Payment {
	if _, can := p.Status.After(Dispute); can && t.Attempt == 0 && t.USD > 0 {
		p.move(Dispute, now)
	}
	return p
}

// Ruling is how a dispute ended, as the provider reports it.
type Ruling string

// Rulings.
const (
	DisputeLost      Ruling = "lost"
	DisputeWon       Ruling = "won"
	DisputeWithdrawn Ruling = "withdrawn"
)

// status is the claim's status after a ruling.
func (r Ruling) status() ClaimStatus {
	switch r {
	case DisputeLost:
		return ClaimApproved
	case DisputeWithdrawn:
		return ClaimWithdrawn
	}
	return ClaimRejected
}

// disputePauses are between two queries about a dispute. Its issuer takes days or weeks to decide, and most providers tell
// by themselves.
var disputePauses = backoff{first: 6 * time.Hour, most: 7 * 24 * time.Hour}

// disputePatience is how long after its deadline an open dispute is still normal.
const disputePatience = 6 * 7 * 24 * time.Hour

// lookAgain is when the claim of an open dispute is due next: with growing pauses, when the
// deadline for evidence has passed, and when evidence has to be sent.
func (c Claim) lookAgain(now time.Time) time.Time {
	at := now.Add(disputePauses.after(c.Case.Asked + 1))
	if c.Status == ClaimNeedsEvidence && c.DueBy.After(now) && c.DueBy.Before(at) {
		at = c.DueBy
	}
	if next := c.Defense.next(); !next.IsZero() && next.Before(at) {
		at = next
	}
	return at
}

// Stale reports whether a dispute has been open for too long: the operator has to find out its
// state.
func (c Claim) Stale(now time.Time) bool {
	since := c.DueBy
	if since.IsZero() {
		since = c.CreatedAt
	}
	return c.Kind == ChargebackClaim && !c.Status.Terminal() && now.After(since.Add(disputePatience))
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

// money finds the money that an attempt took: the capture, or an inquiry about late money. seen is
// false if it is not in the books. ref is the provider's id of the money, "" if it reports none.
func (d *docket) money(order int, ref string) (inquiry *Claim, seen bool) {
	if at := d.p.strayed(order, ref); at >= 0 {
		if !d.p.Times.Completed.IsZero() && order == d.p.End.Captured && d.p.Attempts[order-1].MoneyRef == ref {
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
	if completed && order == d.p.End.Captured {
		return nil, true
	}
	for i, c := range d.claims {
		if c.Kind == Inquiry && c.Call.Returned == "" && c.Attempt == order && !d.p.named(c.ID, ref) {
			return &d.claims[i], true
		}
	}
	return nil, false
}

// named reports whether an inquiry is about money of another id.
func (p *Payment) named(inquiry, ref string) bool {
	return slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.Claim == inquiry && ref != "" && s.MoneyRef != "" && s.MoneyRef != ref })
}
