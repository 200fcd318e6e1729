// Package people is the use cases of the dashboard's users: signing in, second factors, invitations, roles.
// What users do at merchants is in the other packages.
package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// tokenPrefix begins the token in a browser's cookie, and linkPrefix that of a one-time link.
	tokenPrefix = "si_"
	linkPrefix  = "ln_"
	// maxToken is longer than any token: longer ones are not looked up.
	maxToken = 128
	// maxAgent is how much of a browser's name is kept.
	maxAgent = 200
)

// People has the users of the dashboard and their sign-ins. It is safe for use by many goroutines.
type People struct {
	*base.Base
	hashing *hashing
	mails   *mails.Mails // tells the users
}

// New returns the users of a service.
func New(b *base.Base, m *mails.Mails) *People {
	return &People{Base: b, hashing: newHashing(b.HashMemory), mails: m}
}

// From is where a request of a browser comes from.
type From struct {
	Address string // as far as it is trusted
	Agent   string // the browser, as it calls itself
	Request string // req_…
}

// agent is the part of the browser's name that is kept. News about a browser, and comparisons with other browsers, use it
// too.
func (f From) agent() string {
	return strings.ToValidUTF8(f.Agent[:min(len(f.Agent), maxAgent)], "")
}

// User is the actor of what a user does.
func (f From) User(id string) audit.Actor {
	return audit.Actor{Kind: audit.ByUser, ID: id, IP: f.Address, Request: f.Request, Agent: f.agent()}
}

// system is the actor of what the service does to a request.
func (f From) system() audit.Actor {
	return audit.Actor{Kind: audit.BySystem, IP: f.Address, Request: f.Request}
}

// Entered is a sign-in with its token for the browser's cookie, which cannot be read again.
type Entered struct {
	Token  string
	SignIn people.SignIn
	User   people.User
}

// badPair is the same whatever is wrong.
func badPair() error {
	return problem.New(problem.InvalidToken, signInWrong)
}

// Enter signs a user in with a password. If the user has a second factor, the sign-in waits for it.
//
// Errors: invalid_token.
func (pl *People) Enter(ctx context.Context, from From, email, password string) (Entered, error) {
	var u people.User
	address, err := people.ParseEmail(email)
	if err == nil {
		if u, err = pl.Store.Users().ByEmail(ctx, address); err != nil && !errors.Is(err, store.ErrNotFound) {
			return Entered{}, err
		}
	}
	same, err := pl.hashing.matches(ctx, from, address, password, u.Password)
	if err != nil {
		return Entered{}, err
	}
	if !same || u.Locked(pl.Now()) {
		return Entered{}, errors.Join(badPair(), pl.failed(ctx, from, u, "password"))
	}
	hash := u.Password
	return base.Decide(func() (Entered, error) {
		u, err := pl.Store.Users().Get(ctx, u.ID)
		if err != nil || u.Password != hash || u.Locked(pl.Now()) { // others may have guessed while this one waited
			return Entered{}, base.OrRefuse(err, badPair())
		}
		var change pay.Change
		if next, changed := u.Succeeded(); changed && !u.HasFactor() { // with one, codes may still be guessed
			u, change.Users = next, []people.User{next}
		}
		return pl.begin(ctx, from, u, u.HasFactor(), change)
	})
}

// failed records that a user's password or code was wrong.
func (pl *People) failed(ctx context.Context, from From, u people.User, what string) error {
	pl.refused(ctx, from, u, what)
	if u.ID == "" {
		return nil
	}
	return base.Again(func() error {
		now := pl.Now()
		present, err := pl.Store.Users().Get(ctx, u.ID)
		if err != nil || present.Locked(now) {
			return err
		}
		present = present.Failed(now)
		change := pay.Change{Users: []people.User{present}}
		if present.Locked(now) {
			if err := pl.addNews(ctx, &change, present, from.news(people.AccountLocked)); err != nil {
				return err
			}
		}
		return pl.Store.Commit(ctx, change)
	})
}

// begin writes a new sign-in of a user, with a change that belongs to it.
func (pl *People) begin(ctx context.Context, from From, u people.User, waiting bool, change pay.Change) (Entered, error) {
	return pl.write(ctx, from, u, people.SignIn{Waiting: waiting}, change)
}

// write completes a new sign-in and writes it, with a change that belongs to it. The user is written too: if the password
// or the second factors changed since u was read, the sign-in is decided again. Otherwise it would outlive that change,
// which ends all sign-ins that it finds.
func (pl *People) write(ctx context.Context, from From, u people.User, s people.SignIn, change pay.Change) (Entered, error) {
	now := pl.Now()
	if len(change.Users) == 0 {
		u = u.Next()
		change.Users = []people.User{u}
	}
	token := id.Secret(tokenPrefix)
	s.ID, s.Version, s.User, s.Hash = pl.NewID(people.SignInPrefix, now), 1, u.ID, pl.Vault.Hash(token)
	s.Address, s.Agent, s.CreatedAt, s.SeenAt, s.EndsAt = from.Address, from.agent(), now, now, now.Add(people.SignInLife)
	if err := pl.tellOfSignIn(ctx, &change, from, u, s); err != nil {
		return Entered{}, err
	}
	u = change.Users[0]
	change.SignIns = append(change.SignIns, s)
	if !s.Waiting {
		entries, err := pl.ofMerchants(ctx, from.User(u.ID), u.ID, audit.UserSignedIn, s.ID)
		if err != nil {
			return Entered{}, err
		}
		change.Audit = append(change.Audit, entries...)
	}
	return Entered{token, s, u}, pl.Store.Commit(ctx, change)
}

// mostMerchants bounds the audit logs that record what a user does to their own account.
const mostMerchants = 50

// ofMerchants returns entries about a user for the audit log of each merchant, or of the operator if the user
// belongs to none. more are pairs of names and values for the details.
func (pl *People) ofMerchants(ctx context.Context, by audit.Actor, user string, act audit.Act, object string, more ...string) ([]audit.Entry, error) {
	list, err := pl.Store.Memberships().Of(ctx, user)
	if err != nil {
		return nil, err
	}
	details := func() map[string]string {
		d := map[string]string{"user": user}
		for i := 0; i+1 < len(more); i += 2 {
			d[more[i]] = more[i+1]
		}
		return d
	}
	var entries []audit.Entry
	for i, m := range list {
		if i == mostMerchants {
			break
		}
		entries = append(entries, pl.Audited(by, merchants.Scope{Merchant: m.Merchant, Live: true}, act, object, details())...)
	}
	if len(entries) == 0 {
		entries = pl.Audited(by, merchants.Scope{Live: true}, act, object, details())
	}
	return entries, nil
}

// refused logs a refused sign-in, and audits it if the user is known.
func (pl *People) refused(ctx context.Context, from From, u people.User, what string) {
	pl.Quiet.WarnSometimes(ctx, "a sign-in to the dashboard was refused", "", "address", from.Address, "user", u.ID, "wrong", what)
	if u.ID == "" {
		return
	}
	if _, may := pl.Quiet.Allow("sign-in "+u.ID, base.RefusalsEvery); !may {
		return
	}
	pl.tellRefused(ctx, from, u)
}

// tellRefused audits a refused sign-in of a user. more are pairs of names and values for the details.
func (pl *People) tellRefused(ctx context.Context, from From, u people.User, more ...string) {
	entries, err := pl.ofMerchants(ctx, from.system(), u.ID, audit.UserSignInRefused, u.ID, more...)
	if err == nil {
		err = pl.Store.Commit(ctx, pay.Change{Audit: entries})
	}
	if err != nil {
		pl.Log.ErrorContext(ctx, "a refused sign-in is not in the audit log", "user", u.ID, "error", err)
	}
}

// ErrSignedOut says that a browser is not signed in, or not any more.
var ErrSignedOut = problem.New(problem.MissingCredentials, signedOut)

// Known finds the sign-in and the user of a cookie's token. It reads the database each time, so that one that
// was ended is refused at once. A sign-in that waits for the second factor is returned too.
//
// Errors: ErrSignedOut.
func (pl *People) Known(ctx context.Context, token string) (people.SignIn, people.User, error) {
	if token == "" || len(token) > maxToken {
		return people.SignIn{}, people.User{}, ErrSignedOut
	}
	s, err := pl.Store.SignIns().ByHash(ctx, pl.Vault.Hash(token))
	if err != nil {
		return s, people.User{}, base.OrRefuse(err, ErrSignedOut)
	}
	now := pl.Now()
	if !s.Good(now) || pl.RecoveryState.Load().Forgets(s.CreatedAt) {
		return people.SignIn{}, people.User{}, ErrSignedOut
	}
	u, err := pl.Store.Users().Get(ctx, s.User)
	if err != nil {
		return s, u, base.OrRefuse(err, ErrSignedOut)
	}
	if !u.Active() {
		return people.SignIn{}, people.User{}, ErrSignedOut
	}
	if next, changed := s.Seen(now); changed {
		err := pl.Store.Commit(ctx, pay.Change{SignIns: []people.SignIn{next}})
		switch {
		case err == nil:
			s = next
		case errors.Is(err, store.ErrStale): // another request recorded it, or ended the sign-in
			return pl.Known(ctx, token)
		default: // the page may still be read
			pl.Quiet.WarnSometimes(ctx, "the use of a sign-in was not recorded", "", "error", err)
		}
	}
	return s, u, nil
}

// Leave ends a sign-in: its browser is signed out. One that has ended stays as it is.
func (pl *People) Leave(ctx context.Context, from From, token string) error {
	return base.Again(func() error {
		s, u, err := pl.Known(ctx, token)
		if errors.Is(err, ErrSignedOut) {
			return nil
		}
		if err != nil {
			return err
		}
		return pl.end(ctx, from.User(u.ID), []people.SignIn{s})
	})
}

// end writes that sign-ins of one user have ended.
func (pl *People) end(ctx context.Context, by audit.Actor, list []people.SignIn) error {
	change, err := pl.ended(ctx, by, list)
	if err != nil {
		return err
	}
	return pl.Store.Commit(ctx, change)
}

func (pl *People) ended(ctx context.Context, by audit.Actor, list []people.SignIn) (change pay.Change, err error) {
	now := pl.Now()
	for _, s := range list {
		change.SignIns = append(change.SignIns, s.End(now))
		entries, err := pl.ofMerchants(ctx, by, s.User, audit.UserSignInEnded, s.ID)
		if err != nil {
			return change, err
		}
		change.Audit = append(change.Audit, entries...)
	}
	return change, nil
}

// standing adds to a change of a user's credentials that the sign-in in which it is made goes on. The change may have waited, as passwords
// do, and the sign-in is written too: if it ends at the same time, that is decided again.
//
// Errors: ErrSignedOut if it has ended.
func (pl *People) standing(ctx context.Context, change *pay.Change, s people.SignIn) error {
	list, err := pl.SignIns(ctx, s.User)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(present people.SignIn) bool { return present.ID == s.ID && !present.Waiting })
	if at < 0 {
		return ErrSignedOut
	}
	change.SignIns = append(change.SignIns, list[at].Used(pl.Now()))
	return nil
}

// User reads a user.
//
// Errors: store.ErrNotFound.
func (pl *People) User(ctx context.Context, id string) (people.User, error) {
	return pl.Store.Users().Get(ctx, id)
}

// SignIns lists where a user is signed in, newest first.
func (pl *People) SignIns(ctx context.Context, user string) ([]people.SignIn, error) {
	return pl.Store.SignIns().Of(ctx, user, pl.Now())
}

// EndSignIns ends sign-ins of a user: the one with an id, or with "" all but the one in except.
//
// Errors: store.ErrNotFound.
func (pl *People) EndSignIns(ctx context.Context, by audit.Actor, user, id, except string) error {
	return base.Again(func() error {
		list, err := pl.SignIns(ctx, user)
		if err != nil {
			return err
		}
		var over []people.SignIn
		for _, s := range list {
			if s.ID == id || id == "" && s.ID != except {
				over = append(over, s)
			}
		}
		if len(over) == 0 {
			if id != "" {
				return store.ErrNotFound
			}
			return nil
		}
		change, err := pl.ended(ctx, by, over)
		if err != nil {
			return err
		}
		if by.ID != user {
			if err := pl.tellByOthers(ctx, &change, by, user, people.News{What: people.SignedOut}); err != nil {
				return err
			}
		}
		return pl.Store.Commit(ctx, change)
	})
}

// SignOut ends all sign-ins of a user. It is for operators.
//
// Errors: invalid_request, store.ErrNotFound.
func (pl *People) SignOut(ctx context.Context, by audit.Actor, email string) error {
	address, err := people.ParseEmail(email)
	if err != nil {
		return err
	}
	u, err := pl.Store.Users().ByEmail(ctx, address)
	if err != nil {
		return fmt.Errorf("user %s: %w", address, err)
	}
	return pl.EndSignIns(ctx, by, u.ID, "", "")
}

// purged is how many rows are deleted at a time. PurgeEvery is how often they are looked for: an hour is nothing beside
// people.SignInsKept.
const (
	purged     = 500
	PurgeEvery = time.Hour
)

// Purge deletes sign-ins and links from long ago. again is not zero if more are left.
func (pl *People) Purge(ctx context.Context) (again int, err error) {
	before := pl.Now().Add(-people.SignInsKept)
	signIns, err := pl.Store.SignIns().Purge(ctx, id.From(people.SignInPrefix, before), purged)
	if err != nil {
		return 0, err
	}
	links, err := pl.Store.Links().Purge(ctx, id.From(people.LinkPrefix, before), purged)
	return signIns + links, err
}
