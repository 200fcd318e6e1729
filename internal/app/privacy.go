package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// privacyPage is how many rows are looked through at a time, forgetBatch how many are erased.
const (
	privacyPage = 1000
	forgetBatch = 500
)

// Shopper is whom somebody asks about: a merchant's shopper by one or more of these, or the
// shopper of one payment. All that is set has to fit.
type Shopper struct {
	Merchant string // mer_…
	Email    string // without regard to case
	Document string // digits and letters count
	Phone    string // digits count
	Payment  string // TXN-…; the merchant may be left out
}

// ShopperData is all that is kept about a shopper.
type ShopperData struct {
	Payments []ShopperPayment
	Sessions []pay.Session // checkouts that came to no payment
}

// ShopperPayment is a payment with what was told about it.
type ShopperPayment struct {
	pay.Payment
	Claims   []pay.Claim
	Files    []pay.File
	Receipts []pay.Receipt // what providers told
}

// check says what is missing.
func (s Shopper) check() error {
	if s.Payment != "" {
		return nil
	}
	if s.Merchant == "" {
		return pay.FieldError(pay.CodeMissingField, "merchant", "whose shopper is it? A shopper of two merchants asks each of them")
	}
	if fold(s.Email) == "" && plain(s.Document) == "" && digits(s.Phone) == "" {
		return pay.FieldError(pay.CodeMissingField, "email", "give an e-mail, a document, a phone number or a payment")
	}
	return nil
}

// fits reports whether somebody is the shopper.
func (s Shopper) fits(email, document, phone string) bool {
	return (s.Email == "" || fold(s.Email) == fold(email)) && (s.Document == "" || plain(s.Document) == plain(document)) &&
		(s.Phone == "" || digits(s.Phone) == digits(phone))
}

func fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// plain is a document without dots, dashes and slashes.
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

// shopperOf finds the payments and the checkouts of a shopper. It looks through all of the merchant's.
func (a *App) shopperOf(ctx context.Context, who Shopper) (payments []string, sessions []pay.Session, err error) {
	if err := who.check(); err != nil {
		return nil, nil, err
	}
	if who.Payment != "" {
		p, err := a.store.AnyPayment(ctx, who.Payment)
		if err != nil {
			return nil, nil, fmt.Errorf("payment %s: %w", who.Payment, err)
		}
		if who.Merchant != "" && who.Merchant != p.Merchant || !who.fits(p.Buyer.Email, p.Buyer.Document, p.Buyer.Phone) {
			return nil, nil, fmt.Errorf("payment %s of that shopper: %w", who.Payment, store.ErrNotFound)
		}
		return []string{p.ID}, nil, nil
	}
	if _, err := a.AnyMerchant(ctx, who.Merchant); err != nil {
		return nil, nil, err
	}
	for _, processing := range []bool{true, false} { // in this order none is missed that moves meanwhile
		for after := ""; ; {
			page, err := a.store.SomePayments(ctx, who.Merchant, after, processing, privacyPage)
			if err != nil {
				return nil, nil, err
			}
			for _, p := range page {
				if after = p.ID; p.Erased.IsZero() && who.fits(p.Buyer.Email, p.Buyer.Document, p.Buyer.Phone) && !slices.Contains(payments, p.ID) {
					payments = append(payments, p.ID)
				}
			}
			if len(page) < privacyPage {
				break
			}
		}
	}
	for after := ""; ; {
		page, err := a.store.SomeSessions(ctx, who.Merchant, after, privacyPage)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range page {
			c := s.Customer
			if after = s.ID; s.Payment == "" && who.fits(c.Email, c.Document, c.Phone) {
				sessions = append(sessions, s)
			}
		}
		if len(page) < privacyPage {
			return payments, sessions, nil
		}
	}
}

// ExportShopper returns all that is kept about a shopper, for whoever has a right to it. The
// audit log tells that it was asked for.
//
// Errors: missing_field; store.ErrNotFound for a merchant or payment that does not exist.
func (a *App) ExportShopper(ctx context.Context, by pay.Actor, who Shopper) (ShopperData, error) {
	payments, sessions, err := a.shopperOf(ctx, who)
	if err != nil {
		return ShopperData{}, err
	}
	found := ShopperData{Sessions: sessions}
	var entries []pay.AuditEntry
	for _, id := range payments {
		p, err := a.shopperPayment(ctx, id)
		if err != nil {
			return ShopperData{}, err
		}
		found.Payments = append(found.Payments, p)
		entries = append(entries, a.audit(by, p.Scope, pay.ShopperExported, p.ID, nil)...)
	}
	for _, s := range sessions {
		entries = append(entries, a.audit(by, s.Scope, pay.ShopperExported, s.ID, nil)...)
	}
	for some := range slices.Chunk(entries, forgetBatch) {
		if err := a.store.Commit(ctx, pay.Change{Audit: some}); err != nil {
			return ShopperData{}, err
		}
	}
	return found, nil
}

func (a *App) shopperPayment(ctx context.Context, id string) (p ShopperPayment, err error) {
	if p.Payment, err = a.store.AnyPayment(ctx, id); err != nil {
		return p, err
	}
	if p.Claims, err = a.store.ClaimsOf(ctx, []string{id}); err != nil {
		return p, err
	}
	for _, c := range p.Claims {
		for _, e := range c.Evidence {
			if e.File == nil {
				continue
			}
			f, err := a.store.File(ctx, c.Scope, c.ID, e.ID)
			if errors.Is(err, store.ErrNotFound) { // erased
				continue
			}
			if err != nil {
				return p, err
			}
			p.Files = append(p.Files, f)
		}
	}
	p.Receipts, err = a.store.ReceiptsOf(ctx, id)
	return p, err
}

// Erased tells what was erased, and what was not, and why.
type Erased struct {
	Payments, Sessions []string
	Kept               map[string]string // payment → why
}

// EraseShopper takes a shopper out of payments that are over, with all that was told about them:
// evidence, files, notifications, checkouts. Amounts, states and times stay, and so do the books
// and the seals. What is not over is kept. With dry it only says what it would do.
//
// Errors: missing_field; store.ErrNotFound for a merchant or payment that does not exist.
func (a *App) EraseShopper(ctx context.Context, by pay.Actor, who Shopper, dry bool) (done Erased, err error) {
	payments, sessions, err := a.shopperOf(ctx, who)
	if err != nil {
		return done, err
	}
	done.Kept = map[string]string{}
	for _, id := range payments {
		err := a.erasePayment(ctx, &by, id, dry)
		if refusal, ok := errors.AsType[*pay.Error](err); ok && refusal.Code == pay.CodeConflictState {
			done.Kept[id] = refusal.Message
			continue
		}
		if err != nil {
			return done, fmt.Errorf("payment %s: %w", id, err)
		}
		done.Payments = append(done.Payments, id)
	}
	for _, s := range sessions {
		if !dry {
			change := pay.Change{Erasure: &pay.Erasure{Sessions: []string{s.ID}}, Audit: a.audit(by, s.Scope, pay.ShopperErased, s.ID, nil)}
			if err := a.store.Commit(ctx, change); err != nil {
				return done, err
			}
		}
		done.Sessions = append(done.Sessions, s.ID)
	}
	return done, nil
}

// erasePayment takes the shopper out of a payment and its claims. by is nil where its time is
// over: then the payment itself tells.
//
// Errors: conflict_state where something about it is not over.
func (a *App) erasePayment(ctx context.Context, by *pay.Actor, id string, dry bool) error {
	return again(func() error {
		p, err := a.store.AnyPayment(ctx, id)
		if err != nil || !p.Erased.IsZero() {
			return err
		}
		next, err := p.Erase(a.Now())
		if err != nil {
			return err
		}
		receipts, err := a.store.ReceiptsOf(ctx, id)
		if err != nil {
			return err
		}
		for _, n := range receipts {
			if n.Verdict == pay.Mismatched && !slices.ContainsFunc(receipts, func(r pay.Receipt) bool { return r.Closes(n) }) {
				return pay.NewError(pay.CodeConflictState, "notification "+n.ID+" waits for you")
			}
		}
		claims, err := a.store.ClaimsOf(ctx, []string{id})
		if err != nil {
			return err
		}
		change := pay.Change{Payments: []pay.Payment{next}, Erasure: &pay.Erasure{Payments: []string{id}}}
		var words []string
		for _, c := range claims {
			some, err := a.eraseClaim(ctx, c, &change)
			if err != nil {
				return err
			}
			words = append(words, some...)
		}
		if err := a.blankEvents(ctx, id, words, change.Erasure); err != nil { // they tell of its refunds
			return err
		}
		if by != nil {
			change.Audit = a.audit(*by, p.Scope, pay.ShopperErased, id, nil)
		}
		if dry {
			return nil
		}
		return a.store.Commit(ctx, change)
	})
}

// eraseClaim adds to a change what takes persons out of a claim, and returns their words.
func (a *App) eraseClaim(ctx context.Context, c pay.Claim, change *pay.Change) (words []string, err error) {
	next, words, err := c.Erase()
	if err != nil || len(words) == 0 {
		return nil, err
	}
	change.Claims = append(change.Claims, next)
	change.Erasure.Claims = append(change.Erasure.Claims, c.ID)
	return words, a.blankEvents(ctx, c.ID, words, change.Erasure)
}

// blankEvents takes words out of what was told of an object.
func (a *App) blankEvents(ctx context.Context, object string, words []string, erasure *pay.Erasure) error {
	if len(words) == 0 {
		return nil
	}
	events, err := a.store.EventsOf(ctx, object)
	if err != nil {
		return err
	}
	for _, e := range events {
		payload, changed, err := blank(e.Payload, words)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		if changed {
			e.Payload = payload
			erasure.Events = append(erasure.Events, e)
		}
	}
	return nil
}

// blank puts pay.ErasedText in the place of all texts of a JSON value that are one of the words.
func blank(value []byte, words []string) (blanked []byte, changed bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, false, err
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			if slices.Contains(words, v) {
				changed = true
				return pay.ErasedText
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = walk(v[name])
			}
		}
		return v
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(walk(root))
	return bytes.TrimRight(out.Bytes(), "\n"), changed, err
}

// Retention is how long personal data is kept; 0: for ever.
type Retention struct {
	Shoppers      time.Duration // in payments, from when those were made
	Evidence      time.Duration // in claims, from when those were made
	Notifications time.Duration // what providers told
	Addresses     time.Duration // of the audit log and of keys' uses
}

// The kinds of data that are looked through in rounds.
const (
	retainShoppers = "shoppers"
	retainEvidence = "evidence"
	// retentionRound is after how long a round begins anew: what was not over when its turn
	// came is met again.
	retentionRound = 30 * 24 * time.Hour
)

// Forget erases what is kept no longer, and returns above zero when there may be more.
func (a *App) Forget(ctx context.Context) (n int, err error) {
	now, keep := a.Now(), a.Retention
	for _, each := range []struct {
		what string
		kept time.Duration
		do   func(before time.Time) (int, error)
	}{
		{"notifications", keep.Notifications, func(before time.Time) (int, error) { return a.store.ForgetNotifications(ctx, before, forgetBatch) }},
		{"addresses of the audit log", keep.Addresses, func(before time.Time) (int, error) {
			return a.store.ForgetAddresses(ctx, id.From(pay.AuditPrefix, before), forgetBatch)
		}},
		{"uses of keys", keep.Addresses, func(before time.Time) (int, error) { return a.store.ForgetKeyUses(ctx, before, forgetBatch) }},
		{retainShoppers, keep.Shoppers, func(before time.Time) (int, error) { return a.forgetShoppers(ctx, before) }},
		{retainEvidence, keep.Evidence, func(before time.Time) (int, error) { return a.forgetEvidence(ctx, before) }},
	} {
		if each.kept <= 0 {
			continue
		}
		some, err := each.do(now.Add(-each.kept))
		if some > 0 {
			a.Log.Info("personal data was kept long enough, and is erased", "of", each.what, "rows", some)
		}
		if n += some; err != nil {
			return n, err
		}
	}
	return n, nil
}

// round goes on with a round over data of a kind. page erases a page of it from behind an id, and
// returns its last id, "" where there is no more.
func (a *App) round(ctx context.Context, kind string, page func(after string) (n int, last string, err error)) (int, error) {
	at, err := a.store.Retained(ctx, kind)
	if err != nil {
		return 0, err
	}
	now := a.Now()
	if at.Version == 0 || now.Sub(at.Began) >= retentionRound {
		at.Began, at.UpTo = now, ""
	}
	n, last, err := page(at.UpTo)
	if err != nil || last == "" {
		return n, err
	}
	at.Version++
	at.UpTo = last
	return n, unlessStale(a.store.Commit(ctx, pay.Change{Retained: []pay.Retained{at}}))
}

func (a *App) forgetShoppers(ctx context.Context, before time.Time) (int, error) {
	return a.round(ctx, retainShoppers, func(after string) (n int, last string, err error) {
		list, err := a.store.OldPayments(ctx, after, id.From(pay.PaymentPrefix, before), forgetBatch)
		for _, p := range list {
			last = p.ID
			if !p.Erased.IsZero() {
				continue
			}
			if a.skipped(p.ID, a.erasePayment(ctx, nil, p.ID, false)) {
				continue
			}
			n++
		}
		return n, last, err
	})
}

func (a *App) forgetEvidence(ctx context.Context, before time.Time) (int, error) {
	return a.round(ctx, retainEvidence, func(after string) (n int, last string, err error) {
		list, err := a.store.OldClaims(ctx, after, id.From(pay.ClaimPrefix, before), forgetBatch)
		for _, c := range list {
			last = c.ID
			err := again(func() error {
				c, err := a.store.AnyClaim(ctx, c.ID)
				if err != nil {
					return err
				}
				change := pay.Change{Erasure: &pay.Erasure{}}
				words, err := a.eraseClaim(ctx, c, &change)
				if err != nil || len(words) == 0 {
					return err
				}
				if err := a.blankEvents(ctx, c.Payment, words, change.Erasure); err != nil {
					return err
				}
				if err := a.store.Commit(ctx, change); err != nil {
					return err
				}
				n++
				return nil
			})
			a.skipped(c.ID, err)
		}
		return n, last, err
	})
}

// skipped reports whether something was not erased: it is not over, or cannot be read. The next
// round meets it again.
func (a *App) skipped(id string, err error) bool {
	if refusal, ok := errors.AsType[*pay.Error](err); ok && refusal.Code == pay.CodeConflictState {
		return true
	}
	if err != nil {
		a.Log.Error("personal data that is kept no longer could not be erased", "of", id, "error", err)
	}
	return err != nil
}
