package operators

import (
	"regexp"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Operator is a person or a program with a token, for the admin API and the commands. The token itself is never
// stored, only its keyed hash.
type Operator struct {
	Name      string // the name in the audit log, and the row's id
	Version   int64
	Role      Role
	Person    string // whose token it is: a user's id; "": nobody's of the console
	MadeBy    string // who added it: a user's id, or an operator as in the audit log
	Hash      string // "" once the operator was removed
	Preview   string // masked token, for people
	CreatedAt time.Time
	RemovedAt time.Time
	EndsAt    time.Time // the token is refused from then on; zero: it does not expire
}

// Token is a new token of an operator, as it is stored, and whose it is.
type Token struct {
	Name    string
	Role    Role
	Person  string // a user's id; "": nobody's of the console
	MadeBy  string
	Hash    string
	Preview string
	Ends    time.Time // zero: never
}

// TokenPrefix begins an operator's token.
const TokenPrefix = "op_"

// TokenLife is how long a token lives that an operator makes in the console.
const TokenLife = 90 * 24 * time.Hour

// MaxName is the longest name of an operator, in bytes.
const MaxName = 64

// operatorName allows no @: in the audit log, user@host is a person at the command line, and no
// other operator may look like one.
var operatorName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Active reports whether the operator has a token.
func (o Operator) Active() bool { return o.Hash != "" }

// Good reports whether the operator's token is valid.
func (o Operator) Good(now time.Time) bool {
	return o.Active() && (o.EndsAt.IsZero() || now.Before(o.EndsAt))
}

// NewOperator is how long an operator, and whoever invited him or made his token, count as one person, where two are needed.
const NewOperator = 30 * 24 * time.Hour

// Maker is who made the token not long ago, "" for nobody.
func (o Operator) Maker(now time.Time) string {
	if now.Before(o.CreatedAt.Add(NewOperator)) {
		return o.MadeBy
	}
	return ""
}

// reserved begins the ids of users: an operator's name may not look like one.
var reserved = regexp.MustCompile(`(?i)^usr_`)

// Admit gives an operator a token: a new one (the zero Operator), one that was removed, or one
// whose token has ended.
//
// Errors: invalid_request for the name and the role, conflict_state if the operator has a valid token, or was another person's.
func (o Operator) Admit(t Token, now time.Time) (Operator, error) {
	if len(t.Name) > MaxName || !operatorName.MatchString(t.Name) || reserved.MatchString(t.Name) {
		return o, problem.Field(problem.InvalidRequest, "name", nameWrong)
	}
	if err := CheckRole(t.Role); err != nil {
		return o, err
	}
	if o.Good(now) || o.Name != "" && o.Person != t.Person { // whoever has the name did what the audit log has of it
		return o, problem.Conflict("name_taken", nameTaken.With(t.Name))
	}
	return Operator{
		Name: t.Name, Version: o.Version + 1, Role: t.Role, Person: t.Person, MadeBy: t.MadeBy, Hash: t.Hash, Preview: t.Preview, CreatedAt: now, EndsAt: t.Ends,
	}, nil
}

// Remove ends an operator's token.
//
// Errors: conflict_state if the operator was removed.
func (o Operator) Remove(now time.Time) (Operator, error) {
	if !o.Active() {
		return o, problem.Conflict("removed", removed.With(o.Name))
	}
	o.Version++
	o.Hash, o.RemovedAt = "", now
	return o, nil
}

// Change gives an operator another role.
//
// Errors: invalid_request for the role, conflict_state if the operator was removed.
func (o Operator) Change(role Role) (Operator, error) {
	if err := CheckRole(role); err != nil {
		return o, err
	}
	if !o.Active() {
		return o, problem.Conflict("removed", removed.With(o.Name))
	}
	o.Version++
	o.Role = role
	return o, nil
}
