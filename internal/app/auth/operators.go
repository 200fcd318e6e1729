package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Operators are the users of the admin API.
type Operators struct{ *base.Base }

// NewOperators returns the operators of a service.
func NewOperators(b *base.Base) *Operators { return &Operators{b} }

// Add gives a person or a program a token for the admin API. The token is returned once and cannot
// be read again. It expires at ends; zero: never.
//
// Errors: invalid_request for the name, conflict_state if the operator has a valid token.
func (os *Operators) Add(ctx context.Context, by audit.Actor, name string, ends time.Time) (token string, o merchants.Operator, err error) {
	token = id.Secret(merchants.TokenPrefix)
	preview := merchants.TokenPrefix + "…" + token[len(token)-4:]
	o, err = base.Decide(func() (merchants.Operator, error) {
		present, err := os.Store.Operators().Get(ctx, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return present, err
		}
		next, err := present.Admit(name, os.Vault.Hash(token), preview, ends, os.Now())
		if err != nil {
			return present, err
		}
		return next, os.Store.Commit(ctx, pay.Change{Operators: []merchants.Operator{next}, Audit: os.auditOperator(by, audit.OperatorAdded, next)})
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
		return os.Store.Commit(ctx, pay.Change{Operators: []merchants.Operator{o}, Audit: os.auditOperator(by, audit.OperatorRemoved, o)})
	})
}

func (os *Operators) auditOperator(by audit.Actor, act audit.Act, o merchants.Operator) []audit.Entry {
	return os.Audited(by, merchants.Scope{Live: true}, act, o.Name, map[string]string{"preview": o.Preview})
}

// List lists the operators of the admin API. Removed ones are listed only with all.
func (os *Operators) List(ctx context.Context, all bool) ([]merchants.Operator, error) {
	list, err := os.Store.Operators().List(ctx)
	return slices.DeleteFunc(list, func(o merchants.Operator) bool { return !o.Active() && !all }), err
}

// Authenticate finds the operator of a token. It reads the database each time, so that a removed
// operator's token is refused at once.
//
// Errors: invalid_token.
func (os *Operators) Authenticate(ctx context.Context, token string) (merchants.Operator, error) {
	bad := problem.New(problem.InvalidToken, operatorTokenInvalid)
	if !strings.HasPrefix(token, merchants.TokenPrefix) || len(token) > maxToken {
		return merchants.Operator{}, bad
	}
	o, err := os.Store.Operators().ByHash(ctx, os.Vault.Hash(token))
	if err != nil {
		return o, base.OrRefuse(err, bad)
	}
	if !o.Good(os.Now()) {
		return merchants.Operator{}, problem.New(problem.InvalidToken, operatorTokenExpired)
	}
	return o, nil
}
