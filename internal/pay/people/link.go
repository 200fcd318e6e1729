package people

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// LinkPrefix begins the id of a link.
const LinkPrefix = "lnk_"

// LinkKind is what a one-time link does.
type LinkKind string

// The kinds.
const (
	Invitation    LinkKind = "invitation"     // makes its reader a user with a role
	PasswordReset LinkKind = "password_reset" // lets its user choose a password
	SignInLink    LinkKind = "sign_in"        // signs its user in
)

// How long a link works (DASH-4).
const (
	InvitationLife = 7 * 24 * time.Hour
	ResetLife      = time.Hour
	SignInLinkLife = 24 * time.Hour
)

// Life is how long a link of the kind works.
func (k LinkKind) Life() time.Duration {
	switch k {
	case Invitation:
		return InvitationLife
	case PasswordReset:
		return ResetLife
	}
	return SignInLinkLife
}

// Link is a one-time link. Whoever has it may use it once.
type Link struct {
	ID          string // lnk_…
	Version     int64
	Kind        LinkKind
	Hash        string             // keyed hash of the token in the link; "" once it was used or withdrawn
	User        string             // of a password reset or a sign-in link
	Email       string             // of an invitation
	Merchant    string             // that an invitation is for; "": the operator's console
	Role        Role               // that an invitation gives
	Operator    operators.Role     // that an invitation to the operator's console gives; "": it is none
	Proves      bool               // whoever uses it has the mailbox, as it came by e-mail; or whoever runs the machine vouches for the address
	Waits       bool               // for another operator, who confirms the invitation of a new one (DASH-33): nobody has its token before
	ConfirmedBy string             // who did: a user's id
	Language    merchants.Language // of the e-mail with an invitation
	By          string             // who made it: a user's id, or an operator as in the audit log
	CreatedAt   time.Time
	EndsAt      time.Time
	UsedAt      time.Time // when it was used or withdrawn
}

// Good reports whether the link works.
func (l Link) Good(now time.Time) bool { return l.Hash != "" && now.Before(l.EndsAt) }

// Use uses the link up, or withdraws it.
//
// Errors: not_found if it does not work any more.
func (l Link) Use(now time.Time) (Link, error) {
	if !l.Good(now) {
		return l, NoLink()
	}
	l.Version++
	l.Hash, l.UsedAt = "", now
	return l, nil
}

// Confirm lets an invitation that waited for another operator work, with the token and the time of a fresh one.
func (l Link) Confirm(by string, fresh Link) Link {
	l.Version++
	l.Waits, l.ConfirmedBy, l.Hash, l.EndsAt = false, by, fresh.Hash, fresh.EndsAt
	return l
}

// NoLink is the error for a link that does not work.
func NoLink() error {
	return problem.New(problem.NotFound, linkUseless)
}
