package store

import "github.com/cascadapay/cascada/internal/store/base"

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
		Payments:        &Payments{c.Base},
		Claims:          &Claims{c.Base},
		Accounts:        &Accounts{c.Base},
		Rules:           &Rules{c.Base},
		Rates:           &Rates{c.Base},
		Merchants:       &Merchants{c.Base},
		Keys:            &Keys{c.Base},
		Operators:       &Operators{c.Base},
		Secrets:         &Secrets{c.Base},
		Audit:           &Audit{c.Base},
		Wallets:         &Wallets{c.Base},
		Withdrawals:     &Withdrawals{c.Base},
		Batches:         &Batches{c.Base},
		Books:           &Books{c.Base},
		Settlements:     &Settlements{c.Base},
		Reserves:        &Reserves{c.Base},
		Reconciliations: &Reconciliations{c.Base},
		Subscriptions:   &Subscriptions{c.Base},
		Deliveries:      &Deliveries{c.Base},
		Replays:         &Replays{c.Base},
		Events:          &Events{c.Base},
		Sessions:        &Sessions{c.Base},
		Verifications:   &Verifications{c.Base},
		Mails:           &Mails{c.Base},
		Receipts:        &Receipts{c.Base},
		Idempotency:     &Idempotency{c.Base},
		Clocks:          &Clocks{c.Base},
		Recoveries:      &Recoveries{c.Base},
	}
}

// The nouns. Their methods stand beside the tables that they read.
type (
	// Payments are payments, in flight or not.
	Payments struct{ b *base.Base }
	// Claims are refunds and disputes, with their evidence.
	Claims struct{ b *base.Base }
	// Accounts are accounts at providers.
	Accounts struct{ b *base.Base }
	// Rules are the versions of the routing rules.
	Rules struct{ b *base.Base }
	// Rates are exchange rates, their feeds, and the rails that go by them.
	Rates struct{ b *base.Base }
	// Merchants are merchants, their shops and pictures.
	Merchants struct{ b *base.Base }
	// Keys are API keys, their logins and uses.
	Keys struct{ b *base.Base }
	// Operators are who operates the service.
	Operators struct{ b *base.Base }
	// Secrets are the service's own secrets.
	Secrets struct{ b *base.Base }
	// Audit is what was done, and from where.
	Audit struct{ b *base.Base }
	// Wallets are where merchants are paid.
	Wallets struct{ b *base.Base }
	// Withdrawals are what merchants are paid, and what that keeps to.
	Withdrawals struct{ b *base.Base }
	// Batches are files of payouts for banks.
	Batches struct{ b *base.Base }
	// Books are balances and transfers.
	Books struct{ b *base.Base }
	// Settlements are settlements with their lines and documents.
	Settlements struct{ b *base.Base }
	// Reserves are what is held of a day, and released.
	Reserves struct{ b *base.Base }
	// Reconciliations are comparisons with providers' reports.
	Reconciliations struct{ b *base.Base }
	// Subscriptions are endpoints of webhooks, and inboxes.
	Subscriptions struct{ b *base.Base }
	// Deliveries are deliveries of events, and the fan-outs that make them.
	Deliveries struct{ b *base.Base }
	// Replays are replays of events to an endpoint.
	Replays struct{ b *base.Base }
	// Events are what happened.
	Events struct{ b *base.Base }
	// Sessions are checkout sessions.
	Sessions struct{ b *base.Base }
	// Verifications are how merchants prove who they are.
	Verifications struct{ b *base.Base }
	// Mails are e-mails to merchants.
	Mails struct{ b *base.Base }
	// Receipts are what providers told.
	Receipts struct{ b *base.Base }
	// Idempotency is the keys that may be used once.
	Idempotency struct{ b *base.Base }
	// Clocks are test clocks.
	Clocks struct{ b *base.Base }
	// Recoveries are what is known of a restore, and how far old data was looked through.
	Recoveries struct{ b *base.Base }
)

// Page is a part of a list.
type Page = base.Page
