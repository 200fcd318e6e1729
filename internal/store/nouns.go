package store

import (
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/tenants"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// Store is a database. It is safe for use by many goroutines. Close it when
// nobody uses it any more.
//
// Each noun has its reads, and its leases of due work. What changes a row goes through Commit.
type Store struct {
	*core
	// The nouns: Store.Payments, Store.Claims and so on.
	payments.OfPayments
	webhooks.OfWebhooks
	books.OfBooks
	tenants.OfTenants
}

func newStore(c *core) *Store {
	return &Store{
		core:       c,
		OfPayments: payments.NewPayments(c.Base),
		OfWebhooks: webhooks.NewWebhooks(c.Base),
		OfBooks:    books.NewBooks(c.Base),
		OfTenants:  tenants.NewTenants(c.Base),
	}
}

// What reads take and give; each says what it is where it is made.
type (
	KeyUsage     = tenants.KeyUsage
	PastReading  = tenants.PastReading
	Booking      = books.Booking
	Drifted      = books.Drifted
	Mismatched   = payments.Mismatched
	Dispatch     = webhooks.Dispatch
	Parking      = webhooks.Parking
	Postponement = webhooks.Postponement
	Quarantined  = due.Quarantined
	Broken       = check.Broken
	Checked      = check.Checked
	Progress     = check.Progress
	Proof        = check.Proof
	Reader       = check.Reader
)
