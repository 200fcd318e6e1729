package people

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// purpose is what a challenge is for. An answer to one is refused for another purpose.
type purpose string

const (
	toSignIn purpose = "sign-in" // with nothing typed: the passkey says who it is
	toProve  purpose = "prove"   // the second factor of a sign-in
	toAdd    purpose = "add"
)

// maxAnswer bounds what a browser sends, in bytes: keys and names of devices are short.
const maxAnswer = 64 << 10

// Passkeys are the users' passkeys (WebAuthn). A passkey asks its holder for a finger, a face or a PIN, so it
// counts as both factors: what the user has, and what the user is or knows.
type Passkeys struct {
	*base.Base
	people    *People
	web       *webauthn.WebAuthn // nil: the public URL allows none
	host      string
	elsewhere string
}

// NewPasskeys returns the passkeys of a service's users. They belong to the host of the public URL, and browsers
// allow them only on https and on localhost. If the public URL is an IP address of this machine, they belong to
// localhost: there are none for an IP address.
func NewPasskeys(p *People) (*Passkeys, error) {
	pk := &Passkeys{Base: p.Base, people: p}
	host, origin, moved := partyOf(p.CheckoutURL)
	if host == "" {
		return pk, nil
	}
	var err error
	pk.web, err = webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: issuer, RPOrigins: []string{origin}, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: people.ChallengeLife, TimeoutUVD: people.ChallengeLife},
			Registration: webauthn.TimeoutConfig{Timeout: people.ChallengeLife, TimeoutUVD: people.ChallengeLife},
		},
		// Some programs that keep passkeys send more than they were asked for. We do not read it.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, err
	}
	pk.host = host
	if moved {
		pk.elsewhere = origin
	}
	return pk, nil
}

// partyOf is the host that passkeys of a public URL belong to, and the origin of the pages that may use them; "" if
// browsers allow none. moved is true if the pages have to be opened at localhost.
func partyOf(public string) (host, origin string, moved bool) {
	u, err := url.Parse(public)
	if err != nil {
		return "", "", false
	}
	host = strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		if u.Scheme != "http" || !ip.Unmap().IsLoopback() && !ip.IsUnspecified() {
			return "", "", false
		}
		host, moved = "localhost", true
	}
	if u.Scheme != "https" && host != "localhost" || protocol.ValidateRPID(host) != nil {
		return "", "", false
	}
	origin = u.Scheme + "://" + host
	if port := u.Port(); port != "" {
		origin += ":" + port
	}
	return host, origin, moved
}

// Host is the name that the pages must have in the browser's address; "" if passkeys cannot be used at all.
func (pk *Passkeys) Host() string { return pk.host }

// Elsewhere is where the pages have to be opened if the public URL is an IP address of this machine:
// http://localhost:8080. It is "" if the public URL will do.
func (pk *Passkeys) Elsewhere() string { return pk.elsewhere }

// Challenge is what a passkey has to answer.
type Challenge struct {
	Options   any    // for the browser, in JSON
	Encrypted string // for the browser's cookie: encrypted, and bound to the purpose and the sign-in
}

// challengeCookie is a challenge as the cookie keeps it.
type challengeCookie struct {
	Challenge string `json:"c"`
	Made      int64  `json:"m"` // microseconds since 1970
}

func badPasskey() error {
	return problem.Field(problem.InvalidToken, "passkey", passkeyRefused)
}

// errCopied says that the counter of a passkey went back.
var errCopied = problem.Field(problem.InvalidToken, "passkey", passkeyCopied)

func unusable() error {
	return problem.Conflict("no_passkeys", noPasskeysHere)
}

// encrypt makes the text for the cookie. bound is the sign-in that the challenge is for, "" for a new one.
func (pk *Passkeys) encrypt(p purpose, bound, challenge string) (string, error) {
	text, err := json.Marshal(challengeCookie{challenge, pk.Now().UnixMicro()})
	return base64.RawURLEncoding.EncodeToString(pk.Vault.EncryptData(about(p, bound), text)), err
}

// about is the name to which the vault binds a challenge.
func about(p purpose, bound string) string { return "webauthn " + string(p) + "/" + bound }

// opened is a challenge that may be answered now, in the library's form.
func (pk *Passkeys) opened(p purpose, bound, encrypted string) (webauthn.SessionData, time.Time, error) {
	var a challengeCookie
	raw, err := base64.RawURLEncoding.DecodeString(encrypted)
	if err == nil {
		raw, err = pk.Vault.DecryptData(about(p, bound), raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	made, now := time.UnixMicro(a.Made).UTC(), pk.Now()
	if err != nil || a.Challenge == "" || !now.Before(made.Add(people.ChallengeLife)) {
		return webauthn.SessionData{}, made, problem.Field(problem.InvalidToken, "passkey", passkeyTooSlow)
	}
	return webauthn.SessionData{
		Challenge: a.Challenge, RelyingPartyID: pk.host, UserVerification: protocol.VerificationRequired,
		CredParams: webauthn.CredentialParametersRecommendedL3(),
	}, made, nil
}

// ToSignIn asks any passkey, for a sign-in without a password.
func (pk *Passkeys) ToSignIn() (Challenge, error) {
	if pk.web == nil {
		return Challenge{}, unusable()
	}
	options, session, err := pk.web.BeginDiscoverableLogin()
	if err != nil {
		return Challenge{}, err
	}
	encrypted, err := pk.encrypt(toSignIn, "", session.Challenge)
	return Challenge{options, encrypted}, err
}

// ToProve asks the passkeys of a user, for the second factor of a sign-in.
//
// Errors: conflict_state if the user has none.
func (pk *Passkeys) ToProve(s people.SignIn, u people.User) (Challenge, error) {
	owner, err := ownerOf(u)
	if err != nil {
		return Challenge{}, err
	}
	if pk.web == nil || len(owner.credentials) == 0 {
		return Challenge{}, unusable()
	}
	options, session, err := pk.web.BeginLogin(owner)
	if err != nil {
		return Challenge{}, err
	}
	encrypted, err := pk.encrypt(toProve, s.ID, session.Challenge)
	return Challenge{options, encrypted}, err
}

// ToAdd asks the user's device for a new passkey.
//
// Errors: conflict_state if the user has MostPasskeys.
func (pk *Passkeys) ToAdd(s people.SignIn, u people.User) (Challenge, error) {
	owner, err := ownerOf(u)
	if err != nil {
		return Challenge{}, err
	}
	if pk.web == nil {
		return Challenge{}, unusable()
	}
	if len(u.Passkeys) >= people.MostPasskeys {
		return Challenge{}, tooMany()
	}
	options, session, err := pk.web.BeginRegistration(owner,
		webauthn.WithExclusions(webauthn.Credentials(owner.credentials).CredentialDescriptors()),
		webauthn.WithCredentialParameters(webauthn.CredentialParametersRecommendedL3()))
	if err != nil {
		return Challenge{}, err
	}
	encrypted, err := pk.encrypt(toAdd, s.ID, session.Challenge)
	return Challenge{options, encrypted}, err
}

func tooMany() error {
	return problem.Conflict("many_passkeys", manyPasskeys)
}

// SignIn signs a user in with a passkey alone. encrypted is that of ToSignIn, answer what the browser answered, in
// JSON.
//
// Errors: invalid_token.
func (pk *Passkeys) SignIn(ctx context.Context, from From, encrypted, answer string) (Entered, error) {
	var u people.User
	done, err := base.Decide(func() (Entered, error) {
		parsed, err := parse(answer)
		if err != nil {
			return Entered{}, err
		}
		session, made, err := pk.opened(toSignIn, "", encrypted)
		if err != nil {
			return Entered{}, err
		}
		handle := string(parsed.Response.UserHandle)
		if !strings.HasPrefix(handle, people.UserPrefix) || !utf8.ValidString(handle) || strings.ContainsRune(handle, 0) {
			return Entered{}, badPasskey()
		}
		if u, err = pk.Store.Users().Get(ctx, handle); err != nil || !u.Active() {
			return Entered{}, base.OrRefuse(err, badPasskey())
		}
		next, err := pk.use(u, session, made, parsed)
		if err != nil {
			return Entered{}, err
		}
		return pk.people.write(ctx, from, next, people.SignIn{ProvenAt: pk.Now()}, pay.Change{Users: []people.User{next}})
	})
	return done, pk.refuse(ctx, from, u, err)
}

// Prove gives the second factor of a sign-in with a passkey. The sign-in gets a new token. With it, a user who
// is signed in also proves their identity again (DASH-6).
//
// Errors: ErrSignedOut, invalid_token.
func (pk *Passkeys) Prove(ctx context.Context, from From, token, encrypted, answer string) (Entered, error) {
	var u people.User
	done, err := base.Decide(func() (e Entered, err error) {
		if e.SignIn, e.User, err = pk.people.Known(ctx, token); err != nil {
			return e, err
		}
		u = e.User
		parsed, err := parse(answer)
		if err != nil {
			return e, err
		}
		session, made, err := pk.opened(toProve, e.SignIn.ID, encrypted)
		if err != nil {
			return e, err
		}
		session.UserID = []byte(u.ID)
		if e.User, err = pk.use(u, session, made, parsed); err != nil {
			return e, err
		}
		return pk.people.proven(ctx, from, e, pay.Change{Users: []people.User{e.User}})
	})
	return done, pk.refuse(ctx, from, u, err)
}

// refuse logs and audits a refused passkey. It does not count for the lock: nobody guesses a passkey.
func (pk *Passkeys) refuse(ctx context.Context, from From, u people.User, err error) error {
	switch {
	case errors.Is(err, errCopied):
		pk.Log.WarnContext(ctx, "the counter of a passkey went back: there may be a copy of it", "user", u.ID, "address", from.Address)
		pk.people.tellRefused(ctx, from, u, "wrong", "passkey_counter")
	case wrong(err):
		pk.people.refused(ctx, from, u, "passkey")
	}
	return err
}

// parse reads what a browser answered.
func parse(answer string) (*protocol.ParsedCredentialAssertionData, error) {
	if len(answer) > maxAnswer {
		return nil, badPasskey()
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return nil, badPasskey()
	}
	return parsed, nil
}

// use checks an answer of one of the user's passkeys, and returns the user to be written. A challenge works once:
// the user keeps the time of the newest one that was answered, and the write fails if another request was faster.
// If the passkey has a counter, it has to rise.
//
// Errors: invalid_token.
func (pk *Passkeys) use(u people.User, session webauthn.SessionData, made time.Time, parsed *protocol.ParsedCredentialAssertionData) (people.User, error) {
	owner, err := ownerOf(u)
	if err != nil {
		return u, err
	}
	if pk.web == nil {
		return u, badPasskey()
	}
	var used *webauthn.Credential
	if session.UserID == nil {
		used, err = pk.web.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) { return owner, nil }, session, parsed)
	} else {
		used, err = pk.web.ValidateLogin(owner, session, parsed)
	}
	if err != nil {
		return u, badPasskey()
	}
	if !made.After(u.Challenged) { // checked before the counter: an answer that is sent twice is not a copy of the key
		return u, badPasskey()
	}
	if used.Authenticator.CloneWarning {
		return u, errCopied
	}
	text, err := json.Marshal(used)
	if err != nil {
		return u, err
	}
	next, ok := u.UsePasskey(keyID(used.ID), text, made, pk.Now())
	if !ok {
		return u, badPasskey()
	}
	return next, nil
}

// keyID is how we name a passkey.
func keyID(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

// NewPasskey is a passkey that a user adds.
type NewPasskey struct {
	Name      string
	Encrypted string // that of ToAdd, for the same sign-in
	Answer    string // what the browser answered, in JSON
	Password  string // the user's present one, if it is the first second factor
}

// Add gives a user a passkey. If it is the user's first second factor, there are recovery codes, which cannot be read again, and every other
// sign-in ends.
//
// Errors: invalid_request for the name, invalid_token for the answer or the password, conflict_state if the user has it already, or
// MostPasskeys.
func (pk *Passkeys) Add(ctx context.Context, from From, s people.SignIn, n NewPasskey) (recovery []string, err error) {
	name, err := people.ParsePasskeyName(n.Name)
	if err != nil {
		return nil, err
	}
	if pk.web == nil {
		return nil, unusable()
	}
	if len(n.Answer) > maxAnswer {
		return nil, badPasskey()
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(n.Answer))
	if err != nil {
		return nil, badPasskey()
	}
	may, err := pk.people.firstFactor(ctx, from, s.User, n.Password)
	if err != nil {
		return nil, err
	}
	err = base.Again(func() error {
		u, err := pk.Store.Users().Get(ctx, s.User)
		if err != nil {
			return err
		}
		if err := may(u); err != nil {
			return err
		}
		session, made, err := pk.opened(toAdd, s.ID, n.Encrypted)
		if err != nil {
			return err
		}
		owner, err := ownerOf(u)
		if err != nil {
			return err
		}
		session.UserID = []byte(u.ID)
		credential, err := pk.web.CreateCredential(owner, session, parsed)
		if err != nil {
			return badPasskey()
		}
		next, codes, err := pk.added(u, credential, name, made)
		if err != nil {
			return err
		}
		recovery = codes
		return pk.people.strengthened(ctx, from, u, next, s, people.PasskeyAdded)
	})
	return recovery, err
}

// added is a user with a new passkey. The first second factor brings recovery codes.
func (pk *Passkeys) added(u people.User, c *webauthn.Credential, name string, made time.Time) (next people.User, codes []string, err error) {
	id := keyID(c.ID)
	switch {
	case len(u.Passkeys) >= people.MostPasskeys:
		return u, nil, tooMany()
	case slices.ContainsFunc(u.Passkeys, func(k people.Passkey) bool { return k.ID == id }):
		return u, nil, problem.Conflict("has_passkey", passkeyKnown)
	}
	c.Attestation = webauthn.CredentialAttestation{} // we ask for none, and every request reads the user
	text, err := json.Marshal(c)
	if err != nil {
		return u, nil, err
	}
	var hashes []string
	if !u.HasFactor() {
		codes, hashes = pk.people.newRecovery(u.ID)
	}
	next, ok := u.AddPasskey(people.Passkey{ID: id, Name: name, Credential: text, CreatedAt: pk.Now()}, made, hashes)
	if !ok {
		return u, nil, badPasskey()
	}
	return next, codes, nil
}

// Drop removes a passkey of a user. If it is gone already, nothing changes.
func (pk *Passkeys) Drop(ctx context.Context, from From, s people.SignIn, id string) error {
	return base.Again(func() error {
		u, err := pk.Store.Users().Get(ctx, s.User)
		if err != nil {
			return err
		}
		next, changed := u.DropPasskey(id)
		if !changed {
			return nil
		}
		return pk.people.changed(ctx, from, s, next, audit.UserFactorRemoved, people.PasskeyRemoved)
	})
}

// owner is a user in the library's form.
type owner struct {
	user        people.User
	credentials []webauthn.Credential
}

func ownerOf(u people.User) (owner, error) {
	o := owner{user: u}
	for _, k := range u.Passkeys {
		var c webauthn.Credential
		if err := json.Unmarshal(k.Credential, &c); err != nil {
			return o, err
		}
		o.credentials = append(o.credentials, c)
	}
	return o, nil
}

// WebAuthnID is what passkeys call the user. It tells nothing about the person.
func (o owner) WebAuthnID() []byte { return []byte(o.user.ID) }

// WebAuthnName is what the browser shows beside the passkey.
func (o owner) WebAuthnName() string { return o.user.Email }

// WebAuthnDisplayName is the person's name.
func (o owner) WebAuthnDisplayName() string { return o.user.Name }

// WebAuthnCredentials are the user's passkeys.
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.credentials }
