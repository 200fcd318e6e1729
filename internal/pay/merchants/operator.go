package merchants

import (
	"regexp"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Operator is a person or a program with a token of the admin API. The token itself is never
// stored, only its keyed hash.
type Operator struct {
	Name      string // the name in the audit log, and the row's id
	Version   int64
	Hash      string // "" once the operator was removed
	Preview   string // masked token, for people
	CreatedAt time.Time
	RemovedAt time.Time
	EndsAt    time.Time // the token is refused from then on; zero: it does not expire
}

// TokenPrefix begins an operator's token.
const TokenPrefix = "op_"

// operatorName allows no @: in the audit log, user@host is a person at the command line, and no
// other operator may look like one.
var operatorName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Active reports whether the operator has a token.
func (o Operator) Active() bool { return o.Hash != "" }

// Good reports whether the operator's token is valid.
func (o Operator) Good(now time.Time) bool {
	return o.Active() && (o.EndsAt.IsZero() || now.Before(o.EndsAt))
}

// Admit gives an operator a token: a new one (the zero Operator), one that was removed, or one
// whose token has ended. The token ends at ends; zero: never.
//
// Errors: invalid_request for the name, conflict_state if the operator has a valid token.
func (o Operator) Admit(name, hash, preview string, ends, now time.Time) (Operator, error) {
	if !operatorName.MatchString(name) {
		return o, problem.Field(problem.InvalidRequest, "name", operatorNameWrong)
	}
	if o.Good(now) {
		return o, problem.Conflict("name_taken", operatorNameTaken.With(name))
	}
	o = Operator{Name: name, Version: o.Version + 1, Hash: hash, Preview: preview, CreatedAt: now, EndsAt: ends}
	return o, nil
}

// Remove ends an operator's token.
//
// Errors: conflict_state if the operator was removed.
func (o Operator) Remove(now time.Time) (Operator, error) {
	if !o.Active() {
		return o, problem.Conflict("removed", operatorRemoved.With(o.Name))
	}
	o.Version++
	o.Hash, o.RemovedAt = "", now
	return o, nil
}
