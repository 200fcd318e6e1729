package operators

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// DualRights lists the rights whose use may need a second person (OPR-2): they move money, or change what moves it.
func DualRights() []Right {
	return []Right{Payouts, Limits, Adjustments, Prices, Credentials, Manage, Machine}
}

// DualControl says whether the use of a right needs a second person.
type DualControl struct {
	Right     Right
	Version   int64
	Required  bool
	ChangedBy string // an operator as in the audit log
	ChangedAt time.Time
}

// Change requires a second person for the right, or releases it.
func (c DualControl) Change(required bool, by string, now time.Time) DualControl {
	c.Version++
	c.Required, c.ChangedBy, c.ChangedAt = required, by, now
	return c
}

// ProposalPrefix begins the id of a proposal.
const ProposalPrefix = "prp_"

// ProposalLife is how long a proposal can be decided and applied.
const ProposalLife = 7 * 24 * time.Hour

// ProposalStatus is how far a proposal is.
type ProposalStatus string

// The statuses. An approved proposal is applied at once, or when its maker does it again.
const (
	ProposalPending  ProposalStatus = "pending"
	ProposalApproved ProposalStatus = "approved"
	ProposalApplied  ProposalStatus = "applied"
	ProposalRejected ProposalStatus = "rejected"
)

// ProposalStatuses lists them all.
func ProposalStatuses() []ProposalStatus {
	return []ProposalStatus{ProposalPending, ProposalApproved, ProposalApplied, ProposalRejected}
}

// Proposal is what an operator wants to do with a right that needs a second person.
type Proposal struct {
	ID        string
	Version   int64
	Right     Right
	Kind      string            // what is done, such as plan.apply
	Subject   string            // the id or name of what it is done to
	Details   map[string]string // for people; no secret
	Body      string            // JSON of what is applied; "": the maker does it again
	Digest    string            // keyed hash of all of it
	MadeBy    string            // an operator as in the audit log
	MadeAt    time.Time
	EndsAt    time.Time
	Status    ProposalStatus
	DecidedBy string // "" as long as it is pending
	DecidedAt time.Time
	AppliedAt time.Time
	Note      string // why it was rejected
}

// Open reports whether the proposal can still be decided or applied.
func (p Proposal) Open(now time.Time) bool {
	return (p.Status == ProposalPending || p.Status == ProposalApproved) && now.Before(p.EndsAt)
}

// Approve lets the proposal be applied. A repeat by anybody changes nothing.
//
// Errors: conflict_state for whoever made it, and if it has ended.
func (p Proposal) Approve(by string, now time.Time) (Proposal, error) {
	switch {
	case !p.Open(now):
		return p, p.over()
	case by == p.MadeBy:
		return p, problem.Conflict("same_operator", ownProposal)
	case p.Status == ProposalApproved:
		return p, nil
	}
	p.Version++
	p.Status, p.DecidedBy, p.DecidedAt = ProposalApproved, by, now
	return p, nil
}

// applying is how long an approved proposal with a body may be about to be applied: nobody rejects it meanwhile.
const applying = 5 * time.Minute

// Reject ends the proposal. Its maker may reject it too. note says why.
//
// Errors: conflict_state if it has ended, or is being applied.
func (p Proposal) Reject(by, note string, now time.Time) (Proposal, error) {
	if !p.Open(now) {
		return p, p.over()
	}
	if p.Status == ProposalApproved && p.Body != "" && now.Before(p.DecidedAt.Add(applying)) {
		return p, problem.Conflict("applying", proposalApplying)
	}
	p.Version++
	p.Status, p.DecidedBy, p.DecidedAt, p.Note = ProposalRejected, by, now, note
	return p, nil
}

// Fail ends an approved proposal that can never be applied.
func (p Proposal) Fail(note string) Proposal {
	p.Version++
	p.Status, p.Note = ProposalRejected, note
	return p
}

// Apply uses an approved proposal up.
//
// Errors: conflict_state if it is not approved, or has ended.
func (p Proposal) Apply(now time.Time) (Proposal, error) {
	if p.Status != ProposalApproved || !p.Open(now) {
		return p, p.over()
	}
	p.Version++
	p.Status, p.AppliedAt = ProposalApplied, now
	return p, nil
}

// over is the error for a proposal that cannot be decided any more.
func (p Proposal) over() error {
	if p.Status == ProposalPending || p.Status == ProposalApproved {
		return problem.Conflict("expired", proposalExpired)
	}
	return problem.Conflict(string(p.Status), proposalEnded.With(p.Status))
}
