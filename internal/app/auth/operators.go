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
	"github.com/cascadapay/cascada/internal/store"
)

// AddOperator gives a person or a program a token of the admin API. It is shown
// once and cannot be read again. It is refused from ends on, unless that is zero.
//
// Errors: invalid_request for the name, conflict_state for one who has a token.
func (ac *Access) AddOperator(ctx context.Context, by pay.Actor, name string, ends time.Time) (token string, o pay.Operator, err error) {
	token = id.Secret(pay.TokenPrefix)
	preview := pay.TokenPrefix + "…" + token[len(token)-4:]
	o, err = base.Decide(func() (pay.Operator, error) {
		present, err := ac.Store.Operator(ctx, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return present, err
		}
		next, change, err := present.Admit(name, ac.Vault.Hash(token), preview, ends, ac.Now())
		if err != nil {
			return present, err
		}
		change.Audit = ac.auditOperator(by, pay.OperatorAdded, next)
		return next, ac.Store.Commit(ctx, change)
	})
	return token, o, err
}

// RemoveOperator ends an operator's token, on every node at once.
//
// Errors: store.ErrNotFound, conflict_state where it has ended.
func (ac *Access) RemoveOperator(ctx context.Context, by pay.Actor, name string) error {
	return base.Again(func() error {
		o, err := ac.Store.Operator(ctx, name)
		if err != nil {
			return fmt.Errorf("operator %s: %w", name, err)
		}
		o, change, err := o.Remove(ac.Now())
		if err != nil {
			return err
		}
		change.Audit = ac.auditOperator(by, pay.OperatorRemoved, o)
		return ac.Store.Commit(ctx, change)
	})
}

func (ac *Access) auditOperator(by pay.Actor, act pay.Act, o pay.Operator) []pay.AuditEntry {
	return ac.Audited(by, pay.Scope{Live: true}, act, o.Name, map[string]string{"preview": o.Preview})
}

// Operators lists who may use the admin API, without those who were removed
// unless all.
func (ac *Access) Operators(ctx context.Context, all bool) ([]pay.Operator, error) {
	list, err := ac.Store.Operators(ctx)
	return slices.DeleteFunc(list, func(o pay.Operator) bool { return !o.Active() && !all }), err
}

// AuthenticateOperator finds who has a token. It is looked up each time, so that
// it ends when its operator is removed, and not a moment later.
//
// Errors: invalid_token.
func (ac *Access) AuthenticateOperator(ctx context.Context, token string) (pay.Operator, error) {
	bad := pay.NewError(pay.CodeInvalidToken, "this is no operator's token, or its operator was removed")
	if !strings.HasPrefix(token, pay.TokenPrefix) || len(token) > maxToken {
		return pay.Operator{}, bad
	}
	o, err := ac.Store.OperatorByHash(ctx, ac.Vault.Hash(token))
	if err != nil {
		return o, base.OrRefuse(err, bad)
	}
	if !o.Good(ac.Now()) {
		return pay.Operator{}, pay.NewError(pay.CodeInvalidToken, "this operator's token has ended: cascada operator add gives a new one")
	}
	return o, nil
}
