package people

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// Told is a new one-time link.
type Told struct {
	Link    people.Link
	Address string // to open in a browser; it cannot be read again
	Mailed  bool   // an e-mail with it is on its way
}

// linkAddress is the address of a link's page.
func (pl *People) linkAddress(token string) string {
	return pl.CheckoutURL + "/dashboard/link/" + token
}

// newLink completes a link of a kind and returns its token.
func (pl *People) newLink(l people.Link) (people.Link, string) {
	now := pl.Now()
	token := id.Secret(linkPrefix)
	l.ID, l.Version, l.Hash, l.CreatedAt, l.EndsAt = pl.NewID(people.LinkPrefix, now), 1, pl.Vault.Hash(token), now, now.Add(l.Kind.Life())
	return l, token
}

// Invitee is who is invited, and to what.
type Invitee struct {
	Email    string
	Merchant string // "": to the operator's console
	Role     people.Role
	Operator bool
	Language tenant.Language // of the e-mail; "": English
}

// Invite invites somebody to a merchant, or to the operator's console. The link is sent by e-mail where that is
// set up. giver is the role of the user who invites; an operator gives any. An earlier invitation of the same
// address is withdrawn.
//
// Errors: invalid_request for the address or the role, forbidden for a role with rights that the giver lacks,
// conflict_state if the user has a role there, store.ErrNotFound for the merchant.
func (pl *People) Invite(ctx context.Context, by audit.Actor, giver people.Role, n Invitee) (Told, error) {
	email, err := people.ParseEmail(n.Email)
	if err != nil {
		return Told{}, err
	}
	if err := mayGive(by, giver, n); err != nil {
		return Told{}, err
	}
	var m tenant.Merchant
	if n.Merchant != "" {
		if m, err = pl.AnyMerchant(ctx, n.Merchant); err != nil {
			return Told{}, err
		}
	}
	var told Told
	err = base.Again(func() error {
		if err := pl.unlessMember(ctx, email, n); err != nil {
			return err
		}
		l, token := pl.newLink(people.Link{Kind: people.Invitation, Email: email, Merchant: n.Merchant, Role: n.Role, Operator: n.Operator, By: by.ID})
		change := pay.Change{Links: []people.Link{l}, Audit: pl.Audited(by, tenant.Scope{Merchant: n.Merchant, Live: true}, audit.LinkCreated, l.ID, linkDetails(l))}
		if err := pl.withdrawEarlier(ctx, &change, l); err != nil {
			return err
		}
		told = Told{Link: l, Address: pl.linkAddress(token)}
		told.Mailed = pl.mails.AddLink(&change, l, email, n.Language, m.Name, told.Address)
		return pl.Store.Commit(ctx, change)
	})
	return told, err
}

func mayGive(by audit.Actor, giver people.Role, n Invitee) error {
	if n.Merchant == "" {
		if !n.Operator || by.Kind == audit.ByUser && giver != "" {
			return problem.New(problem.Forbidden, "only operators invite to the operator's console")
		}
		return nil
	}
	if err := people.CheckRole(n.Role); err != nil {
		return err
	}
	if by.Kind == audit.ByUser && giver != "" && !giver.MayGive(n.Role) {
		return tooMuch()
	}
	return nil
}

func tooMuch() error {
	return problem.Field(problem.Forbidden, "role", "this role has rights that you do not have: ask an owner")
}

// unlessMember returns an error if the invited one has a role there.
func (pl *People) unlessMember(ctx context.Context, email string, n Invitee) error {
	u, err := pl.Store.Users.ByEmail(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if n.Merchant == "" {
		if u.Operator {
			return problem.Conflict("is_member", "this person is an operator already")
		}
		return nil
	}
	m, err := pl.Store.Memberships.Get(ctx, u.ID, n.Merchant)
	if err == nil && m.Role != "" {
		return problem.Conflict("is_member", "this person is in the team already: change the role in the list")
	}
	return base.OrRefuse(err, nil)
}

// withdrawEarlier adds to a change that earlier invitations of the same address end.
func (pl *People) withdrawEarlier(ctx context.Context, change *pay.Change, l people.Link) error {
	earlier, err := pl.Store.Links.Invitations(ctx, l.Merchant, pl.Now())
	if err != nil {
		return err
	}
	for _, old := range earlier {
		if old.Email != l.Email {
			continue
		}
		if old, err = old.Use(pl.Now()); err != nil {
			return err
		}
		change.Links = append(change.Links, old)
	}
	return nil
}

func linkDetails(l people.Link) map[string]string {
	details := map[string]string{"kind": string(l.Kind)}
	if l.Role != "" {
		details["role"] = string(l.Role)
	}
	if l.User != "" {
		details["user"] = l.User
	}
	return details
}

// Withdraw withdraws an invitation to a merchant, or with "" to the operator's console.
//
// Errors: store.ErrNotFound.
func (pl *People) Withdraw(ctx context.Context, by audit.Actor, merchant, id string) error {
	return base.Again(func() error {
		list, err := pl.Store.Links.Invitations(ctx, merchant, pl.Now())
		if err != nil {
			return err
		}
		for _, l := range list {
			if l.ID != id {
				continue
			}
			if l, err = l.Use(pl.Now()); err != nil {
				return err
			}
			return pl.Store.Commit(ctx, pay.Change{
				Links: []people.Link{l}, Audit: pl.Audited(by, tenant.Scope{Merchant: merchant, Live: true}, audit.LinkWithdrawn, l.ID, linkDetails(l)),
			})
		}
		return store.ErrNotFound
	})
}

// LinkTo makes a link for a user: to sign in, or to choose a password. It is for operators, who give it to the
// user. An earlier link of the kind is withdrawn.
//
// Errors: store.ErrNotFound.
func (pl *People) LinkTo(ctx context.Context, by audit.Actor, email string, kind people.LinkKind) (Told, error) {
	u, err := pl.byEmail(ctx, email)
	if err != nil {
		return Told{}, err
	}
	return pl.linkTo(ctx, by, u, kind, false)
}

// linkTo makes a link for a user, and sends it if mailed.
func (pl *People) linkTo(ctx context.Context, by audit.Actor, u people.User, kind people.LinkKind, mailed bool) (told Told, err error) {
	err = base.Again(func() error {
		l, token := pl.newLink(people.Link{Kind: kind, User: u.ID, By: by.ID})
		entries, err := pl.ofMerchants(ctx, by, u.ID, audit.LinkCreated, l.ID)
		if err != nil {
			return err
		}
		change := pay.Change{Links: []people.Link{l}, Audit: entries}
		earlier, err := pl.Store.Links.Of(ctx, u.ID)
		if err != nil {
			return err
		}
		for _, old := range earlier {
			if old.Kind != kind || !old.Good(pl.Now()) {
				continue
			}
			if old, err = old.Use(pl.Now()); err != nil {
				return err
			}
			change.Links = append(change.Links, old)
		}
		told = Told{Link: l, Address: pl.linkAddress(token)}
		if mailed {
			told.Mailed = pl.mails.AddLink(&change, l, u.Email, u.Language, "", told.Address)
		}
		return pl.Store.Commit(ctx, change)
	})
	return told, err
}

// Forgot sends a user a link to choose a new password. The caller learns nothing of whether there is such a
// user, nor whether e-mails are sent: without them an operator makes the link (cascada user link).
func (pl *People) Forgot(ctx context.Context, from From, email string) error {
	address, err := people.ParseEmail(email)
	if err != nil {
		return err
	}
	u, err := pl.Store.Users.ByEmail(ctx, address)
	if err != nil {
		return base.OrRefuse(err, nil)
	}
	if !pl.mails.Sends() {
		pl.Quiet.WarnSometimes(ctx, "a user forgot the password, and no e-mails are sent: make a link with cascada user link", u.ID, "user", u.ID)
		return nil
	}
	if _, may := pl.Quiet.Say("reset "+u.ID, resetsEvery); !may {
		return nil
	}
	_, err = pl.linkTo(ctx, from.system(), u, people.PasswordReset, true)
	return err
}

// Link finds a one-time link by the token in its address, and the user if it is a known one's. Reading it does
// not use it up: programs that scan e-mails open links.
//
// Errors: not_found.
func (pl *People) Link(ctx context.Context, token string) (people.Link, people.User, error) {
	if len(token) > maxToken {
		return people.Link{}, people.User{}, people.NoLink()
	}
	l, err := pl.Store.Links.ByHash(ctx, pl.Vault.Hash(token))
	if err != nil {
		return l, people.User{}, base.OrRefuse(err, people.NoLink())
	}
	if !l.Good(pl.Now()) {
		return l, people.User{}, people.NoLink()
	}
	var u people.User
	if l.User != "" {
		u, err = pl.Store.Users.Get(ctx, l.User)
	} else {
		u, err = pl.Store.Users.ByEmail(ctx, l.Email)
		if errors.Is(err, store.ErrNotFound) {
			return l, people.User{}, nil
		}
	}
	if err != nil || !u.Active() {
		return l, u, base.OrRefuse(err, people.NoLink())
	}
	return l, u, nil
}

// SignInBy signs a user in with a link. A second factor is asked for as usual.
//
// Errors: not_found.
func (pl *People) SignInBy(ctx context.Context, from From, token string) (Entered, error) {
	return base.Decide(func() (Entered, error) {
		l, u, err := pl.Link(ctx, token)
		if err != nil || l.Kind != people.SignInLink {
			return Entered{}, orNoLink(err)
		}
		if l, err = l.Use(pl.Now()); err != nil {
			return Entered{}, err
		}
		return pl.begin(ctx, from, u, u.HasFactor(), pay.Change{Links: []people.Link{l}})
	})
}

func orNoLink(err error) error {
	if err == nil {
		return people.NoLink()
	}
	return err
}

// Reset chooses a new password with a link. Every sign-in of the user ends, and a new one begins; a second
// factor is asked for as usual.
//
// Errors: not_found for the link, invalid_request for the password.
func (pl *People) Reset(ctx context.Context, from From, token, password string) (Entered, error) {
	l, u, err := pl.Link(ctx, token)
	if err != nil || l.Kind != people.PasswordReset {
		return Entered{}, orNoLink(err)
	}
	if err := people.CheckPassword(password, u.Email); err != nil {
		return Entered{}, err
	}
	hash, err := pl.hash(ctx, password)
	if err != nil {
		return Entered{}, err
	}
	return base.Decide(func() (Entered, error) {
		l, u, err := pl.Link(ctx, token)
		if err != nil {
			return Entered{}, err
		}
		if l, err = l.Use(pl.Now()); err != nil {
			return Entered{}, err
		}
		change, err := pl.newPassword(ctx, from, u, hash, "")
		if err != nil {
			return Entered{}, err
		}
		change.Links = append(change.Links, l)
		return pl.begin(ctx, from, change.Users[0], u.HasFactor(), change)
	})
}

// newPassword is the change that gives a user a password. Every sign-in but the one with the id kept ends.
func (pl *People) newPassword(ctx context.Context, from From, u people.User, hash, kept string) (change pay.Change, err error) {
	list, err := pl.SignIns(ctx, u.ID)
	if err != nil {
		return change, err
	}
	for _, s := range list {
		if s.ID != kept {
			change.SignIns = append(change.SignIns, s.End(pl.Now()))
		}
	}
	change.Users = []people.User{u.SetPassword(hash)}
	change.Audit, err = pl.ofMerchants(ctx, from.User(u.ID), u.ID, audit.UserPasswordChanged, u.ID)
	return change, err
}
