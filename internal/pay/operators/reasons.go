package operators

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	nameTaken        = problem.Define1("operator.name_taken", "operator")
	nameWrong        = problem.Define("operator.name_wrong")
	ownProposal      = problem.Define("operator.own_proposal")
	proposalEnded    = problem.Define1("operator.proposal_ended", "status")
	proposalApplying = problem.Define("operator.proposal_applying")
	proposalExpired  = problem.Define("operator.proposal_expired")
	removed          = problem.Define1("operator.removed", "operator")
	roleLacksRight   = problem.Define2("operator.role_lacks_right", "role", "right")
	unknownRole      = problem.Define1("operator.unknown_role", "roles")
)
