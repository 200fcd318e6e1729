package people

import (
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// UserPrefix begins the id of a user.
const UserPrefix = "usr_"

// User is a person who signs in to the dashboard.
type User struct {
	ID        string // usr_…
	Version   int64
	Email     string         // in lower case; no two users have the same; "" once the user was removed
	Operator  operators.Role // in the operator's console; "": the user is no operator
	CreatedAt time.Time
	RemovedAt time.Time
	Name      string
	Language  merchants.Language
	Password  string   // its hash, as argon2id writes it; "": the user has none
	TOTP      TOTP     // the app that shows codes
	Recovery  []string // keyed hashes of the recovery codes that are left
	Passkeys  []Passkey
	// Challenged is the time of the newest challenge that one of the user's passkeys answered (WebAuthn).
	Challenged time.Time
	Failures   int       // wrong passwords and codes since the last right one
	LockedTo   time.Time // until then none is accepted; zero: it is not locked
	Subject    string    // keyed hash of issuer and subject at the company's identity provider; "": none
	News       []News    // what happened to the account last, the newest first
	// Unproved: nobody has proved that the address is the user's, because the invitation was shown to whoever made it.
	Unproved   bool
	InvitedBy  string    // who made the user an operator: a user's id, or an operator as in the audit log
	OperatorAt time.Time // when that was; zero: never, or the demo's user
	Confirmed  bool      // a second operator confirmed it
}

// TOTP is an app that shows a code every 30 seconds (RFC 6238).
type TOTP struct {
	Secret string // in base 32; "": the user has none
	Step   int64  // the last one whose code was used: a code works once
}

// ParseEmail reads the e-mail address of a user.
//
// Errors: invalid_request.
func ParseEmail(text string) (string, error) {
	text = strings.Map(lower, strings.TrimSpace(text))
	at, err := mail.ParseAddress(text)
	if err != nil || at.Address != text || len(text) > 254 {
		return "", problem.Field(problem.InvalidRequest, "email", NotAnAddress)
	}
	return text, nil
}

// lower makes ASCII capital letters lower case. Other letters stay as they are: some would become ASCII letters (the
// kelvin sign becomes k), and one mailbox would pass for another.
func lower(c rune) rune {
	if c >= 'A' && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}

// MaxName is the longest name of a user, in characters.
const MaxName = 80

// ParseName reads the name of a user.
//
// Errors: invalid_request.
func ParseName(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || len([]rune(text)) > MaxName {
		return "", problem.Field(problem.InvalidRequest, "name", nameLength)
	}
	if strings.ContainsFunc(text, printable.Unprintable) {
		return "", problem.Field(problem.InvalidRequest, "name", nameUnreadable)
	}
	return text, nil
}

// Active reports whether the user may sign in.
func (u User) Active() bool { return u.RemovedAt.IsZero() }

// HasFactor reports whether the user has a second factor.
func (u User) HasFactor() bool { return u.TOTP.Secret != "" || len(u.Passkeys) > 0 }

// The lock after wrong passwords and codes (DASH-2). A link to choose a new password still works.
const (
	MostFailures = 10
	LockFor      = 15 * time.Minute
)

// Next raises the user's version and changes nothing else: whoever has read the user before must decide
// again.
func (u User) Next() User {
	u.Version++
	return u
}

// Locked reports whether no password and no code is accepted.
func (u User) Locked(now time.Time) bool { return now.Before(u.LockedTo) }

// Failed records a wrong password or code. After MostFailures in a row the user is locked.
func (u User) Failed(now time.Time) User {
	u.Version++
	if u.Failures++; u.Failures >= MostFailures {
		u.Failures, u.LockedTo = 0, now.Add(LockFor)
	}
	return u
}

// Succeeded forgets the earlier failures and the lock. changed is false if there were none.
func (u User) Succeeded() (_ User, changed bool) {
	if u.Failures == 0 && u.LockedTo.IsZero() {
		return u, false
	}
	u.Version++
	u.Failures, u.LockedTo = 0, time.Time{}
	return u, true
}

// Unlock ends the lock and removes all second factors.
func (u User) Unlock() User {
	u.Version++
	u.Failures, u.LockedTo, u.TOTP, u.Passkeys, u.Recovery = 0, time.Time{}, TOTP{}, nil, nil
	return u
}

// SetPassword replaces the password by a hash.
func (u User) SetPassword(hash string) User {
	u.Version++
	u.Password, u.Failures, u.LockedTo = hash, 0, time.Time{}
	return u
}

// Introduce changes the user's name and the language of the pages.
func (u User) Introduce(name string, language merchants.Language) User {
	u.Version++
	u.Name, u.Language = name, language
	return u
}

// AddTOTP gives the user an app for codes, and new recovery codes. step is the time step of the code that
// proved it.
func (u User) AddTOTP(secret string, step int64, recovery []string) User {
	u.Version++
	u.TOTP, u.Recovery = TOTP{secret, step}, recovery
	return u
}

// DropTOTP removes the app for codes. Without another second factor the recovery codes go too.
func (u User) DropTOTP() User {
	u.Version++
	u.TOTP = TOTP{}
	if !u.HasFactor() {
		u.Recovery = nil
	}
	return u
}

// UseStep records that the code of a time step was used. ok is false if it, or a later one, was used before.
func (u User) UseStep(step int64) (_ User, ok bool) {
	if step <= u.TOTP.Step {
		return u, false
	}
	u.Version++
	u.TOTP.Step, u.Failures, u.LockedTo = step, 0, time.Time{}
	return u, true
}

// UseRecovery uses a recovery code up, by its keyed hash. ok is false if there is no such code.
func (u User) UseRecovery(hash string) (_ User, ok bool) {
	at := slices.Index(u.Recovery, hash)
	if at < 0 {
		return u, false
	}
	u.Version++
	u.Recovery = slices.Delete(slices.Clone(u.Recovery), at, at+1)
	u.Failures, u.LockedTo = 0, time.Time{}
	return u, true
}

// NewRecovery replaces the recovery codes.
func (u User) NewRecovery(hashes []string) User {
	u.Version++
	u.Recovery = hashes
	return u
}

// SetPasskeys replaces the passkeys. If the user has no second factor then, the recovery codes go too.
func (u User) SetPasskeys(list []Passkey) User {
	u.Version++
	u.Passkeys = list
	if !u.HasFactor() {
		u.Recovery = nil
	}
	return u
}

// Operate gives the user a role in the operator's console, or takes it away ("").
func (u User) Operate(as operators.Role) User {
	u.Version++
	u.Operator = as
	return u
}

// Prove records that the address is the user's (DASH-33). The first proof ends everything that could sign in before it: whoever registered
// the address may have been somebody else. The caller ends the sign-ins, and writes the user.
func (u User) Prove() User {
	if u.Unproved {
		u.Unproved, u.Password, u.TOTP, u.Passkeys, u.Recovery, u.Failures, u.LockedTo = false, "", TOTP{}, nil, nil, 0, time.Time{}
	}
	return u
}

// Appoint makes the user an operator, by an invitation. The caller writes the user.
func (u User) Appoint(l Link, now time.Time) User {
	u.Operator, u.InvitedBy, u.OperatorAt, u.Confirmed = l.Operator, l.By, now, l.ConfirmedBy != ""
	return u
}

// Inviter is who made the user an operator not long ago, "" for nobody.
func (u User) Inviter(now time.Time) string {
	if now.Before(u.OperatorAt.Add(operators.NewOperator)) {
		return u.InvitedBy
	}
	return ""
}

// Know ties the user to a subject at the company's identity provider.
func (u User) Know(subject string) User {
	u.Version++
	u.Subject = subject
	return u
}

// Remove ends the user. Everything that could sign in is deleted, and so are the name and the address. Who invited whom stays: otherwise
// an operator would hide which others are his by removing one.
func (u User) Remove(now time.Time) User {
	return User{
		ID: u.ID, Version: u.Version + 1, CreatedAt: u.CreatedAt, RemovedAt: now, Language: u.Language, InvitedBy: u.InvitedBy, OperatorAt: u.OperatorAt, Confirmed: u.Confirmed,
	}
}

// Membership is a user's role at a merchant. Its id is MembershipID's, so a user has one role at a merchant.
type Membership struct {
	Version   int64
	User      string
	Merchant  string
	Role      Role // "" once the user was removed from the merchant
	CreatedAt time.Time
	UpdatedAt time.Time
}

// MembershipID is the id of a membership.
func MembershipID(user, merchant string) string { return user + "/" + merchant }

// Give changes the role; "" removes the user from the merchant.
func (m Membership) Give(r Role, now time.Time) Membership {
	m.Version++
	m.Role, m.UpdatedAt = r, now
	if m.Version == 1 {
		m.CreatedAt = now
	}
	return m
}
