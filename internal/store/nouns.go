package store

import (
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/people"
	"github.com/cascadapay/cascada/internal/store/tenants"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// Store is a database. It is safe for concurrent use. Close it after use.
//
// Each noun has its reads, and its leases of due work. Changes of rows go through Commit.
type Store struct {
	*core
	// The nouns: Store.Payments(), Store.Claims() and so on.
	payments.OfPayments
	webhooks.OfWebhooks
	books.OfBooks
	tenants.OfTenants
	people.OfPeople
}

func newStore(c *core) *Store {
	return &Store{
		core:       c,
		OfPayments: payments.NewPayments(c.b),
		OfWebhooks: webhooks.NewWebhooks(c.b),
		OfBooks:    books.NewBooks(c.b),
		OfTenants:  tenants.NewTenants(c.b),
		OfPeople:   people.NewPeople(c.b),
	}
}

// Arguments and results of reads; each is documented at its definition.
type (
	KeyUsage       = tenants.KeyUsage
	Member         = people.Member
	Tenancy        = people.Tenancy
	PastReading    = tenants.PastReading
	Booking        = books.Booking
	FoundMovements = books.Found
	Drifted        = books.Drifted
	Mismatched     = payments.Mismatched
	Dispatch       = webhooks.Dispatch
	Parking        = webhooks.Parking
	Postponement   = webhooks.Postponement
	Quarantined    = due.Quarantined
	Broken         = check.Broken
	Newest         = check.Newest
	Checked        = check.Checked
	Progress       = check.Progress
	Proof          = check.Proof
	Reader         = check.Reader
)
