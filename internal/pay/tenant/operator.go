package tenant

import (
	"regexp"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Operator is a person or a program that runs the service through the admin API,
// known by a token. The token itself is never kept, only its keyed hash.
type Operator struct {
	Name      string // in the audit log; also the row's id
	Version   int64
	Hash      string // "" once he was removed
	Preview   string // masked token, for people
	CreatedAt time.Time
	RemovedAt time.Time
	EndsAt    time.Time // the token is refused from then on; the zero time: it does not end by itself
}

// TokenPrefix begins an operator's token.
const TokenPrefix = "op_"

// operatorName has no @: the audit log tells those at the command line as
// user@host, and nobody may pass for one of them.
var operatorName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Active reports whether the operator has a token.
func (o Operator) Active() bool { return o.Hash != "" }

// Good reports whether the operator's token is good.
func (o Operator) Good(now time.Time) bool {
	return o.Active() && (o.EndsAt.IsZero() || now.Before(o.EndsAt))
}

// Admit gives an operator a token: one who is new, the zero Operator, or who was
// removed before, or whose token has ended. It ends at a time, unless that is zero.
//
// Errors: invalid_request for the name, conflict_state for one who has a token.
func (o Operator) Admit(name, hash, preview string, ends, now time.Time) (Operator, error) {
	if !operatorName.MatchString(name) {
		return o, problem.Field(problem.InvalidRequest, "name", "an operator's name has 1 to 64 letters, digits, dots, - and _, such as ana or deploy-bot")
	}
	if o.Good(now) {
		return o, problem.Conflict("name_taken", "there is an operator "+name+": choose another name, or remove that one first")
	}
	o = Operator{Name: name, Version: o.Version + 1, Hash: hash, Preview: preview, CreatedAt: now, EndsAt: ends}
	return o, nil
}

// Remove ends an operator's token.
//
// Errors: conflict_state where it has ended.
func (o Operator) Remove(now time.Time) (Operator, error) {
	if !o.Active() {
		return o, problem.Conflict("removed", "the operator "+o.Name+" was removed")
	}
	o.Version++
	o.Hash, o.RemovedAt = "", now
	return o, nil
}
