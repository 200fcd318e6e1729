package store

import (
	"github.com/cascadapay/cascada/internal/store/accounts"
	"github.com/cascadapay/cascada/internal/store/audit"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/claims"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/mails"
	"github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/operators"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/payouts"
	"github.com/cascadapay/cascada/internal/store/people"
	"github.com/cascadapay/cascada/internal/store/plans"
	"github.com/cascadapay/cascada/internal/store/rates"
	"github.com/cascadapay/cascada/internal/store/recovery"
	"github.com/cascadapay/cascada/internal/store/routing"
	"github.com/cascadapay/cascada/internal/store/settlements"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// Store is a database. It is safe for concurrent use. Close it after use.
//
// Each noun has its reads, and its leases of due work. Changes of rows go through Commit.
type Store struct {
	*core
	// The nouns: Store.Payments(), Store.Claims() and so on.
	payments.OfPayments
	claims.OfClaims
	webhooks.OfWebhooks
	books.OfBooks
	settlements.OfSettlements
	payouts.OfPayouts
	merchants.OfMerchants
	accounts.OfAccounts
	plans.OfPlans
	routing.OfRouting
	rates.OfRates
	mails.OfMails
	audit.OfAudit
	recovery.OfRecovery
	operators.OfOperators
	people.OfPeople
}

func newStore(c *core) *Store {
	return &Store{
		core:          c,
		OfPayments:    payments.New(c.b),
		OfClaims:      claims.New(c.b),
		OfWebhooks:    webhooks.New(c.b),
		OfBooks:       books.New(c.b),
		OfSettlements: settlements.New(c.b),
		OfPayouts:     payouts.New(c.b),
		OfMerchants:   merchants.New(c.b),
		OfAccounts:    accounts.New(c.b),
		OfPlans:       plans.New(c.b),
		OfRouting:     routing.New(c.b),
		OfRates:       rates.New(c.b),
		OfMails:       mails.New(c.b),
		OfAudit:       audit.New(c.b),
		OfRecovery:    recovery.New(c.b),
		OfOperators:   operators.New(c.b),
		OfPeople:      people.New(c.b),
	}
}

// Arguments and results of reads; each is documented at its definition.
type (
	KeyUsage       = merchants.KeyUsage
	Member         = people.Member
	Tenancy        = people.Tenancy
	PastReading    = rates.PastReading
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
