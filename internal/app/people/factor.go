package people

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/pquerna/otp/totp"
)

const (
	// step is how long a code of an app is shown, and apart how many steps an app's clock may be wrong.
	step  = 30 * time.Second
	apart = 1
	// recoveryCodes is how many a user gets.
	recoveryCodes = 10
	// recoveryLength is the length of a recovery code, in letters and digits of base 32: 50 bits.
	recoveryLength = 10
	// secretLength is that of an app's secret, in base 32: 160 bits.
	secretLength = 32
)

// Factors are the users' second factors.
type Factors struct {
	*base.Base
	people *People
}

// NewFactors returns the second factors of a service's users.
func NewFactors(p *People) *Factors { return &Factors{p.Base, p} }

func badCode() error {
	return problem.Field(problem.InvalidToken, "code", codeWrong)
}

// stepOf finds the time step whose code a user typed.
func stepOf(secret, code string, now time.Time) (int64, bool) {
	present := now.Unix() / int64(step/time.Second)
	for _, at := range []int64{present, present - apart, present + apart} {
		want, err := totp.GenerateCode(secret, time.Unix(at*int64(step/time.Second), 0))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return at, true
		}
	}
	return 0, false
}

// typed is a code in lower case, without spaces and hyphens.
func typed(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(code)))
}

func (pl *People) recoveryHash(user, code string) string {
	return pl.Vault.Hash("recovery code " + user + " " + typed(code))
}

// useCode uses a code of the user's app up, or a recovery code. It returns the user to be written.
//
// Errors: invalid_token.
func (pl *People) useCode(u people.User, code string, now time.Time) (people.User, error) {
	if u.Locked(now) {
		return u, badCode()
	}
	if at, ok := stepOf(u.TOTP.Secret, typed(code), now); ok && u.TOTP.Secret != "" {
		if next, ok := u.UseStep(at); ok {
			return next, nil
		}
		return u, badCode()
	}
	if next, ok := u.UseRecovery(pl.recoveryHash(u.ID, code)); ok {
		return next, nil
	}
	return u, badCode()
}

// Prove gives the second factor of a sign-in: a code of the user's app, or a recovery code. The sign-in gets a
// new token. With it, a user who is signed in also proves their identity again (DASH-6).
//
// Errors: ErrSignedOut, invalid_token.
func (pl *People) Prove(ctx context.Context, from From, token, code string) (Entered, error) {
	var u people.User
	done, err := base.Decide(func() (e Entered, err error) {
		if e.SignIn, e.User, err = pl.Known(ctx, token); err != nil {
			return e, err
		}
		u = e.User
		now := pl.Now()
		if e.User, err = pl.useCode(e.User, code, now); err != nil {
			return e, err
		}
		change := pay.Change{Users: []people.User{e.User}}
		if len(e.User.Recovery) < len(u.Recovery) {
			if err := pl.addNews(ctx, &change, e.User, from.news(people.RecoveryUsed)); err != nil {
				return e, err
			}
		}
		e.User = change.Users[0]
		return pl.proven(ctx, from, e, change)
	})
	if wrong(err) {
		err = errors.Join(err, pl.failed(ctx, from, u, "code"))
	}
	return done, err
}

// proven writes that the second factor of a sign-in was given, with a change that belongs to it.
func (pl *People) proven(ctx context.Context, from From, e Entered, change pay.Change) (Entered, error) {
	if e.SignIn.Waiting {
		entries, err := pl.ofMerchants(ctx, from.User(e.User.ID), e.User.ID, audit.UserSignedIn, e.SignIn.ID)
		if err != nil {
			return e, err
		}
		change.Audit = append(change.Audit, entries...)
	}
	e.Token = id.Secret(tokenPrefix)
	e.SignIn = e.SignIn.Prove(pl.Vault.Hash(e.Token), pl.Now())
	change.SignIns = append(change.SignIns, e.SignIn)
	return e, pl.Store.Commit(ctx, change)
}

// NewTOTP returns a secret for an app, in base 32. Nothing is written before AddTOTP.
func (fa *Factors) NewTOTP() (string, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: issuer})
	if err != nil {
		return "", err
	}
	return key.Secret(), nil
}

// issuer names us in a user's app.
const issuer = "Cascada"

// TOTPAddress is what the QR code of a secret says to an app.
func (fa *Factors) TOTPAddress(u people.User, secret string) string {
	address := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + u.Email, RawQuery: url.Values{"secret": {secret}, "issuer": {issuer}}.Encode()}
	return address.String()
}

// NewApp is an app for codes that a user adds.
type NewApp struct {
	Secret   string // in base 32
	Code     string // proves that the app has the secret
	Password string // the user's present one, if it is the first second factor
}

// AddTOTP gives a user an app for codes. The recovery codes are returned once and cannot be read again. If it is the
// first second factor, every sign-in except s ends.
//
// Errors: invalid_token for a wrong code or password, conflict_state if the user has an app.
func (fa *Factors) AddTOTP(ctx context.Context, from From, s people.SignIn, n NewApp) (recovery []string, err error) {
	may, err := fa.people.firstFactor(ctx, from, s.User, n.Password)
	if err != nil {
		return nil, err
	}
	err = base.Again(func() error {
		u, err := fa.Store.Users().Get(ctx, s.User)
		if err != nil {
			return err
		}
		if err := may(u); err != nil {
			return err
		}
		if u.TOTP.Secret != "" {
			return problem.Conflict("has_app", codesAppExists)
		}
		at, ok := stepOf(n.Secret, typed(n.Code), fa.Now())
		if !ok || len(n.Secret) != secretLength {
			return badCode()
		}
		codes, hashes := fa.people.newRecovery(u.ID)
		recovery = codes
		return fa.people.strengthened(ctx, from, u, u.AddTOTP(n.Secret, at, hashes), s, people.AppAdded)
	})
	return recovery, err
}

// newRecovery makes recovery codes and their keyed hashes.
func (pl *People) newRecovery(user string) (codes, hashes []string) {
	for range recoveryCodes {
		code := strings.ToLower(rand.Text()[:recoveryLength])
		code = code[:recoveryLength/2] + "-" + code[recoveryLength/2:]
		codes, hashes = append(codes, code), append(hashes, pl.recoveryHash(user, code))
	}
	return codes, hashes
}

// NewRecovery replaces a user's recovery codes. They are returned once.
//
// Errors: conflict_state if the user has no second factor.
func (fa *Factors) NewRecovery(ctx context.Context, from From, s people.SignIn) (codes []string, err error) {
	err = base.Again(func() error {
		u, err := fa.Store.Users().Get(ctx, s.User)
		if err != nil {
			return err
		}
		if !u.HasFactor() {
			return problem.Conflict("no_factor", recoveryNeedsFactor)
		}
		var hashes []string
		codes, hashes = fa.people.newRecovery(u.ID)
		return fa.people.changed(ctx, from, s, u.NewRecovery(hashes), audit.UserFactorAdded, people.RecoveryMade)
	})
	return codes, err
}

// DropTOTP removes a user's app for codes.
func (fa *Factors) DropTOTP(ctx context.Context, from From, s people.SignIn) error {
	return base.Again(func() error {
		u, err := fa.Store.Users().Get(ctx, s.User)
		if err != nil || u.TOTP.Secret == "" {
			return err
		}
		return fa.people.changed(ctx, from, s, u.DropTOTP(), audit.UserFactorRemoved, people.AppRemoved)
	})
}

// strengthened writes a user who got one more second factor. With the first one, every sign-in except the kept one ends: the
// password alone opened them.
//
// Errors: ErrSignedOut.
func (pl *People) strengthened(ctx context.Context, from From, before, u people.User, kept people.SignIn, what people.What) (err error) {
	var over []people.SignIn
	if !before.HasFactor() {
		if over, err = pl.SignIns(ctx, u.ID); err != nil {
			return err
		}
		over = slices.DeleteFunc(over, func(s people.SignIn) bool { return s.ID == kept.ID })
	}
	change, err := pl.ended(ctx, from.User(u.ID), over)
	if err != nil {
		return err
	}
	if err := pl.standing(ctx, &change, kept); err != nil {
		return err
	}
	entries, err := pl.ofMerchants(ctx, from.User(u.ID), u.ID, audit.UserFactorAdded, u.ID)
	if err != nil {
		return err
	}
	change.Users, change.Audit = []people.User{u}, append(change.Audit, entries...)
	if err := pl.addNews(ctx, &change, u, from.news(what)); err != nil {
		return err
	}
	return pl.Store.Commit(ctx, change)
}

// changed writes a user who changed their own account, in a sign-in.
//
// Errors: ErrSignedOut.
func (pl *People) changed(ctx context.Context, from From, s people.SignIn, u people.User, act audit.Act, what people.What) error {
	entries, err := pl.ofMerchants(ctx, from.User(u.ID), u.ID, act, u.ID)
	if err != nil {
		return err
	}
	change := pay.Change{Users: []people.User{u}, Audit: entries}
	if err := pl.standing(ctx, &change, s); err != nil {
		return err
	}
	if err := pl.addNews(ctx, &change, u, from.news(what)); err != nil {
		return err
	}
	return pl.Store.Commit(ctx, change)
}

// wrong reports whether an error says that a credential is wrong.
func wrong(err error) bool {
	shown, ok := errors.AsType[*problem.Error](err)
	return ok && shown.Code == problem.InvalidToken
}
