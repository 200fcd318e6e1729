// Package pay is the core of Cascada: everything that moves money. It has the payment and its life
// cycle, the cascade's decisions, claims, settlements, withdrawals, and the Change, which is
// everything that one decision writes. It builds on packages of nouns that move no money, such
// as tenant, acquirer and hook. The packages analytics, evidence and lists build on it.
//
// The package is pure: values go in, values come out. It imports no context, database, HTTP, log or
// random source and never reads a clock (a test in internal/arch checks this). A use case in
// internal/app reads, calls one function of this package, and commits the Change that it returns.
package pay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Change is everything that one decision writes. The store writes all of it or nothing. Versions
// guard rows: version 1 is inserted, and each later version replaces exactly the one before it.
type Change struct {
	Once          *Once // a key that may be used once; ErrDuplicate if it was used
	Payments      []Payment
	Claims        []Claim
	Files         []File
	Notices       []KeptNotice // notices, each kept once; ErrDuplicate if one is known
	Transfers     []ledger.Transfer
	Floors        []ledger.Floor      // ErrInsufficient if one is violated
	Days          []string            // reserves that it draws on, in addition to a Floor; ErrStale if one is closed
	Events        []Event             // become deliveries in the same transaction, or by FanOuts
	Deliveries    []webhooks.Delivery // new ones of replays only: the fan-out makes all others
	FanOuts       []webhooks.FanOut   // steps of the fan-out of events with many endpoints
	Subscriptions []webhooks.Subscription
	Replays       []webhooks.Replay // ErrDuplicate for a new one while another to the same endpoint runs
	Sessions      []Session
	PaymentLinks  []PaymentLink
	LinkUses      []LinkUse
	Merchants     []merchants.Merchant
	Shops         []merchants.Shop
	Keys          []merchants.Key
	Logins        []merchants.Login
	Audit         []audit.Entry // new ones only
	Clocks        []merchants.Clock
	Resets        []merchants.Reset   // ErrStale for a new one while another begins
	Logos         []merchants.Logo    // each kept once
	Inbox         []webhooks.Received // deliveries that managed inboxes received
	Rates         []rates.KnownRate   // with their history
	Mails         []mails.Message
	Wallets       []Wallet // ErrDuplicate if the destination of a new one, or the default, is taken
	Withdrawals   []Withdrawal
	Controls      []PayoutControl
	Batches       []Batch                  // ErrDuplicate if the account already has the number of a new one
	Verifications []merchants.Verification // ErrDuplicate for a new one while one is open
	Settlements   []Settlement
	Lines         []SettlementLine // of settlements; a transfer has at most one
	Reserves      []Reserve
	Adjustments   []Adjustment // ErrStale if the reference of a new one is taken
	Documents     []Document   // new ones only
	Accounts      []accounts.Account
	Operators     []operators.Operator
	DualControls  []operators.DualControl // ErrStale if the right of a new one is taken
	Proposals     []operators.Proposal
	Users         []people.User       // ErrStale if the address of a new one is taken
	Memberships   []people.Membership // ErrStale if the user of a new one already has one at the merchant
	SignIns       []people.SignIn
	Links         []people.Link
	Secrets       []merchants.Encrypted   // ErrStale if the id of a new one is taken
	KeyUses       []merchants.KeyUse      // ErrStale if the id of a new one is taken
	Rules         []accounts.RoutingRules // new ones only; ErrStale if the version is taken
	Plans         []plans.Version         // new ones only; ErrStale if the version is taken
	// Comparisons with providers' reports, new ones only.
	Reconciliations []comparison.Result
	Drifts          []comparison.Drift
	Recoveries      []Recovery // ErrStale for a new one while one exists
	Found           []Found    // ErrStale if a new one is known
	Erasure         *Erasure   // removes personal data from existing rows
	Retained        []Retained // ErrStale if the kind of a new one is taken

	// settles: it settles where money of its payment is, so that news of disputes that was held back may be applied (applyHeld).
	settles bool
}

// Once is a key that keeps a request from being executed twice (IDEM-1).
type Once struct {
	Key    string // environment, shop, route and the caller's key
	Hash   string // SHA-256 of the canonical body, in base64
	Object string // id of the object that the request made
	At     time.Time
}

// OnceKept is how long the key of a request is kept at least: a request that is repeated within that
// time is not executed again (IDEM-8).
const OnceKept = 7 * 24 * time.Hour

// MaxIdempotencyKey is the longest key of a request, in characters.
const MaxIdempotencyKey = 255

// Event is something that happened to an object. It is sent to the merchant's endpoints. Its id is
// made from the object's id and the sequence, so the same event never gets two ids.
type Event struct {
	ID   string // evt_…, the same for all endpoints, tries and replays
	Type webhooks.EventType
	merchants.Scope
	Object   string // id of the payment, claim, settlement, withdrawal, wallet, session, payment link or adjustment
	Sequence int64  // counts the object's events from 1; 0 for those before the first number
	At       time.Time
	Previous Status // the object's status before, or ""

	// The snapshot that the payload is made from.
	Payment    *Payment    // of every event of a payment or a claim
	Claim      *Claim      // of claim.* and chargeback.created
	Refund     *Refund     // of payment.refunded
	Withdrawal *Withdrawal // of withdrawal.*
	Wallet     *Wallet     // of wallet.created
	Session    *Session    // of checkout.session.expired

	PaymentLink *PaymentLink // of payment_link.*, with the Payment of payment_link.paid

	Settlement *Settlement // of settlement.*
	Adjustment *Adjustment // of balance.adjusted

	Payload []byte // the body that is sent; made before the commit
	// Write makes Payload, if the commit finds that an endpoint subscribes to the event (webhooks.EventType.Optional). nil if Payload is made.
	Write func() ([]byte, error)
}

// ToldEvent is an event with the payload that was sent.
type ToldEvent struct {
	ID      string
	Type    webhooks.EventType
	At      time.Time
	Payload []byte
}

// writes returns the change that writes p, with the events that show p as it is written, unless they show something else.
func (p *Payment) writes(events ...Event) Change {
	c := Change{Payments: []Payment{*p}, Events: events}
	for i := range events {
		if events[i].Payment == nil {
			events[i].Payment = &c.Payments[0]
		}
	}
	return c
}

// next returns the payment's next event, and counts it. It has no snapshot yet.
func (p *Payment) next(t webhooks.EventType, previous Status, now time.Time) Event {
	p.Sequence++
	return Event{
		ID: webhooks.EventID(p.suffix(), p.Sequence), Type: t, Scope: p.Scope,
		Object: p.ID, Sequence: p.Sequence, At: now, Previous: previous,
	}
}

// first returns an event that precedes the payment's numbered events. It is not counted, so an
// endpoint that does not get it misses no number. It has no snapshot yet.
func (p *Payment) first(t webhooks.EventType, previous Status, now time.Time) Event {
	return Event{
		ID: webhooks.EarlyEventID(p.suffix(), t), Type: t, Scope: p.Scope,
		Object: p.ID, At: now, Previous: previous,
	}
}

// event is next, and shows p as it is now.
func (p *Payment) event(t webhooks.EventType, previous Status, now time.Time) Event {
	return p.next(t, previous, now).showing(*p)
}

// showing returns the event with a snapshot of its payment.
func (e Event) showing(p Payment) Event {
	e.Payment = &p
	return e
}

// event returns the claim's next event, and c with the event counted.
func (c Claim) event(t webhooks.EventType, p Payment, now time.Time) (Claim, Event) {
	c.Sequence++
	snapshot := c
	return c, Event{
		ID:       webhooks.EventID(strings.TrimPrefix(c.ID, ClaimPrefix), c.Sequence),
		Type:     t,
		Scope:    c.Scope,
		Object:   c.ID,
		Sequence: c.Sequence,
		At:       now,
		Payment:  &p,
		Claim:    &snapshot,
	}
}

// Ends reports whether the value of a payment ends it, once it is written.
func Ends(p *Payment) bool { return !p.Status.Open() && (p.Stored == "" || p.Stored.Open()) }

// Fate is how an attempt ended, as numbers about it count it.
type Fate string

// The fates. Only paid and refused say how well an account does with shoppers.
const (
	FatePaid    Fate = "paid"
	FateRefused Fate = "refused" // by an issuer, a risk engine or a bank
	FateUntried Fate = "untried" // it was opened, a page or a voucher, and nobody tried, or gave up
	FateUnmade  Fate = "unmade"  // it was never opened, or that is not known
	FateOpen    Fate = "open"    // not known yet
)

// FateOf is how the attempt of a payment with this order ended.
func FateOf(p *Payment, order int) Fate {
	a := p.Attempts[order-1]
	_, refused := a.refusal()
	switch {
	case p.End.Captured == order:
		return FatePaid
	case p.Status.Open() && order == len(p.Attempts):
		return FateOpen
	case refused:
		return FateRefused
	case a.Status == Awaiting, a.Status == Lapsed, a.Status == Declined, a.Said == Awaiting:
		return FateUntried
	}
	return FateUnmade
}

// GaveUp reports whether the payment ended because nobody wanted to pay it any more: it was canceled, its page was abandoned, or its
// shopper canceled it there.
func (e PaymentEnd) GaveUp() bool {
	return e.Canceled() || e.Failure != nil && (e.Failure.Code == failedAbandoned || decline.Reason(e.Failure.Decline).Meaning().Outcome == decline.Left)
}

// KeptNotice is a notice as it is kept, once, with what was done about it.
type KeptNotice struct {
	ID      string // account and the provider's id
	Account string
	Payment string
	Verdict Verdict
	Body    []byte
	At      time.Time
}

// Closes reports whether r records that the operator has dealt with the other notice.
func (k KeptNotice) Closes(other KeptNotice) bool { return k.ID == other.Closing() }

// Closing is the id of the record that the operator has dealt with r.
func (k KeptNotice) Closing() string { return closing + k.ID }

// closing begins the id of a record that the operator has dealt with a notice.
const closing = "/closed/"

// Verdict is what was done about a notice.
type Verdict string

// The verdicts.
const (
	Applied    Verdict = "applied"
	Ignored    Verdict = "ignored"    // it reported nothing new
	Late       Verdict = "late"       // money came after the end, again, or of another amount: it goes to suspense, with an inquiry
	Mismatched Verdict = "mismatched" // another amount or currency: for the operator
	Closed     Verdict = "closed"     // the operator has dealt with a notice that did not fit
)

// Close records that the operator has dealt with a notice that did not fit its payment. The Change
// can be written only once.
//
// Its record has an id that no account's notice can have.
//
// It returns an error if the notice does not need the operator.
func (k KeptNotice) Close(note string, now time.Time) (Change, error) {
	if k.Verdict != Mismatched {
		return Change{}, fmt.Errorf("notification %s is %s: there is nothing to close", k.ID, k.Verdict)
	}
	return Change{Notices: []KeptNotice{{
		ID: k.Closing(), Account: k.Account, Payment: k.Payment, Verdict: Closed, Body: []byte(note), At: now,
	}}}, nil
}

func (n Notice) stored(payment string, verdict Verdict, now time.Time) KeptNotice {
	if n.Unread && verdict == Ignored { // the notice may be about other money than it seems to be, or about money that moved
		verdict = Mismatched
	}
	return KeptNotice{ID: n.Account + "/" + n.ID, Account: n.Account, Payment: payment, Verdict: verdict, Body: n.Body, At: now}
}

// keptAnswer keeps a provider's answer to a query as a notice. Its id contains the payment's version.
// Only the writer of that version can write it, so it never exists already, which would make the
// whole Change fail.
func (p *Payment) keptAnswer(attempt Attempt, o Outcome, verdict Verdict, now time.Time) KeptNotice {
	told := Notice{
		ID: fmt.Sprintf("answer/%s %s v%d", p.Reference(attempt.Order), o.Local, p.Version), Account: attempt.Provider,
		Body: fmt.Appendf(nil, "when queried, the provider says that %s were paid", o.Local),
	}
	switch {
	case o.Kind == Reversed:
		told.Body = fmt.Appendf(nil, "when queried, the provider says that %s went back", o.returned())
	case verdict == Mismatched:
		told.Body = fmt.Appendf(told.Body, ", not %s", p.Price.Local)
	}
	return told.stored(p.ID, verdict, now)
}

// Document is a file that is stored once and never changes.
type Document struct {
	ID       string // id of its object
	Merchant string
	Live     bool
	Body     []byte
}

// What providers tell is untrusted input, and adapters may pass on what no database can store. Storable makes it storable, once for
// all that a notice says: texts for people are cut, and ids that are too long are left out, because a part of an id is useless.

// The most bytes of a provider's id and of its texts. Real ids are far shorter; an index of PostgreSQL takes 2,704 bytes.
const (
	longestID   = 255
	longestText = 500
	longestCode = 100
)

// storableID returns an id of a provider's; "" if it cannot be stored. bad is set then.
func storableID(id string, bad *bool) string {
	if len(id) <= longestID && plain(id) == id {
		return id
	}
	*bad = true
	return ""
}

// plain returns a text of a provider's; "" if a database cannot store it.
func plain(text string) string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	return text
}

// storableText returns a text for people, of at most most bytes.
func storableText(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// Storable returns an answer as it can be stored. unread: an id was left out.
func (o Outcome) Storable() (_ Outcome, unread bool) {
	o.ProviderRef, o.MoneyRef = storableID(o.ProviderRef, &unread), storableID(o.MoneyRef, &unread)
	o.Decline, o.Message, o.FormURL = storableText(o.Decline, longestCode), storableText(o.Message, longestText), plain(o.FormURL)
	o.Raw = storableText(o.Raw, longestCode)
	d := o.Data
	o.Data = PaymentData{QRCode: plain(d.QRCode), CLABE: plain(d.CLABE), Bank: plain(d.Bank), Beneficiary: plain(d.Beneficiary), Reference: plain(d.Reference), Barcode: plain(d.Barcode)}
	o.Tries = storableTries(o.Tries, &unread)
	o.Also = slices.Clone(o.Also)
	for i := range o.Also {
		m := &o.Also[i]
		m.Ref, m.ProviderRef = storableID(m.Ref, &unread), storableID(m.ProviderRef, &unread)
	}
	if o.Back != nil {
		back := *o.Back
		back.Refunds = slices.Clone(back.Refunds)
		for i := range back.Refunds {
			r := &back.Refunds[i]
			r.ID, r.Note = storableID(r.ID, &unread), storableText(r.Note, longestText)
		}
		o.Back = &back
	}
	return o, unread
}

// storableTries leaves out a try whose id cannot be stored, and the reasons that are not ours.
func storableTries(tries []decline.Try, bad *bool) (list []decline.Try) {
	for _, t := range tries {
		t.ID, t.Raw = storableID(t.ID, bad), storableText(t.Raw, longestCode)
		if !t.Reason.Known() {
			t.Reason = decline.Declined
		}
		if t.ID != "" {
			list = append(list, t)
		}
	}
	return list
}

// Storable returns an answer as it can be stored. unread: the provider's id was left out.
func (o PayoutOutcome) Storable() (_ PayoutOutcome, unread bool) {
	o.ProviderRef = storableID(o.ProviderRef, &unread)
	o.Code, o.Message = storableText(o.Code, longestCode), storableText(o.Message, longestText)
	return o, unread
}

// Storable returns a notice as it can be stored. unread: an id was left out; if nothing else comes of the notice, it waits for the
// operator.
func (n Notice) Storable() (_ Notice, unread bool) {
	n.Outcome, unread = n.Outcome.Storable()
	n.DisputeID = storableID(n.DisputeID, &unread)
	n.Stage, n.Network = storableText(n.Stage, longestCode), storableText(n.Network, longestCode)
	n.ID, n.Body, n.Unread = noticeID(n.ID), storableBody(n.Body), n.Unread || unread
	return n, unread
}

// Storable returns a notice as it can be stored. unread: the provider's id was left out.
func (n PayoutNotice) Storable() (_ PayoutNotice, unread bool) {
	n.Outcome, unread = n.Outcome.Storable()
	n.ProviderRef = storableID(n.ProviderRef, &unread)
	n.ID, n.Body = noticeID(n.ID), storableBody(n.Body)
	return n, unread
}

// noticeID is a notice's id, by which it is known when it comes again: its hash if it is too long. One of other bytes is refused with
// its notice.
func noticeID(id string) string {
	if len(id) > longestID {
		sum := sha256.Sum256([]byte(id))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return id
}

// storableBody is a notification as it is kept: money must not wait because of a character.
func storableBody(body []byte) []byte {
	return []byte(strings.ReplaceAll(strings.ToValidUTF8(string(body), "?"), "\x00", "?"))
}
