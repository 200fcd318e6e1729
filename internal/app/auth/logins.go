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
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

const (
	// revokedOverlap is how far a look for revoked logins goes back before the previous one: a
	// commit takes time, and the clocks of two nodes differ. Once every wholeLook, a look goes back
	// as far as tokens live, plus clocksApart.
	revokedOverlap = time.Minute
	wholeLook      = 10
	clocksApart    = 10 * time.Minute
	// loginsBatch is how many logins are ended in one change.
	loginsBatch = 500
)

// revocations are the logins that have ended while their access tokens may still be valid. Every
// node reads them once a second, so that requests need no database read.
type revocations struct {
	mu sync.RWMutex         // guards of
	of map[string]time.Time // login → when this node learnt of it

	// Used by the loop that reads them.
	read  time.Time // time of the last read
	looks int
}

func (r *revocations) has(login string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ended := r.of[login]
	return ended
}

// learn adds logins that have ended, and forgets those learnt before forget, whose tokens have
// expired.
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

// ReadRevoked reads what other processes have revoked.
func (ac *Access) ReadRevoked(ctx context.Context) error {
	now := ac.Now()
	since := ac.oldestToken(now)
	if ac.revoked.looks%wholeLook != 0 {
		since = later(since, ac.revoked.read.Add(-revokedOverlap))
	}
	logins, keys, err := ac.Store.Keys().Revoked(ctx, since)
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

// oldestToken is the earliest time at which a token that is still valid can have been made.
func (ac *Access) oldestToken(now time.Time) time.Time { return now.Add(-ac.secrets.ttl - clocksApart) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Event is an event about credentials that is counted.
type Event string

// The events. Their number is fixed, because each is a label of a metric.
const (
	EventLogin          Event = "login"
	EventLoginRefused   Event = "login_refused"
	EventRefresh        Event = "refresh"
	EventRefreshRefused Event = "refresh_refused"
	EventRefreshReused  Event = "refresh_reused"
	EventRefused        Event = "credential_refused"
	EventRevoked        Event = "login_revoked"
	EventNewAddress     Event = "key_new_address"
	EventBeyond         Event = "beyond_rights"
)

// EventKinds lists the events.
func EventKinds() []Event {
	return []Event{EventLogin, EventLoginRefused, EventRefresh, EventRefreshRefused, EventRefreshReused, EventRefused, EventRevoked, EventNewAddress, EventBeyond}
}

// authEvents counts the events.
type authEvents map[Event]*atomic.Int64

func newAuthEvents() authEvents {
	e := authEvents{}
	for _, kind := range EventKinds() {
		e[kind] = new(atomic.Int64)
	}
	return e
}

// AuthEvents counts the events about credentials at this node since it started.
func (ac *Access) AuthEvents() map[Event]int64 {
	counts := map[Event]int64{}
	for kind, n := range ac.events {
		counts[kind] = n.Load()
	}
	return counts
}

// loginRefused logs, counts and audits a refused login. key is the publishable key, if it is known.
func (ac *Access) loginRefused(ctx context.Context, by base.Principal, key merchants.Key) {
	ac.events[EventLoginRefused].Add(1)
	ac.Quiet.WarnSometimes(ctx, "a login was refused", "", "address", by.Address, "key", key.ID)
	if key.ID == "" {
		return
	}
	left, may := ac.Quiet.Allow("login "+key.ID, base.RefusalsEvery)
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

// CredentialRefused logs and counts credentials that were refused. by has the address of the
// request. An expired access token is not logged.
func (ac *Access) CredentialRefused(ctx context.Context, by base.Principal, refusal error) {
	var shown *problem.Error
	if errors.As(refusal, &shown) && (shown.Code == problem.InvalidAPIKey || shown.Code == problem.InvalidToken) {
		ac.events[EventRefused].Add(1)
		ac.Quiet.WarnSometimes(ctx, "credentials were refused", "", "address", by.Address, "code", string(shown.Code))
	}
}

// WentBeyond logs and counts valid credentials that lack a right or a scope.
func (ac *Access) WentBeyond(ctx context.Context, by base.Principal, refusal error) {
	var shown *problem.Error
	if errors.As(refusal, &shown) && shown.Code == problem.Forbidden {
		ac.events[EventBeyond].Add(1)
		ac.Quiet.WarnSometimes(ctx, "credentials lack a right or a scope", by.KeyID, "key", by.KeyID, "address", by.Address, "right", shown.Details.Right)
	}
}

// TurnedAway logs and counts a request over a limit. Other refusals are ignored.
func (ac *Access) TurnedAway(ctx context.Context, by base.Principal, refusal error) {
	if shown, ok := errors.AsType[*problem.Error](refusal); ok && shown.Code == problem.RateLimited {
		ac.Quiet.WarnSometimes(ctx, "requests are over a limit", "", "address", by.Address, "limit", shown.Reason)
	}
}

// Logout ends the login of an access token: neither it nor its refresh token is valid any more.
//
// Errors: missing_credentials if the request has no credentials, invalid_request if it has a raw
// key.
func (ac *Access) Logout(ctx context.Context, by base.Principal) error {
	if by.KeyID == "" {
		return problem.New(problem.MissingCredentials, noLoginSent)
	}
	if by.Login == "" {
		return problem.New(problem.InvalidRequest, keyIsNoLogin)
	}
	return ac.RevokeLogin(ctx, by.Actor(), by.Login, "logged out")
}

// LogoutRefresh is Logout for the login of a refresh token.
//
// Errors: invalid_token, also if the login has ended.
func (ac *Access) LogoutRefresh(ctx context.Context, by base.Principal, token string) error {
	login, err := ac.loginOf(ctx, by, token)
	if err != nil {
		return ac.refreshRefused(ctx, by, err)
	}
	actor := audit.Actor{Kind: audit.ByKey, ID: login.Key, IP: by.Address, Request: by.RequestID}
	return ac.RevokeLogin(ctx, actor, login.ID, "logged out")
}

// RevokeLogin ends a login on every node within two seconds. A login that has ended does not
// change.
//
// Errors: store.ErrNotFound.
func (ac *Access) RevokeLogin(ctx context.Context, by audit.Actor, login, reason string) error {
	return base.Again(func() error {
		l, err := ac.Store.Keys().Login(ctx, login)
		if err != nil {
			return fmt.Errorf("login %s: %w", login, err)
		}
		if !l.RevokedAt.IsZero() {
			return nil
		}
		return ac.endLogins(ctx, by, []merchants.Login{l}, audit.LoginRevoked, l.ID, map[string]string{"key": l.Key, "reason": reason})
	})
}

// RevokeLogins ends all logins of a merchant, or of one of the merchant's keys, and returns their
// number.
//
// Errors: store.ErrNotFound.
func (ac *Access) RevokeLogins(ctx context.Context, by audit.Actor, merchant, key, reason string) (n int, err error) {
	object := merchant
	if key != "" {
		k, err := ac.Store.Keys().Get(ctx, key)
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
			list, err := ac.Store.Keys().GoodLogins(ctx, merchant, key, ac.Now(), loginsBatch)
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

// endLogins writes that logins have ended, and applies it on this node at once.
func (ac *Access) endLogins(ctx context.Context, by audit.Actor, list []merchants.Login, act audit.Act, object string, details map[string]string) error {
	now := ac.Now()
	scope := list[0].Scope
	if act == audit.LoginsRevoked {
		scope = merchants.Scope{Merchant: scope.Merchant, Live: true}
	}
	change := pay.Change{Audit: ac.Audited(by, scope, act, object, details)}
	var ended []string
	for _, l := range list {
		change.Logins = append(change.Logins, l.Revoke(now))
		ended = append(ended, l.ID)
	}
	if err := ac.Store.Commit(ctx, change); err != nil {
		return err // if the result is unknown, the next look finds it
	}
	ac.revoked.learn(ended, now, ac.oldestToken(now))
	ac.events[EventRevoked].Add(int64(len(list)))
	return nil
}

// loginOf is the login in an access token's id.
func loginOf(token string) string {
	login, _, _ := strings.Cut(token, ".")
	return login
}
