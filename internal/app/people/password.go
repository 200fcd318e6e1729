package people

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// SetPassword replaces a user's password. The other sign-ins end.
//
// Errors: invalid_token for the old password, invalid_request for the new one.
func (pl *People) SetPassword(ctx context.Context, from From, signIn people.SignIn, old, password string) error {
	u, err := pl.Store.Users.Get(ctx, signIn.User)
	if err != nil {
		return err
	}
	if u.Password != "" {
		same, err := pl.matches(ctx, old, u.Password)
		if err != nil {
			return err
		}
		if !same || u.Locked(pl.Now()) {
			return errors.Join(problem.Field(problem.InvalidToken, "old", "this is not your present password"), pl.failed(ctx, from, u, "old password"))
		}
	}
	if err := people.CheckPassword(password, u.Email); err != nil {
		return err
	}
	hash, err := pl.hash(ctx, password)
	if err != nil {
		return err
	}
	return base.Again(func() error {
		present, err := pl.Store.Users.Get(ctx, u.ID)
		if err != nil {
			return err
		}
		if present.Password != u.Password || u.Password != "" && present.Locked(pl.Now()) {
			return problem.Conflict("password_changed", "the password was changed meanwhile")
		}
		change, err := pl.newPassword(ctx, from, present, hash, signIn.ID)
		if err != nil {
			return err
		}
		return pl.Store.Commit(ctx, change)
	})
}

// Introduce changes a user's name and language.
//
// Errors: invalid_request.
func (pl *People) Introduce(ctx context.Context, user, name string, language tenant.Language) error {
	name, err := people.ParseName(name)
	if err != nil {
		return err
	}
	return base.Again(func() error {
		u, err := pl.Store.Users.Get(ctx, user)
		if err != nil {
			return err
		}
		return pl.Store.Commit(ctx, pay.Change{Users: []people.User{u.Introduce(name, language)}})
	})
}
