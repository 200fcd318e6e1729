package people

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// NewUser is what invited people say about themselves.
type NewUser struct {
	Name     string
	Password string
	Language merchants.Language
}

// Accept accepts an invitation. Somebody who is not a user yet becomes one, with a name and a password. Somebody
// who is one already must be signed in as that user: current is the user of the browser, "" for none.
//
// Errors: not_found for the link, invalid_request, conflict_state if it is another user's.
func (ls *Links) Accept(ctx context.Context, from From, token, current string, n NewUser) (Entered, error) {
	l, known, err := ls.Link(ctx, token)
	if err != nil || l.Kind != people.Invitation {
		return Entered{}, orNoLink(err)
	}
	var fresh people.User
	if known.ID == "" {
		if fresh, err = ls.newUser(ctx, from, l, n); err != nil {
			return Entered{}, err
		}
	}
	return base.Decide(func() (Entered, error) {
		l, u, err := ls.Link(ctx, token)
		if err != nil {
			return Entered{}, err
		}
		if l, err = l.Use(ls.Now()); err != nil {
			return Entered{}, err
		}
		change := pay.Change{Links: []people.Link{l}}
		switch {
		case u.ID != "" && u.ID != current:
			return Entered{}, problem.Conflict("another_user", signInAsInvited.With(u.Email))
		case u.ID == "" && fresh.ID == "": // the user was removed meanwhile
			return Entered{}, people.NoLink()
		case l.Operator != "" && (u.ID == "" && !l.Proves || u.Unproved): // whoever registered the address may know the password still
			return Entered{}, unproved()
		case l.Operator != "" && u.Operator != "": // who invited him stays
			return Entered{}, problem.Conflict("is_member", isOperator)
		case u.ID == "":
			u = fresh
			u.Unproved = !l.Proves
		default: // written too: whoever removes the user at the same time must see the new role
			u = u.Next()
		}
		if l.Operator != "" {
			u = u.Appoint(l, ls.Now())
		}
		change.Users = []people.User{u}
		if err := ls.join(ctx, from.User(u.ID), &change, u, l); err != nil {
			return Entered{}, err
		}
		if current != "" { // the browser is signed in already
			return Entered{User: u}, ls.Store.Commit(ctx, change)
		}
		return ls.people.begin(ctx, from, u, false, change)
	})
}

// unproved refuses an operator whose address is not proved: whoever invited him, or registered the address before, may have it.
func unproved() error {
	return problem.Conflict("unproved_address", operatorAddressUnproved)
}

// newUser checks what a new user says, and hashes the password.
func (ls *Links) newUser(ctx context.Context, from From, l people.Link, n NewUser) (people.User, error) {
	name, err := people.ParseName(n.Name)
	if err != nil {
		return people.User{}, err
	}
	about := []string{l.Email, name}
	if l.Merchant != "" {
		m, err := ls.AnyMerchant(ctx, l.Merchant)
		if err != nil {
			return people.User{}, err
		}
		about = append(about, m.Name)
	}
	err = people.CheckPassword(n.Password, about...)
	if err != nil {
		return people.User{}, err
	}
	hash, err := ls.people.hashing.hash(ctx, from, l.Email, n.Password)
	if err != nil {
		return people.User{}, err
	}
	now := ls.Now()
	return people.User{ID: ls.NewID(people.UserPrefix, now), Version: 1, Email: l.Email, Name: name, Language: n.Language, Password: hash, CreatedAt: now}, nil
}

// uninvite adds to a change that invitations of an address end, those that which selects: whoever is removed later must not come back by
// one from before.
func (pl *People) uninvite(ctx context.Context, change *pay.Change, email string, which func(people.Link) bool) error {
	list, err := pl.Store.Links().To(ctx, email, pl.Now())
	if err != nil {
		return err
	}
	return pl.endLinks(change, list, which)
}

// join adds to a change that a user gets the role of an invitation. Other invitations to the same team end.
func (ls *Links) join(ctx context.Context, by audit.Actor, change *pay.Change, u people.User, l people.Link) error {
	if l.Operator != "" {
		if err := ls.people.tellOperators(ctx, change, people.News{What: people.OperatorAdded, By: u.InvitedBy, Merchant: u.Email}, u.ID); err != nil {
			return err
		}
	}
	if err := ls.people.uninvite(ctx, change, u.Email, func(other people.Link) bool { return other.ID != l.ID && other.Merchant == l.Merchant }); err != nil {
		return err
	}
	scope := merchants.Scope{Merchant: l.Merchant, Live: true}
	details := map[string]string{"invitation": l.ID, "invitedBy": l.By}
	if l.Merchant != "" {
		m, err := ls.Store.Memberships().Get(ctx, u.ID, l.Merchant)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if m.Role != "" { // roles are changed in the team's list, which keeps an owner
			return problem.Conflict("is_member", youAreInTeam)
		}
		m.User, m.Merchant = u.ID, l.Merchant
		change.Memberships = append(change.Memberships, m.Give(l.Role, ls.Now()))
		details["role"] = string(l.Role)
	}
	change.Audit = append(change.Audit, ls.Audited(by, scope, audit.UserCreated, u.ID, details)...)
	return nil
}
