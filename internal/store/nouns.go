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
		Payments:        &Payments{c},
		Claims:          &Claims{c},
		Accounts:        &Accounts{c},
		Rules:           &Rules{c},
		Rates:           &Rates{c},
		Merchants:       &Merchants{c},
		Keys:            &Keys{c},
		Operators:       &Operators{c},
		Secrets:         &Secrets{c},
		Audit:           &Audit{c},
		Wallets:         &Wallets{c},
		Withdrawals:     &Withdrawals{c},
		Batches:         &Batches{c},
		Books:           &Books{c},
		Settlements:     &Settlements{c},
		Reserves:        &Reserves{c},
		Reconciliations: &Reconciliations{c},
		Subscriptions:   &Subscriptions{c},
		Deliveries:      &Deliveries{c},
		Replays:         &Replays{c},
		Events:          &Events{c},
		Sessions:        &Sessions{c},
		Verifications:   &Verifications{c},
		Mails:           &Mails{c},
		Receipts:        &Receipts{c},
		Idempotency:     &Idempotency{c},
		Clocks:          &Clocks{c},
		Recoveries:      &Recoveries{c},
	}
}

// The nouns. Their methods stand beside the tables that they read.
type (
	// Payments are payments, in flight or not.
	Payments struct{ *core }
	// Claims are refunds and disputes, with their evidence.
	Claims struct{ *core }
	// Accounts are accounts at providers.
	Accounts struct{ *core }
	// Rules are the versions of the routing rules.
	Rules struct{ *core }
	// Rates are exchange rates, their feeds, and the rails that go by them.
	Rates struct{ *core }
	// Merchants are merchants, their shops and pictures.
	Merchants struct{ *core }
	// Keys are API keys, their logins and uses.
	Keys struct{ *core }
	// Operators are who operates the service.
	Operators struct{ *core }
	// Secrets are the service's own secrets.
	Secrets struct{ *core }
	// Audit is what was done, and from where.
	Audit struct{ *core }
	// Wallets are where merchants are paid.
	Wallets struct{ *core }
	// Withdrawals are what merchants are paid, and what that keeps to.
	Withdrawals struct{ *core }
	// Batches are files of payouts for banks.
	Batches struct{ *core }
	// Books are balances and transfers.
	Books struct{ *core }
	// Settlements are settlements with their lines and documents.
	Settlements struct{ *core }
	// Reserves are what is held of a day, and released.
	Reserves struct{ *core }
	// Reconciliations are comparisons with providers' reports.
	Reconciliations struct{ *core }
	// Subscriptions are endpoints of webhooks, and inboxes.
	Subscriptions struct{ *core }
	// Deliveries are deliveries of events, and the fan-outs that make them.
	Deliveries struct{ *core }
	// Replays are replays of events to an endpoint.
	Replays struct{ *core }
	// Events are what happened.
	Events struct{ *core }
	// Sessions are checkout sessions.
	Sessions struct{ *core }
	// Verifications are how merchants prove who they are.
	Verifications struct{ *core }
	// Mails are e-mails to merchants.
	Mails struct{ *core }
	// Receipts are what providers told.
	Receipts struct{ *core }
	// Idempotency is the keys that may be used once.
	Idempotency struct{ *core }
	// Clocks are test clocks.
	Clocks struct{ *core }
	// Recoveries are what is known of a restore, and how far old data was looked through.
	Recoveries struct{ *core }
)

// before is the bound of a list whose newest rows come first, with the highest ids: what stands
// behind a row has lower ones.
func before(id string) string { return cmp.Or(id, behindAll) }
