package payments

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/plans"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/work"
)

// Sessions are checkouts, in which a shopper chooses a way to pay.
type Sessions struct {
	*base.Base
	offer
	catalog *appaccounts.Catalog
	links   work.Turns // by payment link: choices of a method
}

// NewSessions returns the checkouts of a service.
func NewSessions(b *base.Base, rates *apprates.Rates, providers *appaccounts.Providers, methods *methods.Methods, plans *plans.Plans, c *cascade.Cascade, catalog *appaccounts.Catalog) *Sessions {
	return &Sessions{Base: b, offer: offer{rates, providers, methods, plans, c}, catalog: catalog}
}

// NewSession is a request to create a checkout session (CHK-4). Its strings were checked.
type NewSession struct {
	Amount       money.Amount // in the shop's currency
	Country      string       // alpha-3; "": the methods of every country
	Customer     pay.Customer
	OrderID      string
	Purchase     pay.Purchase
	ReturnURL    string
	Installments installment.Request
	MerchantID   string
	ShopID       string
	Strict       *bool // header Sandbox-Strict; nil: the setting of the merchant's sandbox
	Idempotency  base.Idempotency
}

// Create opens a checkout session and returns its token. replayed: an earlier request with the same
// key had made it.
//
// Errors: unsupported_currency if no rate is known, service_unavailable if no rate can be relied
// on, amount_invalid, amount_above_maximum; cascade_exhausted and amount_out_of_limits if no
// shopper could pay it; forbidden if the merchant is paused.
func (ss *Sessions) Create(ctx context.Context, by base.Principal, n NewSession) (s pay.Session, token string, replayed bool, err error) {
	scope, err := ss.Narrow(ctx, by, n.MerchantID, n.ShopID)
	if err != nil {
		return s, "", false, err
	}
	if s, found, err := ss.earlierSession(ctx, scope, n.Idempotency); err != nil || found {
		return s, ss.SessionToken(s.ID), found, err
	}
	merchant, shop, err := ss.Tenant(ctx, base.Principal{Scope: scope})
	if err = cmp.Or(err, n.Customer.Fit(n.OrderID, n.ReturnURL, n.Purchase), merchant.MayBegin(scope.Live), shop.CheckReturn(n.ReturnURL)); err != nil {
		return s, "", false, err
	}
	strict := merchant.StrictFor(scope.Live, n.Strict)
	if strict {
		shopper := pay.Buyer{Email: n.Customer.Email, Phone: n.Customer.Phone}
		if err := sandbox.Rehearse(shopper, accounts.Rail{}, "customer.email", "", "customer.phone"); err != nil {
			return s, "", false, err
		}
	}
	s, token, err = ss.openSession(ctx, pay.Session{
		Scope: scope, Strict: strict, Asked: n.Amount, Country: n.Country, Customer: n.Customer, OrderID: n.OrderID, Purchase: n.Purchase, ReturnURL: n.ReturnURL,
		Installments: n.Installments,
	}, merchant.Installments, n.Idempotency)
	if errors.Is(err, store.ErrDuplicate) { // the same request at the same time
		s, found, err := ss.earlierSession(ctx, scope, n.Idempotency)
		return s, ss.SessionToken(s.ID), found, err
	}
	return s, token, false, err
}

// openSession writes a session with an id, a rate and a token.
func (ss *Sessions) openSession(ctx context.Context, s pay.Session, granted installment.Grants, i base.Idempotency) (pay.Session, string, error) {
	rate, err := ss.rates.AskedRate(s.Live, s.Asked.Currency)
	if err != nil {
		return s, "", err
	}
	now := ss.TimeOf(s.Scope)
	s.ID, s.Rate, s.RateSource, s.RateAt = ss.MarkedID(pay.SessionPrefix, now, i.Mark(ss.Vault, s.Scope)), rate.Rate, rate.Source, rate.At
	token := ss.SessionToken(s.ID)
	s.Hash = ss.Vault.Hash(token)
	s, change, err := s.Open(now)
	if err != nil {
		return s, "", err
	}
	if s.After == "" { // a shopper who tries again sees it on the page
		if err := ss.checkPayable(s, granted); err != nil {
			return s, "", err
		}
	}
	change.Once = i.Guard(s.Scope, s.ID, now)
	return s, token, ss.Commit(ctx, change, view.Cause{})
}

// RetryPayment opens the session in which a shopper tries again to pay for an order whose hosted
// payment was not paid, and returns its token. Each payment has at most one such session, so a
// second click does not pay twice.
//
// Errors: transaction_not_found, conflict_state if there is nothing to try again, and those of
// Create.
func (ss *Sessions) RetryPayment(ctx context.Context, id string) (token string, err error) {
	if !base.Storable(id) {
		return "", problem.New(problem.TransactionNotFound, base.NoPayment)
	}
	p, err := ss.Store.Payments().Any(ctx, id)
	if err != nil {
		return "", base.OrRefuse(err, problem.New(problem.TransactionNotFound, base.NoPayment))
	}
	if err := ss.Sandboxes.MayEnter(ctx, p.Scope); err != nil {
		return "", err
	}
	if err := ss.paidFor(ctx, p.ID); err != nil {
		return "", err
	}
	asked, country, installments := p.Price.Requested(), p.Way.Country, askedOf(p)
	switch before, err := ss.Store.Sessions().Of(ctx, p.ID); {
	case err == nil:
		asked, country, installments = before.Asked, before.Country, before.Installments
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	next, err := pay.SessionAfter(p, asked, country)
	if err != nil {
		return "", err
	}
	merchant, _, err := ss.Tenant(ctx, base.Principal{Scope: p.Scope})
	if err = cmp.Or(err, merchant.MayBegin(p.Live)); err != nil {
		return "", err
	}
	next.Installments, next.Strict = installments, !p.Live && p.Script.Strict || merchant.StrictFor(p.Live, nil)
	once := againOnce(p.ID)
	for range 2 {
		s, found, err := ss.earlierSession(ctx, p.Scope, once)
		if err != nil || found {
			return ss.SessionToken(s.ID), err
		}
		_, token, err := ss.openSession(ctx, next, merchant.Installments, once)
		if !errors.Is(err, store.ErrDuplicate) {
			return token, err
		}
	}
	return "", errors.New("a session that exists cannot be read")
}

// Follow returns the session in which the customer chooses now, with its token. If the session's
// payment was called off to choose another way to pay, that is the session opened then, and so on;
// else it is s.
func (ss *Sessions) Follow(ctx context.Context, s pay.Session, token string) (pay.Session, string, error) {
	for range maxTries {
		if s.Payment == "" {
			return s, token, nil
		}
		p, err := ss.Store.Payments().Any(ctx, s.Payment)
		if err != nil || !p.End.WayChanged() {
			return s, token, err
		}
		next, found, err := ss.earlierSession(ctx, p.Scope, againOnce(p.ID))
		if err != nil || !found || next.Resolve(ss.TimeOf(next.Scope)) != nil {
			return s, token, err
		}
		s, token = next, ss.SessionToken(next.ID)
	}
	return s, token, nil
}

// againOnce is the key that gives a payment one session to try again. It has no hash, so it is
// never forgotten.
func againOnce(payment string) base.Idempotency {
	return base.Idempotency{Route: "again", Key: payment}
}

// EndedSession reads a session whose token is no longer valid, with its shop, so that its page can
// lead the customer back there. found is false if there is none.
func (ss *Sessions) EndedSession(ctx context.Context, token string) (s pay.Session, shop merchants.Shop, found bool, err error) {
	if !strings.HasPrefix(token, pay.SessionTokenPrefix) {
		return s, shop, false, nil
	}
	s, err = ss.Store.Sessions().ByHash(ctx, ss.Vault.Hash(token))
	if errors.Is(err, store.ErrNotFound) {
		return s, shop, false, nil
	}
	if err == nil {
		_, shop, err = ss.Tenant(ctx, base.Principal{Scope: s.Scope})
	}
	return s, shop, err == nil, err
}

// EncryptTyped encrypts what a customer typed wrongly, for the address of the page that reports the
// error. about is the session's token.
func (ss *Sessions) EncryptTyped(about string, typed []byte) string {
	return base64.RawURLEncoding.EncodeToString(ss.Vault.Encrypt("typed at "+about, typed))
}

// OpenTyped decrypts the text of EncryptTyped; false for anything else.
func (ss *Sessions) OpenTyped(about, encrypted string) ([]byte, bool) {
	text, err := base64.RawURLEncoding.DecodeString(encrypted)
	if err != nil {
		return nil, false
	}
	typed, err := ss.Vault.Decrypt("typed at "+about, text)
	return typed, err == nil
}

// earlierSession returns the session of an earlier request with the same key.
func (ss *Sessions) earlierSession(ctx context.Context, scope merchants.Scope, i base.Idempotency) (s pay.Session, found bool, err error) {
	object, found, err := ss.Earlier(ctx, scope, i)
	if err != nil || !found {
		return s, false, err
	}
	if s, err = ss.Store.Sessions().Get(ctx, scope, object); err != nil { // the session was deleted after its retention
		return s, false, base.OrRefuse(err, pay.NoSession())
	}
	return s, true, nil
}

// named reads what a token names, valid or not: a session, or the hosted payment whose id it is.
//
// Errors: store.ErrNotFound.
func (ss *Sessions) named(ctx context.Context, token string) (s pay.Session, err error) {
	switch {
	case strings.HasPrefix(token, pay.SessionTokenPrefix):
		s, err = ss.Store.Sessions().ByHash(ctx, ss.Vault.Hash(token))
	case strings.HasPrefix(token, pay.PaymentPrefix) && base.Storable(token):
		var p pay.Payment
		if p, err = ss.Store.Payments().Any(ctx, token); err == nil {
			var hosted bool
			if s, hosted = pay.SessionOf(p); !hosted {
				err = store.ErrNotFound
			}
		}
	default:
		err = store.ErrNotFound
	}
	return s, err
}

// session is named for a token that is valid.
//
// Errors: checkout_session_not_found.
func (ss *Sessions) session(ctx context.Context, token string) (pay.Session, error) {
	s, err := ss.named(ctx, token)
	if err != nil {
		return s, base.OrRefuse(err, pay.NoSession())
	}
	if err := ss.Sandboxes.MayEnter(ctx, s.Scope); err != nil {
		return s, err
	}
	return s, s.Resolve(ss.TimeOf(s.Scope))
}

// SessionMethods lists the methods that a session's customer may choose: the routable rails of its
// country, or of all. In the sandbox every method works in every country, so a country without test
// methods offers all of them; a rail of a provider's own test environment works in its country alone.
func (ss *Sessions) SessionMethods(s pay.Session) []accounts.Rail {
	list, _ := ss.methods.RailList(s.Scope, methods.Filter{Country: s.Country})
	if len(list) == 0 && !s.Live && !s.Strict {
		list, _ = ss.methods.RailList(s.Scope, methods.Filter{})
		list = slices.DeleteFunc(list, func(r methods.ListedRail) bool { return len(ss.methods.Serving(s.Scope, r.Rail)) > 0 })
	}
	rails := make([]accounts.Rail, 0, len(list))
	for _, r := range list {
		if r.Unroutable == "" {
			rails = append(rails, r.Rail)
		}
	}
	return rails
}

// SessionAmount is what a session's customer would pay over a rail, and whether the rail's limits
// and a provider's own rules allow it.
func (ss *Sessions) SessionAmount(s pay.Session, rail accounts.Rail) (local money.Amount, allowed bool) {
	q, err := ss.quote(s, rail.ID)
	if err != nil {
		return q.Local, false
	}
	limit, ok := q.Rail.LimitIn(q.Local.Currency)
	return q.Local, ok && limit.Min <= q.Local.Minor && q.Local.Minor <= limit.Max && ss.methods.Accepts(q)
}

// SessionFee is what a session's order costs the merchant over a rail, by its price plan in force, in the currency that the shopper pays
// in: for display, no money is made of it (CHK-16). It is zero for an order that is no payment.
func (ss *Sessions) SessionFee(ctx context.Context, s pay.Session, m merchants.Merchant, rail accounts.Rail, local money.Amount) money.Amount {
	none := money.New(0, local.Currency)
	usd, err := pay.Worth(s.Asked, s.Rate)
	if err != nil || usd.Minor == 0 {
		return none
	}
	terms, err := ss.plans.For(ctx, s.Scope, m, rail)
	if err != nil {
		ss.Quiet.WarnSometimes(ctx, "the fee of a method cannot be shown", m.ID, "error", err)
		return none
	}
	fees, _ := terms.Charge(merchants.Charged{USD: usd, Cost: rail.Fee, Converted: local.Currency != money.USD})
	return money.New(int64(math.Round(float64(fees.Total())/float64(usd.Minor)*float64(local.Minor))), local.Currency)
}

// quote prices a session's order over a method.
func (ss *Sessions) quote(s pay.Session, method string) (methods.Quote, error) {
	return ss.methods.Quote(s.Scope, methods.Wanted{
		Amount: s.Asked, Rate: rates.Reading{Currency: s.Asked.Currency, Rate: s.Rate, Source: s.RateSource, At: s.RateAt},
		MethodID: method, Country: s.Country, Strict: s.Strict,
	})
}

// Choice is a customer's choice of a method (CHK-9).
type Choice struct {
	PaymentMethodID string
	Typed           pay.Buyer // what the customer typed, and the address of the request
	Lang            string    // language of the pages, if the customer chose one
	RequestID       string
}

// SelectMethod makes the payment that a session's customer chose. If several requests choose at
// once, one makes a payment, and the session is locked to it in the same commit. A payment that
// fails later leaves the session locked (CHK-9). An error before that leaves it open.
//
// Errors: checkout_session_not_found, checkout_session_already_completed, and those of
// Payments.Create.
func (ss *Sessions) SelectMethod(ctx context.Context, token string, c Choice) (pay.Session, pay.Payment, error) {
	var s pay.Session
	var p pay.Payment
	var routes pay.Cascade
	cause := view.Cause{RequestID: c.RequestID}
	typed := []problem.Text{{Param: "customer.email", Text: c.Typed.Email, Most: pay.MaxEmail}, {Param: "customer.fullName", Text: c.Typed.Name, Most: pay.MaxBuyerName},
		{Param: "customer.phone", Text: c.Typed.Phone, Most: pay.MaxPhone}, {Param: "customer.documentId", Text: c.Typed.Document, Most: pay.MaxDocument}}
	if err := problem.Fit(typed...); err != nil {
		return s, p, err
	}
	err := base.Again(func() error {
		read, err := ss.session(ctx, token)
		if err != nil {
			return err
		}
		if err := ss.MayMoveMoney(); err != nil {
			return err
		}
		now := ss.TimeOf(read.Scope)
		if err := read.Choosable(now); err != nil {
			return err
		}
		order, err := ss.sessionOrder(ctx, read, c, now)
		if err != nil {
			return err
		}
		created, err := pay.Create(order, now)
		if err != nil {
			return err
		}
		routes = ss.providers.Routes(created)
		if routes.By, err = ss.Store.Hold(ctx); err != nil {
			return err
		}
		created, change, _, err := ss.cascade.Begin(ctx, created, ss.chosenMark(read), routes, now)
		if err != nil {
			return err
		}
		if read.Link != "" {
			done, err := ss.links.Lock(ctx, read.Link)
			if err != nil {
				return err
			}
			defer done()
			if change, err = ss.useLink(ctx, read, created, change, now); err != nil {
				return err
			}
		}
		locked, change := read.Lock(created, change, now)
		err = ss.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrUnknown) {
			ss.cascade.Adopt(created, routes, cause)
		}
		if err != nil {
			return err
		}
		s, p = locked, created
		return nil
	})
	if err != nil {
		return s, p, err
	}
	// From here we must finish the payment, even if the customer no longer waits.
	p, err = ss.cascade.Start(context.WithoutCancel(ctx), p, routes, cause)
	return s, p, err
}

// sessionOrder is the order with the chosen method.
func (ss *Sessions) sessionOrder(ctx context.Context, s pay.Session, c Choice, now time.Time) (pay.Order, error) {
	q, err := ss.quote(s, c.PaymentMethodID)
	if err != nil {
		return pay.Order{}, err
	}
	if limit, ok := q.Rail.LimitIn(q.Local.Currency); ok && limit.Check(q.Local) == nil && !ss.methods.Accepts(q) {
		return pay.Order{}, limit.Untaken(q.Local)
	}
	merchant, _, err := ss.Tenant(ctx, base.Principal{Scope: s.Scope})
	if err = cmp.Or(err, merchant.MayBegin(s.Live)); err != nil {
		return pay.Order{}, err
	}
	buyer, purchase, opened := s.Buyer(c.Typed), s.Purchase, s.CreatedAt
	if s.After != "" {
		if err := ss.paidFor(ctx, s.After); err != nil {
			return pay.Order{}, err
		}
		before, err := ss.Store.Payments().Any(ctx, s.After)
		if err != nil {
			return pay.Order{}, err
		}
		// The funnel counts a checkout once it is opened. A payment whose method the shop chose opened none.
		buyer, purchase, opened = before.Order.Buyer.Or(buyer), before.Order.Purchase, before.Page.Opened
	}
	if s.Strict {
		if err := sandbox.Rehearse(buyer, q.Rail, "customer.email", "customer.documentId", "customer.phone"); err != nil {
			return pay.Order{}, err
		}
	}
	offered, _ := ss.methods.Installments(s.Scope, merchant.Installments, s.Installments, q)
	if noPage(s.Live, s.Strict, s.Installments) {
		offered = installment.Terms{}
	}
	terms, reserved, err := ss.plans.Agreed(ctx, s.Scope, merchant, q.Rail)
	if err != nil {
		return pay.Order{}, err
	}
	return pay.Order{
		ID: ss.MarkedID(pay.PaymentPrefix, now, ss.chosenMark(s)), Script: pay.Script{Strict: s.Strict}, Scope: s.Scope, Amount: s.Amount, Asked: s.Asked, Local: q.Local, Rail: q.Rail,
		Rate: q.Rate.Rate, RateSource: q.Rate.Source, RateAt: q.Rate.At,
		Country: q.Country, OrderID: s.OrderID, Buyer: buyer, Purchase: purchase, Hosted: true, Opened: opened, ReturnURL: s.ReturnURL, Lang: c.Lang,
		Terms: terms, Reserved: reserved, After: s.After, Link: s.Link, Installments: offered,
	}, nil
}

// ExpireSessions ends checkouts in which no method was chosen in time, with an event. It returns
// how many it leased. Ending one twice is harmless.
func (ss *Sessions) ExpireSessions(ctx context.Context) (int, error) {
	now := ss.Now()
	due, err := ss.Store.Sessions().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	for _, s := range due {
		// Stale: a method was chosen at the last moment.
		if err := ss.Commit(ctx, s.Expire(ss.TimeOf(s.Scope)), view.Cause{}); err != nil && !errors.Is(err, store.ErrStale) {
			return len(due), fmt.Errorf("expire checkout session %s: %w", s.ID, err)
		}
	}
	return len(due), nil
}

const (
	// sessionRetention is how long a session and its customer's data are kept. It is longer than an
	// Idempotency-Key may be repeated.
	sessionRetention = 30 * 24 * time.Hour
	purgeBatch       = 500
	// PurgeEvery is how often sessions are purged: an hour is nothing beside their retention.
	PurgeEvery = time.Hour
)

// PurgeSessions deletes sessions after their retention. Their payments stay.
func (ss *Sessions) PurgeSessions(ctx context.Context) (int, error) {
	return ss.Store.Sessions().Purge(ctx, id.From(pay.SessionPrefix, ss.Now().Add(-sessionRetention)), purgeBatch)
}

// chosenMark is the mark of the payment that a session's customer makes. It is derived from the
// mark at the end of the session's id, so that the same request for a session leads to the same mark.
func (ss *Sessions) chosenMark(s pay.Session) base.Mark {
	mark, ok := id.MarkOf(s.ID)
	if !ok {
		return ""
	}
	return base.MarkAbout(ss.Vault, "chosen|"+mark)
}
