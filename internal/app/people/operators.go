package people

import (
	"context"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// waits reports whether another operator has to confirm a new invitation, and then adds e-mails to the other operators to its
// change. No confirmation is needed if there is only one operator, or if the command line makes the invitation.
func (ls *Links) waits(ctx context.Context, change *pay.Change, l people.Link, by audit.Actor) (bool, error) {
	if l.Operator == "" || vouches(by) {
		return false, nil
	}
	list, err := ls.Store.Users().Operators(ctx)
	if err != nil || !slices.ContainsFunc(list, func(u people.User) bool { return u.ID != by.ID }) {
		return false, err
	}
	return true, ls.people.tellOperators(ctx, change, people.News{What: people.OperatorWaits, By: by.ID, Merchant: l.Email}, by.ID)
}

// mayLetIn returns an error if an operator may not invite somebody to a merchant: whoever lets in somebody who makes keys, withdraws or
// invites others needs the right to make keys himself, once the merchant has a team.
//
// Errors: forbidden.
func (ls *Links) mayLetIn(ctx context.Context, by audit.Actor, n Invitee) error {
	if by.Kind == audit.BySystem || !n.Role.May(merchants.RightKeys, true) && !n.Role.May(merchants.RightWithdrawals, true) && !n.Role.May(merchants.RightTeam, true) {
		return nil
	}
	team, err := ls.Store.Users().Members(ctx, n.Merchant)
	if err != nil || len(team) == 0 {
		return err
	}
	return ls.Dual.Check(ctx, by, operators.Keys)
}

// stillHeld returns an error if a link was made with a token that may not make it any more.
//
// Errors: not_found.
func (ls *Links) stillHeld(ctx context.Context, l people.Link) error {
	by := audit.Actor{Kind: audit.ByOperator, ID: l.By}
	if l.By == "" || base.AtTheMachine(by) {
		return nil
	}
	role, err := ls.Dual.RoleOf(ctx, by)
	right := operators.Merchants
	if l.Merchant == "" {
		right = operators.Manage
	}
	if err == nil && !role.May(right) {
		err = people.NoLink()
	}
	return err
}

// stillGiven returns an error for an invitation whose giver could not give it any more: a user who was removed, or has a
// lesser role now, must not come back through an earlier invitation. Invitations from programs and the command line are
// not checked.
//
// Errors: not_found.
func (ls *Links) stillGiven(ctx context.Context, l people.Link) error {
	if l.Kind != people.Invitation {
		return nil
	}
	if !strings.HasPrefix(l.By, people.UserPrefix) {
		return ls.stillHeld(ctx, l)
	}
	by, err := ls.Store.Users().Get(ctx, l.By)
	if err != nil || !by.Active() {
		return base.OrRefuse(err, people.NoLink())
	}
	if l.Merchant == "" && by.Operator.May(operators.Manage) || l.Merchant != "" && by.Operator.May(operators.Merchants) {
		return nil
	}
	m, err := ls.Store.Memberships().Get(ctx, by.ID, l.Merchant)
	if err != nil || !m.Role.MayGive(l.Role) {
		return base.OrRefuse(err, people.NoLink())
	}
	return nil
}

// Confirm lets an invitation of an operator go out (DASH-33): a second operator confirms whom the first one invited. Only now does the link
// have an address. It works for its whole life from now on.
//
// Errors: store.ErrNotFound, conflict_state for whoever invited, and for an operator who counts as the same person.
func (ls *Links) Confirm(ctx context.Context, by audit.Actor, id string) (told NewLink, err error) {
	err = base.Again(func() error {
		list, err := ls.Store.Links().Invitations(ctx, "", ls.Now())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(l people.Link) bool { return l.ID == id && l.Waits })
		if i < 0 {
			return store.ErrNotFound
		}
		l := list[i]
		if l.By == by.ID {
			return problem.Conflict("own_invitation", invitationUnconfirmed)
		}
		if err := base.TwoPersons(ctx, ls.Base, by.ID, l.By); err != nil {
			return err
		}
		if err := ls.stillGiven(ctx, l); err != nil {
			return err
		}
		fresh, token := ls.newLink(l)
		l = l.Confirm(by.ID, fresh)
		told = NewLink{Link: l, Address: ls.linkAddress(token)}
		change := pay.Change{Audit: ls.Audited(by, merchants.Scope{Live: true}, audit.LinkConfirmed, l.ID, linkDetails(l))}
		told.Mailed = ls.mails.AddLink(&change, l, l.Email, l.Language, "", told.Address)
		if l.Proves = told.Mailed; told.Mailed { // whoever has the mailbox alone gets it
			told.Address = ""
		}
		change.Links = []people.Link{l}
		return ls.Store.Commit(ctx, change)
	})
	return told, err
}

// tellOperators adds to a change that all operators but one hear of news, whose By is a user's id.
func (pl *People) tellOperators(ctx context.Context, change *pay.Change, n people.News, but string) error {
	list, err := pl.Store.Users().Operators(ctx)
	if err != nil {
		return err
	}
	n.At = pl.Now()
	by := n.By
	n.By = ""
	for _, u := range list {
		if u.ID == by {
			n.By = u.Email
		}
	}
	for _, u := range list {
		if u.ID == but {
			continue
		}
		if err := pl.mails.AddOperatorAlert(ctx, change, u, n); err != nil {
			return err
		}
		change.Users = append(change.Users, u.Next().WithNews(n))
	}
	return nil
}
