package people

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// SetPassword replaces a user's password. The other sign-ins end.
//
// Errors: invalid_token for the old password, invalid_request for the new one, ErrSignedOut.
func (pl *People) SetPassword(ctx context.Context, from From, signIn people.SignIn, old, password string) error {
	u, err := pl.Store.Users().Get(ctx, signIn.User)
	if err != nil {
		return err
	}
	if err := pl.same(ctx, from, u, old); err != nil {
		return err
	}
	if err := pl.checkPassword(ctx, u, password); err != nil {
		return err
	}
	hash, err := pl.hashing.hash(ctx, from, u.Email, password)
	if err != nil {
		return err
	}
	return base.Again(func() error {
		present, err := pl.Store.Users().Get(ctx, u.ID)
		if err != nil {
			return err
		}
		if err := pl.still(present, u.Password); err != nil {
			return err
		}
		change, err := pl.newPassword(ctx, from, present, hash, signIn.ID, "")
		if err == nil {
			err = pl.standing(ctx, &change, signIn)
		}
		if err != nil {
			return err
		}
		return pl.Store.Commit(ctx, change)
	})
}

// proved records that a user's address is proved. At the first proof it adds to a change that all sign-ins end, and all links except the one
// that is used. The caller writes the user.
func (pl *People) proved(ctx context.Context, change *pay.Change, u people.User, used string) (people.User, error) {
	if !u.Unproved {
		return u, nil
	}
	list, err := pl.SignIns(ctx, u.ID)
	if err != nil {
		return u, err
	}
	for _, s := range list {
		change.SignIns = append(change.SignIns, s.End(pl.Now()))
	}
	if err := pl.withdrawLinks(ctx, change, u.ID, func(l people.Link) bool { return l.ID != used }); err != nil {
		return u, err
	}
	return u.Prove(), nil
}

// checkPassword refuses a new password that is easy to guess, also for somebody who knows the user and the user's
// merchants.
//
// Errors: invalid_request.
func (pl *People) checkPassword(ctx context.Context, u people.User, password string) error {
	list, err := pl.Tenancies(ctx, u.ID)
	if err != nil {
		return err
	}
	about := []string{u.Email, u.Name}
	for _, t := range list {
		about = append(about, t.Merchant.Name)
	}
	return people.CheckPassword(password, about...)
}

// same checks the present password of a user who is signed in: a cookie alone changes no credential (DASH-6). Wrong ones
// count for the lock. A user without a password is not asked for one.
//
// Errors: invalid_token, which names the field old.
func (pl *People) same(ctx context.Context, from From, u people.User, old string) error {
	if u.Password == "" {
		return nil
	}
	same, err := pl.hashing.matches(ctx, from, u.Email, old, u.Password)
	if err != nil {
		return err
	}
	if !same || u.Locked(pl.Now()) {
		return errors.Join(problem.Field(problem.InvalidToken, "old", oldPasswordWrong), pl.failed(ctx, from, u, "old password"))
	}
	return nil
}

// still returns an error if a user's password is no longer the one that was checked, or if others guessed meanwhile.
//
// Errors: conflict_state.
func (pl *People) still(u people.User, hash string) error {
	if u.Password != hash || hash != "" && u.Locked(pl.Now()) {
		return problem.Conflict("password_changed", passwordChanged)
	}
	return nil
}

// firstFactor checks the password of a user who is about to get the first second factor: whoever stole a cookie would
// lock the user out with it. The function that it returns is called with the user who is written.
//
// Errors: invalid_token, which names the field old.
func (pl *People) firstFactor(ctx context.Context, from From, user, password string) (func(people.User) error, error) {
	u, err := pl.Store.Users().Get(ctx, user)
	if err != nil {
		return nil, err
	}
	if !u.HasFactor() {
		if err := pl.same(ctx, from, u, password); err != nil {
			return nil, err
		}
	}
	return func(present people.User) error {
		if present.HasFactor() != u.HasFactor() {
			return problem.Conflict("factors_changed", factorsChanged)
		}
		if u.HasFactor() {
			return nil
		}
		return pl.still(present, u.Password)
	}, nil
}

// Introduce changes a user's name and language.
//
// Errors: invalid_request.
func (pl *People) Introduce(ctx context.Context, user, name string, language merchants.Language) error {
	name, err := people.ParseName(name)
	if err != nil {
		return err
	}
	return base.Again(func() error {
		u, err := pl.Store.Users().Get(ctx, user)
		if err != nil {
			return err
		}
		return pl.Store.Commit(ctx, pay.Change{Users: []people.User{u.Introduce(name, language)}})
	})
}
