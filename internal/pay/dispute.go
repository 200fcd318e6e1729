package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/hook"
)

// Case is what a provider tells of the dispute that a chargeback claim is of. The
// zero value is of a claim from before it was kept.
type Case struct {
	Account  string `json:"account,omitempty"`  // at the provider
	ID       string `json:"id,omitempty"`       // the provider's; "" where it told none
	Round    int    `json:"round,omitempty"`    // of our claims of this dispute, from 1
	Instance int    `json:"instance,omitempty"` // whose word it waits for: 1 is the first
	Stage    string `json:"stage,omitempty"`    // the provider's own word; operators alone see it
	Minor    int64  `json:"minor,omitempty"`    // what the provider says is disputed, as it says it
	Currency string `json:"currency,omitempty"` // "": it told no amount
	Opened   bool   `json:"opened,omitempty"`   // we were told that it was opened, not only how it ended
	Late     bool   `json:"late,omitempty"`     // of money that came after the payment had ended
	Asked    int    `json:"asked,omitempty"`    // questions about it so far
	Odd      bool   `json:"odd,omitempty"`      // an answer contradicted the books: the operator knows
}

// Key names a claim among those of a payment's disputes, so that no two can be
// opened for one; "" where the dispute was not kept.
func (c Case) Key() string {
	if c.Account == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", c.Account, c.ID, c.Round)
}

// String tells the operator which dispute it is, and where it stands; "" where
// that was not kept.
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

// told is what the provider says is disputed; zero where it told no amount.
func (c Case) told() money.Amount { return money.New(c.Minor, money.Currency(c.Currency)) }

// instance is which instance the dispute is at, from 1.
func (c Case) instance() int { return max(1, c.Instance) }

// Taking is what one dispute holds or took of a payment's money.
type Taking struct {
	Claim   string `json:"claim"`
	USD     int64  `json:"usd"`               // cents: held while the claim is open, the shopper's once it is lost
	Short   int64  `json:"short,omitempty"`   // cents: lost, and not there to be taken when it was
	Open    bool   `json:"open,omitempty"`    // the claim is not resolved
	Attempt int    `json:"attempt,omitempty"` // whose late money it is of; 0: of the capture
}

// OpenDispute is the id of a chargeback claim on the capture that is not resolved, ""
// where there is none: late money is not what a refund gives back.
func (p Payment) OpenDispute() string {
	for _, t := range p.Disputes.Takings {
		if t.Open && t.Attempt == 0 {
			return t.Claim
		}
	}
	return ""
}

// OpenDisputes lists the chargeback claims on the payment that are not resolved,
// in the order in which they came.
func (p Payment) OpenDisputes() (list []string) {
	for _, t := range p.Disputes.Takings {
		if t.Open {
			list = append(list, t.Claim)
		}
	}
	return list
}

// uncontested is what neither refunds nor disputes hold or took, in USD cents, of
// the capture or of an attempt's late money. Below zero only where the sandbox
// played a refund under dispute.
func (p Payment) uncontested(attempt int) int64 {
	left := p.Price.Amount.Minor
	if attempt == 0 {
		left -= p.given().USD
	}
	for _, t := range p.Disputes.Takings {
		if t.Attempt == attempt {
			left -= t.USD
		}
	}
	return left
}

// taking returns what a claim's dispute holds or took.
func (p Payment) taking(claim string) Taking {
	if at := p.takingAt(claim); at >= 0 {
		return p.Disputes.Takings[at]
	}
	return Taking{}
}

func (p Payment) takingAt(claim string) int {
	return slices.IndexFunc(p.Disputes.Takings, func(t Taking) bool { return t.Claim == claim })
}

// take notes what a claim's dispute holds or took from now on; nothing, and it is
// forgotten. The slice is new: values that were handed out do not change.
func (p Payment) take(t Taking) Payment {
	list, at := slices.Clone(p.Disputes.Takings), p.takingAt(t.Claim)
	switch keep := t.Open || t.USD != 0 || t.Short != 0; {
	case at < 0 && keep:
		list = append(list, t)
	case at >= 0 && keep:
		list[at] = t
	case at >= 0:
		list = slices.Delete(list, at, at+1)
	}
	if len(list) == 0 {
		list = nil
	}
	p.Disputes.Takings = list
	return p
}

// opening is what the claim of a dispute is opened from.
type opening struct {
	claim    string
	notice   Notice
	attempt  int  // whose money it is
	late     bool // the money came after the payment had ended
	local    money.Amount
	usd      int64
	round    int
	previous *Claim // the claim of this dispute that ended before
}

// lateAttempt is the attempt whose late money the dispute is of; 0: the capture's.
func (o opening) lateAttempt() int {
	if o.late {
		return o.attempt
	}
	return 0
}

// openDispute opens a chargeback claim, freezes its part of what neither refunds
// nor other disputes took, and takes the fee, once for a dispute. It may take
// available below zero (CLAIM-6). What an earlier claim of the dispute gave
// the shopper is held again: it is not certain any more.
//
// A dispute that was played leaves the payment completed; a real one moves
// it to chargeback (CLAIM-14). One of late money says nothing of the
// payment, which had ended without it.
func (p Payment) openDispute(o opening, now time.Time) (Payment, Claim, Change) {
	from, n := p, o.notice
	if _, can := p.Status.After(Dispute); can && !n.Outcome.Played && !o.late {
		p = p.move(Dispute, now)
	}
	p.Disputes.Any = true
	claim := p.claim(o.claim, ChargebackClaim, ClaimNeedsEvidence, o.local, o.usd, PartyIssuer, now)
	claim.Reason, claim.Network, claim.Attempt = n.Outcome.Message, n.Network, o.attempt
	claim.Case = Case{
		Account: n.Account, ID: n.DisputeID, Round: o.round, Instance: max(1, n.Instance), Stage: n.Stage,
		Minor: n.Outcome.Local.Minor, Currency: string(n.Outcome.Local.Currency), Opened: n.Ruling == "", Late: o.late,
	}
	taking := Taking{Claim: claim.ID, Open: true, Attempt: o.lateAttempt()}
	back := int64(0)
	if o.previous == nil {
		claim.Fee = p.Terms.DisputeFee
	} else {
		claim.Previous = o.previous.ID
		if o.previous.Status.Pays() {
			back = p.taking(o.previous.ID).USD
			p = p.take(Taking{Claim: o.previous.ID})
		}
	}
	hold := max(0, min(o.usd-back, p.uncontested(taking.Attempt)-back))
	claim.Frozen = back + hold
	taking.USD = claim.Frozen
	p = p.take(taking).written(from, now)
	if claim.DueBy = n.RespondBy; !claim.DueBy.After(now) {
		claim.DueBy = now.Add(evidenceWindow)
	}
	claim.DueAt = claim.lookAgain(now)
	claim, created := claim.event(hook.ChargebackCreated, p, now)
	claim, opened := claim.event(hook.ClaimOpened, p, now)
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

// endDispute pays the shopper what the dispute is about, as far as he has not got
// it back by other ways, or gives the merchant back what was frozen. The fee stays:
// the issuer took it for the case, not for its outcome.
//
// More than is frozen is taken where a refund that was under way when the dispute
// came has been refused since. Only one that is played is opened under a dispute;
// what it gave back is not paid a second time.
func (c Claim) endDispute(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	from, taking := p, Taking{Claim: c.ID}
	if c.Case.Late {
		taking.Attempt = c.Attempt
	}
	if to.Pays() {
		taking.USD = min(c.USD, max(0, c.Frozen+p.uncontested(taking.Attempt)))
		taking.Short = c.USD - taking.USD
	}
	p = p.gone(taking, now)
	owed, frozen := taking.USD, min(c.Frozen, taking.USD)
	kept := c.Frozen - frozen
	p = p.take(taking)
	p, more := p.payShort(c.suffix(), now)
	p = p.written(from, now)
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

// payShort pays what lost disputes could not take when they were lost, as far as it
// has become free since: a refund was refused, another dispute was won. by is what
// freed it; the transfers are named after it, so that each is written once.
func (p Payment) payShort(by string, now time.Time) (Payment, []ledger.Transfer) {
	var paid []ledger.Transfer
	for _, t := range p.Disputes.Takings {
		usd := min(t.Short, p.uncontested(t.Attempt))
		if usd <= 0 {
			continue
		}
		t.Short -= usd
		t.USD += usd
		p = p.take(t).gone(t, now)
		part := p.Price.Local.Fraction(usd, p.Price.Amount.Minor, money.Down)
		lost := Claim{ID: t.Claim, Scope: p.Scope, Payment: p.ID, Local: part}
		paid = append(paid, lost.transfer("paid-"+by, ledger.ChargebackPaid, now,
			ledger.Posting{Account: ledger.Available, Amount: -usd},
			ledger.Posting{Account: ledger.Chargebacks, Amount: usd}))
	}
	return p, paid
}

// gone is the payment once the shopper has what a dispute of its capture took: nothing
// of it is left to refund (PAY-29).
func (p Payment) gone(t Taking, now time.Time) Payment {
	if _, can := p.Status.After(Dispute); can && t.Attempt == 0 && t.USD > 0 {
		return p.move(Dispute, now)
	}
	return p
}

// Ruling is how a dispute ended, by the provider's word.
type Ruling string

// Rulings.
const (
	DisputeLost      Ruling = "lost"
	DisputeWon       Ruling = "won"
	DisputeWithdrawn Ruling = "withdrawn"
)

// status is what a ruling makes of a claim.
func (r Ruling) status() ClaimStatus {
	switch r {
	case DisputeLost:
		return ClaimApproved
	case DisputeWithdrawn:
		return ClaimWithdrawn
	}
	return ClaimRejected
}

// How long until a dispute is asked about again.
const (
	firstDisputePause = 6 * time.Hour
	maxDisputePause   = 7 * 24 * time.Hour
	// disputePatience is how long after its deadline an open dispute is no news.
	disputePatience = 6 * 7 * 24 * time.Hour
)

// lookAgain is when the claim of an open dispute is looked at next: with growing
// pauses, and when the time for evidence is over.
func (c Claim) lookAgain(now time.Time) time.Time {
	pause := firstDisputePause
	for range c.Case.Asked {
		if pause *= 2; pause >= maxDisputePause {
			pause = maxDisputePause
			break
		}
	}
	at := now.Add(pause)
	if c.Status == ClaimNeedsEvidence && c.DueBy.After(now) && c.DueBy.Before(at) {
		return c.DueBy
	}
	return at
}

// Stale reports whether a dispute is open for longer than any should be: the
// operator has to find out what became of it.
func (c Claim) Stale(now time.Time) bool {
	since := c.DueBy
	if since.IsZero() {
		since = c.CreatedAt
	}
	return c.Kind == ChargebackClaim && !c.Status.Terminal() && now.After(since.Add(disputePatience))
}

// Held is news of a dispute that cannot be applied yet: its money is not in the
// books, or it is on its way back. It is applied when that is over. The operator
// was told: its receipt is mismatched.
type Held struct {
	IDs       [2]string `json:"ids"` // of the claims that it may open
	Notice    string    `json:"notice"`
	Account   string    `json:"account"`
	Reference string    `json:"reference"`
	Dispute   string    `json:"dispute,omitempty"` // the provider's id of it
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

// maxHeld bounds what a payment holds of such news; more is for the operator alone.
const maxHeld = 20

// hold keeps news until it can be applied.
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

// applyHeld applies what was held back, now that a change, which is not written yet,
// has settled where its money is; claims are the others that the news may be about.
// What still cannot be applied stays.
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
