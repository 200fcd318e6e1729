package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

const (
	// revokedOverlap is how far back before the last one a look for what was revoked goes: a
	// commit takes its time, and the clocks of two nodes differ. One look of wholeLook goes as
	// far back as tokens live, with clocks that are clocksApart.
	revokedOverlap = time.Minute
	wholeLook      = 10
	clocksApart    = 10 * time.Minute
	// loginsBatch is how many logins are ended in one change.
	loginsBatch = 500
	// refusalsEvery is how often a refused login with one key is audited; the log and the
	// count tell of the others.
	refusalsEvery = 10 * time.Second
)

// revocations are the logins that have ended while access tokens of theirs may still be good.
// Every node reads them once a second, so that a request asks no database.
type revocations struct {
	mu sync.RWMutex         // owns of
	of map[string]time.Time // login → when this node learned of it

	// Of the loop that reads them.
	read  time.Time // when it last did
	looks int
}

func (r *revocations) has(login string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ended := r.of[login]
	return ended
}

// learn notes logins that have ended, and forgets those whose tokens have: what was learned
// before forget.
func (r *revocations) learn(logins []string, now, forget time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, login := range logins {
		if _, known := r.of[login]; !known {
			r.of[login] = now
		}
	}
	maps.DeleteFunc(r.of, func(_ string, at time.Time) bool { return at.Before(forget) })
}

// ReadRevoked takes notice of what other processes have revoked.
func (ac *Access) ReadRevoked(ctx context.Context) error {
	now := ac.Now()
	since := ac.oldestToken(now)
	if ac.revoked.looks%wholeLook != 0 {
		since = later(since, ac.revoked.read.Add(-revokedOverlap))
	}
	logins, keys, err := ac.Store.Keys.Revoked(ctx, since)
	if err != nil {
		return fmt.Errorf("read what was revoked: %w", err)
	}
	ac.revoked.learn(logins, now, ac.oldestToken(now))
	for _, key := range keys { // by id and by hash
		ac.known.seen.Forget(key)
	}
	ac.revoked.looks++
	ac.revoked.read = now
	return nil
}

// oldestToken is when the oldest access token that is still good may have been made.
func (ac *Access) oldestToken(now time.Time) time.Time { return now.Add(-ac.secrets.ttl - clocksApart) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// AuthEvent is what happened to credentials, as it is counted.
type AuthEvent string

// The events. Their number is fixed: each is a label of a metric.
const (
	AuthLogin          AuthEvent = "login"
	AuthLoginRefused   AuthEvent = "login_refused"
	AuthRefresh        AuthEvent = "refresh"
	AuthRefreshRefused AuthEvent = "refresh_refused"
	AuthRefreshReused  AuthEvent = "refresh_reused"
	AuthRefused        AuthEvent = "credential_refused"
	AuthRevoked        AuthEvent = "login_revoked"
	AuthNewAddress     AuthEvent = "key_new_address"
	AuthBeyond         AuthEvent = "beyond_rights"
)

// AuthEventKinds lists the events.
func AuthEventKinds() []AuthEvent {
	return []AuthEvent{AuthLogin, AuthLoginRefused, AuthRefresh, AuthRefreshRefused, AuthRefreshReused, AuthRefused, AuthRevoked, AuthNewAddress, AuthBeyond}
}

// authEvents counts them.
type authEvents map[AuthEvent]*atomic.Int64

func newAuthEvents() authEvents {
	e := authEvents{}
	for _, kind := range AuthEventKinds() {
		e[kind] = new(atomic.Int64)
	}
	return e
}

// AuthEvents tells what happened to credentials at this node since it started.
func (ac *Access) AuthEvents() map[AuthEvent]int64 {
	counts := map[AuthEvent]int64{}
	for kind, n := range ac.events {
		counts[kind] = n.Load()
	}
	return counts
}

// loginRefused leaves a trace of a login that was refused: key is the publishable one, where
// it is known.
func (ac *Access) loginRefused(ctx context.Context, by base.Principal, key tenant.Key) {
	ac.events[AuthLoginRefused].Add(1)
	ac.WarnSometimes(ctx, "a login was refused", "", "address", by.Address, "key", key.ID)
	if key.ID == "" {
		return
	}
	left, may := ac.Quiet.Say("login "+key.ID, ac.Now(), refusalsEvery)
	if !may {
		return
	}
	details := map[string]string{"preview": key.Preview}
	if left > 0 {
		details["more"] = fmt.Sprint(left)
	}
	actor := audit.Actor{Kind: audit.BySystem, IP: by.Address, Request: by.RequestID}
	if err := ac.Store.Commit(ctx, pay.Change{Audit: ac.Audited(actor, key.Scope, audit.LoginRefused, key.ID, details)}); err != nil {
		ac.Log.ErrorContext(ctx, "a refused login is not in the audit log", "key", key.ID, "error", err)
	}
}

// CredentialRefused leaves a trace of credentials that were not good: by says from where they
// came. An access token that is over is nothing to tell of.
func (ac *Access) CredentialRefused(ctx context.Context, by base.Principal, refusal error) {
	var shown *problem.Error
	if errors.As(refusal, &shown) && (shown.Code == problem.InvalidAPIKey || shown.Code == problem.InvalidToken) {
		ac.events[AuthRefused].Add(1)
		ac.WarnSometimes(ctx, "credentials were refused", "", "address", by.Address, "code", string(shown.Code))
	}
}

// WentBeyond leaves a trace of credentials that were good, and asked for what they do not cover.
func (ac *Access) WentBeyond(ctx context.Context, by base.Principal, refusal error) {
	var shown *problem.Error
	if errors.As(refusal, &shown) && shown.Code == problem.Forbidden {
		ac.events[AuthBeyond].Add(1)
		ac.WarnSometimes(ctx, "credentials asked for what they do not cover", by.KeyID, "key", by.KeyID, "address", by.Address, "right", shown.Details.Right)
	}
}

// TurnedAway leaves a trace of a request that was over a limit; other refusals are not told of.
func (ac *Access) TurnedAway(ctx context.Context, by base.Principal, refusal error) {
	if shown, ok := errors.AsType[*problem.Error](refusal); ok && shown.Code == problem.RateLimited {
		ac.WarnSometimes(ctx, "requests are over a limit", "", "address", by.Address, "limit", shown.Message)
	}
}

// Logout ends the login of an access token: neither it nor its refresh token is good any more.
//
// Errors: missing_credentials where the request came with nothing, invalid_request where it came
// with a key itself.
func (ac *Access) Logout(ctx context.Context, by base.Principal) error {
	if by.KeyID == "" {
		return problem.New(problem.MissingCredentials, "send the header Authorization: Bearer with the access token, or the refreshToken in the body")
	}
	if by.Login == "" {
		return problem.New(problem.InvalidRequest, "only a login can be ended here: send the access token that it gave, not a key")
	}
	return ac.RevokeLogin(ctx, by.Actor(), by.Login, "logged out")
}

// LogoutRefresh ends the login of a refresh token, as Logout does.
//
// Errors: invalid_token, where the login has ended too.
func (ac *Access) LogoutRefresh(ctx context.Context, by base.Principal, token string) error {
	login, err := ac.loginOf(ctx, by, token)
	if err != nil {
		return ac.refreshRefused(ctx, by, err)
	}
	actor := audit.Actor{Kind: audit.ByKey, ID: login.Key, IP: by.Address, Request: by.RequestID}
	return ac.RevokeLogin(ctx, actor, login.ID, "logged out")
}

// RevokeLogin ends a login on every node, within two seconds. One that has ended stays so.
//
// Errors: store.ErrNotFound.
func (ac *Access) RevokeLogin(ctx context.Context, by audit.Actor, login, reason string) error {
	return base.Again(func() error {
		l, err := ac.Store.Keys.Login(ctx, login)
		if err != nil {
			return fmt.Errorf("login %s: %w", login, err)
		}
		if !l.RevokedAt.IsZero() {
			return nil
		}
		return ac.endLogins(ctx, by, []tenant.Login{l}, audit.LoginRevoked, l.ID, map[string]string{"key": l.Key, "reason": reason})
	})
}

// RevokeLogins ends all logins of a merchant, or of one of the merchant's keys, and returns
// how many there were.
//
// Errors: store.ErrNotFound.
func (ac *Access) RevokeLogins(ctx context.Context, by audit.Actor, merchant, key, reason string) (n int, err error) {
	object := merchant
	if key != "" {
		k, err := ac.Store.Keys.Get(ctx, key)
		if err != nil {
			return 0, fmt.Errorf("key %s: %w", key, err)
		}
		merchant, object = k.Merchant, k.ID
	}
	if _, err := ac.AnyMerchant(ctx, merchant); err != nil {
		return 0, err
	}
	for {
		more := false
		err := base.Again(func() error {
			list, err := ac.Store.Keys.GoodLogins(ctx, merchant, key, ac.Now(), loginsBatch)
			if more = len(list) > 0; err != nil || !more {
				return err
			}
			err = ac.endLogins(ctx, by, list, audit.LoginsRevoked, object, map[string]string{"logins": fmt.Sprint(len(list)), "reason": reason})
			if err == nil {
				n += len(list)
			}
			return err
		})
		if err != nil || !more {
			return n, err
		}
	}
}

// endLogins writes that logins have ended, and heeds it at once.
func (ac *Access) endLogins(ctx context.Context, by audit.Actor, list []tenant.Login, act audit.Act, object string, details map[string]string) error {
	now := ac.Now()
	scope := list[0].Scope
	if act == audit.LoginsRevoked {
		scope = tenant.Scope{Merchant: scope.Merchant, Live: true}
	}
	change := pay.Change{Audit: ac.Audited(by, scope, act, object, details)}
	var ended []string
	for _, l := range list {
		change.Logins = append(change.Logins, l.Revoke(now))
		ended = append(ended, l.ID)
	}
	if err := ac.Store.Commit(ctx, change); err != nil {
		return err // where nobody knows, the next look tells
	}
	ac.revoked.learn(ended, now, ac.oldestToken(now))
	ac.events[AuthRevoked].Add(int64(len(list)))
	return nil
}

// loginOf is the login that an access token's id names.
func loginOf(token string) string {
	login, _, _ := strings.Cut(token, ".")
	return login
}
