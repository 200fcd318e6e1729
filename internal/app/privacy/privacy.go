// Package privacy deletes personal data after its retention, and exports or erases a shopper's
// data. The books stay complete.
package privacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Privacy deletes personal data after its retention, and exports or erases a shopper's data.
type Privacy struct {
	*base.Base
	retention Retention
}

// New returns the Privacy of a service; keep has the retention periods.
func New(b *base.Base, keep Retention) *Privacy {
	return &Privacy{Base: b, retention: keep}
}

// ErrUnread says that rows cannot be read, so it is not known whether they are the shopper's.
var ErrUnread = errors.New("rows cannot be read, and it is not known whose they are")

// Shopper identifies a shopper: one of a merchant's shoppers by one or more fields, or the shopper
// of one payment. All fields that are set must match.
type Shopper struct {
	Merchant string // mer_…
	Email    string // case does not matter
	Document string // only digits and letters count
	Phone    string // only digits count
	Payment  string // TXN-…; then the merchant may be empty
}

// ShopperData is all data about a shopper.
type ShopperData struct {
	Payments []ShopperPayment
	Sessions []pay.Session // checkouts without a payment
}

// ShopperPayment is a payment with the data that belongs to it.
type ShopperPayment struct {
	pay.Payment
	Claims   []pay.Claim
	Files    []pay.File
	Receipts []pay.KeptNotice // the providers' notices
}

// check returns an error for a missing field.
func (s Shopper) check() error {
	if s.Payment != "" {
		return nil
	}
	if s.Merchant == "" {
		return problem.Field(problem.MissingField, "merchant", shopperNeedsMerchant)
	}
	if fold(s.Email) == "" && plain(s.Document) == "" && digits(s.Phone) == "" {
		return problem.Field(problem.MissingField, "email", shopperUnnamed)
	}
	return nil
}

// fits reports whether the fields match the shopper.
func (s Shopper) fits(email, document, phone string) bool {
	return (s.Email == "" || fold(s.Email) == fold(email)) && (s.Document == "" || plain(s.Document) == plain(document)) &&
		(s.Phone == "" || digits(s.Phone) == digits(phone))
}

func fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// plain is a document number without dots, dashes and slashes.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// shopperOf finds the payments and the checkouts of a shopper. It searches all of the merchant's:
// checkouts first, because one that becomes a payment meanwhile is then found as a payment.
//
// Errors: ErrUnread, with what was found.
func (pv *Privacy) shopperOf(ctx context.Context, who Shopper) (payments []string, sessions []pay.Session, err error) {
	if err := who.check(); err != nil {
		return nil, nil, err
	}
	merchant := who.Merchant
	if who.Payment != "" {
		p, err := pv.Store.Payments().Any(ctx, who.Payment)
		if err != nil {
			return nil, nil, fmt.Errorf("payment %s: %w", who.Payment, err)
		}
		if who.Merchant != "" && who.Merchant != p.Merchant || !who.fits(p.Order.Buyer.Email, p.Order.Buyer.Document, p.Order.Buyer.Phone) {
			return nil, nil, fmt.Errorf("payment %s of that shopper: %w", who.Payment, store.ErrNotFound)
		}
		merchant, payments = p.Merchant, []string{p.ID}
	}
	if _, err := pv.AnyMerchant(ctx, merchant); err != nil {
		return nil, nil, err
	}
	var open []pay.Session
	unread, err := pv.Store.Sessions().Each(ctx, merchant, func(s pay.Session) {
		if s.Payment == "" {
			open = append(open, s)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if who.Payment == "" {
		some, err := pv.Store.Payments().Each(ctx, merchant, func(p pay.Payment) {
			if p.Times.Erased.IsZero() && who.fits(p.Order.Buyer.Email, p.Order.Buyer.Document, p.Order.Buyer.Phone) && !slices.Contains(payments, p.ID) {
				payments = append(payments, p.ID)
			}
		})
		if err != nil {
			return nil, nil, err
		}
		unread = append(unread, some...)
	}
	for _, s := range open {
		c := s.Customer
		// A checkout in which the shopper chose again has the shopper's address, but not the name.
		if slices.Contains(payments, s.After) || who.Payment == "" && who.fits(c.Email, c.Document, c.Phone) {
			sessions = append(sessions, s)
		}
	}
	if len(unread) > 0 {
		err = fmt.Errorf("%w: %s", ErrUnread, strings.Join(unread, ", "))
	}
	return payments, sessions, err
}

// ExportShopper returns all data about a shopper, for a person with a right to it. The audit log
// records the export.
//
// Errors: missing_field; store.ErrNotFound for a merchant or payment that does not exist;
// ErrUnread, with what was found.
func (pv *Privacy) ExportShopper(ctx context.Context, by audit.Actor, who Shopper) (ShopperData, error) {
	payments, sessions, err := pv.shopperOf(ctx, who)
	if err != nil && !errors.Is(err, ErrUnread) {
		return ShopperData{}, err
	}
	failures := []error{err}
	found := ShopperData{Sessions: sessions}
	var entries []audit.Entry
	for _, id := range payments {
		p, err := pv.shopperPayment(ctx, id)
		if err != nil {
			failures = append(failures, fmt.Errorf("%w: payment %s: %w", ErrUnread, id, err))
		}
		if p.ID == "" { // not even the payment could be read
			continue
		}
		found.Payments = append(found.Payments, p)
		entries = append(entries, pv.Audited(by, p.Scope, audit.ShopperExported, p.ID, nil)...)
	}
	for _, s := range sessions {
		entries = append(entries, pv.Audited(by, s.Scope, audit.ShopperExported, s.ID, nil)...)
	}
	for some := range slices.Chunk(entries, forgetBatch) {
		if err := pv.Store.Commit(ctx, pay.Change{Audit: some}); err != nil {
			return ShopperData{}, err
		}
	}
	return found, errors.Join(failures...)
}

// shopperPayment reads a payment with the data that belongs to it. If some of it cannot be read,
// the rest is returned with an error.
func (pv *Privacy) shopperPayment(ctx context.Context, id string) (p ShopperPayment, err error) {
	if p.Payment, err = pv.Store.Payments().Any(ctx, id); err != nil {
		return p, err
	}
	var failures []error
	p.Claims, err = pv.Store.Claims().Of(ctx, []string{id})
	failures = append(failures, err)
	for _, c := range p.Claims {
		for _, e := range c.Evidence {
			if e.File == nil {
				continue
			}
			f, err := pv.Store.Claims().File(ctx, c.Scope, c.ID, e.ID)
			switch {
			case err == nil:
				p.Files = append(p.Files, f)
			case !errors.Is(err, store.ErrNotFound): // not found: it was erased
				failures = append(failures, fmt.Errorf("file of %s: %w", e.ID, err))
			}
		}
	}
	p.Receipts, err = pv.Store.Notices().Of(ctx, id)
	return p, errors.Join(append(failures, err)...)
}

// Erased says what was erased, what was not, and why.
type Erased struct {
	Payments, Sessions []string
	Kept               map[string]problem.Reason // payment → why
}

// errNothingLeft says that a payment has no data of its shopper any more.
var errNothingLeft = errors.New("its shopper was erased already")

// EraseShopper removes a shopper from payments that have ended, with everything that belongs to
// them: evidence, files, notices, checkouts. Amounts, states and times stay, and so do the books
// and the hash chains. Payments that have not ended are kept. With dry it only says what it would
// do.
//
// Errors: missing_field; store.ErrNotFound for a merchant or payment that does not exist. Whatever
// can be erased is erased, also with another error.
func (pv *Privacy) EraseShopper(ctx context.Context, by audit.Actor, who Shopper, dry bool) (done Erased, err error) {
	done.Kept = map[string]problem.Reason{}
	payments, sessions, err := pv.shopperOf(ctx, who)
	if err != nil && !errors.Is(err, ErrUnread) {
		return done, err
	}
	failures := []error{err}
	erase := func(id string) {
		err := pv.erasePayment(ctx, &by, id, dry)
		refusal, refused := errors.AsType[*problem.Error](err)
		switch {
		case err == nil:
			done.Payments = append(done.Payments, id)
		case refused && refusal.Code == problem.ConflictState:
			done.Kept[id] = refusal.Reason
		case !errors.Is(err, errNothingLeft):
			failures = append(failures, fmt.Errorf("payment %s: %w", id, err))
		}
	}
	for _, id := range payments {
		erase(id)
	}
	for _, s := range sessions {
		payment, err := pv.eraseSession(ctx, by, s, dry)
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("checkout %s: %w", s.ID, err))
		case payment != "":
			erase(payment)
		default:
			done.Sessions = append(done.Sessions, s.ID)
		}
	}
	return done, errors.Join(failures...)
}

// eraseSession deletes a checkout without a payment. If it got a payment meanwhile, that is
// returned.
func (pv *Privacy) eraseSession(ctx context.Context, by audit.Actor, s pay.Session, dry bool) (payment string, err error) {
	if !dry {
		change := pay.Change{Erasure: &pay.Erasure{Sessions: []string{s.ID}}, Audit: pv.Audited(by, s.Scope, audit.ShopperErased, s.ID, nil)}
		if err := pv.Store.Commit(ctx, change); err != nil {
			return "", err
		}
	}
	read, err := pv.Store.Sessions().Get(ctx, s.Scope, s.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return read.Payment, err
}

// erasePayment removes the shopper from a payment, and the data that belongs to it. For a payment
// that was erased before, it removes data that came since. by is nil if the retention is over: then
// the payment itself records it.
//
// Errors: conflict_state if something about it has not ended, errNothingLeft.
func (pv *Privacy) erasePayment(ctx context.Context, by *audit.Actor, id string, dry bool) error {
	return base.Again(func() error {
		p, err := pv.Store.Payments().Any(ctx, id)
		if err != nil {
			return err
		}
		next, err := p.Erase(pv.Now())
		if err != nil {
			return err
		}
		change := pay.Change{Payments: []pay.Payment{next}, Erasure: &pay.Erasure{Payments: []string{id}, Notes: []string{id}}}
		words, err := pv.eraseTold(ctx, id, &change)
		if err != nil {
			return err
		}
		named, err := pv.eraseLink(ctx, p, &change)
		if err != nil {
			return err
		}
		if !p.Times.Erased.IsZero() && !words && !named {
			return errNothingLeft
		}
		if by != nil {
			change.Audit = pv.Audited(*by, p.Scope, audit.ShopperErased, id, nil)
		}
		if dry {
			return nil
		}
		return pv.Store.Commit(ctx, change)
	})
}

// eraseTold adds to a change the removal of personal data from notices, claims and events of a
// payment. It returns whether there was any.
//
// Errors: conflict_state if something has not ended.
func (pv *Privacy) eraseTold(ctx context.Context, payment string, change *pay.Change) (found bool, err error) {
	receipts, err := pv.Store.Notices().Of(ctx, payment)
	if err != nil {
		return false, err
	}
	for _, n := range receipts {
		if n.Verdict == pay.Mismatched && !slices.ContainsFunc(receipts, func(r pay.KeptNotice) bool { return r.Closes(n) }) {
			return false, problem.New(problem.ConflictState, keptForNotification.With(n.ID))
		}
		found = found || len(n.Body) > 0
		change.Erasure.Notes = append(change.Erasure.Notes, n.ID)
	}
	claims, err := pv.Store.Claims().Of(ctx, []string{payment})
	if err != nil {
		return false, err
	}
	var words []string
	for _, c := range claims {
		some, err := pv.eraseClaim(ctx, c, change)
		if err != nil {
			return false, err
		}
		words = append(words, some...)
	}
	return found || len(words) > 0, pv.eraseEvents(ctx, payment, change) // the payment's events contain its refunds
}

// eraseLink adds to a change the removal of what the shop wrote on the payment link through which the payment came, if the link is for one payment: it
// may be about the shopper. It returns whether there was anything.
func (pv *Privacy) eraseLink(ctx context.Context, p pay.Payment, change *pay.Change) (found bool, err error) {
	if p.Order.Link == "" {
		return false, nil
	}
	l, err := pv.Store.PaymentLinks().Any(ctx, p.Order.Link)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || l.Uses > 1 || l.Purchase.IsZero() && l.ReturnURL == "" {
		return false, err
	}
	change.PaymentLinks = append(change.PaymentLinks, l.Erase())
	return true, pv.eraseEvents(ctx, l.ID, change)
}

// eraseClaim adds to a change the removal of personal data from a claim, and returns the removed
// texts.
func (pv *Privacy) eraseClaim(ctx context.Context, c pay.Claim, change *pay.Change) (words []string, err error) {
	next, words, err := c.Erase()
	if err != nil || len(words) == 0 {
		return nil, err
	}
	change.Claims = append(change.Claims, next)
	change.Erasure.Claims = append(change.Erasure.Claims, c.ID)
	change.Erasure.Notes = append(change.Erasure.Notes, c.ID)
	return words, pv.eraseEvents(ctx, c.ID, change)
}

// eraseEvents removes personal data from the events of an object, and from the endpoints' answers
// to them.
func (pv *Privacy) eraseEvents(ctx context.Context, object string, change *pay.Change) error {
	events, err := pv.Store.Events().Of(ctx, object)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Payload == nil { // no reader can get the payload
			continue
		}
		payload, changed, err := blank(e.Payload)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		if changed {
			e.Payload = payload
			change.Erasure.Events = append(change.Erasure.Events, e)
		}
	}
	deliveries, err := pv.Store.Deliveries().Of(ctx, object)
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		if d.Snippet != "" {
			change.Deliveries = append(change.Deliveries, d.Forget())
		}
	}
	return nil
}
