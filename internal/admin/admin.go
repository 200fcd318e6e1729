// Package admin is the operators' API: provider accounts, the decisions about a payment, the health of
// accounts. It has its own listener and is never served on the public one.
//
// It decides nothing: a handler of one of its rooms reads a request, calls one use case of internal/app in the name of the
// token's operator, and shows the result.
package admin

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/cascadapay/cascada/internal/admin/accounts"
	"github.com/cascadapay/cascada/internal/admin/books"
	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/claims"
	"github.com/cascadapay/cascada/internal/admin/merchants"
	"github.com/cascadapay/cascada/internal/admin/payments"
	"github.com/cascadapay/cascada/internal/admin/payouts"
	"github.com/cascadapay/cascada/internal/admin/people"
	"github.com/cascadapay/cascada/internal/admin/settlements"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
)

// Base is the API's root.
const Base = call.Root

// Config is what an API needs.
type Config struct {
	Uses    Uses
	Log     *slog.Logger
	Node    string         // this node's name, in replies that differ by node
	Proxies []netip.Prefix // proxies whose X-Forwarded-For is trusted, for the audit log
	Now     func() time.Time
	// Bodies counts the body of an operator's request until leave.
	Bodies func(reply http.Header, r *http.Request, operator string) (leave func())
}

// New returns the API as a handler.
func New(c Config) (http.Handler, error) {
	a := call.New(call.Config{Base: c.Uses.Base, Operators: c.Uses.Operators, Log: c.Log, Node: c.Node, Proxies: c.Proxies, Now: c.Now, Bodies: c.Bodies})
	register(a, c.Uses)
	if err := publish(a); err != nil {
		return nil, err
	}
	a.Mux.Handle("/", web.Unrouted(a.Mux,
		func(w http.ResponseWriter, r *http.Request) {
			wire.Write(w, r, c.Log, message.Refusal(problem.NotFound, "there is no such endpoint"))
		},
		func(w http.ResponseWriter, r *http.Request) {
			wire.Write(w, r, c.Log, message.Refusal(problem.MethodNotAllowed, "this endpoint does not take "+r.Method))
		}))
	handler := web.Recover(web.Routed(a.Mux), c.Log, func(w http.ResponseWriter, r *http.Request) { wire.Write(w, r, c.Log, wire.Fault()) })
	return private(handler), nil
}

// register registers the operations of all rooms, with the use cases that they call.
func register(a *call.API, u Uses) {
	accounts.Register(a, accounts.Uses{
		Base: u.Base, Accounts: u.Accounts, Adapters: u.Adapters, Lists: u.Lists, Providers: u.Providers, Rates: u.Rates, Reconciliation: u.Reconciliation, Rules: u.Rules,
	})
	books.Register(a, books.Uses{Base: u.Base, Checks: u.Checks, Lists: u.Lists, Settlements: u.Settlements, Stories: u.Stories})
	claims.Register(a, claims.Uses{Claims: u.Claims, Lists: u.Lists, Notices: u.Notices})
	merchants.Register(a, merchants.Uses{
		Base: u.Base, Access: u.Access, Keys: u.Keys, Leaving: u.Leaving, Lists: u.Lists, Onboarding: u.Onboarding, Plans: u.Plans, Privacy: u.Privacy,
		Sandbox: u.Sandbox, Verifications: u.Verifications,
	})
	payments.Register(a, u.Payments)
	payouts.Register(a, payouts.Uses{Base: u.Base, Batches: u.Batches, Floats: u.Floats, Lists: u.Lists, Payouts: u.Payouts, Providers: u.Providers})
	people.Register(a, people.Uses{Base: u.Base, Keys: u.Keys, Links: u.Links, Operators: u.Operators, People: u.People, Team: u.Team})
	settlements.Register(a, settlements.Uses{Base: u.Base, Adjustments: u.Adjustments, Lists: u.Lists, Payouts: u.Payouts, Settlements: u.Settlements})
}

// private keeps replies out of caches and stops browsers from reading them as pages.
func private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.Private(w.Header())
		next.ServeHTTP(w, r)
	})
}
