package people

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	// resetsEvery is how often a user gets an e-mail with a link to choose a password.
	resetsEvery = 10 * time.Minute
	// mostForgotten is how many requests for such a link wait, and forgottenFor how long one may take.
	mostForgotten = 64
	forgottenFor  = 30 * time.Second
)

// Links are invitations, and links to sign in or to choose a password.
type Links struct {
	*base.Base
	people *People
	mails  *mails.Mails
	// forgotten are the requests for a link that are being handled, by address and account. turn is held by one of them.
	forgotten *limit.Places
	turn      work.Latch
	dealing   sync.WaitGroup
}

// NewLinks returns the links of a service; m sends them.
func NewLinks(p *People, m *mails.Mails) *Links {
	return &Links{Base: p.Base, people: p, mails: m, forgotten: limit.NewPlaces(mostForgotten), turn: work.NewLatch()}
}

// Drain waits for the requests for a link that were answered and are still being handled.
func (ls *Links) Drain() { ls.dealing.Wait() }

// NewLink is a new one-time link.
type NewLink struct {
	Link    people.Link
	Address string // to open in a browser; it cannot be read again; "" for who must not have it, as the e-mail proves an address
	Mailed  bool   // an e-mail with it is on its way
	Waits   bool   // nobody has it yet: another operator must confirm it
}

// linkAddress is the address of a link's page.
func (ls *Links) linkAddress(token string) string {
	return ls.CheckoutURL + "/dashboard/link/" + token
}

// newLink completes a link of a kind and returns its token.
func (ls *Links) newLink(l people.Link) (people.Link, string) {
	now := ls.Now()
	token := id.Secret(linkPrefix)
	l.ID, l.Version, l.Hash, l.CreatedAt, l.EndsAt = ls.NewID(people.LinkPrefix, now), 1, ls.Vault.Hash(token), now, now.Add(l.Kind.Life())
	return l, token
}

// Invitee is who is invited, and to what.
type Invitee struct {
	Email    string
	Merchant string // "": to the operator's console
	Role     people.Role
	Operator operators.Role     // of an invitation to the console
	Language merchants.Language // of the e-mail; "": English
}

// Invite invites somebody to a merchant, or to the operator's console. The link is sent by e-mail where that is
// set up; then a user of the dashboard does not see it. giver is the role of the user who invites; an operator gives any. An earlier
// invitation of the same address is withdrawn. Where there are two operators, one of them confirms whom the other invites to the console
// (Confirm).
//
// Errors: invalid_request for the address or the role, forbidden for a role with rights that the giver lacks,
// conflict_state if the user has a role there, store.ErrNotFound for the merchant, rate_limited for a user whose
// merchant has sent mails.InvitationsADay.
func (ls *Links) Invite(ctx context.Context, by audit.Actor, giver people.Role, n Invitee) (NewLink, error) {
	email, err := people.ParseEmail(n.Email)
	if err != nil {
		return NewLink{}, err
	}
	if err := mayGive(by, giver, n); err != nil {
		return NewLink{}, err
	}
	if n.Merchant == "" {
		if err := cmp.Or(ls.Dual.Check(ctx, by, operators.Manage), ls.Dual.Known(ctx, by, operators.Manage)); err != nil {
			return NewLink{}, err
		}
	} else if giver == "" {
		if err := ls.mayLetIn(ctx, by, n); err != nil {
			return NewLink{}, err
		}
	}
	var m merchants.Merchant
	if n.Merchant != "" {
		m, err = ls.AnyMerchant(ctx, n.Merchant)
		if err = cmp.Or(err, m.MayAdd()); err != nil {
			return NewLink{}, err
		}
	}
	if giver != "" {
		if err := ls.mails.MayInvite(ctx, n.Merchant); err != nil {
			return NewLink{}, err
		}
	}
	var told NewLink
	err = base.Again(func() error {
		if err := ls.unlessMember(ctx, email, n); err != nil {
			return err
		}
		l, token := ls.newLink(people.Link{
			Kind: people.Invitation, Email: email, Merchant: n.Merchant, Role: n.Role, Operator: n.Operator, By: by.ID, Proves: vouches(by), Language: n.Language,
		})
		change := pay.Change{Links: []people.Link{l}, Audit: ls.Audited(by, merchants.Scope{Merchant: n.Merchant, Live: true}, audit.LinkCreated, l.ID, linkDetails(l))}
		if err := ls.withdrawEarlier(ctx, &change, l, giver); err != nil {
			return err
		}
		if told.Waits, err = ls.waits(ctx, &change, l, by); err != nil {
			return err
		}
		if told.Waits {
			change.Links[0].Waits = true
			told.Link = change.Links[0]
			return ls.Store.Commit(ctx, change)
		}
		told = NewLink{Link: l, Address: ls.linkAddress(token)}
		told.Mailed = ls.mails.AddLink(&change, l, email, n.Language, m.Name, told.Address)
		if told.Mailed && !l.Proves { // whoever has the mailbox alone gets it
			change.Links[0].Proves, told.Address = true, ""
		}
		return ls.Store.Commit(ctx, change)
	})
	return told, err
}

// vouches reports whether an address is proved by whom it was given a link: whoever has the machine gives it to the person himself. A
// user of the dashboard, who sees the link if no e-mails are sent, proves nothing.
func vouches(by audit.Actor) bool { return by.Kind == audit.BySystem || base.AtTheMachine(by) }

func mayGive(by audit.Actor, giver people.Role, n Invitee) error {
	if n.Merchant == "" {
		if n.Operator == "" || by.Kind == audit.ByUser && giver != "" {
			return problem.New(problem.Forbidden, onlyOperatorsInvite)
		}
		return operators.CheckRole(n.Operator)
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
	return problem.Field(problem.Forbidden, "role", roleBeyondYours)
}

// unlessMember returns an error if the invited one has a role there.
func (ls *Links) unlessMember(ctx context.Context, email string, n Invitee) error {
	u, err := ls.Store.Users().ByEmail(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if n.Merchant == "" {
		if u.Operator != "" {
			return problem.Conflict("is_member", isOperator)
		}
		return nil
	}
	m, err := ls.Store.Memberships().Get(ctx, u.ID, n.Merchant)
	if err == nil && m.Role != "" {
		return problem.Conflict("is_member", isInTeam)
	}
	return base.OrRefuse(err, nil)
}

// withdrawEarlier adds to a change that earlier invitations of the same address end.
//
// Errors: forbidden for one to a role with rights that the giver lacks.
func (ls *Links) withdrawEarlier(ctx context.Context, change *pay.Change, l people.Link, giver people.Role) error {
	earlier, err := ls.Store.Links().Invitations(ctx, l.Merchant, ls.Now())
	if err != nil {
		return err
	}
	for _, old := range earlier {
		if old.Email != l.Email {
			continue
		}
		if giver != "" && !giver.MayGive(old.Role) {
			return tooMuch()
		}
		if old, err = old.Use(ls.Now()); err != nil {
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

// Withdraw withdraws an invitation to a merchant, or with "" to the operator's console. giver is the role of the user
// who does it, "" for an operator.
//
// Errors: store.ErrNotFound, forbidden for a role with rights that the giver lacks.
func (ls *Links) Withdraw(ctx context.Context, by audit.Actor, giver people.Role, merchant, id string) error {
	return base.Again(func() error {
		list, err := ls.Store.Links().Invitations(ctx, merchant, ls.Now())
		if err != nil {
			return err
		}
		for _, l := range list {
			if l.ID != id {
				continue
			}
			if giver != "" && !giver.MayGive(l.Role) {
				return tooMuch()
			}
			if l, err = l.Use(ls.Now()); err != nil {
				return err
			}
			return ls.Store.Commit(ctx, pay.Change{
				Links: []people.Link{l}, Audit: ls.Audited(by, merchants.Scope{Merchant: merchant, Live: true}, audit.LinkWithdrawn, l.ID, linkDetails(l)),
			})
		}
		return store.ErrNotFound
	})
}

// LinkTo makes a link for a user: to sign in, or to choose a password. It is for operators, who give it to the
// user. An earlier link of the kind is withdrawn.
//
// Errors: store.ErrNotFound.
func (ls *Links) LinkTo(ctx context.Context, by audit.Actor, email string, kind people.LinkKind) (NewLink, error) {
	u, err := ls.people.byEmail(ctx, email)
	if err != nil {
		return NewLink{}, err
	}
	if err := ls.Dual.AboutOperator(ctx, by, u, "operator.link"); err != nil {
		return NewLink{}, err
	}
	return ls.linkTo(ctx, by, u, kind, false)
}

// linkTo makes a link for a user, and sends it if mailed.
func (ls *Links) linkTo(ctx context.Context, by audit.Actor, u people.User, kind people.LinkKind, mailed bool) (told NewLink, err error) {
	err = base.Again(func() error {
		l, token := ls.newLink(people.Link{Kind: kind, User: u.ID, By: by.ID, Proves: mailed || vouches(by)})
		entries, err := ls.people.ofMerchants(ctx, by, u.ID, audit.LinkCreated, l.ID)
		if err != nil {
			return err
		}
		change := pay.Change{Links: []people.Link{l}, Audit: entries}
		if err := ls.people.withdrawLinks(ctx, &change, u.ID, func(old people.Link) bool { return old.Kind == kind }); err != nil {
			return err
		}
		told = NewLink{Link: l, Address: ls.linkAddress(token)}
		if mailed {
			told.Mailed = ls.mails.AddLink(&change, l, u.Email, u.Language, "", told.Address)
		}
		return ls.Store.Commit(ctx, change)
	})
	return told, err
}

// withdrawLinks adds to a change that links which were made for a user end, those that which selects.
func (pl *People) withdrawLinks(ctx context.Context, change *pay.Change, user string, which func(people.Link) bool) error {
	list, err := pl.Store.Links().Of(ctx, user)
	if err != nil {
		return err
	}
	return pl.endLinks(change, list, which)
}

// endLinks adds to a change that links of a list end, those that which selects.
func (pl *People) endLinks(change *pay.Change, list []people.Link, which func(people.Link) bool) error {
	for _, l := range list {
		if !l.Good(pl.Now()) || !which(l) {
			continue
		}
		l, err := l.Use(pl.Now())
		if err != nil {
			return err
		}
		change.Links = append(change.Links, l)
	}
	return nil
}

// Forgot sends a user a link to choose a new password. It returns before it checks whether there is such a user: so neither
// the answer nor its time tells the caller that, or whether e-mails are sent. Without e-mails an operator makes the link
// (cascada user link).
//
// Errors: invalid_request, rate_limited if too many wait.
func (ls *Links) Forgot(ctx context.Context, from From, email string) error {
	address, err := people.ParseEmail(email)
	if err != nil {
		return err
	}
	leave, ok := ls.forgotten.Enter("from "+from.Address, "about "+address)
	if !ok {
		return problem.New(problem.RateLimited, manyLinks)
	}
	ls.dealing.Go(func() {
		defer leave()
		ls.turn.Lock()
		defer ls.turn.Unlock()
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), forgottenFor)
		defer stop()
		if err := ls.sendReset(ctx, from, address); err != nil {
			ls.Log.ErrorContext(ctx, "a link to choose a password was not made", "error", err)
		}
	})
	return nil
}

// sendReset sends a link to choose a password to an address, if it is a user's.
func (ls *Links) sendReset(ctx context.Context, from From, address string) error {
	u, err := ls.Store.Users().ByEmail(ctx, address)
	if err != nil {
		return base.OrRefuse(err, nil)
	}
	if !ls.mails.Sends() {
		ls.Quiet.WarnSometimes(ctx, "a user forgot the password, and no e-mails are sent: make a link with cascada user link", u.ID, "user", u.ID)
		return nil
	}
	if _, may := ls.Quiet.Allow("reset "+u.ID, resetsEvery); !may {
		return nil
	}
	_, err = ls.linkTo(ctx, from.system(), u, people.PasswordReset, true)
	return err
}

// Link finds a one-time link by the token in its address, and the user if it is a known one's. Reading it does
// not use it up: programs that scan e-mails open links.
//
// Errors: not_found.
func (ls *Links) Link(ctx context.Context, token string) (people.Link, people.User, error) {
	if len(token) > maxToken {
		return people.Link{}, people.User{}, people.NoLink()
	}
	l, err := ls.Store.Links().ByHash(ctx, ls.Vault.Hash(token))
	if err != nil {
		return l, people.User{}, base.OrRefuse(err, people.NoLink())
	}
	if !l.Good(ls.Now()) || ls.RecoveryState.Load().Forgets(l.CreatedAt) {
		return l, people.User{}, people.NoLink()
	}
	if err := ls.stillGiven(ctx, l); err != nil {
		return l, people.User{}, err
	}
	var u people.User
	if l.User != "" {
		u, err = ls.Store.Users().Get(ctx, l.User)
	} else {
		u, err = ls.Store.Users().ByEmail(ctx, l.Email)
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
func (ls *Links) SignInBy(ctx context.Context, from From, token string) (Entered, error) {
	return base.Decide(func() (Entered, error) {
		l, u, err := ls.Link(ctx, token)
		if err != nil || l.Kind != people.SignInLink {
			return Entered{}, orNoLink(err)
		}
		if l, err = l.Use(ls.Now()); err != nil {
			return Entered{}, err
		}
		change := pay.Change{Links: []people.Link{l}}
		if l.Proves && u.Unproved {
			if u, err = ls.people.proved(ctx, &change, u.Next(), l.ID); err != nil {
				return Entered{}, err
			}
			change.Users = []people.User{u}
		}
		return ls.people.begin(ctx, from, u, u.HasFactor(), change)
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
func (ls *Links) Reset(ctx context.Context, from From, token, password string) (Entered, error) {
	l, u, err := ls.Link(ctx, token)
	if err != nil || l.Kind != people.PasswordReset {
		return Entered{}, orNoLink(err)
	}
	if err := ls.people.checkPassword(ctx, u, password); err != nil {
		return Entered{}, err
	}
	hash, err := ls.people.hashing.hash(ctx, from, u.Email, password)
	if err != nil {
		return Entered{}, err
	}
	return base.Decide(func() (Entered, error) {
		l, u, err := ls.Link(ctx, token)
		if err != nil {
			return Entered{}, err
		}
		if l, err = l.Use(ls.Now()); err != nil {
			return Entered{}, err
		}
		if l.Proves {
			u = u.Prove()
		}
		change, err := ls.people.newPassword(ctx, from, u, hash, "", l.ID)
		if err != nil {
			return Entered{}, err
		}
		change.Links = append(change.Links, l)
		return ls.people.begin(ctx, from, change.Users[0], u.HasFactor(), change)
	})
}

// newPassword is the change that gives a user a password. Every sign-in except the one with the id kept ends, and so does every link
// that was made for the user, except the one that is used.
func (pl *People) newPassword(ctx context.Context, from From, u people.User, hash, kept, used string) (change pay.Change, err error) {
	list, err := pl.SignIns(ctx, u.ID)
	if err != nil {
		return change, err
	}
	for _, s := range list {
		if s.ID != kept {
			change.SignIns = append(change.SignIns, s.End(pl.Now()))
		}
	}
	if err := pl.withdrawLinks(ctx, &change, u.ID, func(l people.Link) bool { return l.ID != used }); err != nil {
		return change, err
	}
	change.Users = []people.User{u.SetPassword(hash)}
	if change.Audit, err = pl.ofMerchants(ctx, from.User(u.ID), u.ID, audit.UserPasswordChanged, u.ID); err != nil {
		return change, err
	}
	return change, pl.addNews(ctx, &change, change.Users[0], from.news(people.PasswordSet))
}
