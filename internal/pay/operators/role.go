// Package operators has the people and programs that run the service: their roles, what each role may do, their tokens, and
// what needs a second person.
package operators

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Role is what an operator is. It decides the operator's rights, in the console, the admin API and the commands (OPR-1).
type Role string

// The roles, those with most rights first.
const (
	Admin   Role = "admin"
	Finance Role = "finance"
	Risk    Role = "risk"
	Support Role = "support"
	Viewer  Role = "viewer"
)

// Roles lists them all.
func Roles() []Role { return []Role{Admin, Finance, Risk, Support, Viewer} }

// RoleWords lists their words for a sentence.
func RoleWords() string {
	words := make([]string, 0, len(Roles()))
	for _, role := range Roles() {
		words = append(words, string(role))
	}
	return strings.Join(words, ", ")
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

// Right is something that an operator may do.
type Right string

// The rights. docs/ADMIN.md has the table of roles.
const (
	View           Right = "view"           // read everything of the service, but what Reveal shows
	Reveal         Right = "reveal"         // read the account numbers that payouts go to
	Merchants      Right = "merchants"      // create merchants and shops, invite their users, visit their dashboard
	Keys           Right = "keys"           // create, rotate and revoke merchants' API keys
	Privacy        Right = "privacy"        // export and erase shoppers' data
	Cases          Right = "cases"          // ask a provider about a claim, record that evidence was submitted, close notifications
	Claims         Right = "claims"         // decide refunds, chargebacks and inquiries
	Payments       Right = "payments"       // decide payments of unknown outcome
	Payouts        Right = "payouts"        // pay withdrawals out: approve and resolve them, batches, answers, floats
	Limits         Right = "limits"         // change the limits of payouts, stop and resume them
	Adjustments    Right = "adjustments"    // credit and debit balances by hand
	Settlements    Right = "settlements"    // book settlements that were paid by hand
	Reconciliation Right = "reconciliation" // compare reports with the books
	Prices         Right = "prices"         // change price plans, and the terms of merchants
	Rates          Right = "rates"          // set exchange rates
	Verifications  Right = "verifications"  // decide who a merchant is
	Pause          Right = "pause"          // pause merchants, let them resume, close them
	Routing        Right = "routing"        // change routing rules
	Accounts       Right = "accounts"       // change, check, enable, disable and remove provider accounts
	Credentials    Right = "credentials"    // open provider accounts and replace their credentials
	Checks         Right = "checks"         // start checks of the books, compare seals
	Manage         Right = "manage"         // add and remove operators, change their roles and what needs two persons
	Machine        Right = "machine"        // master keys, backups, restores, recoveries, repairs, migrations
)

// Rights lists them all, in the order of the table.
func Rights() []Right {
	return []Right{
		View, Reveal, Merchants, Keys, Privacy, Cases, Claims, Payments, Payouts, Limits, Adjustments, Settlements, Reconciliation, Prices, Rates,
		Verifications, Pause, Routing, Accounts, Credentials, Checks, Manage, Machine,
	}
}

// rightsOf are the rights of each role. docs/ADMIN.md has the same table.
var rightsOf = map[Role][]Right{
	Admin:   Rights(),
	Finance: {View, Reveal, Cases, Claims, Payments, Payouts, Adjustments, Settlements, Reconciliation, Prices, Rates, Checks},
	Risk:    {View, Reveal, Cases, Claims, Limits, Verifications, Pause, Routing, Accounts},
	Support: {View, Merchants, Privacy, Cases},
	Viewer:  {View},
}

// May reports whether the role has a right. An unknown role has none.
func (r Role) May(right Right) bool { return slices.Contains(rightsOf[r], right) }

// Check returns an error if the role lacks a right (OPR-1).
//
// Errors: forbidden.
func (r Role) Check(right Right) error {
	if r.May(right) {
		return nil
	}
	return &problem.Error{
		Code: problem.Forbidden, Reason: roleLacksRight.With(r, right),
		Details: problem.Details{Reason: "role", Right: string(right)},
	}
}

// Within is the role that has the rights that both roles have, or the lesser of the two.
func (r Role) Within(other Role) Role {
	switch {
	case r.includes(other):
		return other
	case other.includes(r):
		return r
	case r == "" || other == "":
		return ""
	}
	return Viewer
}

// includes reports whether the role has all rights of another one.
func (r Role) includes(other Role) bool {
	return !slices.ContainsFunc(rightsOf[other], func(right Right) bool { return !r.May(right) })
}
