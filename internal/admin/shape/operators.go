package shape

import (
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/view"
)

// DualControl says whether the use of a right needs two persons.
type DualControl struct {
	Right     operators.Right `json:"right" enum:"payouts,limits,adjustments,prices,credentials,manage,machine"`
	Required  bool            `json:"required" doc:"One operator proposes, another person approves"`
	ChangedBy string          `json:"changedBy,omitempty" doc:"An operator as in the audit log"`
	ChangedAt *view.Time      `json:"changedAt,omitempty"`
}

// NewDualControl shows what is set for a right.
func NewDualControl(d operators.DualControl) DualControl {
	return DualControl{Right: d.Right, Required: d.Required, ChangedBy: d.ChangedBy, ChangedAt: moment(d.ChangedAt)}
}

// Proposal is what an operator wants to do with a right that needs two persons.
type Proposal struct {
	ID        string                   `json:"id" example:"prp_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status    operators.ProposalStatus `json:"status" enum:"pending,approved,applied,rejected" doc:"An approved one is applied when its maker does it again"`
	Right     operators.Right          `json:"right" enum:"payouts,limits,adjustments,prices,credentials,manage,machine"`
	Kind      string                   `json:"kind" example:"plan.apply"`
	Subject   string                   `json:"subject" example:"gold" doc:"The id or name of what it is done to"`
	Details   map[string]string        `json:"details,omitempty" doc:"What is done, in words. Never a secret"`
	MadeBy    string                   `json:"madeBy" doc:"An operator as in the audit log"`
	MadeAt    view.Time                `json:"madeAt"`
	EndsAt    view.Time                `json:"endsAt" doc:"Nobody can approve or apply it from then on"`
	DecidedBy string                   `json:"decidedBy,omitempty"`
	DecidedAt *view.Time               `json:"decidedAt,omitempty"`
	Note      string                   `json:"note,omitempty" doc:"Why it was rejected"`
}

// NewProposal shows a proposal.
func NewProposal(p operators.Proposal) Proposal {
	return Proposal{
		ID: p.ID, Status: p.Status, Right: p.Right, Kind: p.Kind, Subject: p.Subject, Details: p.Details, MadeBy: p.MadeBy, MadeAt: view.Time{Time: p.MadeAt},
		EndsAt: view.Time{Time: p.EndsAt}, DecidedBy: p.DecidedBy, DecidedAt: moment(p.DecidedAt), Note: p.Note,
	}
}
