package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// ClaimKind says who claims the money back (CLAIM-1).
type ClaimKind string

// Kinds of claims.
const (
	UserDispute     ClaimKind = "user_dispute" // a refund
	ChargebackClaim ClaimKind = "chargeback"   // the card issuer
	Inquiry         ClaimKind = "inquiry"      // money that fits no payment, for the operator
)

// ClaimKinds lists all kinds.
func ClaimKinds() []ClaimKind { return []ClaimKind{UserDispute, ChargebackClaim, Inquiry} }

// ClaimStatus is the state of a claim (CLAIM-3).
type ClaimStatus string

// States of a claim.
const (
	ClaimPending       ClaimStatus = "pending"
	ClaimNeedsEvidence ClaimStatus = "needs_evidence"
	ClaimUnderReview   ClaimStatus = "under_review"
	ClaimApproved      ClaimStatus = "approved"  // the shopper gets the money
	ClaimRejected      ClaimStatus = "rejected"  // the merchant keeps the money
	ClaimExpired       ClaimStatus = "expired"   // no evidence came in time; counts as approved
	ClaimWithdrawn     ClaimStatus = "withdrawn" // the claimant gave up; the merchant keeps the money
)

// ClaimStatuses lists all states in the order of a claim's life.
func ClaimStatuses() []ClaimStatus {
	return []ClaimStatus{ClaimPending, ClaimNeedsEvidence, ClaimUnderReview, ClaimApproved, ClaimRejected, ClaimExpired, ClaimWithdrawn}
}

// Terminal reports whether the claim is resolved.
func (status ClaimStatus) Terminal() bool { return status.Valid() && len(claimMoves[status]) == 0 }

// Valid reports whether s is one of the seven.
func (status ClaimStatus) Valid() bool { _, ok := claimMoves[status]; return ok }

// Pays reports whether the shopper gets the money. It is false if the merchant keeps it, and while
// the claim is open.
func (status ClaimStatus) Pays() bool { return status == ClaimApproved || status == ClaimExpired }

// DisputeStage is what a dispute waits for: the merchant, the issuer, or nothing.
type DisputeStage string

// Stages of disputes.
const (
	StageEvidence DisputeStage = "needs_evidence"
	StageReview   DisputeStage = "under_review"
	StageEnded    DisputeStage = "ended"
)

// Stage is the dispute stage of a claim with the status.
func (status ClaimStatus) Stage() DisputeStage {
	switch status {
	case ClaimNeedsEvidence:
		return StageEvidence
	case ClaimPending, ClaimUnderReview:
		return StageReview
	}
	return StageEnded
}

// ClaimVerb is something that happens to a claim.
type ClaimVerb string

// The verbs of a claim's life.
const (
	AskEvidence ClaimVerb = "ask"      // the operator asks for the merchant's evidence on an inquiry
	Submit      ClaimVerb = "evidence" // the merchant answers
	Accept      ClaimVerb = "accept"   // the merchant accepts the claim
	Approve     ClaimVerb = "approve"  // the provider, the issuer or the operator decides: the shopper gets the money
	Reject      ClaimVerb = "reject"   // they decide: the merchant keeps the money
	Withdraw    ClaimVerb = "withdraw" // the claimant gives up
	Lapse       ClaimVerb = "lapse"    // the deadline for evidence has passed
	// ReturnRefund is the operator's word that a refund which had been made came back. The claim stays
	// as it ended, so this is no move of its life: see Disposition.Returned.
	ReturnRefund ClaimVerb = "take_back"
)

// ClaimVerbs lists the verbs that move a claim.
func ClaimVerbs() []ClaimVerb {
	return []ClaimVerb{AskEvidence, Submit, Accept, Approve, Reject, Withdraw, Lapse}
}

// claimMoves is the life cycle: status × verb → the next status. A move that is not listed is not
// allowed.
var claimMoves = map[ClaimStatus]map[ClaimVerb]ClaimStatus{
	ClaimPending: {AskEvidence: ClaimNeedsEvidence, Approve: ClaimApproved, Reject: ClaimRejected, Withdraw: ClaimWithdrawn},
	ClaimNeedsEvidence: {Submit: ClaimUnderReview, Accept: ClaimApproved, Approve: ClaimApproved, Reject: ClaimRejected,
		Withdraw: ClaimWithdrawn, Lapse: ClaimExpired},
	ClaimUnderReview: {Submit: ClaimUnderReview, Accept: ClaimApproved, Approve: ClaimApproved, Reject: ClaimRejected, Withdraw: ClaimWithdrawn},
	ClaimApproved:    {},
	ClaimRejected:    {},
	ClaimExpired:     {},
	ClaimWithdrawn:   {},
}

// verbsOf are the verbs that a kind of claim allows at all. Only the provider decides a refund, and
// nobody can withdraw an inquiry, since its money has arrived.
var verbsOf = map[ClaimKind][]ClaimVerb{
	UserDispute:     {Approve, Reject, Withdraw},
	ChargebackClaim: {Submit, Accept, Approve, Reject, Withdraw, Lapse},
	Inquiry:         {AskEvidence, Submit, Accept, Approve, Reject, Lapse},
}

// After returns the status to which the verb leads.
//
// Errors: claim_already_resolved, conflict_state.
func (c Claim) After(v ClaimVerb) (ClaimStatus, error) {
	if c.Status.Terminal() {
		return "", &problem.Error{Code: problem.ClaimAlreadyResolved, Reason: claimEnded.With(c.Status),
			Details: problem.Details{From: string(c.Status), Action: string(v)}}
	}
	next, ok := claimMoves[c.Status][v]
	// While the claim's refund is under way, only the provider's answer moves it.
	if ok && slices.Contains(verbsOf[c.Kind], v) && (c.Kind == UserDispute || !c.Calling()) {
		return next, nil
	}
	return "", &problem.Error{Code: problem.ConflictState, Reason: claimTakesNoSuchStep.With(c.Kind, c.Status, v),
		Details: problem.Details{From: string(c.Status), Action: string(v)}}
}

// Claim is a demand to give a payment's money back.
type Claim struct {
	ID string // CLM-…
	merchants.Scope
	Version   int64
	Kind      ClaimKind
	Status    ClaimStatus
	Payment   string
	OrderID   string
	Local     money.Amount
	USD       int64             // cents
	Frozen    int64             // USD cents held now
	Fee       int64             // USD cents, with the tax on it
	Tax       int64             // USD cents
	Taxed     merchants.TaxRate // on the fee
	Reason    string
	Network   string     // the card network's code of the reason, or ""
	Attempt   int        // order of the attempt that took the money
	Parts     Parts      // of a refund: who pays which part of it
	Freed     int64      // of Parts.Reserve: drawn from the balance, because the day's reserve is released
	Call      RefundCall // the refund at the provider, if there is one
	Case      Case       // of a chargeback: the provider's dispute
	Defense   Defense    // of a chargeback: the way of its evidence to the provider
	Previous  string     // the claim of the same dispute or refund that ended before this one, or ""
	Origin    Origin     // of a refund: who gave the money back; also of an inquiry that a provider gave back by itself
	Played    bool       // of a refund: the sandbox made it, and only payment.refunded is sent
	DueBy     time.Time  // deadline for the merchant's evidence; zero if none is wanted
	DueAt     time.Time  // when to look again; zero if there is nothing to wait for
	Evidence  []Evidence
	Timeline  []ClaimStep
	Sequence  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Resolved  time.Time
	caller    Caller // who makes the next call; not stored
}

// ClaimStep is one line of a claim's history.
type ClaimStep struct {
	Status ClaimStatus `json:"status"`
	At     int64       `json:"at"` // microseconds UTC
	Actor  string      `json:"actor"`
	Note   string      `json:"note,omitempty"`
}

// Who moves claims, as their timeline names them.
const (
	PartyMerchant = "merchant"
	PartyIssuer   = "issuer"
	PartyProvider = "provider"
	PartyOperator = "operator"
	PartySystem   = "system" // a deadline
)

// evidenceWindow is how long a merchant has to answer, if the provider sets no date.
const evidenceWindow = 7 * 24 * time.Hour

// claim returns a claim on the payment that is not written yet.
func (p *Payment) claim(id string, kind ClaimKind, status ClaimStatus, local money.Amount, usd int64, actor string, now time.Time) Claim {
	return Claim{
		ID: id, Scope: p.Scope, Version: 1, Kind: kind, Status: status,
		Payment: p.ID, OrderID: p.Order.ID, Local: local, USD: usd,
		Timeline:  []ClaimStep{{Status: status, At: now.UnixMicro(), Actor: actor}},
		CreatedAt: now, UpdatedAt: now,
	}
}

func (c Claim) suffix() string { return strings.TrimPrefix(c.ID, ClaimPrefix) }

// Transfers returns the range of the ids of the claim's transfers: first is inclusive, after exclusive.
func (c Claim) Transfers() (first, after string) {
	return transfersOf(c.suffix())
}

// written returns c with its version raised by one.
func (c Claim) written(now time.Time) Claim {
	c.Version++
	c.UpdatedAt = now
	return c
}

// step adds a line to the history. The slice is new: values that were handed out do not change.
func (c Claim) step(actor, note string, now time.Time) Claim {
	c.Timeline = append(slices.Clip(c.Timeline), ClaimStep{Status: c.Status, At: now.UnixMicro(), Actor: actor, Note: note})
	return c
}

// transfer books a step of the claim. Its id is made from the claim's, so the same step cannot be
// booked twice.
func (c Claim) transfer(step string, kind ledger.Kind, now time.Time, lines ...ledger.Posting) ledger.Transfer {
	return ledger.Transfer{
		ID:       transferID(c.suffix(), step),
		Merchant: c.Merchant,
		Live:     c.Live,
		Kind:     kind,
		Payment:  c.Payment,
		Claim:    c.ID,
		Local:    c.Local,
		At:       now,
		Postings: ledger.Post(lines...),
	}
}

// moving drops transfers without postings: amounts below one cent have none.
func moving(transfers ...ledger.Transfer) []ledger.Transfer {
	return slices.DeleteFunc(transfers, func(t ledger.Transfer) bool { return len(t.Postings) == 0 })
}

// Ask asks the merchant for evidence on an inquiry, with a deadline.
//
// Errors: claim_already_resolved, conflict_state.
func (c Claim) Ask(note string, now time.Time) (Claim, Change, error) {
	to, err := c.After(AskEvidence)
	if err != nil {
		return c, Change{}, err
	}
	c = c.written(now)
	c.Status, c.DueBy = to, now.Add(evidenceWindow)
	c.DueAt = c.DueBy
	c = c.step(PartyOperator, note, now)
	return c, Change{Claims: []Claim{c}}, nil
}

// Overdue reports whether the deadline for evidence has passed.
func (c Claim) Overdue(now time.Time) bool {
	return c.Status == ClaimNeedsEvidence && !c.Calling() && !now.Before(c.DueBy)
}

// Dollars is the claim's amount in USD.
func (c Claim) Dollars() money.Amount { return money.New(c.USD, money.USD) }

// String describes the claim with its history, for the operator and for failing tests. It names no
// shopper.
func (c Claim) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s, version %d\n  %s (%s) of %s, %s of %s, %s", c.ID, c.Kind, c.Status, c.Version,
		c.Local, c.Dollars(), c.Payment, c.Shop, c.Merchant, c.Environment())
	if c.Frozen != 0 {
		fmt.Fprintf(&b, "\n  frozen %s", money.New(c.Frozen, money.USD))
	}
	for _, fact := range []struct{ name, value string }{
		{"origin", string(c.Origin)}, {"reason", c.Reason}, {"network", c.Network}, {"dispute", c.Case.String()}, {"previous", c.Previous},
		{"came back, see", c.Call.Returned}, {"given back by hand, the bank's reference is", c.Call.ByHand}, {"the refund's id is", c.Call.Ref},
	} {
		if fact.value != "" {
			fmt.Fprintf(&b, "\n  %s %s", fact.name, fact.value)
		}
	}
	if c.Call.State != "" && c.Call.Tries > 0 { // not of one that was made before it was booked
		fmt.Fprintf(&b, "\n  refund %s at the provider: %s after %d tries", c.Reference(), c.Call.State, c.Call.Tries)
	}
	if c.Defense.State != "" {
		fmt.Fprintf(&b, "\n  %s", c.defended())
	}
	for _, due := range []struct {
		name string
		at   time.Time
	}{{"evidence by", c.DueBy}, {"looked at again", c.DueAt}} {
		if !due.at.IsZero() {
			fmt.Fprintf(&b, "\n  %s %s", due.name, due.at.UTC().Format(time.DateTime))
		}
	}
	for _, s := range c.Timeline {
		line := fmt.Sprintf("\n  %s  %s by the %s", time.UnixMicro(s.At).UTC().Format(time.DateTime), s.Status, s.Actor)
		if s.Note != "" {
			line += ": " + s.Note
		}
		b.WriteString(line)
	}
	for _, e := range c.Evidence {
		fmt.Fprintf(&b, "\n  evidence %s %s: %q", e.ID, e.Kind, e.Text)
		if f := e.File; f != nil {
			fmt.Fprintf(&b, " with %q, %s, %d bytes, SHA-256 %s", f.Name, f.Type, f.Size, f.SHA256)
		}
	}
	return b.String()
}

// Calling reports whether a refund at the provider is under way.
func (c Claim) Calling() bool { return c.Call.State != "" && !c.Status.Terminal() }

// Reference is our name of the refund at the provider. It is unique and made before the call: if it
// is sent twice, the provider refunds once.
func (c Claim) Reference() string { return fmt.Sprintf("%s-%d", c.suffix(), c.Call.Round) }

// Case is what the provider reports of a chargeback claim's dispute. Other claims have the zero value.
type Case struct {
	Account  string `json:"account,omitempty"`  // at the provider
	ID       string `json:"id,omitempty"`       // the provider's; "" if it reported none
	Round    int    `json:"round,omitempty"`    // number of our claim among those of this dispute, from 1
	Instance int    `json:"instance,omitempty"` // the instance that decides now: 1 is the first
	Stage    string `json:"stage,omitempty"`    // the provider's own name of the state; only operators see it
	Minor    int64  `json:"minor,omitempty"`    // disputed amount in minor units, as the provider reports it
	Currency string `json:"currency,omitempty"` // "": no amount was reported
	Opened   bool   `json:"opened,omitempty"`   // its opening was reported, not only its end
	Inquiry  string `json:"inquiry,omitempty"`  // the inquiry about the money, if that came after the payment had ended, or again; "": the capture
	Asked    int    `json:"asked,omitempty"`    // queries about it so far
	Odd      bool   `json:"odd,omitempty"`      // an answer contradicted the books: it is kept for the operator
}

// Key names a claim among those of a payment's disputes, so that a dispute cannot get two claims.
// It is "" if there is no dispute.
func (cs Case) Key() string {
	if cs.Account == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", cs.Account, cs.ID, cs.Round)
}

// String describes the dispute and its state for the operator, "" if there is none.
func (cs Case) String() string {
	if cs.Account == "" {
		return ""
	}
	words := []string{cmp.Or(cs.ID, "without an id"), "at " + cs.Account}
	if cs.Stage != "" {
		words = append(words, "stage "+cs.Stage)
	}
	if cs.Instance > 1 {
		words = append(words, fmt.Sprintf("instance %d", cs.Instance))
	}
	if cs.Currency != "" {
		words = append(words, "of "+cs.disputed().String())
	}
	return strings.Join(words, ", ")
}

// disputed is the disputed amount as the provider reports it; zero if it reported none.
func (cs Case) disputed() money.Amount { return money.New(cs.Minor, money.Currency(cs.Currency)) }

// Origin says who gave money back by a refund.
type Origin string

// The origins.
const (
	ByMerchant Origin = "merchant" // the merchant asked for the refund
	ByProvider Origin = "provider" // the provider gave it back without our asking
	ByOperator Origin = "operator" // the operator gave it back by hand
)

// Origins lists all origins.
func Origins() []Origin { return []Origin{ByMerchant, ByProvider, ByOperator} }

// Key names a claim among those of its payment, so that one dispute, or one refund that the
// provider or the operator made, cannot get two claims; "" if it needs no such name.
func (c Claim) Key() string {
	if c.Kind == UserDispute && c.Origin != ByMerchant && c.Call.Ref != "" {
		return "refund/" + c.Call.Ref
	}
	return c.Case.Key()
}

// DefenseState is how far the evidence against a dispute has come on its way to the provider (CLAIM-18). Also the answer
// to a call is one of them: submitted, refused, delayed or unknown.
type DefenseState string

// States of a dispute's evidence.
const (
	DefenseWaiting   DefenseState = "waiting"   // it is sent soon: more may come, and many banks read an answer only once
	DefenseSending   DefenseState = "sending"   // the call is under way, or its node died
	DefenseUnknown   DefenseState = "unknown"   // the provider may have it: the call is repeated
	DefenseDelayed   DefenseState = "delayed"   // the provider proved that it has not taken it; it is sent again
	DefenseSubmitted DefenseState = "submitted" // the provider has it
	DefenseRefused   DefenseState = "refused"   // the provider will not take it: the operator's task
	DefenseMissed    DefenseState = "missed"    // no call succeeded until the deadline: the operator's task
	DefenseManual    DefenseState = "manual"    // the provider has no call for it: the operator's task
	DefenseByHand    DefenseState = "by_hand"   // the operator has submitted it
	DefenseOver      DefenseState = "over"      // the dispute ended before it was submitted
)

// DefenseStates lists all states.
func DefenseStates() []DefenseState {
	return []DefenseState{DefenseWaiting, DefenseSending, DefenseUnknown, DefenseDelayed, DefenseSubmitted, DefenseRefused, DefenseMissed, DefenseManual, DefenseByHand, DefenseOver}
}

// UnderWay reports whether the service still has to send the evidence.
func (s DefenseState) UnderWay() bool {
	return s == DefenseWaiting || s == DefenseSending || s == DefenseUnknown || s == DefenseDelayed
}

// Carries reports whether the operator has to carry the evidence to the provider.
func (s DefenseState) Carries() bool {
	return s == DefenseRefused || s == DefenseMissed || s == DefenseManual
}

// Defense is the way of a dispute's evidence to its provider. The zero value means that there is none.
type Defense struct {
	State  DefenseState `json:"state,omitempty"`
	Pieces int          `json:"pieces,omitempty"` // of the claim's evidence, from the first one, that this submission has
	Sent   int          `json:"sent,omitempty"`   // pieces, from the first one, that the provider has for certain
	Tries  int          `json:"tries,omitempty"`  // of this submission, with those that ended before a call
	Unsure bool         `json:"unsure,omitempty"` // a call of it may have arrived without an answer
	Next   int64        `json:"next,omitempty"`   // when it is sent next, microseconds UTC; 0: not
	Since  int64        `json:"-"`                // since when the operator has to carry it, microseconds UTC; 0: not
	Flight
}

// next is when the evidence is sent; zero: not.
func (de Defense) next() time.Time {
	if de.Next == 0 {
		return time.Time{}
	}
	return time.UnixMicro(de.Next).UTC()
}

// over is the record once the dispute has ended.
func (de Defense) over() Defense {
	if de.State.UnderWay() || de.State == DefenseManual {
		de.State = DefenseOver
	}
	de.Next, de.Since = 0, 0
	return de
}

// submission is our name of the evidence's submission at the provider: see Filing.Reference.
func (c Claim) submission() string { return fmt.Sprintf("%s-e%d", c.suffix(), c.Defense.Pieces) }

// defended describes the way of the evidence for the operator.
func (c Claim) defended() string {
	d := c.Defense
	text := fmt.Sprintf("evidence at the provider: %s, it has %d of %d pieces", d.State, d.Sent, len(c.Evidence))
	if d.Pieces > 0 {
		text += fmt.Sprintf(", submission %s after %d tries", c.submission(), d.Tries)
	}
	if d.Unsure && d.State != DefenseSubmitted {
		text += ", of which one may have arrived"
	}
	if d.State.Carries() {
		text += ": submit it by hand"
	}
	return text
}
