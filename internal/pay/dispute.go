package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Case is what the provider reports of a chargeback claim's dispute. Claims from before this was
// kept have the zero value.
type Case struct {
	Account  string `json:"account,omitempty"`  // at the provider
	ID       string `json:"id,omitempty"`       // the provider's; "" if it reported none
	Round    int    `json:"round,omitempty"`    // number of our claim among those of this dispute, from 1
	Instance int    `json:"instance,omitempty"` // the instance that decides now: 1 is the first
	Stage    string `json:"stage,omitempty"`    // the provider's own name of the state; only operators see it
	Minor    int64  `json:"minor,omitempty"`    // disputed amount in minor units, as the provider reports it
	Currency string `json:"currency,omitempty"` // "": no amount was reported
	Opened   bool   `json:"opened,omitempty"`   // its opening was reported, not only its end
	Late     bool   `json:"late,omitempty"`     // about money that came after the payment had ended
	Inquiry  string `json:"inquiry,omitempty"`  // of late money: the inquiry about it; "" in rows from before it was kept
	Asked    int    `json:"asked,omitempty"`    // queries about it so far
	Odd      bool   `json:"odd,omitempty"`      // an answer contradicted the books: it is kept for the operator
}

// Key names a claim among those of a payment's disputes, so that a dispute cannot get two claims.
// It is "" if the dispute was not kept.
func (c Case) Key() string {
	if c.Account == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", c.Account, c.ID, c.Round)
}

// String describes the dispute and its state for the operator, "" if that was not kept.
func (c Case) String() string {
	if c.Account == "" {
		return ""
	}
	words := []string{cmp.Or(c.ID, "without an id"), "at " + c.Account}
	if c.Stage != "" {
		words = append(words, "stage "+c.Stage)
	}
	if c.instance() > 1 {
		words = append(words, fmt.Sprintf("instance %d", c.Instance))
	}
	if c.Currency != "" {
		words = append(words, "of "+c.told().String())
	}
	return strings.Join(words, ", ")
}

// told is the disputed amount as the provider reports it; zero if it reported none.
func (c Case) told() money.Amount { return money.New(c.Minor, money.Currency(c.Currency)) }

// instance is the instance at which the dispute is, from 1.
func (c Case) instance() int { return max(1, c.Instance) }

// Taking is a dispute of a payment: its state, and the amount that it holds or took of the payment's
// money. One that the payment won stays listed, with nothing taken.
type Taking struct {
	Claim   string      `json:"claim"`
	Status  ClaimStatus `json:"status,omitempty"`  // of the claim; "" in rows from before it was kept
	Local   int64       `json:"local,omitempty"`   // disputed amount, local minor units; 0 in such rows
	USD     int64       `json:"usd"`               // cents: held while the claim is open, the shopper's once it is lost
	Short   int64       `json:"short,omitempty"`   // cents: lost, but not available when the dispute was lost
	Open    bool        `json:"open,omitempty"`    // the claim is not resolved
	Attempt int         `json:"attempt,omitempty"` // order of the attempt whose late money it is about; 0: the capture
	Inquiry string      `json:"inquiry,omitempty"` // of late money: the inquiry about it; "" in rows from before it was kept
	// Followed: another claim of the same dispute follows, and that one counts.
	Followed bool `json:"followed,omitempty"`
}

// State is the status of the dispute's claim. A row from before it was kept lists disputes that are
// open or were lost.
func (t Taking) State() ClaimStatus {
	switch {
	case t.Status != "":
		return t.Status
	case t.Open:
		return ClaimUnderReview
	}
	return ClaimApproved
}

// Disputed is the amount, in the shopper's currency, that the dispute of a payment of that price is
// about.
func (t Taking) Disputed(p Price) money.Amount {
	if t.Local > 0 {
		return money.New(t.Local, p.Local.Currency)
	}
	return p.Local.Fraction(t.USD+t.Short, p.Amount.Minor, money.Up)
}

// lost is the part of the capture, in local minor units, that lost disputes are about. No refund
// gives it back.
func (p *Payment) lost() (minor int64) {
	for _, t := range p.Disputes.Takings {
		if t.Attempt == 0 && !t.Open && !t.Followed && t.State().Pays() {
			minor += t.Disputed(p.Price).Minor
		}
	}
	return minor
}

// OpenOnCapture is the id of a chargeback claim on the capture that is not resolved, "" if there is
// none. Claims on late money do not count: refunds do not give late money back.
func (d Disputes) OpenOnCapture() string {
	for _, t := range d.Takings {
		if t.Open && t.Attempt == 0 {
			return t.Claim
		}
	}
	return ""
}

// Kept reports whether the disputes of the capture have all ended, and none for the shopper.
func (d Disputes) Kept() bool {
	return len(d.Takings) > 0 && !slices.ContainsFunc(d.Takings, func(t Taking) bool {
		return t.Attempt == 0 && !t.Followed && (t.Open || t.State().Pays())
	})
}

// Open lists the open chargeback claims on the payment in the order of their opening.
func (d Disputes) Open() (list []string) {
	for _, t := range d.Takings {
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
	for _, t := range p.Disputes.Takings {
		if p.inquiryOf(t) == inquiry {
			left -= t.USD
		}
	}
	return left
}

// inquiryOf is the inquiry about the money that a dispute took, "": the capture. In older rows an
// attempt has at most one.
func (p *Payment) inquiryOf(t Taking) string {
	if t.Attempt == 0 || t.Inquiry != "" {
		return t.Inquiry
	}
	for _, s := range p.Strays {
		if s.Order == t.Attempt && s.Claim != "" {
			return s.Claim
		}
	}
	return t.Claim // not known: its own money
}

// taking returns the amount that a claim's dispute holds or took.
func (p *Payment) taking(claim string) Taking {
	if at := p.takingAt(claim); at >= 0 {
		return p.Disputes.Takings[at]
	}
	return Taking{}
}

func (p *Payment) takingAt(claim string) int {
	return slices.IndexFunc(p.Disputes.Takings, func(t Taking) bool { return t.Claim == claim })
}

// take sets the state of a claim's dispute and the amount that it holds or took. The slice is new:
// values that were handed out do not change.
func (p Payment) take(t Taking) Payment {
	list, at := slices.Clone(p.Disputes.Takings), p.takingAt(t.Claim)
	if at < 0 {
		list = append(list, t)
	} else {
		list[at] = t
	}
	p.Disputes.Takings = list
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
	claim.Reason, claim.Network, claim.Attempt = n.Outcome.Message, n.Network, o.attempt
	claim.Case = Case{
		Account: n.Account, ID: n.DisputeID, Round: o.round, Instance: max(1, n.Instance), Stage: n.Stage,
		Minor: n.Outcome.Local.Minor, Currency: string(n.Outcome.Local.Currency), Opened: n.Ruling == "", Late: o.late(), Inquiry: o.inquiry,
	}
	taking := Taking{Claim: claim.ID, Status: claim.Status, Local: o.local.Minor, Open: true, Inquiry: o.inquiry}
	if o.late() {
		taking.Attempt = o.attempt
	}
	back := int64(0)
	if o.previous == nil {
		claim.Fee = p.Terms.DisputeFee
	} else {
		claim.Previous = o.previous.ID
		if o.previous.Status.Pays() {
			back = p.taking(o.previous.ID).USD
		}
		p = p.take(Taking{Claim: o.previous.ID, Status: o.previous.Status, Local: o.previous.Local.Minor, Attempt: taking.Attempt, Inquiry: o.inquiry, Followed: true})
	}
	hold := max(0, min(o.usd-back, p.uncontested(p.inquiryOf(taking))-back))
	claim.Frozen = back + hold
	taking.USD = claim.Frozen
	p = p.take(taking)
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
				ledger.Posting{Account: ledger.ChargebackFees, Amount: claim.Fee}),
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
	from, taking := p, Taking{Claim: c.ID, Status: to, Local: c.Local.Minor}
	if c.Case.Late {
		taking.Attempt, taking.Inquiry = c.Attempt, c.Case.Inquiry
	}
	if to.Pays() {
		taking.USD = min(c.USD, max(0, c.Frozen+p.uncontested(p.inquiryOf(taking))))
		taking.Short = c.USD - taking.USD
	}
	p = p.gone(taking, now)
	owed, frozen := taking.USD, min(c.Frozen, taking.USD)
	kept := c.Frozen - frozen
	p = p.take(taking)
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
	for _, t := range p.Disputes.Takings {
		inquiry := p.inquiryOf(t)
		usd := min(t.Short, p.uncontested(inquiry))
		if usd <= 0 {
			continue
		}
		t.Short -= usd
		t.USD += usd
		p = p.take(t).gone(t, now)
		part := p.came(inquiry).Fraction(usd, p.worth(inquiry), money.Down)
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
	t := p.taking(c.ID)
	if t.Claim == "" || t.Status == c.Status {
		return p, false
	}
	t.Status, t.Local = c.Status, c.Local.Minor
	return p.take(t), true
}

// gone moves the payment to chargeback once the shopper has the money of a dispute of its capture.
// What that dispute is about cannot be refunded any more (PAY-29).
func (p Payment) gone(t Taking, now time.Time) Payment {
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

// lookAgain is when the claim of an open dispute is looked at next: with growing pauses, when the
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
		IDs: ids, Notice: n.ID, Account: n.Account, Reference: n.Reference, Dispute: n.DisputeID, Instance: n.Instance, Stage: n.Stage,
		Ruling: n.Ruling, Minor: n.Outcome.Local.Minor, Currency: string(n.Outcome.Local.Currency), Message: n.Outcome.Message,
		Network: n.Network, Played: n.Outcome.Played,
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
		ID: h.Notice, Account: h.Account, Reference: h.Reference, DisputeID: h.Dispute, Instance: h.Instance, Stage: h.Stage,
		Dispute: h.Ruling == "", Ruling: h.Ruling, Network: h.Network,
		Outcome: Outcome{Message: h.Message, Local: money.New(h.Minor, money.Currency(h.Currency)), Played: h.Played},
	}
	if h.RespondBy != 0 {
		n.RespondBy = time.UnixMicro(h.RespondBy).UTC()
	}
	return n
}

// applyHeld applies the news that was held back, once a change, not written yet, has settled where
// its money is. claims are the other claims that the news may be about. News that still cannot be
// applied stays held.
func (p Payment) applyHeld(change Change, claims []Claim, now time.Time) (Payment, Change) {
	if len(p.Disputes.Held) == 0 {
		return p, change
	}
	held := p.Disputes.Held
	d := newDocket(p, claims, now)
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
		d.contest(h.notice(), h.IDs)
	}
	return d.done()
}
