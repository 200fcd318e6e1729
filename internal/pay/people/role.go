package people

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Role is what a user is at a merchant. It decides the user's rights (DASH-3).
type Role string

// The roles, those with most rights first.
const (
	Owner     Role = "owner"
	Admin     Role = "admin"
	Developer Role = "developer"
	Support   Role = "support"
	Finance   Role = "finance"
	Viewer    Role = "viewer"
)

// Roles lists them all.
func Roles() []Role { return []Role{Owner, Admin, Developer, Support, Finance, Viewer} }

// RoleWords lists their words for a sentence.
func RoleWords() string {
	words := make([]string, 0, len(Roles()))
	for _, role := range Roles() {
		words = append(words, string(role))
	}
	return strings.Join(words, ", ")
}

// rightsOf are the rights of each role, in production and in the sandbox. docs/DASHBOARD.md has the table.
var rightsOf = map[Role][]merchants.Right{
	Owner: merchants.PeopleRights(),
	Admin: {
		merchants.RightRead, merchants.RightPayments, merchants.RightRefunds, merchants.RightClaims, merchants.RightWebhooks, merchants.RightSandbox,
		merchants.RightKeys, merchants.RightShop, merchants.RightTeam,
	},
	Developer: {merchants.RightRead, merchants.RightPayments, merchants.RightWebhooks, merchants.RightSandbox, merchants.RightKeys},
	Support:   {merchants.RightRead, merchants.RightPayments, merchants.RightRefunds, merchants.RightClaims, merchants.RightSandbox},
	Finance:   {merchants.RightRead, merchants.RightRefunds, merchants.RightClaims, merchants.RightWithdrawals},
	Viewer:    {merchants.RightRead},
}

// played are the rights that every role except Viewer also has in the sandbox, where no money is moved.
var played = []merchants.Right{
	merchants.RightRead, merchants.RightPayments, merchants.RightRefunds, merchants.RightClaims, merchants.RightSandbox,
}

// Rights lists the role's rights in an environment. An unknown role has none.
func (r Role) Rights(live bool) []merchants.Right {
	rights := rightsOf[r]
	if live || r == Viewer || rights == nil {
		return slices.Clone(rights)
	}
	var all []merchants.Right
	for _, right := range merchants.PeopleRights() {
		if slices.Contains(rights, right) || slices.Contains(played, right) {
			all = append(all, right)
		}
	}
	return all
}

// May reports whether the role has a right in an environment.
func (r Role) May(right merchants.Right, live bool) bool {
	return slices.Contains(r.Rights(live), right)
}

// MayGive reports whether a user with this role may give another one to somebody, or take it away: nobody
// gives rights that they do not have.
func (r Role) MayGive(other Role) bool {
	if !r.May(merchants.RightTeam, true) {
		return false
	}
	for _, right := range other.Rights(true) {
		if !r.May(right, true) {
			return false
		}
	}
	return slices.Contains(Roles(), other)
}

// CheckRole returns an error for a role that does not exist.
//
// Errors: invalid_request.
func CheckRole(r Role) error {
	if !slices.Contains(Roles(), r) {
		return problem.Field(problem.InvalidRequest, "role", unknownRole.With(RoleWords()))
	}
	return nil
}

// NoRight is the error for something that a user's role does not allow.
func NoRight(r merchants.Right) error {
	return &problem.Error{
		Code: problem.Forbidden, Reason: roleLacksRight.With(r),
		Details: problem.Details{Right: string(r)},
	}
}
