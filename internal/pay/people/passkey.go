package people

import (
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// Passkey is a key that a user's device or browser holds (WebAuthn).
type Passkey struct {
	ID         string // that the device gave it, in base64url
	Name       string
	Credential []byte // what the library keeps of it, in JSON
	CreatedAt  time.Time
	UsedAt     time.Time // zero: never
}

const (
	// MostPasskeys is how many passkeys a user has at most.
	MostPasskeys = 10
	// ChallengeLife is how long a challenge may be answered.
	ChallengeLife = 5 * time.Minute
	// MaxPasskeyName is the longest name of a passkey, in characters.
	MaxPasskeyName = 60
)

// ParsePasskeyName reads the name that a user gives a passkey.
//
// Errors: invalid_request.
func ParsePasskeyName(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || len([]rune(text)) > MaxPasskeyName {
		return "", problem.Field(problem.InvalidRequest, "name", passkeyNameLength)
	}
	if strings.ContainsFunc(text, printable.Unprintable) {
		return "", problem.Field(problem.InvalidRequest, "name", nameUnreadable)
	}
	return text, nil
}

// challenged records that a challenge was answered. ok is false if it, or one that was made later, was answered
// before. So a challenge works once, whichever node made it, and only one time per user has to be kept.
func (u User) challenged(at time.Time) (_ User, ok bool) {
	if !at.After(u.Challenged) {
		return u, false
	}
	u.Version++
	u.Challenged = at
	return u, true
}

// AddPasskey gives the user a passkey. challenge is when the challenge that proved it was made; recovery are the
// keyed hashes of new recovery codes, nil to keep the present ones. ok is false if the challenge was answered
// before.
func (u User) AddPasskey(k Passkey, challenge time.Time, recovery []string) (_ User, ok bool) {
	if u, ok = u.challenged(challenge); !ok {
		return u, false
	}
	u.Passkeys = append(slices.Clone(u.Passkeys), k)
	if recovery != nil {
		u.Recovery = recovery
	}
	return u, true
}

// UsePasskey records that a passkey answered a challenge. credential is what the library keeps from now on. ok is
// false if the user has no such passkey, or if the challenge was answered before.
func (u User) UsePasskey(id string, credential []byte, challenge, now time.Time) (_ User, ok bool) {
	at := slices.IndexFunc(u.Passkeys, func(k Passkey) bool { return k.ID == id })
	if at < 0 {
		return u, false
	}
	if u, ok = u.challenged(challenge); !ok {
		return u, false
	}
	u.Passkeys = slices.Clone(u.Passkeys)
	u.Passkeys[at].Credential, u.Passkeys[at].UsedAt = credential, now
	u.Failures, u.LockedTo = 0, time.Time{}
	return u, true
}

// DropPasskey removes a passkey. changed is false if the user has none with that id. Without another second
// factor the recovery codes go too.
func (u User) DropPasskey(id string) (_ User, changed bool) {
	left := slices.DeleteFunc(slices.Clone(u.Passkeys), func(k Passkey) bool { return k.ID == id })
	if len(left) == len(u.Passkeys) {
		return u, false
	}
	return u.SetPasskeys(left), true
}
