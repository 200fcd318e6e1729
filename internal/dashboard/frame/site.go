package frame

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/web"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// Base is where the dashboard's pages are.
const Base = "/dashboard"

// Handler serves a page. An error that it returns is shown as a page.
type Handler func(w http.ResponseWriter, r *http.Request, v *Visit) error

// Kind says who may open a page.
type Kind string

// The kinds of pages.
const (
	Open       Kind = "open"     // everybody
	Own        Kind = "own"      // every user: what is the user's own
	OfShop     Kind = "shop"     // users with a right at the shop's merchant
	OfOperator Kind = "operator" // operators
)

// Route is a page or an action, for the tests that walk all of them.
type Route struct {
	Method, Path string // of the shop's pages: the path below the shop and environment
	Kind         Kind
	Right        merchants.Right // that pages of a shop require
	Operators    operators.Right // that pages of the console require
	Afresh       bool            // of the console: it asks for a second factor from the last ten minutes
}

// Gate limits requests. It is the one of the API.
type Gate interface {
	Peer(r *http.Request) string
	Try(reply http.Header, r *http.Request, who string, attempt func() error) error
	StrangersBody(reply http.Header, r *http.Request) (leave func())
	MerchantsBody(reply http.Header, r *http.Request, p base.Principal) (leave func())
	OperatorsBody(reply http.Header, r *http.Request, operator string) (leave func())
}

// Uses are the use cases that all pages call.
type Uses struct {
	*base.Base
	Access *auth.Access
	People *users.People
}

// Site is where rooms register their pages. It lets nobody in who may not open them.
type Site struct {
	*Frame
	Uses   Uses
	gate   Gate
	log    *slog.Logger
	root   string
	apart  bool           // the console has a listener of its own
	shops  *http.ServeMux // pages of a shop
	rest   *http.ServeMux
	routes []Route
	cross  *http.CrossOriginProtection

	serving context.Context // ends with End
	end     context.CancelFunc
	streams streams
	files   *limit.Places // that are being written, by user and merchant
	reads   *limit.Places // pages that read much, by operator
}

// retrySoon is the value of Retry-After if a place will be free again within seconds.
const retrySoon = "5"

// NewSite returns a site without pages. base is the service's public URL.
func NewSite(f *Frame, uses Uses, gate Gate, log *slog.Logger, base string) (*Site, error) {
	public, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	s := &Site{
		Frame: f, Uses: uses, gate: gate, log: log, root: strings.TrimSuffix(public.Path, "/"),
		shops: http.NewServeMux(), rest: http.NewServeMux(), cross: http.NewCrossOriginProtection(), files: limit.NewPlaces(mostFiles), reads: limit.NewPlaces(mostReads),
	}
	if err := s.cross.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil { // a proxy may change the Host header
		return nil, err
	}
	s.serving, s.end = context.WithCancel(context.Background())
	f.secure = public.Scheme == "https"
	f.Assets(s.rest)
	return s, nil
}

// Routes lists all pages and actions.
func (s *Site) Routes() []Route { return s.routes }

// maxForm bounds the body of a request to a shop's pages and to the console, where it is read only from whoever may open
// the page. Others have web.SmallForm; actions that take files have their own bound.
const maxForm = 1 << 20

// Serving changes how a page or an action is served.
type Serving func(*serving)

type serving struct {
	body   web.Arrival
	asks   asks
	closed bool // it is served while the sandbox is being emptied
}

// Files lets an action take a body of so many bytes, which may take a while to arrive. As many again are read to say that
// it was too large.
func Files(body int64, within time.Duration) Serving {
	return func(s *serving) { s.body = web.Arrival{Most: body, Beyond: body, Within: within} }
}

// WhileEmptied lets an action be done while the sandbox is being emptied.
func WhileEmptied() Serving { return func(s *serving) { s.closed = true } }

func limitsOf(how []Serving) serving {
	limits := serving{body: web.Arrival{Most: maxForm}}
	for _, change := range how {
		change(&limits)
	}
	return limits
}

// Handle registers a page or an action of a shop. pattern is such as "GET /payments/{id}": it stands below the
// shop and the environment. Every user with the right at the shop's merchant may open it.
func (s *Site) Handle(pattern string, right merchants.Right, h Handler, how ...Serving) {
	method, path, _ := strings.Cut(pattern, " ")
	s.routes = append(s.routes, Route{Method: method, Path: path, Kind: OfShop, Right: right})
	below := path
	if below == "/" {
		below = ""
	}
	closed := method == http.MethodGet || limitsOf(how).closed // pages show what is still there
	s.shops.Handle(method+" "+Base+"/{shop}/{environment}"+below, s.page(func(r *http.Request, v *Visit) error {
		if err := s.enter(r, v); err != nil {
			return err
		}
		if !v.May(right) {
			return people.NoRight(right)
		}
		if err := s.Uses.Sandboxes.MayEnter(r.Context(), v.Scope); err != nil {
			if !closed || !errors.Is(err, base.ErrEmptying) {
				return err
			}
			v.Emptied = true
		}
		return nil
	}, h, how...))
}

// HandleOwn registers a page of what is the user's own, such as "GET /profile".
func (s *Site) HandleOwn(pattern string, h Handler) { s.handle(pattern, Own, nil, h) }

// HandleOperator registers a page or an action of the operator's console: "GET /console/accounts". Every operator whose role has
// the right may open it (OPR-1). An action asks for a
// second factor from the last ten minutes, unless it is Calm: it may move money, or show or change what does.
func (s *Site) HandleOperator(pattern string, right operators.Right, h Handler, how ...Serving) {
	method, path, _ := strings.Cut(pattern, " ")
	afresh := limitsOf(how).asks.afresh(method)
	s.handle(pattern, OfOperator, operates(right), func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if s.secure && !v.User.HasFactor() { // on a developer's machine the password is enough
			s.Flash(w, "operator_factor")
			s.Go(w, r, s.At("/profile/app"))
			return nil
		}
		v.Path = strings.Trim(strings.TrimPrefix(r.URL.Path, Base+"/console"), "/")
		if afresh && v.User.HasFactor() && !s.Fresh(w, r, v, s.formOf(r, path)) {
			return nil
		}
		return h(w, r, v)
	}, how...)
	last := &s.routes[len(s.routes)-1]
	last.Afresh, last.Operators = afresh, right
}

// operates permits operators whose role has a right. It does not reveal to others that there is a console.
func operates(right operators.Right) permit {
	return func(_ *http.Request, v *Visit) error {
		if v.User.Operator == "" {
			return problem.New(problem.NotFound, base.NoPage)
		}
		return v.User.Operator.Check(right)
	}
}

func (s *Site) handle(pattern string, kind Kind, may permit, h Handler, how ...Serving) {
	method, path, _ := strings.Cut(pattern, " ")
	s.routes = append(s.routes, Route{Method: method, Path: path, Kind: kind})
	s.rest.Handle(method+" "+Base+strings.TrimSuffix(path, "/"), s.page(may, h, how...))
}

// HandleOpen registers a page for everybody, such as the sign-in. v has no user.
func (s *Site) HandleOpen(pattern string, h Handler) {
	method, path, _ := strings.Cut(pattern, " ")
	s.routes = append(s.routes, Route{Method: method, Path: path, Kind: Open})
	s.rest.Handle(method+" "+Base+path, s.guard(s.smallBody, func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r, s.stranger(r))
	}))
}

// stranger is the visit of somebody who is not signed in.
func (s *Site) stranger(r *http.Request) *Visit {
	return &Visit{Principal: base.Principal{RequestID: web.RequestID(r.Context()), Address: s.gate.Peer(r), Agent: r.UserAgent()}, Path: r.URL.Path, NoConsole: s.away(r)}
}

// permit completes a visit and refuses it where the user may not open the page.
type permit func(r *http.Request, v *Visit) error

// page lets users in who are signed in, and whom may permits; nil permits all. They are asked who they are once what they
// send has arrived. Only where may says whose page it is, more than a small form is read, and they are asked before, too.
func (s *Site) page(may permit, h Handler, how ...Serving) http.Handler {
	arrive := s.smallBody
	if may != nil {
		arrive = s.bodyOf(may, limitsOf(how).body)
	}
	return s.guard(arrive, func(w http.ResponseWriter, r *http.Request) error {
		v, err := s.visit(r)
		if err != nil {
			return s.askWho(w, r, err)
		}
		defer v.leave()
		if may != nil {
			err = may(r, v)
		}
		if err == nil {
			err = h(w, r, v)
		}
		return s.shown(w, r, v, err)
	})
}

// errWaiting is the visit of somebody who has yet to give the second factor.
var errWaiting = errors.New("the second factor was not given yet")

// visit is the visit of the user whose sign-in the browser has.
//
// Errors: users.ErrSignedOut, errWaiting.
func (s *Site) visit(r *http.Request) (*Visit, error) {
	v := s.stranger(r)
	var err error
	if v.SignIn, v.User, err = s.Uses.People.Known(r.Context(), s.Token(r)); err != nil {
		return nil, err
	}
	if v.SignIn.Waiting {
		return nil, errWaiting
	}
	v.Principal.User = v.User.ID
	v.Preview = v.User.Email
	return v, nil
}

// askWho sends whoever is not signed in to a page that asks who that is.
//
// Errors: err if it is another one.
func (s *Site) askWho(w http.ResponseWriter, r *http.Request, err error) error {
	switch {
	case errors.Is(err, users.ErrSignedOut):
		return s.ask(w, r, "/sign-in")
	case errors.Is(err, errWaiting):
		return s.ask(w, r, "/sign-in/code")
	}
	return err
}

// shown shows an error with the layout of the page.
func (s *Site) shown(w http.ResponseWriter, r *http.Request, v *Visit, err error) error {
	if err == nil {
		return nil
	}
	if base.Absent(err) {
		err = problem.New(problem.NotFound, base.NoPage)
	}
	s.failed(w, r, v, err)
	return nil
}

// failed shows an error as a page. A reply that has begun, such as a file, is cut off, so that nobody mistakes a
// part for the whole.
func (s *Site) failed(w http.ResponseWriter, r *http.Request, v *Visit, err error) {
	if !web.Begun(w) {
		s.Problem(w, r, v, err)
		return
	}
	if r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "a file of the dashboard broke off", "route", r.Pattern, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// ask sends a browser to a page that asks who the visitor is. Afterwards the browser returns to the page that
// it wanted.
func (s *Site) ask(w http.ResponseWriter, r *http.Request, path string) error {
	to := s.root + Base + path
	if wanted := r.URL.RequestURI(); r.Method == http.MethodGet && wanted != Base {
		to += "?next=" + url.QueryEscape(wanted)
	}
	s.Go(w, r, to)
	return nil
}

// Go sends a browser to another page, also if htmx asked. A link or form that htmx follows itself gets the page by the
// redirect; only if htmx requested a part of a page must the browser be told.
func (f *Frame) Go(w http.ResponseWriter, r *http.Request, to string) {
	if Partial(r) {
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// At is the address of a page below the dashboard, "" for its first one.
func (s *Site) At(path string) string { return s.root + Base + path }

// Secure reports whether the service is on https, and not on a developer's machine.
func (s *Site) Secure() bool { return s.secure }

// Carry is the query that takes the wanted page on to another page of the sign-in.
func (s *Site) Carry(r *http.Request) string {
	if wanted := r.FormValue("next"); wanted != "" {
		return "?next=" + url.QueryEscape(wanted)
	}
	return ""
}

// Language is the language of somebody who is not signed in.
func (s *Site) Language(r *http.Request) merchants.Language { return merchants.Language(languageOf(r)) }

// Next is the page to which a sign-in leads: the one that was wanted, if it is one of ours.
func (s *Site) Next(r *http.Request) string {
	wanted := r.FormValue("next")
	to, err := url.Parse(wanted)
	if err != nil || to.IsAbs() || to.Host != "" || !strings.HasPrefix(wanted, Base+"/") || strings.Contains(wanted, "\\") {
		return s.root + Base
	}
	return s.root + wanted
}

// enter completes a visit with the shop of its page.
//
// Errors: not_found if the user has no role there, and is no operator who visits it from the console.
func (s *Site) enter(r *http.Request, v *Visit) error {
	missing := problem.New(problem.NotFound, pageOutOfReach)
	environment := merchants.Environment(r.PathValue("environment"))
	if environment != merchants.Sandbox && environment != merchants.Production {
		return missing
	}
	place, err := s.Uses.People.Enters(r.Context(), v.User, v.SignIn, r.PathValue("shop"), environment == merchants.Production)
	if err != nil {
		return base.OrRefuse(err, missing)
	}
	if place.Role == "" && s.away(r) { // an operator's visit goes on where the console is, and nowhere else
		return missing
	}
	web.Owned(r.Context(), place.Merchant.ID)
	v.Scope, v.Rights, v.Role = place.Scope, place.Rights, place.Role
	v.Merchant, v.Shop, v.Shops, v.Others = place.Merchant, place.Shop, place.Shops, slices.DeleteFunc(place.Others, func(t store.Tenancy) bool { return t.Merchant.ID == place.Merchant.ID })
	v.NoSandbox = v.Merchant.SandboxOff || s.Uses.NoSandbox
	v.Path = strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, v.Home()), "/")
	return nil
}

// guard refuses what other sites' pages post, waits for the request's body, and shows errors as pages. Where arrive, which
// checkArgument the body in, returns neither a leave nor an error, it has answered.
func (s *Site) guard(arrive func(http.ResponseWriter, *http.Request) (leave func(), err error), serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return web.Recover(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.cross.Check(r); err != nil {
			s.Problem(w, r, nil, problem.New(problem.Forbidden, formOfOtherSite))
			return
		}
		err := legible(r)
		var leave func()
		if err == nil {
			leave, err = arrive(w, r)
		}
		if leave != nil {
			defer leave()
			if err == nil {
				err = legibleForm(r)
			}
			if err == nil {
				err = serve(w, r)
			}
		}
		if err != nil && r.Context().Err() == nil {
			s.failed(w, r, nil, err)
		}
	}), s.log, func(w http.ResponseWriter, r *http.Request) { s.Problem(w, r, nil, errors.New("panic")) })
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.hidden(w, r) {
		return
	}
	mux := s.rest
	if first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Base+"/"), "/"); strings.HasPrefix(first, merchants.ShopPrefix) {
		mux = s.shops
	}
	if _, pattern := mux.Handler(r); pattern == "" {
		s.lost(w, r, mux)
		return
	}
	web.Routed(mux).ServeHTTP(w, r)
}

// lost answers a request that no page matches. Whoever may not open a page gets the same answer where there is none, so that
// nobody learns which pages there are.
func (s *Site) lost(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	below := strings.Split(strings.TrimPrefix(r.URL.Path, Base+"/"), "/")
	var may permit
	switch {
	case mux == s.shops:
		r.SetPathValue("shop", below[0])
		r.SetPathValue("environment", strings.Join(below[1:min(2, len(below))], ""))
		may = s.enter
	case below[0] == "console":
		may = operates(operators.View)
	}
	s.page(may, func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if page := strings.TrimRight(r.URL.Path, "/"); r.Method == http.MethodGet && page != r.URL.Path {
			s.Go(w, r, s.root+(&url.URL{Path: page, RawQuery: r.URL.RawQuery}).RequestURI()) // somebody typed the slash
			return nil
		}
		web.Unrouted(mux, func(w http.ResponseWriter, r *http.Request) {
			s.Problem(w, r, v, problem.New(problem.NotFound, base.NoPage))
		}, func(w http.ResponseWriter, r *http.Request) {
			s.Problem(w, r, v, problem.New(problem.MethodNotAllowed, pageUsedWrongly))
		}).ServeHTTP(w, r)
		return nil
	}).ServeHTTP(w, r)
}

// Token is the token of the browser's sign-in, "" for none.
func (s *Site) Token(r *http.Request) string {
	c, err := r.Cookie(s.cookieName(""))
	if err != nil {
		return ""
	}
	return c.Value
}

// SignedIn keeps a sign-in's token in the browser.
func (s *Site) SignedIn(w http.ResponseWriter, e users.Entered) {
	s.Keep(w, "", e.Token, int(e.SignIn.EndsAt.Sub(s.Uses.Now()).Seconds()), http.SameSiteLaxMode)
}

// SignedOut removes the token.
func (s *Site) SignedOut(w http.ResponseWriter) { s.Keep(w, "", "", 0, http.SameSiteLaxMode) }

// Try makes an attempt to sign in. Failures are counted by address and by who, as those of keys are.
//
// Errors: the attempt's, rate_limited.
func (s *Site) Try(w http.ResponseWriter, r *http.Request, who string, attempt func(context.Context) error) error {
	err := s.gate.Try(w.Header(), r, "dashboard "+who, func() error { return attempt(r.Context()) })
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Code == problem.RateLimited && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", retrySoon)
	}
	if err != nil { // it is counted with those of the API
		s.Uses.Access.CredentialRefused(r.Context(), base.Principal{Address: s.gate.Peer(r)}, err)
	}
	return err
}
