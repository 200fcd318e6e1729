package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
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
func (s ClaimStatus) Terminal() bool { return s.Valid() && len(claimMoves[s]) == 0 }

// Valid reports whether s is one of the seven.
func (s ClaimStatus) Valid() bool { _, ok := claimMoves[s]; return ok }

// Pays reports whether the shopper gets the money. It is false if the merchant keeps it, and while
// the claim is open.
func (s ClaimStatus) Pays() bool { return s == ClaimApproved || s == ClaimExpired }

// DisputeStage is what a dispute waits for: the merchant, the issuer, or nothing.
type DisputeStage string

// Stages of disputes.
const (
	StageEvidence DisputeStage = "needs_evidence"
	StageReview   DisputeStage = "under_review"
	StageEnded    DisputeStage = "ended"
)

// Stage is the dispute stage of a claim with the status.
func (s ClaimStatus) Stage() DisputeStage {
	switch s {
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
	// TakeBack is the operator's word that a refund which had been made came back. The claim stays
	// as it ended, so this is no move of its life: see Disposition.Returned.
	TakeBack ClaimVerb = "take_back"
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
	tenant.Scope
	Version   int64
	Kind      ClaimKind
	Status    ClaimStatus
	Payment   string
	OrderID   string
	Local     money.Amount
	USD       int64 // cents
	Frozen    int64 // USD cents held now
	Fee       int64 // USD cents
	Reason    string
	Network   string     // the card network's code of the reason, or ""
	Attempt   int        // order of the attempt that took the money
	Parts     Parts      // of a refund: who pays which part of it
	Freed     int64      // of Parts.Reserve: drawn from the balance, because the day's reserve is released
	Call      RefundCall // the refund at the provider, if there is one
	Case      Case       // of a chargeback: the provider's dispute
	Defense   Defense    // of a chargeback: the way of its evidence to the provider
	Previous  string     // the claim of the same dispute or refund that ended before this one, or ""
	Origin    Origin     // of a refund: who gave the money back; "" in rows from before it was kept
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
		ID: transferID(c.suffix(), step), Merchant: c.Merchant, Live: c.Live, Kind: kind,
		Payment: c.Payment, Claim: c.ID, Local: c.Local, At: now, Postings: ledger.Post(lines...),
	}
}

// moving drops transfers without postings: amounts below one cent have none.
func moving(transfers ...ledger.Transfer) []ledger.Transfer {
	return slices.DeleteFunc(transfers, func(t ledger.Transfer) bool { return len(t.Postings) == 0 })
}

// resolve ends the claim in the status to, releases the money that it held, and makes the event.
// The caller has checked that the move is allowed.
func (c Claim) resolve(p Payment, to ClaimStatus, actor, note string, now time.Time) (Claim, Change) {
	var change Change
	switch c.Kind {
	case UserDispute:
		p, change = c.endRefund(p, to, now)
	case ChargebackClaim:
		p, change = c.endDispute(p, to, now)
	case Inquiry:
		p, change = c.endInquiry(p, to, now)
	}
	return c.resolved(p, change, to, actor, note, now)
}

// resolved records the end of a claim whose money was moved, and makes the event.
func (c Claim) resolved(p Payment, change Change, to ClaimStatus, actor, note string, now time.Time) (Claim, Change) {
	from := c.Status
	c = c.written(now)
	c.Status, c.Frozen, c.Resolved, c.DueAt = to, 0, now, time.Time{}
	c.Defense = c.Defense.over()
	c = c.step(actor, note, now)
	if !c.Played || !to.Pays() {
		var event Event
		c, event = c.event(hook.ClaimResolved, p, now)
		event.Previous = Status(from)
		change.Events = append(change.Events, event)
	}
	change.Claims = []Claim{c}
	if c.Kind == Inquiry {
		_, change = p.applyHeld(change, nil, now)
	}
	return c, change
}

// Resolve applies the decision of the issuer, the provider or the operator. An approved inquiry
// waits for its refund at the provider: see Call.
//
// Errors: claim_already_resolved, conflict_state.
func (c Claim) Resolve(p Payment, v ClaimVerb, actor, note string, now time.Time) (Claim, Change, error) {
	to, err := c.After(v)
	if err != nil {
		return c, Change{}, err
	}
	if c.Kind == Inquiry && to.Pays() {
		c, change := c.send(to, actor, note, now)
		return c, change, nil
	}
	c, change := c.resolve(p, to, actor, note, now)
	return c, change, nil
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

// GiveByHand records that the operator gave an inquiry's money back, by a bank transfer with the
// reference: no provider is asked.
//
// Errors: claim_already_resolved, conflict_state, missing_field without a reference.
func (d Disposition) GiveByHand(c Claim, p Payment, reference string) (Claim, Change, error) {
	to, err := c.After(Approve)
	switch {
	case err != nil:
		return c, Change{}, err
	case c.Kind != Inquiry:
		return c, Change{}, &problem.Error{Code: problem.ConflictState, Reason: onlyInquiryByHand,
			Details: problem.Details{From: string(c.Status), Action: "by_hand"}}
	case reference == "":
		return c, Change{}, problem.Field(problem.MissingField, "reference", bankReferenceRequired)
	}
	c.Call.ByHand = reference
	c, change := c.resolve(p, to, PartyOperator, d.Note, d.At)
	return c, change, nil
}

// Unfounded ends an inquiry about money of another amount that never came, and takes back what was
// booked: the provider reported it, and its books do not have it.
//
// Errors: claim_already_resolved, conflict_state if the claim is about other money.
func (d Disposition) Unfounded(c Claim, p Payment) (Claim, Change, error) {
	now := d.At
	at := slices.IndexFunc(p.Strays, func(s Stray) bool { return s.Claim == c.ID })
	if _, err := c.After(Approve); err != nil {
		return c, Change{}, err
	}
	if c.Kind != Inquiry || at < 0 || p.Strays[at].Code != AmountMismatch {
		_, err := c.After(Withdraw)
		return c, Change{}, err
	}
	next, ended := p.end(func(s Stray) bool { return s.Claim == c.ID }, DealtWith)
	var change Change
	if ended {
		next.written(&p, now)
		p = next
		change.Payments = []Payment{p}
	}
	rounding := int64(0)
	if p.Strays[at].Kept == 0 { // all of it was never owed
		rounding = p.Price.rounding(c.Local, c.USD)
	}
	change.Transfers = moving(c.transfer("unfounded", ledger.LateReversal, now,
		ledger.Posting{Account: ledger.Suspense, Amount: -c.USD}, ledger.Posting{Account: ledger.Receivable, Amount: c.USD + rounding},
		ledger.Posting{Account: ledger.Rounding, Amount: -rounding}))
	c, change = c.resolved(p, change, ClaimWithdrawn, PartyOperator, d.Note, now)
	return c, change, nil
}
