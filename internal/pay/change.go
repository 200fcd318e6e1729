package pay

import (
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
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
	Floors        []ledger.Floor // broken means ErrInsufficient
	Days          []string       // reserves that it draws on, beside a Floor; closed means ErrStale
	Events        []Event        // fan out to deliveries in the same transaction, or by FanOuts
	Deliveries    []Delivery     // new ones of replays only: the fan-out makes all others
	FanOuts       []FanOut       // steps of those that wide events left
	Subscriptions []Subscription
	Replays       []Replay // a new one while one runs to its endpoint means ErrDuplicate
	Sessions      []Session
	Merchants     []Merchant
	Shops         []Shop
	Keys          []Key
	Logins        []Login
	Audit         []AuditEntry // new ones only
	Clocks        []Clock
	Logos         []Logo     // each kept once
	Inbox         []Received // what managed inboxes got
	Quotes        []Quote    // with their history
	Mails         []Mail
	Wallets       []Wallet // a new one whose destination, or default, is taken means ErrDuplicate
	Withdrawals   []Withdrawal
	Controls      []PayoutControl
	Batches       []Batch        // a new one whose account has its number means ErrDuplicate
	Verifications []Verification // a new one while one is open means ErrDuplicate
	Settlements   []Settlement
	Lines         []SettlementLine // of settlements; a transfer has one at most
	Reserves      []Reserve
	Documents     []Document // new ones only
	Accounts      []ProviderAccount
	Operators     []Operator
	Sealed        []Sealed       // a new one whose id is taken means ErrStale
	KeyUses       []KeyUse       // the same
	Rules         []RoutingRules // new ones only; a version that is taken means ErrStale
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
