// Package gate decides whether a request may enter: it counts requests and refused credentials, by merchant
// and by address, and bounds the bytes in transit. It enforces the limits of the API and of the shoppers'
// pages.
//
// It knows no endpoint and does not look at the content of requests.
package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
)

// Limiter counts requests: in this process, or in a Redis that all nodes share. It never fails.
type Limiter interface {
	// Spend takes a token from a bucket if one is left. Peek only looks.
	Spend(limit.Key, limit.Bucket, time.Time) limit.State
	Peek(limit.Key, limit.Bucket, time.Time) limit.State
}

// Limits are the request limits and whom they apply to (LIMIT-1, LIMIT-2, LIMIT-3).
// docs/decisions/limits.md explains the counting.
type Limits struct {
	Limiter Limiter
	Tiers   map[merchants.Tier]int // requests a second of a merchant in an environment; bursts of twice that
	Sandbox int                    // every merchant's minimum in the sandbox
	Logins  int                    // failed logins a minute, per key and per address
	Poll    time.Duration          // minimum time between reads of one payment; bursts of pollBurst
	Open    int                    // requests a second of an address to routes without credentials
	Refused int                    // requests a second of an address with refused credentials
}

// Bursts, as multiples of a second's requests unless stated otherwise.
const (
	tenantBurst  = 2
	addressBurst = 5
	pollBurst    = 5 // reads
	// pageShare is how many requests a shopper's page makes for each request of an API client. Many
	// shoppers also share their carrier's address.
	pageShare = 5
	// noticeShare is the same for a provider, which reports many payments from few addresses; an account
	// may use several addresses.
	noticeShare, accountShare = 25, 100
)

// The kinds of buckets. Production and the sandbox have separate buckets.
const (
	tenantLive, tenantTest = "tenant/production", "tenant/sandbox"
	publicKey              = "tenant/publishable"
	pollLive, pollTest     = "payment/production", "payment/sandbox"
	loginKey, loginAddress = "login/key", "login/address"
	openAddress            = "open/address"
	pageAddress            = "page/address"
	refusedAddress         = "refused/address"
	noticeAddress          = "notice/address"
	noticeAccount          = "notice/account"
	// Buckets of bytes in transit (bodies).
	bodyMerchant, bodyAddress, bodyOperator = "body/merchant", "body/address", "body/operator"
)

// Gate knows the origin of requests and enforces the limits, if any.
type Gate struct {
	limits              Limits
	proxies             []netip.Prefix // proxies whose X-Forwarded-For is trusted
	live, test          map[merchants.Tier]limit.Bucket
	login, poll         limit.Bucket
	open, pages         limit.Bucket
	notices, accounts   limit.Bucket
	refused             limit.Bucket
	now                 func() time.Time
	log                 *slog.Logger
	toldOfForwarded     atomic.Bool
	tier                func(context.Context, string) (merchants.Tier, error)
	recognisesRawSecret func(string) bool
	attempts            attempts
	refusals            refusals
	bodies              bodies
}

// New returns a gate that enforces the limits; nil lifts them all.
func New(l *Limits, proxies []netip.Prefix, access *auth.Access, log *slog.Logger, now func() time.Time) *Gate {
	if l == nil {
		return &Gate{proxies: proxies, refusals: newRefusals(), bodies: newBodies()}
	}
	g := &Gate{
		limits: *l, proxies: proxies, live: map[merchants.Tier]limit.Bucket{}, test: map[merchants.Tier]limit.Bucket{}, login: limit.PerMinute(l.Logins),
		poll: limit.Bucket{Every: l.Poll, Burst: pollBurst},
		open: limit.PerSecond(l.Open, addressBurst*l.Open), pages: limit.PerSecond(pageShare*l.Open, pageShare*addressBurst*l.Open), refused: limit.PerSecond(l.Refused, addressBurst*l.Refused),
		notices: limit.PerSecond(noticeShare*l.Open, noticeShare*addressBurst*l.Open), accounts: limit.PerSecond(accountShare*l.Open, accountShare*addressBurst*l.Open),
		now: now, log: log, tier: access.Tier, recognisesRawSecret: access.Recognises, refusals: newRefusals(), bodies: newBodies(),
	}
	for _, tier := range merchants.Tiers() {
		n := l.Tiers[tier]
		g.live[tier] = limit.PerSecond(n, tenantBurst*n)
		n = max(n, l.Sandbox)
		g.test[tier] = limit.PerSecond(n, tenantBurst*n)
	}
	return g
}

// off reports whether there are no limits.
func (g *Gate) off() bool { return g.limits.Limiter == nil }

// Peer is the most trustworthy address of a request's origin, for the audit log.
func (g *Gate) Peer(r *http.Request) string { return web.Peer(r, g.proxies).String() }

// Tenant counts a merchant's request and writes the bucket's state to the reply. Requests with a publishable key have a bucket for each
// address.
//
// Errors: rate_limited.
func (g *Gate) Tenant(ctx context.Context, reply http.Header, p base.Principal, address string) error {
	if g.off() {
		return nil
	}
	tier, err := g.tier(ctx, p.Merchant)
	if err != nil {
		return err
	}
	kind, buckets := tenantTest, g.test
	if p.Live {
		kind, buckets = tenantLive, g.live
	}
	bucket, known := buckets[tier]
	if !known {
		bucket = buckets[merchants.Starter]
	}
	owner := limit.Key{Kind: kind, Owner: p.Merchant}
	if p.Kind == merchants.Publishable { // anybody may have it, and must not stop the merchant's own requests
		kind = publicKey
		owner, bucket = limit.Key{Kind: kind, Owner: p.Merchant, Object: address}, g.pages
	}
	s := g.limits.Limiter.Spend(owner, bucket, g.now())
	writeLimits(reply, s)
	if !s.OK {
		g.refusals.add(kind)
		return limited("too many requests: wait as long as Retry-After says, and back off with jitter")
	}
	return nil
}

// longestID is longer than any of our ids: a longer one names no payment and needs no bucket.
const longestID = 64

// Read counts a read of one payment (LIMIT-3).
//
// Errors: rate_limited.
func (g *Gate) Read(reply http.Header, p base.Principal, payment string) error {
	if g.off() || len(payment) > longestID {
		return nil
	}
	kind := pollTest
	if p.Live {
		kind = pollLive
	}
	s := g.limits.Limiter.Spend(limit.Key{Kind: kind, Owner: p.Merchant, Object: payment}, g.poll, g.now())
	if !s.OK {
		writeLimits(reply, s)
		g.refusals.add(kind)
		return limited("this payment is read too often: rely on webhooks, and poll no faster than every 5 seconds")
	}
	return nil
}

// Stranger counts a request to a route without credentials.
//
// Errors: rate_limited.
func (g *Gate) Stranger(reply http.Header, r *http.Request) error {
	if g.off() {
		return nil
	}
	return g.ofAddress(reply, openAddress, g.Address(r), g.open, g.limits.Limiter.Spend)
}

// Notice counts a provider's notification by address, before it is read. The limit is wide: notifications
// confirm money.
//
// Errors: rate_limited.
func (g *Gate) Notice(reply http.Header, r *http.Request) error {
	if g.off() {
		return nil
	}
	return g.ofAddress(reply, noticeAddress, g.Address(r), g.notices, g.limits.Limiter.Spend)
}

// BadNotice counts a notification that its account refused, and returns the error to reply with. Another
// account's refusals never block a good notification.
func (g *Gate) BadNotice(reply http.Header, account string, refusal error) error {
	if g.off() || len(account) > longestID {
		return refusal
	}
	if err := g.ofAddress(reply, noticeAccount, account, g.accounts, g.limits.Limiter.Spend); err != nil {
		return err
	}
	return refusal
}

// Strangers counts requests to routes without credentials.
func (g *Gate) Strangers(next http.Handler, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.Stranger(w.Header(), r); err != nil {
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Pages counts requests of shoppers' browsers by address, and takes in their forms, which are small: a page gets a
// request whose body has arrived.
func (g *Gate) Pages(next http.Handler) http.Handler {
	return g.Staff(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer g.StrangersBody(w.Header(), r)()
		_, err := web.Arrive(w, r, web.Arrival{Most: web.SmallForm})
		_, long := errors.AsType[*http.MaxBytesError](err)
		shown, refused := errors.AsType[*problem.Error](err)
		switch {
		case refused && shown.Code == problem.RateLimited:
			tooMany(w)
		case long:
			http.Error(w, "This form is too large. Go back and shorten what you typed.", http.StatusRequestEntityTooLarge)
		case err != nil:
			http.Error(w, "The form did not arrive. Go back and send it again.", http.StatusBadRequest)
		default:
			next.ServeHTTP(w, r)
		}
	}))
}

// Staff counts requests to the dashboard by address, as Pages does. The dashboard takes in the bodies: which are read
// hangs on who is signed in.
func (g *Gate) Staff(next http.Handler) http.Handler {
	if g.off() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.ofAddress(w.Header(), pageAddress, g.Address(r), g.pages, g.limits.Limiter.Spend) != nil {
			tooMany(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func tooMany(w http.ResponseWriter) {
	http.Error(w, "Too many requests. Wait a moment and load the page again.", http.StatusTooManyRequests)
}

// Guess looks credentials up. It counts refused ones and returns the refusal, or rate_limited if the
// address is over its limit. Such an address sends no raw key to the database, except keys that this node
// has accepted before: their owner may share the address with an attacker.
//
// Errors: look's own, rate_limited.
func (g *Gate) Guess(reply http.Header, r *http.Request, credential string, look func() error) error {
	if g.off() {
		return look()
	}
	address := g.Address(r)
	if auth.RawKey(credential) && !g.recognisesRawSecret(credential) {
		leave, err := g.trying(reply, r, refusedAddress, address, g.refused)
		if err != nil {
			return err
		}
		defer leave()
	}
	return g.Refuse(reply, r, look())
}

// Refuse counts refused credentials and returns the error to reply with: the refusal itself, or
// rate_limited if the address is over its limit. It does not count other errors.
func (g *Gate) Refuse(reply http.Header, r *http.Request, refusal error) error {
	if g.off() || !wire.Unauthorized(refusal) {
		return refusal
	}
	if err := g.ofAddress(reply, refusedAddress, g.Address(r), g.refused, g.limits.Limiter.Spend); err != nil {
		return err
	}
	return refusal
}

// Try makes a login attempt. It counts only failures, by address and by key. An address over its limit must
// wait until tokens return. A key over its limit may still log in: its publishable half is no secret, and
// anybody could lock its owner out. For such a key, failures are reported as rate_limited.
func (g *Gate) Try(reply http.Header, r *http.Request, apiKey string, login func() error) error {
	if g.off() {
		return login()
	}
	address := g.Address(r)
	leave, err := g.trying(reply, r, loginAddress, address, g.login)
	if err != nil {
		return err
	}
	defer leave()
	refusal := login()
	if !wire.Unauthorized(refusal) {
		return refusal
	}
	sum := sha256.Sum256([]byte(apiKey)) // it may be long, or a secret sent by mistake
	byKey := g.ofAddress(reply, loginKey, hex.EncodeToString(sum[:16]), g.login, g.limits.Limiter.Spend)
	byAddress := g.ofAddress(reply, loginAddress, address, g.login, g.limits.Limiter.Spend)
	if err := errors.Join(byAddress, byKey); err != nil {
		return limited("too many failed logins: wait as long as Retry-After says")
	}
	return refusal
}

// trying waits until an address may start another attempt: it may run as many as it has failures left. The
// caller leaves once the failure is counted.
//
// Errors: rate_limited if the address is over its limit.
func (g *Gate) trying(reply http.Header, r *http.Request, kind, address string, bucket limit.Bucket) (leave func(), err error) {
	leave, ok, err := g.attempts.enter(r.Context(), kind+"/"+address, func() int {
		s := g.limits.Limiter.Peek(limit.Key{Kind: kind, Owner: address}, bucket, g.now())
		if !s.OK {
			return 0
		}
		return s.Left + 1 // Peek returns what a Take would leave
	})
	if err != nil {
		return nil, err
	}
	if !ok {
		if err := g.ofAddress(reply, kind, address, bucket, g.limits.Limiter.Peek); err != nil {
			return nil, err
		}
		g.refusals.add(kind)
		return nil, limited("too many requests from this address")
	}
	return leave, nil
}

// ofAddress queries the bucket of an unknown caller. The reply shows the bucket's state only when it is
// empty.
func (g *Gate) ofAddress(reply http.Header, kind, owner string, bucket limit.Bucket, ask func(limit.Key, limit.Bucket, time.Time) limit.State) error {
	s := ask(limit.Key{Kind: kind, Owner: owner}, bucket, g.now())
	if s.OK {
		return nil
	}
	writeLimits(reply, s)
	g.refusals.add(kind)
	return limited("too many requests from this address: wait as long as Retry-After says")
}

// Address is the key under which a request without a known merchant is counted.
func (g *Gate) Address(r *http.Request) string {
	peer := web.Peer(r, g.proxies)
	if !g.off() && len(g.proxies) == 0 && r.Header["X-Forwarded-For"] != nil && g.toldOfForwarded.CompareAndSwap(false, true) {
		g.log.WarnContext(r.Context(), "a request was forwarded, and no proxy is trusted: if this service stands behind one, name it with --trusted-proxies, "+
			"or all its clients share the limits of one address", "address", peer)
	}
	return web.Subscriber(peer)
}

// writeLimits writes a bucket's state. Header names keep their documented spelling, not that of net/http; case
// does not matter.
func writeLimits(reply http.Header, s limit.State) {
	v := []string{strconv.Itoa(s.Limit), strconv.Itoa(s.Left), wholeSeconds(s.Full)}
	reply["RateLimit-Limit"], reply["RateLimit-Remaining"], reply["RateLimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
	if !s.OK {
		reply["Retry-After"] = []string{wholeSeconds(s.Retry)}
	}
}

// wholeSeconds rounds up: a client that waits so long is not too early.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

func limited(sentence string) error { return message.Refusal(problem.RateLimited, sentence) }
