// Package pay is the core of Cascada: what moves money. The payment and its life
// cycle, the cascade's decisions, claims, settlements, withdrawals, and the Change, which
// is everything that one decision writes. The nouns that they rest on have packages below
// it: tenant, acquirer, hook, audit, problem.
//
// The package is pure. Values go in, values come out: it imports no context,
// database, HTTP, log or random source and never asks for the time (a test in
// internal/arch keeps it so). A use case in internal/app reads, calls one
// function of this package, and commits the Change that it returns.
package pay

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Change is everything that one decision writes. The store writes all of it or
// none. Rows with a version are guarded by it: version 1 is inserted, a later
// one replaces exactly the version before.
type Change struct {
	Once          *Once // a key that may be used once; taken means ErrDuplicate
	Payments      []Payment
	Claims        []Claim
	Files         []File
	Receipts      []Receipt // each once; known means ErrDuplicate
	Transfers     []ledger.Transfer
	Floors        []ledger.Floor  // broken means ErrInsufficient
	Days          []string        // reserves that it draws on, beside a Floor; closed means ErrStale
	Events        []Event         // fan out to deliveries in the same transaction, or by FanOuts
	Deliveries    []hook.Delivery // new ones of replays only: the fan-out makes all others
	FanOuts       []hook.FanOut   // steps of those that wide events left
	Subscriptions []hook.Subscription
	Replays       []hook.Replay // a new one while one runs to its endpoint means ErrDuplicate
	Sessions      []Session
	Merchants     []tenant.Merchant
	Shops         []tenant.Shop
	Keys          []tenant.Key
	Logins        []tenant.Login
	Audit         []audit.Entry // new ones only
	Clocks        []tenant.Clock
	Logos         []tenant.Logo   // each kept once
	Inbox         []hook.Received // what managed inboxes got
	Quotes        []Quote         // with their history
	Mails         []Mail
	Wallets       []Wallet // a new one whose destination, or default, is taken means ErrDuplicate
	Withdrawals   []Withdrawal
	Controls      []PayoutControl
	Batches       []Batch               // a new one whose account has its number means ErrDuplicate
	Verifications []tenant.Verification // a new one while one is open means ErrDuplicate
	Settlements   []Settlement
	Lines         []SettlementLine // of settlements; a transfer has one at most
	Reserves      []Reserve
	Documents     []Document // new ones only
	Accounts      []acquirer.Account
	Operators     []tenant.Operator
	Sealed        []tenant.Sealed         // a new one whose id is taken means ErrStale
	KeyUses       []tenant.KeyUse         // the same
	Rules         []acquirer.RoutingRules // new ones only; a version that is taken means ErrStale
	// Comparisons with providers' reports, new ones only.
	Reconciliations []Reconciliation
	Drifts          []Drift
	Recoveries      []Recovery // a new one while there is one means ErrStale
	Found           []Found    // a new one that is known means ErrStale
	Erasure         *Erasure   // of what it takes out of rows that are there
	Retained        []Retained // a new one whose kind is taken means ErrStale
}

// Once is a key that guards a request against being run twice (IDEM-1).
type Once struct {
	Key    string // environment, shop, route and the caller's key
	Hash   string // SHA-256 of the canonical body, hex
	Object string // id of what the request made
	At     time.Time
}

// Event is something that happened to an object, told to the merchant's
// endpoints. Its id is made from the object's and the sequence, so that one
// thing cannot be told twice under two ids.
type Event struct {
	ID   string // evt_…, the same for all endpoints, tries and replays
	Type hook.EventType
	tenant.Scope
	Object   string // id of the payment, claim, settlement, withdrawal, wallet or session
	Sequence int64  // counts the object's events from 1; 0 of those that stand before the count
	At       time.Time
	Previous Status // the object's status before, or ""

	// The snapshot that the payload is made from.
	Payment    Payment
	Claim      *Claim      // of claim.* and chargeback.created
	Refund     *Refund     // of payment.refunded
	Withdrawal *Withdrawal // of withdrawal.*
	Wallet     *Wallet     // of wallet.created
	Session    *Session    // of checkout.session.expired

	Settlement *Settlement // of settlement.*

	Payload []byte // the body that is sent; made before the commit
}

// ToldEvent is what was told of an event.
type ToldEvent struct {
	ID      string
	Type    hook.EventType
	At      time.Time
	Payload []byte
}

// event returns the payment's next event, and p with the event counted.
func (p Payment) event(t hook.EventType, previous Status, now time.Time) (Payment, Event) {
	p.Sequence++
	return p, Event{
		ID: hook.EventID(p.Suffix(), p.Sequence), Type: t, Scope: p.Scope,
		Object: p.ID, Sequence: p.Sequence, At: now, Previous: previous, Payment: p,
	}
}

// early returns an event from before the payment's count: the count is as long as without it,
// so that who is not told of it misses no number.
func (p Payment) early(t hook.EventType, previous Status, now time.Time) Event {
	return Event{
		ID: hook.EarlyEventID(p.Suffix(), t), Type: t, Scope: p.Scope,
		Object: p.ID, At: now, Previous: previous, Payment: p,
	}
}

// event returns the claim's next event, and c with the event counted.
func (c Claim) event(t hook.EventType, p Payment, now time.Time) (Claim, Event) {
	c.Sequence++
	snapshot := c
	return c, Event{
		ID: hook.EventID(strings.TrimPrefix(c.ID, ClaimPrefix), c.Sequence), Type: t, Scope: c.Scope,
		Object: c.ID, Sequence: c.Sequence, At: now, Payment: p, Claim: &snapshot,
	}
}
