// Package auth decides who may do what: API keys, logins and their tokens, operators, and the
// secrets for encryption and signing. It knows nothing about merchants.
package auth

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
)

// RefreshTTL is the lifetime of a refresh token (AUTH-6).
const RefreshTTL = 30 * 24 * time.Hour

const (
	issuer        = "cascada"
	refreshPrefix = "rt_"
)

// Access authenticates callers by keys, logins and tokens. It is safe for use by many goroutines.
type Access struct {
	*base.Base
	secrets *Secrets
	known   *Keys
	uses    *keyUses
	tiers   *base.Cache[merchants.Tier]
	revoked revocations
	events  authEvents
}

// AccessTTL is how long an access token lives.
const AccessTTL = 15 * time.Minute

// NewSecrets returns Secrets that has read none yet. ttl is the lifetime of an access token; 0
// means AccessTTL.
func NewSecrets(b *base.Base, ttl time.Duration) *Secrets {
	if ttl == 0 {
		ttl = AccessTTL
	}
	return &Secrets{Base: b, ttl: ttl, tokens: &tokens{
		seen: base.Newest[string, seenToken](base.CacheLimit),
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(issuer),
			jwt.WithExpirationRequired(), jwt.WithTimeFunc(b.Now), jwt.WithStrictDecoding()),
	}}
}

// NewKeys returns the API keys of a service.
func NewKeys(b *base.Base, m *mails.Mails) *Keys {
	return &Keys{Base: b, mails: m, seen: base.NewCache[merchants.Key](&b.Config)}
}

// NewAccess returns the Access for keys, and for tokens signed by the secrets.
func NewAccess(b *base.Base, secrets *Secrets, keys *Keys) *Access {
	return &Access{
		Base: b, secrets: secrets, known: keys, uses: newKeyUses(), revoked: revocations{of: map[string]time.Time{}}, events: newAuthEvents(),
		tiers: base.NewCache[merchants.Tier](&b.Config),
	}
}

// tokens signs and reads access tokens: HS256 with a ring of keys.
type tokens struct {
	keys   atomic.Pointer[signingKeys]
	parser *jwt.Parser
	// masterSince is when this node learnt of the current master key.
	masterSince atomic.Pointer[time.Time]
	seen        *lru.Cache[string, seenToken] // by token
}

type seenToken struct {
	claims  claims
	expires time.Time
}

type claims struct {
	jwt.RegisteredClaims
	Key string `json:"key"`
}

// Tokens is the result of a login.
type Tokens struct {
	Access      string
	Refresh     string
	AccessTTL   time.Duration
	RefreshTTL  time.Duration
	Environment merchants.Environment
	Merchant    merchants.Merchant
}

// Login exchanges a key pair for tokens (AUTH-2). by has the address of the request, but no key.
//
// Errors: invalid_api_key.
func (ac *Access) Login(ctx context.Context, by base.Principal, apiKey, secretKey string) (Tokens, error) {
	publishable, secret, err := ac.pair(ctx, apiKey, secretKey)
	var refusal *problem.Error
	if errors.As(err, &refusal) && refusal.Code == problem.InvalidAPIKey {
		ac.loginRefused(ctx, by, publishable)
	}
	if err != nil {
		return Tokens{}, err
	}
	now := ac.Now()
	login := merchants.Login{
		ID: ac.NewID("lgn_", now), Scope: secret.Scope, Version: 1, Key: secret.ID,
		ExpiresAt: now.Add(RefreshTTL), CreatedAt: now,
	}
	by.KeyID = secret.ID
	if err := ac.Store.Commit(ctx, pay.Change{
		Logins: []merchants.Login{login}, Audit: ac.Audited(by.Actor(), login.Scope, audit.LoginCreated, login.ID, nil),
	}); err != nil {
		return Tokens{}, err
	}
	ac.events[EventLogin].Add(1)
	return ac.issue(ctx, login, now)
}

// pair finds the keys of a login. The publishable key, if it is known, is returned with an error
// too.
func (ac *Access) pair(ctx context.Context, apiKey, secretKey string) (publishable, secret merchants.Key, err error) {
	bad := problem.New(problem.InvalidAPIKey, notAPair)
	if strings.HasPrefix(secretKey, "pk_") && !strings.HasPrefix(apiKey, "pk_") {
		bad = problem.New(problem.InvalidAPIKey, pairSwapped)
	}
	if publishable, err = ac.keyOf(ctx, apiKey); err != nil {
		return merchants.Key{}, secret, base.OrRefuse(err, bad)
	}
	if secret, err = ac.keyOf(ctx, secretKey); err != nil {
		return publishable, secret, base.OrRefuse(err, bad)
	}
	if publishable.Live != secret.Live {
		return publishable, secret, problem.New(problem.InvalidAPIKey, pairOfTwoEnvironments)
	}
	if publishable.Kind != merchants.Publishable || secret.Kind == merchants.Publishable || publishable.Scope != secret.Scope {
		return publishable, secret, bad
	}
	return publishable, secret, nil
}

// Refresh rotates both tokens (AUTH-4). A refresh token that was used before is a sign of theft:
// all tokens of its login end. by has the address of the request, but no key.
func (ac *Access) Refresh(ctx context.Context, by base.Principal, token string) (Tokens, error) {
	t, err := ac.refresh(ctx, by, token)
	if err != nil {
		return t, ac.refreshRefused(ctx, by, err)
	}
	ac.events[EventRefresh].Add(1)
	return t, nil
}

// refreshRefused logs and counts a refused refresh token, and returns err.
func (ac *Access) refreshRefused(ctx context.Context, by base.Principal, err error) error {
	if refusal, ok := errors.AsType[*problem.Error](err); ok && refusal.Code == problem.InvalidToken {
		ac.events[EventRefreshRefused].Add(1)
		ac.Quiet.WarnSometimes(ctx, "a refresh token was refused", "", "address", by.Address)
	}
	return err
}

// loginOf reads the login of a refresh token.
//
// Errors: invalid_token if it is not valid, has ended, or was used before, which ends the login.
func (ac *Access) loginOf(ctx context.Context, by base.Principal, token string) (merchants.Login, error) {
	id, version, ok := ac.ParseRefresh(token)
	if !ok {
		return merchants.Login{}, badRefresh()
	}
	login, err := ac.Store.Keys().Login(ctx, id)
	if err != nil {
		return merchants.Login{}, base.OrRefuse(err, badRefresh())
	}
	if !login.RevokedAt.IsZero() || !ac.Now().Before(login.ExpiresAt) {
		return merchants.Login{}, badRefresh()
	}
	if version != login.Version {
		return merchants.Login{}, ac.stolen(ctx, by, id)
	}
	return login, nil
}

func badRefresh() error {
	return problem.New(problem.InvalidToken, refreshTokenInvalid)
}

func (ac *Access) refresh(ctx context.Context, by base.Principal, token string) (Tokens, error) {
	login, err := ac.loginOf(ctx, by, token)
	if err != nil {
		return Tokens{}, err
	}
	now := ac.Now()
	if key, err := ac.Store.Keys().Get(ctx, login.Key); err != nil || key.Over(now) {
		return Tokens{}, base.OrRefuse(err, badRefresh())
	}
	login = login.Rotate(now.Add(RefreshTTL))
	err = ac.Store.Commit(ctx, pay.Change{Logins: []merchants.Login{login}})
	if errors.Is(err, store.ErrStale) {
		read, err := ac.Store.Keys().Login(ctx, login.ID)
		if err != nil {
			return Tokens{}, base.OrRefuse(err, badRefresh())
		}
		if !read.RevokedAt.IsZero() { // another request ended the login meanwhile
			return Tokens{}, badRefresh()
		}
		// The same token was used twice at the same time: one of the two was not its owner's.
		return Tokens{}, ac.stolen(ctx, by, login.ID)
	}
	if err != nil {
		return Tokens{}, err
	}
	return ac.issue(ctx, login, now)
}

// stolen ends a login whose refresh token was used twice, and returns the error for the caller.
func (ac *Access) stolen(ctx context.Context, by base.Principal, login string) error {
	ac.events[EventRefreshReused].Add(1)
	ac.Log.WarnContext(ctx, "a refresh token was used twice; its login is revoked", "login", login, "address", by.Address)
	actor := audit.Actor{Kind: audit.BySystem, IP: by.Address, Request: by.RequestID}
	if err := ac.RevokeLogin(ctx, actor, login, "a refresh token was used twice"); err != nil {
		return fmt.Errorf("revoke a login: %w", err) // not a refusal: the tokens are still valid
	}
	return badRefresh()
}

func (ac *Access) issue(ctx context.Context, l merchants.Login, now time.Time) (Tokens, error) {
	merchant, err := ac.Store.Merchants().Get(ctx, l.Merchant)
	if err != nil {
		return Tokens{}, err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: l.Merchant, Audience: jwt.ClaimStrings{string(l.Environment())},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ac.secrets.ttl)),
			// Two tokens of the same second differ.
			ID: l.ID + "." + strconv.FormatInt(l.Version, 10),
		},
		Key: l.Key,
	})
	keys := ac.secrets.tokens.keys.Load()
	token.Header["kid"] = keys.current
	access, err := token.SignedString(keys.ring[keys.current])
	if err != nil {
		return Tokens{}, fmt.Errorf("sign an access token: %w", err)
	}
	return Tokens{
		Access: access, Refresh: ac.RefreshToken(l.ID, l.Version), AccessTTL: ac.secrets.ttl, RefreshTTL: l.ExpiresAt.Sub(now),
		Environment: l.Environment(), Merchant: merchant,
	}, nil
}

// RefreshToken is derived from the login's id and version, so that a token that was valid once
// differs from one that never was. It is not stored.
func (ac *Access) RefreshToken(login string, version int64) string {
	body := login + "." + strconv.FormatInt(version, 10)
	sum := ac.Vault.MAC("refresh", body)
	return refreshPrefix + body + "." + hex.EncodeToString(sum[:])
}

// ParseRefresh reads a refresh token of this service: its login and version.
func (ac *Access) ParseRefresh(token string) (login string, version int64, ok bool) {
	body, found := strings.CutPrefix(token, refreshPrefix)
	parts := strings.Split(body, ".")
	if !found || len(parts) != 3 {
		return "", 0, false
	}
	version, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || !hmac.Equal([]byte(token), []byte(ac.RefreshToken(parts[0], version))) {
		return "", 0, false
	}
	return parts[0], version, true
}

// Authenticate checks a bearer credential: an access token or a raw key (AUTH-9, AUTH-10). It
// records that the key was used. from has the request's id and address.
//
// Errors: invalid_api_key, invalid_token, token_expired.
func (ac *Access) Authenticate(ctx context.Context, from base.Principal, credential string) (base.Principal, error) {
	unknown := problem.New(problem.InvalidAPIKey, keyUnknown)
	var key merchants.Key
	var err error
	login := ""
	var audience jwt.ClaimStrings // of a token
	switch {
	case strings.HasPrefix(credential, refreshPrefix):
		return base.Principal{}, problem.New(problem.InvalidAPIKey, refreshTokenSent)
	case RawKey(credential):
		if key, err = ac.keyOf(ctx, credential); err != nil {
			return base.Principal{}, base.OrRefuse(err, unknown)
		}
	default:
		c, err := ac.secrets.tokens.parse(credential, ac.Now())
		if err != nil {
			return base.Principal{}, err
		}
		audience = c.Audience
		if login = loginOf(c.ID); ac.revoked.has(login) {
			return base.Principal{}, problem.New(problem.InvalidToken, loginEnded)
		}
		if key, err = ac.known.seen.Get(ctx, c.Key, func(ctx context.Context) (merchants.Key, error) { return ac.Store.Keys().Get(ctx, c.Key) }); err != nil {
			return base.Principal{}, base.OrRefuse(err, unknown)
		}
	}
	if key.Over(ac.Now()) {
		return base.Principal{}, unknown
	}
	if audience != nil && !slices.Contains(audience, string(key.Environment())) {
		return base.Principal{}, problem.New(problem.InvalidToken, tokenOfOtherEnvironment)
	}
	p := base.Principal{
		Scope: key.Scope, KeyID: key.ID, Login: login, Kind: key.Kind, Preview: key.Preview, Rights: key.Rights,
		RequestID: from.RequestID, Address: from.Address,
	}
	ac.keyUsed(p)
	return p, nil
}

// RawKey reports whether a credential is a key, not a token.
func RawKey(credential string) bool {
	return strings.HasPrefix(credential, "sk_") || strings.HasPrefix(credential, "pk_") || strings.HasPrefix(credential, "rk_")
}

// Recognises reports whether this node has recently accepted a raw key.
func (ac *Access) Recognises(rawKey string) bool { return ac.known.seen.Has(ac.Vault.Hash(rawKey)) }

// Tier reads a merchant's tier, at most a few seconds old.
func (ac *Access) Tier(ctx context.Context, merchant string) (merchants.Tier, error) {
	return ac.tiers.Get(ctx, merchant, func(ctx context.Context) (merchants.Tier, error) {
		m, err := ac.Store.Merchants().Get(ctx, merchant)
		return m.Tier, err
	})
}

// maxToken is the longest token that is parsed; ours have about 400 bytes.
const maxToken = 4096

// parse verifies an access token. Verified tokens are cached until they expire.
func (t *tokens) parse(text string, now time.Time) (claims, error) {
	if s, ok := t.seen.Get(text); ok && now.Before(s.expires) {
		return s.claims, nil
	}
	invalid := problem.New(problem.InvalidToken, accessTokenInvalid)
	if len(text) > maxToken {
		return claims{}, invalid
	}
	var c claims
	past := false
	_, err := t.parser.ParseWithClaims(text, &c, func(token *jwt.Token) (any, error) {
		keys := t.keys.Load()
		kid, _ := token.Header["kid"].(string)
		key, ok := keys.ring[kid]
		if !ok {
			return nil, jwt.ErrTokenUnverifiable
		}
		past = kid != keys.current && len(keys.ring) > 1 && now.After(keys.alone)
		return key, nil
	})
	if errors.Is(err, jwt.ErrTokenExpired) {
		return claims{}, problem.New(problem.TokenExpired, accessTokenExpired)
	}
	if err != nil || c.Key == "" || past { // the time of this signing key is over: a thief made this token
		return claims{}, invalid
	}
	t.seen.Add(text, seenToken{c, c.ExpiresAt.Time})
	return c, nil
}

// keyOf finds a raw key by its keyed hash.
func (ac *Access) keyOf(ctx context.Context, raw string) (merchants.Key, error) {
	hash := ac.Vault.Hash(raw)
	key, err := ac.known.seen.Get(ctx, hash, func(ctx context.Context) (merchants.Key, error) { return ac.Store.Keys().ByHash(ctx, hash) })
	if err == nil && key.Over(ac.Now()) {
		err = store.ErrNotFound
	}
	return key, err
}
