package people

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/identity"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// CompanyLife is how long somebody may take to sign in at the company's identity provider.
const CompanyLife = 10 * time.Minute

// maxNext is the longest address of a page that is kept, in bytes: browsers drop long cookies.
const maxNext = 1000

// aboutCompany is the name to which the vault binds a question for the identity provider.
const aboutCompany = "oidc sign-in"

// CompanySignIn is the company's identity provider, where users may sign in instead of typing a password here.
type CompanySignIn struct {
	*base.Base
	people   *People
	links    *Links
	provider *identity.Provider // nil: there is none
	name     string
}

// NewCompany returns the sign-in at a company's identity provider. provider is nil if there is none; name is what
// the button calls it.
func NewCompany(p *People, l *Links, provider *identity.Provider, name string) *CompanySignIn {
	return &CompanySignIn{p.Base, p, l, provider, name}
}

// On reports whether there is an identity provider.
func (co *CompanySignIn) On() bool { return co.provider != nil }

// Name is what the button calls the identity provider; it may be "".
func (co *CompanySignIn) Name() string { return co.name }

// question is what the browser keeps until the identity provider has answered, encrypted.
type question struct {
	identity.Challenge
	Next string `json:"to,omitempty"`
	Made int64  `json:"m"` // microseconds since 1970
}

func companyDown() error {
	return problem.New(problem.ServiceUnavailable, companyDoesNotAnswer)
}

func companyRefused() error {
	return problem.New(problem.InvalidToken, companySignInUnfinished)
}

// Ask begins a sign-in at the identity provider. It returns the provider's address, to which the browser goes, and
// what the browser keeps in a cookie. next is the page that was wanted.
//
// Errors: not_found if there is no provider, service_unavailable if it does not answer.
func (co *CompanySignIn) Ask(ctx context.Context, next string) (address, encrypted string, err error) {
	if co.provider == nil {
		return "", "", problem.New(problem.NotFound, base.NoPage)
	}
	if len(next) > maxNext {
		next = ""
	}
	asked, address, err := co.provider.Ask(ctx)
	if err != nil {
		co.Quiet.WarnSometimes(ctx, "the company's identity provider cannot be used", "", "error", err)
		return "", "", companyDown()
	}
	text, err := json.Marshal(question{asked, next, co.Now().UnixMicro()})
	return address, base64.RawURLEncoding.EncodeToString(co.Vault.EncryptData(aboutCompany, text)), err
}

// Enter signs in the user whom the identity provider names. This is the first factor: a user who has a second one is
// asked for it. A user is known by the subject at the provider. The first time, the user is found by the address that
// the provider has verified, and the subject is kept. Nobody becomes a user without an invitation: the page that was
// wanted may be the invitation's. That page is returned, unless the invitation was accepted.
//
// Errors: invalid_token, forbidden for somebody who is not a user here, service_unavailable.
func (co *CompanySignIn) Enter(ctx context.Context, from From, encrypted, state, code string, language merchants.Language) (e Entered, next string, err error) {
	if co.provider == nil {
		return e, "", problem.New(problem.NotFound, base.NoPage)
	}
	q, err := co.opened(encrypted)
	if err != nil {
		return e, "", err
	}
	person, err := co.provider.Answered(ctx, q.Challenge, state, code)
	switch {
	case errors.Is(err, identity.ErrRefused):
		co.Quiet.WarnSometimes(ctx, "a sign-in at the company's identity provider was refused", "", "address", from.Address, "error", err)
		return e, q.Next, companyRefused()
	case err != nil:
		co.Quiet.WarnSometimes(ctx, "the company's identity provider cannot be used", "", "error", err)
		return e, q.Next, companyDown()
	}
	subject := co.Vault.Hash("oidc subject " + person.Issuer + "\n" + person.Subject) // no address has a line break
	e, err = base.Decide(func() (Entered, error) {
		u, err := co.Store.Users().BySubject(ctx, subject)
		if base.Absent(err) {
			e, joined, err := co.first(ctx, from, person, subject, q.Next, language)
			if joined { // the page of the invitation is gone
				q.Next = ""
			}
			return e, err
		}
		if err != nil || !u.Active() {
			return Entered{}, base.OrRefuse(err, companyRefused())
		}
		return co.people.begin(ctx, from, u, u.HasFactor(), pay.Change{})
	})
	return e, q.Next, err
}

// opened returns the question from a cookie.
func (co *CompanySignIn) opened(encrypted string) (q question, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(encrypted)
	if err == nil {
		raw, err = co.Vault.DecryptData(aboutCompany, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &q)
	}
	if err != nil || !co.Now().Before(time.UnixMicro(q.Made).Add(CompanyLife)) {
		return question{}, companyRefused()
	}
	return q, nil
}

// first signs in somebody whose subject nobody has yet. joined is true if an invitation was accepted.
func (co *CompanySignIn) first(ctx context.Context, from From, person identity.Person, subject, next string, language merchants.Language) (e Entered, joined bool, err error) {
	email, err := people.ParseEmail(person.Email)
	if err != nil {
		co.people.refused(ctx, from, people.User{}, "company")
		return e, false, problem.New(problem.Forbidden, companyEmailUnverified)
	}
	u, err := co.Store.Users().ByEmail(ctx, email)
	if base.Absent(err) {
		e, err = co.invited(ctx, from, person, email, subject, next, language)
		return e, err == nil, err
	}
	if err != nil {
		return e, false, err
	}
	if u.Subject != "" { // the address has passed to somebody else at the company
		co.people.refused(ctx, from, u, "company")
		return e, false, problem.New(problem.Forbidden, companyOtherAccount)
	}
	change := pay.Change{}
	if u, err = co.people.proved(ctx, &change, u, ""); err != nil {
		return e, false, err
	}
	u = u.Know(subject)
	entries, err := co.people.ofMerchants(ctx, from.User(u.ID), u.ID, audit.UserIdentityLinked, u.ID)
	if err != nil {
		return e, false, err
	}
	change.Users, change.Audit = []people.User{u}, entries
	if err := co.people.addNews(ctx, &change, u, from.news(people.CompanyLinked)); err != nil {
		return e, false, err
	}
	e, err = co.people.begin(ctx, from, change.Users[0], u.HasFactor(), change)
	return e, false, err
}

// invitationPage begins the address of an invitation's page.
const invitationPage = "/dashboard/link/"

// invited accepts the invitation from whose page somebody came, if it is for the address. The user has no
// password, and can choose one later.
func (co *CompanySignIn) invited(ctx context.Context, from From, person identity.Person, email, subject, next string, language merchants.Language) (Entered, error) {
	nobody := problem.New(problem.Forbidden, companyUserUnknown.With(email))
	token, found := strings.CutPrefix(next, invitationPage)
	if !found {
		co.people.refused(ctx, from, people.User{}, "company")
		return Entered{}, nobody
	}
	l, known, err := co.links.Link(ctx, token)
	if err != nil || l.Kind != people.Invitation || l.Email != email || known.ID != "" {
		return Entered{}, nobody
	}
	if l, err = l.Use(co.Now()); err != nil {
		return Entered{}, err
	}
	name, err := people.ParseName(person.Name)
	if err != nil {
		name, _, _ = strings.Cut(email, "@")
	}
	now := co.Now()
	u := people.User{
		ID: co.NewID(people.UserPrefix, now), Version: 1, Email: email, Name: name, Language: language, Subject: subject, CreatedAt: now,
	}
	if l.Operator != "" {
		u = u.Appoint(l, now)
	}
	change := pay.Change{Links: []people.Link{l}, Users: []people.User{u}}
	if err := co.links.join(ctx, from.User(u.ID), &change, u, l); err != nil {
		return Entered{}, err
	}
	return co.people.begin(ctx, from, u, false, change)
}
