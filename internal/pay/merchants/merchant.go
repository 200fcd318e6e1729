package merchants

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Prefixes of ids.
const (
	MerchantPrefix = "mer_"
	ShopPrefix     = "shp_"
)

// MaxName is the longest name of a merchant, in characters.
const MaxName = 100

// MaxIndustry is the longest text that says what a merchant sells, in characters.
const MaxIndustry = 100

// Merchant is a tenant (SVC-14).
type Merchant struct {
	ID         string // mer_…
	Version    int64
	Name       string
	Email      string
	Industry   string
	Tier       Tier
	TrustScore int // 0 to 1000
	Language   Language
	RefundFees RefundFees // for payments from now on
	// Assignments are its price plans, each in force from a time on, oldest first; none: the built-in plan of the tier.
	Assignments []Assignment
	// Installments are what its shoppers may be offered, for payments from now on (PAY-43).
	Installments installment.Grants
	Strict       bool      // its sandbox refuses what production refuses
	Paused       string    // why it begins nothing new in production, for its team (SVC-17); "": it is not paused
	PausedAt     time.Time // zero if it is not paused
	Leaving      Leaving
	SandboxOff   bool // it has no sandbox
	CreatedAt    time.Time
}

// Grant changes what the merchant's shoppers may be offered in installments, for payments from now on.
func (m Merchant) Grant(to installment.Grants) Merchant {
	m.Version++
	m.Installments = to
	return m
}

// Next raises the merchant's version and changes nothing else. It is written with decisions that depend on
// everything that a merchant has: one of two at the same time must be decided again.
func (m Merchant) Next() Merchant {
	m.Version++
	return m
}

// Agree changes the tier, and what happens to the fees of refunded payments, for what is made from now on. Empty ones
// stay. The score becomes that of a new tier, unless the operator gives another.
//
// Errors: invalid_request for an unknown tier or term.
func (m Merchant) Agree(tier Tier, fees RefundFees) (Merchant, error) {
	switch {
	case tier != "" && !slices.Contains(Tiers(), tier):
		return m, problem.Field(problem.InvalidRequest, "tier", unknownTier)
	case fees != "" && !slices.Contains(AllRefundFees(), fees):
		return m, problem.Field(problem.InvalidRequest, "refundFees", unknownRefundFees)
	}
	m.Version++
	if tier != "" && tier != m.Tier {
		m.Tier, m.TrustScore = tier, tier.FirstScore()
	}
	if fees != "" {
		m.RefundFees = fees
	}
	return m, nil
}

// Score sets how far the operator trusts the merchant.
//
// Errors: invalid_request for a score that is not 0 to MostScore.
func (m Merchant) Score(score int) (Merchant, error) {
	if score < 0 || score > MostScore {
		return m, problem.Field(problem.InvalidRequest, "trustScore", scoreOutOfRange.With(MostScore))
	}
	m.Version++
	m.TrustScore = score
	return m, nil
}

// MostReason is the longest reason of a pause, in characters.
const MostReason = 300

// Pause stops the merchant from beginning anything new in production (SVC-17). A merchant that is paused gets the new
// reason.
//
// Errors: invalid_request for no reason, a long one, or one with unreadable characters.
func (m Merchant) Pause(reason string, now time.Time) (Merchant, error) {
	if err := readableReason(reason); err != nil {
		return m, err
	}
	m.Version++
	if m.Paused == "" {
		m.PausedAt = now
	}
	m.Paused = reason
	return m, nil
}

// Resume ends a pause.
func (m Merchant) Resume() Merchant {
	m.Version++
	m.Paused, m.PausedAt = "", time.Time{}
	return m
}

// ReasonPaused is details.reason of what is refused because the merchant is paused.
const ReasonPaused = "merchant_paused"

// MayBegin returns an error if the merchant may not begin a payment, a checkout or a withdrawal in an environment. The
// reason of the pause is not in it: shops show errors to shoppers.
//
// Errors: forbidden with the reason ReasonPaused or ReasonClosed.
func (m Merchant) MayBegin(live bool) error {
	if err := m.MayAdd(); err != nil {
		return err
	}
	if !live || m.Paused == "" {
		return nil
	}
	return &problem.Error{Code: problem.Forbidden, Details: problem.Details{Reason: ReasonPaused},
		Reason: merchantPaused}
}

// Rehearse sets whether the merchant's sandbox refuses what production refuses.
func (m Merchant) Rehearse(strict bool) Merchant {
	m.Version++
	m.Strict = strict
	return m
}

// StrictFor reports whether a request gets production's refusals: asked decides; if it is nil, the
// setting of the merchant's sandbox does. It is false in production, where the refusals are real.
func (m Merchant) StrictFor(live bool, asked *bool) bool {
	switch {
	case live:
		return false
	case asked != nil:
		return *asked
	}
	return m.Strict
}

// Move changes the merchant's e-mail address.
func (m Merchant) Move(email string) Merchant {
	m.Version++
	m.Email = email
	return m
}

// Speak changes the language of the merchant's receipts and reports.
//
// Errors: invalid_request for an unknown language.
func (m Merchant) Speak(l Language) (Merchant, error) {
	if !slices.Contains(Languages(), l) {
		return m, problem.Field(problem.InvalidRequest, "language", unknownLanguage)
	}
	m.Version++
	m.Language = l
	return m, nil
}

// Language is the language of a merchant's receipts and reports.
type Language string

// The languages.
const (
	English    Language = "en"
	Spanish    Language = "es"
	Portuguese Language = "pt"
)

// Languages lists all languages.
func Languages() []Language { return []Language{English, Spanish, Portuguese} }

// Shop is one of a merchant's shops. Payments, keys and subscriptions belong
// to a shop, balances to the merchant.
type Shop struct {
	ID        string // shp_…
	Version   int64
	Merchant  string
	Name      string
	Slug      string // part of the managed inbox's URL
	Brand     Brand
	Schemes   []string // of its apps: addresses to which its pages may lead back, beside those on the web
	CreatedAt time.Time
}

// Next raises the shop's version and changes nothing else. It is written with decisions that depend
// on everything that a shop has: one of two at the same time must be decided again.
func (s Shop) Next() Shop {
	s.Version++
	return s
}

// KeyKind says what a key may do (AUTH-8).
type KeyKind string

// The kinds.
const (
	Secret      KeyKind = "secret"
	Publishable KeyKind = "publishable"
	Restricted  KeyKind = "restricted" // a secret key with limited rights
)

// Key is an API key. The key itself is never stored, only its keyed hash.
type Key struct {
	ID string // key_…, never sent
	Scope
	Version   int64
	Kind      KeyKind
	Hash      string
	Preview   string // masked, for people
	CreatedAt time.Time
	RevokedAt time.Time // when it was revoked: it is refused, whatever a clock says; zero: it was not
	Rights    []Right   // in addition to those of its kind
	EndsAt    time.Time // it is refused from then on; zero: it does not expire
	Successor string    // id of the key that replaced it in a rotation
}

// Over reports whether the key is refused.
func (k Key) Over(now time.Time) bool {
	return !k.RevokedAt.IsZero() || !k.EndsAt.IsZero() && !now.Before(k.EndsAt)
}

// Revoke ends the key at once.
func (k Key) Revoke(now time.Time) Key {
	k.Version++
	k.RevokedAt = now
	return k
}

// Replace ends the key at a time, or earlier if it expires before. successor replaces it.
func (k Key) Replace(successor string, at time.Time) Key {
	k.Version++
	k.Successor = successor
	if k.EndsAt.IsZero() || at.Before(k.EndsAt) {
		k.EndsAt = at
	}
	return k
}

// KeyPrefix is the beginning of a key of the kind and environment.
func KeyPrefix(kind KeyKind, live bool) string {
	prefix := "sk_"
	switch kind {
	case Publishable:
		prefix = "pk_"
	case Restricted:
		prefix = "rk_"
	}
	if live {
		return prefix + "live_"
	}
	return prefix + "test_"
}

// Login is what a refresh token belongs to: all tokens that came from one use of a key pair. Its
// version counts the rotations, and only the refresh token of the present version is valid.
type Login struct {
	ID string // lgn_…
	Scope
	Version   int64
	Key       string // id of the secret key
	ExpiresAt time.Time
	RevokedAt time.Time
	CreatedAt time.Time
}

// LoginLife is how long a login can be refreshed. Then its program must log in again.
const LoginLife = 365 * 24 * time.Hour

// Rotate invalidates the present refresh token and makes the next one valid until expires, but not
// beyond the end of the login.
func (l Login) Rotate(expires time.Time) Login {
	l.Version++
	l.ExpiresAt = expires
	if end := l.CreatedAt.Add(LoginLife); expires.After(end) {
		l.ExpiresAt = end
	}
	return l
}

// Revoke ends the login: none of its refresh tokens is valid any more.
func (l Login) Revoke(now time.Time) Login {
	l.Version++
	l.RevokedAt = now
	return l
}
