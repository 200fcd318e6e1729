package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Operators are the people and programs with a token of the admin API and the commands.
type Operators struct{ *base.Base }

// NewOperators returns the operators of a service.
func NewOperators(b *base.Base) *Operators {
	os := &Operators{b}
	base.Applies(b, "operator.change", func(ctx context.Context, by audit.Actor, o operators.Operator) error {
		_, err := os.Change(ctx, by, o.Name, o.Role)
		return err
	})
	return os
}

// Newcomer is who gets a token.
type Newcomer struct {
	Name   string
	Role   operators.Role
	Person string    // the user of the console whose token it is; "": nobody's
	Ends   time.Time // when the token ends; zero: never
}

// newToken is a token that is asked for. Whoever does it again after an approval asks for the same number of days, and another time.
type newToken struct {
	Name, Person string
	Role         operators.Role
	Days         int // how long it is valid; 0: until it is removed
}

func (os *Operators) wanted(n Newcomer) newToken {
	t := newToken{Name: n.Name, Person: n.Person, Role: n.Role}
	if !n.Ends.IsZero() {
		const day = 24 * time.Hour
		t.Days = int((n.Ends.Sub(os.Now()) + day - 1) / day)
	}
	return t
}

// Add gives a person or a program a token. The token is returned once and cannot be read again.
//
// Errors: invalid_request for the name and the role, conflict_state if the operator has a valid token; those of
// base.DualControls.Require.
func (os *Operators) Add(ctx context.Context, by audit.Actor, n Newcomer) (token string, o operators.Operator, err error) {
	if err := operators.CheckRole(n.Role); err != nil {
		return "", o, err
	}
	if n.Person == "" || n.Person != by.ID { // one's own gives no right that its maker lacks
		wanted := os.wanted(n)
		if err := os.Dual.Require(ctx, by, base.Ask{
			Right: operators.Manage, Kind: "operator.add", Subject: n.Name, Body: wanted, Secret: n.Name,
			Details: map[string]string{"name": n.Name, "role": string(n.Role), "person": n.Person, "days": strconv.Itoa(wanted.Days)},
		}); err != nil {
			return "", o, err
		}
	}
	token = id.Secret(operators.TokenPrefix)
	preview := operators.TokenPrefix + "…" + token[len(token)-4:]
	o, err = base.Decide(func() (operators.Operator, error) {
		present, err := os.Store.Operators().Get(ctx, n.Name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return present, err
		}
		next, err := present.Admit(operators.Token{
			Name: n.Name, Role: n.Role, Person: n.Person, MadeBy: by.ID, Hash: os.Vault.Hash(token), Preview: preview, Ends: n.Ends,
		}, os.Now())
		if err != nil {
			return present, err
		}
		return next, os.Store.Commit(ctx, pay.Change{Operators: []operators.Operator{next}, Audit: os.auditOperator(by, audit.OperatorAdded, next)})
	})
	return token, o, err
}

// Remove ends an operator's token, on every node at once.
//
// Errors: store.ErrNotFound, conflict_state if the operator was removed.
func (os *Operators) Remove(ctx context.Context, by audit.Actor, name string) error {
	return base.Again(func() error {
		o, err := os.Store.Operators().Get(ctx, name)
		if err != nil {
			return fmt.Errorf("operator %s: %w", name, err)
		}
		if o, err = o.Remove(os.Now()); err != nil {
			return err
		}
		return os.Store.Commit(ctx, pay.Change{Operators: []operators.Operator{o}, Audit: os.auditOperator(by, audit.OperatorRemoved, o)})
	})
}

// Change gives an operator another role, on every node at once.
//
// Errors: store.ErrNotFound, invalid_request for the role, conflict_state if the operator was removed; those of base.DualControls.Require.
func (os *Operators) Change(ctx context.Context, by audit.Actor, name string, role operators.Role) (operators.Operator, error) {
	if err := operators.CheckRole(role); err != nil {
		return operators.Operator{}, err
	}
	if err := os.Dual.Require(ctx, by, base.Ask{
		Right: operators.Manage, Kind: "operator.change", Subject: name, Details: map[string]string{"name": name, "role": string(role)}, Body: operators.Operator{Name: name, Role: role},
	}); err != nil {
		return operators.Operator{}, err
	}
	return base.Decide(func() (operators.Operator, error) {
		o, err := os.Store.Operators().Get(ctx, name)
		if err != nil {
			return o, fmt.Errorf("operator %s: %w", name, err)
		}
		next, err := o.Change(role)
		if err != nil || next.Role == o.Role {
			return o, err
		}
		return next, os.Store.Commit(ctx, pay.Change{Operators: []operators.Operator{next}, Audit: os.auditOperator(by, audit.OperatorChanged, next)})
	})
}

// Get reads an operator by name, also one who was removed.
//
// Errors: store.ErrNotFound.
func (os *Operators) Get(ctx context.Context, name string) (operators.Operator, error) {
	o, err := os.Store.Operators().Get(ctx, name)
	if err != nil {
		return o, fmt.Errorf("operator %s: %w", name, err)
	}
	return o, nil
}

func (os *Operators) auditOperator(by audit.Actor, act audit.Act, o operators.Operator) []audit.Entry {
	return os.Audited(by, merchants.Scope{Live: true}, act, o.Name, map[string]string{"preview": o.Preview, "role": string(o.Role)})
}

// List lists the operators of the admin API. Removed ones are listed only with all.
func (os *Operators) List(ctx context.Context, all bool) ([]operators.Operator, error) {
	list, err := os.Store.Operators().List(ctx)
	return slices.DeleteFunc(list, func(o operators.Operator) bool { return !o.Active() && !all }), err
}

// Authenticate finds the operator of a token, with the role that it has now: no more than that of the person whose token it is. It
// reads the database each time, so that a removed operator's token is refused at once.
//
// Errors: invalid_token.
func (os *Operators) Authenticate(ctx context.Context, token string) (operators.Operator, error) {
	bad := problem.New(problem.InvalidToken, operatorTokenInvalid)
	if !strings.HasPrefix(token, operators.TokenPrefix) || len(token) > maxToken {
		return operators.Operator{}, bad
	}
	o, err := os.Store.Operators().ByHash(ctx, os.Vault.Hash(token))
	if err != nil {
		return o, base.OrRefuse(err, bad)
	}
	if !o.Good(os.Now()) {
		return operators.Operator{}, problem.New(problem.InvalidToken, operatorTokenExpired)
	}
	if o.Role, err = os.Dual.RoleOf(ctx, audit.Actor{Kind: audit.ByOperator, ID: o.Name}); err == nil && o.Role == "" { // the person is no operator any more
		return operators.Operator{}, bad
	}
	return o, err
}
