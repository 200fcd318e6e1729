package store

import "cmp"

// Store is a database. It is safe for use by many goroutines. Close it when
// nobody uses it any more.
//
// Each noun has its reads, and its leases of due work. What changes a row goes through Commit.
type Store struct {
	*core
	Payments        *Payments
	Claims          *Claims
	Accounts        *Accounts
	Rules           *Rules
	Rates           *Rates
	Merchants       *Merchants
	Keys            *Keys
	Operators       *Operators
	Secrets         *Secrets
	Audit           *Audit
	Wallets         *Wallets
	Withdrawals     *Withdrawals
	Batches         *Batches
	Books           *Books
	Settlements     *Settlements
	Reserves        *Reserves
	Reconciliations *Reconciliations
	Subscriptions   *Subscriptions
	Deliveries      *Deliveries
	Replays         *Replays
	Events          *Events
	Sessions        *Sessions
	Verifications   *Verifications
	Mails           *Mails
	Receipts        *Receipts
	Idempotency     *Idempotency
	Clocks          *Clocks
	Recoveries      *Recoveries
}

func newStore(c *core) *Store {
	return &Store{
		core:            c,
		Payments:        &Payments{c.base},
		Claims:          &Claims{c.base},
		Accounts:        &Accounts{c.base},
		Rules:           &Rules{c.base},
		Rates:           &Rates{c.base},
		Merchants:       &Merchants{c.base},
		Keys:            &Keys{c.base},
		Operators:       &Operators{c.base},
		Secrets:         &Secrets{c.base},
		Audit:           &Audit{c.base},
		Wallets:         &Wallets{c.base},
		Withdrawals:     &Withdrawals{c.base},
		Batches:         &Batches{c.base},
		Books:           &Books{c.base},
		Settlements:     &Settlements{c.base},
		Reserves:        &Reserves{c.base},
		Reconciliations: &Reconciliations{c.base},
		Subscriptions:   &Subscriptions{c.base},
		Deliveries:      &Deliveries{c.base},
		Replays:         &Replays{c.base},
		Events:          &Events{c.base},
		Sessions:        &Sessions{c.base},
		Verifications:   &Verifications{c.base},
		Mails:           &Mails{c.base},
		Receipts:        &Receipts{c.base},
		Idempotency:     &Idempotency{c.base},
		Clocks:          &Clocks{c.base},
		Recoveries:      &Recoveries{c.base},
	}
}

// The nouns. Their methods stand beside the tables that they read.
type (
	// Payments are payments, in flight or not.
	Payments struct{ b *base }
	// Claims are refunds and disputes, with their evidence.
	Claims struct{ b *base }
	// Accounts are accounts at providers.
	Accounts struct{ b *base }
	// Rules are the versions of the routing rules.
	Rules struct{ b *base }
	// Rates are exchange rates, their feeds, and the rails that go by them.
	Rates struct{ b *base }
	// Merchants are merchants, their shops and pictures.
	Merchants struct{ b *base }
	// Keys are API keys, their logins and uses.
	Keys struct{ b *base }
	// Operators are who operates the service.
	Operators struct{ b *base }
	// Secrets are the service's own secrets.
	Secrets struct{ b *base }
	// Audit is what was done, and from where.
	Audit struct{ b *base }
	// Wallets are where merchants are paid.
	Wallets struct{ b *base }
	// Withdrawals are what merchants are paid, and what that keeps to.
	Withdrawals struct{ b *base }
	// Batches are files of payouts for banks.
	Batches struct{ b *base }
	// Books are balances and transfers.
	Books struct{ b *base }
	// Settlements are settlements with their lines and documents.
	Settlements struct{ b *base }
	// Reserves are what is held of a day, and released.
	Reserves struct{ b *base }
	// Reconciliations are comparisons with providers' reports.
	Reconciliations struct{ b *base }
	// Subscriptions are endpoints of webhooks, and inboxes.
	Subscriptions struct{ b *base }
	// Deliveries are deliveries of events, and the fan-outs that make them.
	Deliveries struct{ b *base }
	// Replays are replays of events to an endpoint.
	Replays struct{ b *base }
	// Events are what happened.
	Events struct{ b *base }
	// Sessions are checkout sessions.
	Sessions struct{ b *base }
	// Verifications are how merchants prove who they are.
	Verifications struct{ b *base }
	// Mails are e-mails to merchants.
	Mails struct{ b *base }
	// Receipts are what providers told.
	Receipts struct{ b *base }
	// Idempotency is the keys that may be used once.
	Idempotency struct{ b *base }
	// Clocks are test clocks.
	Clocks struct{ b *base }
	// Recoveries are what is known of a restore, and how far old data was looked through.
	Recoveries struct{ b *base }
)

// Page is a part of a list.
type Page struct {
	Limit, Offset int
	After         string // in place of Offset: what stands behind the row of this id; "" for all
}

// before is the bound of a list whose newest rows come first, with the highest ids: what stands
// behind a row has lower ones.
func before(id string) string { return cmp.Or(id, behindAll) }
