package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// PaymentLinks are the shops' payment links (CHK-25). Each shopper of a link gets a session of his own.
type PaymentLinks struct {
	*base.Base
	sessions *Sessions
}

// NewPaymentLinks returns the payment links of a service.
func NewPaymentLinks(b *base.Base, sessions *Sessions) *PaymentLinks {
	return &PaymentLinks{b, sessions}
}

// NewPaymentLink is a request to make a payment link. Its strings were checked for form.
type NewPaymentLink struct {
	Amount       money.Amount // that each shopper pays, in the shop's currency; zero if the shopper types it
	Least, Most  money.Amount // of an amount that the shopper types
	Country      string       // alpha-3; "": the methods of every country
	OrderID      string
	Purchase     pay.Purchase
	ReturnURL    string
	Installments installment.Request
	Uses         int       // 0: one
	Expires      time.Time // zero: after pay.UsualLinkLife
	MerchantID   string
	ShopID       string
	Strict       *bool // header Sandbox-Strict; nil: the setting of the merchant's sandbox
	Idempotency  base.Idempotency
}

// Create makes a payment link. replayed: an earlier request with the same key had made it.
//
// Errors: as Sessions.Create about the amount and who could pay it; invalid_request for a time that is not to come, or too far.
func (ls *PaymentLinks) Create(ctx context.Context, by base.Principal, n NewPaymentLink) (l pay.PaymentLink, replayed bool, err error) {
	scope, err := ls.Narrow(ctx, by, n.MerchantID, n.ShopID)
	if err != nil {
		return l, false, err
	}
	if l, found, err := ls.earlier(ctx, scope, n.Idempotency); err != nil || found {
		return l, found, err
	}
	merchant, shop, err := ls.Tenant(ctx, base.Principal{Scope: scope})
	if err = cmp.Or(err, pay.Customer{}.Fit(n.OrderID, n.ReturnURL, n.Purchase), merchant.MayBegin(scope.Live), shop.CheckReturn(n.ReturnURL)); err != nil {
		return l, false, err
	}
	now := ls.TimeOf(scope)
	l = pay.PaymentLink{
		ID: ls.MarkedID(pay.PaymentLinkPrefix, now, n.Idempotency.Mark(ls.Vault, scope)), Scope: scope, Amount: n.Amount, Least: n.Least, Most: n.Most, Country: n.Country,
		OrderID: n.OrderID, Purchase: n.Purchase, ReturnURL: n.ReturnURL, Installments: n.Installments, Strict: merchant.StrictFor(scope.Live, n.Strict),
		Uses: max(n.Uses, 1), Expires: n.Expires,
	}
	if l.Expires.IsZero() {
		l.Expires = now.Add(pay.UsualLinkLife)
	}
	if err := cmp.Or(checkExpiry(l.Expires, now), ls.checkPayable(l, merchant.Installments)); err != nil {
		return l, false, err
	}
	l, change := l.Open(now)
	change.Once = n.Idempotency.Guard(scope, l.ID, now)
	change.Audit = ls.Audited(by.Actor(), scope, audit.LinkOpened, l.ID, nil)
	if err = ls.Commit(ctx, change, view.Cause{}); errors.Is(err, store.ErrDuplicate) { // the same request at the same time
		l, found, err := ls.earlier(ctx, scope, n.Idempotency)
		return l, found, err
	}
	return l, false, err
}

// checkExpiry returns an error for an end of a payment link that is not to come, or too far.
func checkExpiry(at, now time.Time) error {
	if !at.After(now) || at.After(now.Add(pay.LongestLinkLife)) {
		return problem.Field(problem.InvalidRequest, "expiresAt", wrongExpiry.With(int(pay.LongestLinkLife/(24*time.Hour))))
	}
	return nil
}

// checkPayable returns an error if no shopper could pay a link: neither its least nor its most, if the shopper types the amount.
func (ls *PaymentLinks) checkPayable(l pay.PaymentLink, granted installment.Grants) error {
	rate, err := ls.sessions.rates.AskedRate(l.Live, l.Currency())
	if err != nil {
		return err
	}
	payable := func(asked money.Amount) error {
		usd, err := pay.Worth(asked, rate.Rate)
		if err != nil {
			return err
		}
		return ls.sessions.checkPayable(pay.Session{
			Scope: l.Scope, Strict: l.Strict, Asked: asked, Amount: usd, Rate: rate.Rate, RateSource: rate.Source, RateAt: rate.At, Country: l.Country, Installments: l.Installments,
		}, granted)
	}
	if !l.Free() {
		return payable(l.Amount)
	}
	if _, err := pay.Worth(l.Most, rate.Rate); err != nil {
		return err
	}
	if payable(l.Most) == nil {
		return nil
	}
	return payable(l.Least)
}

// earlier returns the link of an earlier request with the same key.
func (ls *PaymentLinks) earlier(ctx context.Context, scope merchants.Scope, i base.Idempotency) (l pay.PaymentLink, found bool, err error) {
	object, found, err := ls.Earlier(ctx, scope, i)
	if err != nil || !found {
		return l, false, err
	}
	if l, err = ls.Store.PaymentLinks().Get(ctx, scope, object); err != nil {
		return l, false, base.OrRefuse(err, pay.NoLink())
	}
	return l, true, nil
}

// Get reads a shop's payment link.
//
// Errors: not_found, also for another shop's.
func (ls *PaymentLinks) Get(ctx context.Context, scope merchants.Scope, id string) (pay.PaymentLink, error) {
	return base.Named(id, pay.NoLink(), func() (pay.PaymentLink, error) { return ls.Store.PaymentLinks().Get(ctx, scope, id) })
}

// List lists a shop's payment links, newest first, with their number. An empty status selects all.
//
// Errors: invalid_request for an unknown cursor.
func (ls *PaymentLinks) List(ctx context.Context, scope merchants.Scope, status pay.LinkStatus, page lists.Page) ([]pay.PaymentLink, int64, error) {
	if err := base.Behind(page.After, func() error {
		_, err := ls.Store.PaymentLinks().Get(ctx, scope, page.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return ls.Store.PaymentLinks().List(ctx, scope, status, ls.TimeOf(scope), page)
}

// Newest is the newest payment of each of the links that is paid, or may still be.
func (ls *PaymentLinks) Newest(ctx context.Context, links []pay.PaymentLink) (map[string]string, error) {
	ids := make([]string, len(links))
	for i, l := range links {
		ids[i] = l.ID
	}
	return ls.Store.PaymentLinks().Holders(ctx, ids)
}

// LinkChange is what a shop changes in a payment link. Zero fields leave it as it is.
type LinkChange struct {
	Status  pay.LinkStatus // open or closed
	Expires time.Time
}

// Update closes a payment link, opens it again, or sets its end. Doing so twice changes nothing.
//
// Errors: not_found; conflict_state for a link that was used, or for one to be opened again whose time is over and that gets no other;
// invalid_request for a time that is not to come, or too far.
func (ls *PaymentLinks) Update(ctx context.Context, by audit.Actor, scope merchants.Scope, id string, c LinkChange) (pay.PaymentLink, error) {
	var done pay.PaymentLink
	err := base.Again(func() error {
		l, err := ls.Get(ctx, scope, id)
		if err != nil {
			return err
		}
		now, act := ls.TimeOf(scope), audit.LinkReopened
		if !c.Expires.IsZero() && !c.Expires.Equal(l.Expires) {
			if err := checkExpiry(c.Expires, now); err != nil {
				return err
			}
		}
		var change pay.Change
		switch {
		case c.Status == pay.LinkClosed:
			act = audit.LinkEnded
			done, change, err = l.Close(now)
		case c.Status == pay.LinkOpen || !c.Expires.IsZero() && l.Status(now) != pay.LinkClosed:
			if done, change, err = l.Reopen(cmp.Or(c.Expires, l.Expires), now); err != nil || len(change.PaymentLinks) == 0 {
				return err
			}
			if l.Status(now) == pay.LinkOpen {
				act = audit.LinkProlonged
			}
			merchant, _, failed := ls.Tenant(ctx, base.Principal{Scope: scope})
			err = cmp.Or(failed, merchant.MayBegin(scope.Live))
		default:
			err = &problem.Error{Code: problem.ConflictState, Reason: closedLinkHasNoEnd, Details: problem.Details{From: string(l.Status(now)), Action: "update"}}
		}
		if err != nil || len(change.PaymentLinks) == 0 {
			return err
		}
		change.Audit = ls.Audited(by, scope, act, id, map[string]string{"until": done.Expires.Format(time.RFC3339)})
		return ls.Commit(ctx, change, view.Cause{RequestID: by.Request})
	})
	return done, err
}

// Visited is a payment link as its shopper sees it.
type Visited struct {
	pay.PaymentLink
	Shop    merchants.Shop
	Now     time.Time // in the link's clock
	Status  pay.LinkStatus
	Payment string // of a link with one use: the payment that holds it; or ""
	Held    int    // how many uses are held: their payments are paid, or may still be
	Paused  bool   // the merchant begins no payment now
}

// Visit reads the payment link of an address. Its id is all that a shopper has, so no credentials are needed.
//
// Errors: not_found.
func (ls *PaymentLinks) Visit(ctx context.Context, id string) (v Visited, err error) {
	v.PaymentLink, err = base.Named(id, pay.NoLink(), func() (pay.PaymentLink, error) { return ls.Store.PaymentLinks().Any(ctx, id) })
	if err != nil {
		return v, err
	}
	if err := ls.Sandboxes.MayEnter(ctx, v.Scope); err != nil {
		return v, err
	}
	merchant, shop, err := ls.Tenant(ctx, base.Principal{Scope: v.Scope})
	if err != nil {
		return v, err
	}
	v.Shop, v.Now, v.Paused = shop, ls.TimeOf(v.Scope), merchant.MayBegin(v.Live) != nil
	v.Status = v.PaymentLink.Status(v.Now)
	if v.Uses == 1 {
		v.Payment, err = ls.sessions.occupant(ctx, v.PaymentLink)
		return v, err
	}
	v.Held, err = ls.Store.PaymentLinks().Held(ctx, v.ID)
	return v, err
}

// Begin opens the session of a shopper of a payment link, and returns its token. typed is the amount that the shopper typed, for a link
// that has none.
//
// Errors: not_found; conflict_state if the link cannot be paid now; those of Sessions.Create about the amount.
func (ls *PaymentLinks) Begin(ctx context.Context, id string, customer pay.Customer, typed money.Amount) (token string, err error) {
	v, err := ls.Visit(ctx, id)
	if err != nil {
		return "", err
	}
	asked, err := v.Asks(typed)
	if err != nil {
		return "", err
	}
	merchant, _, err := ls.Tenant(ctx, base.Principal{Scope: v.Scope})
	if err = cmp.Or(err, customer.Fit("", "", pay.Purchase{}), merchant.MayBegin(v.Live)); err != nil {
		return "", err
	}
	if v.Payment != "" {
		return "", v.PaymentLink.Held(v.Payment)
	}
	if err := v.Choosable(v.Held, v.Now); err != nil {
		return "", err
	}
	_, token, err = ls.sessions.openSession(ctx, pay.Session{
		Scope: v.Scope, Strict: v.Strict, Asked: asked, Country: v.Country, Customer: customer, OrderID: v.OrderID, Purchase: v.Purchase, ReturnURL: v.ReturnURL,
		Installments: v.Installments, Link: v.ID,
	}, merchant.Installments, base.Idempotency{})
	return token, err
}

// occupant is the payment that holds the only use of a link, or that has money of it though it ended: nobody may pay again. "" if there is
// none.
func (ss *Sessions) occupant(ctx context.Context, l pay.PaymentLink) (string, error) {
	uses, err := ss.Store.PaymentLinks().LastUses(ctx, l.ID, maxTries)
	if err != nil {
		return "", err
	}
	var ended []string
	for _, u := range uses {
		if u.Status != pay.UseFree {
			return u.Payment(), nil
		}
		ended = append(ended, u.Payment())
	}
	if len(ended) == 0 {
		return "", nil
	}
	list, err := ss.Store.Payments().ByID(ctx, ended)
	if i := slices.IndexFunc(list, func(p pay.Payment) bool { return p.Holds() }); err == nil && i >= 0 {
		return list[i].ID, nil
	}
	return "", err
}

// useLink adds to the change that makes the payment of a session that it holds a use of the session's payment link.
//
// Errors: conflict_state if the link has ended or has no use left; if it has only one, details.existingTxId is the payment that holds it.
func (ss *Sessions) useLink(ctx context.Context, s pay.Session, p pay.Payment, change pay.Change, now time.Time) (pay.Change, error) {
	l, err := ss.Store.PaymentLinks().Any(ctx, s.Link)
	if err != nil {
		return change, base.OrRefuse(err, pay.NoSession())
	}
	if l.Uses == 1 {
		payment, err := ss.occupant(ctx, l)
		if err != nil || payment != "" {
			return change, cmp.Or(err, l.Held(payment))
		}
	}
	held, err := ss.Store.PaymentLinks().Held(ctx, l.ID)
	if err != nil {
		return change, err
	}
	return l.Use(p, held, change, now)
}

// linkEnded reports whether a payment's shopper cannot choose again because the payment link through which he came is not open.
func (ss *Sessions) linkEnded(ctx context.Context, p pay.Payment) (bool, error) {
	if p.Order.Link == "" {
		return false, nil
	}
	l, err := ss.Store.PaymentLinks().Any(ctx, p.Order.Link)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return err == nil && l.Status(ss.TimeOf(p.Scope)) != pay.LinkOpen, err
}

// Step counts payments of payment links that were paid, and announces the end of links, each with its event. It returns how many it
// leased. Doing one twice is harmless.
func (ls *PaymentLinks) Step(ctx context.Context) (int, error) {
	now := ls.Now()
	uses, err := ls.Store.PaymentLinks().LeaseUses(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	var failed []error // one that fails holds up no other
	for _, u := range uses {
		if err := ls.count(ctx, u); err != nil {
			failed = append(failed, fmt.Errorf("count the payment %s of payment link %s: %w", u.Payment(), u.Link, err))
		}
	}
	ended, err := ls.Store.PaymentLinks().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	failed = append(failed, err)
	for _, l := range ended {
		// Stale: another request changed the link at the last moment.
		if err := ls.Commit(ctx, l.End(ls.TimeOf(l.Scope)), view.Cause{}); err != nil && !errors.Is(err, store.ErrStale) {
			failed = append(failed, fmt.Errorf("end payment link %s: %w", l.ID, err))
		}
	}
	return len(uses) + len(ended), errors.Join(failed...)
}

// count counts a paid payment. Shoppers who choose change the link's version all the time: on this node they wait meanwhile.
func (ls *PaymentLinks) count(ctx context.Context, u pay.LinkUse) error {
	done, err := ls.sessions.links.Lock(ctx, u.Link)
	if err != nil {
		return err
	}
	defer done()
	return base.Again(func() error {
		l, err := ls.Store.PaymentLinks().Any(ctx, u.Link)
		if err != nil {
			return err
		}
		p, err := ls.Store.Payments().Any(ctx, u.Payment())
		if err != nil {
			return err
		}
		now, err := ls.Store.PaymentLinks().Use(ctx, u.ID)
		if err != nil || now.DueAt.IsZero() { // counted meanwhile
			return err
		}
		return ls.Commit(ctx, l.Count(now, p, ls.TimeOf(l.Scope)), view.Cause{})
	})
}
