package people

import "time"

// SignInPrefix begins the id of a sign-in.
const SignInPrefix = "sgn_"

const (
	// SignInLife is how long a sign-in lasts, however much it is used (DASH-5).
	SignInLife = 14 * 24 * time.Hour
	// SignInIdle is how long an unused sign-in lasts (DASH-5).
	SignInIdle = 12 * time.Hour
	// FactorWait is how long a sign-in waits for the second factor.
	FactorWait = 15 * time.Minute
	// seenEvery is how often the use of a sign-in is recorded.
	seenEvery = 5 * time.Minute
	// FactorFresh is how long a second factor counts as just given: actions that move money out
	// require one (DASH-6).
	FactorFresh = 10 * time.Minute
	// SignInsKept is how long a sign-in or a link is kept after its beginning: so long its browser and its network are known.
	SignInsKept = 90 * 24 * time.Hour
)

// SignIn is a browser in which a user is signed in.
type SignIn struct {
	ID        string // sgn_…
	Version   int64
	User      string
	Hash      string    // keyed hash of the token in the browser's cookie
	Address   string    // of the request that signed in
	Agent     string    // the browser, as it calls itself
	Waiting   bool      // the password was right, and the second factor is not given yet
	ProvenAt  time.Time // when the second factor was given last; zero: never
	CreatedAt time.Time
	SeenAt    time.Time // last use, to seenEvery
	EndsAt    time.Time
	EndedAt   time.Time
	// Visits is the merchant that an operator looks at, "" for none (DASH-7).
	Visits string
}

// Good reports whether the sign-in is valid.
func (s SignIn) Good(now time.Time) bool {
	if s.Waiting && !now.Before(s.CreatedAt.Add(FactorWait)) {
		return false
	}
	return s.EndedAt.IsZero() && now.Before(s.EndsAt) && now.Before(s.SeenAt.Add(SignInIdle))
}

// Fresh reports whether the second factor was given just now.
func (s SignIn) Fresh(now time.Time) bool {
	return !s.ProvenAt.IsZero() && justNow(s.ProvenAt, now)
}

// Recent reports whether the user signed in just now. Users without a second factor need this instead.
func (s SignIn) Recent(now time.Time) bool { return justNow(s.CreatedAt, now) }

// justNow reports whether something was done just now. A clock that was ahead then, and is right again, does not keep it new.
func justNow(at, now time.Time) bool {
	return now.Before(at.Add(FactorFresh)) && at.Before(now.Add(FactorFresh))
}

// Seen records a use; changed is false if one was recorded shortly before.
func (s SignIn) Seen(now time.Time) (_ SignIn, changed bool) {
	if now.Before(s.SeenAt.Add(seenEvery)) {
		return s, false
	}
	return s.Used(now), true
}

// Used records a use.
func (s SignIn) Used(now time.Time) SignIn {
	s.Version++
	s.SeenAt = now
	return s
}

// Prove records that the second factor was given. hash is that of a new token: the token from before
// the factor is not valid any more.
func (s SignIn) Prove(hash string, now time.Time) SignIn {
	s.Version++
	s.Hash, s.Waiting, s.ProvenAt, s.SeenAt = hash, false, now, now
	return s
}

// Visit begins, or with "" ends, an operator's look at a merchant.
func (s SignIn) Visit(merchant string) SignIn {
	s.Version++
	s.Visits = merchant
	return s
}

// End ends the sign-in.
func (s SignIn) End(now time.Time) SignIn {
	s.Version++
	s.EndedAt = now
	return s
}
