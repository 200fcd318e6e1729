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
	people.OfOperators
	people.OfPeople
}

func newStore(c *core) *Store {
	return &Store{
		core:          c,
		OfPayments:    payments.NewPayments(c.b),
		OfClaims:      claims.NewClaims(c.b),
		OfWebhooks:    webhooks.NewWebhooks(c.b),
		OfBooks:       books.NewBooks(c.b),
		OfSettlements: settlements.NewSettlements(c.b),
		OfPayouts:     payouts.NewPayouts(c.b),
		OfMerchants:   merchants.NewMerchants(c.b),
		OfAccounts:    accounts.NewAccounts(c.b),
		OfPlans:       plans.NewPlans(c.b),
		OfRouting:     routing.NewRouting(c.b),
		OfRates:       rates.NewRates(c.b),
		OfMails:       mails.NewMails(c.b),
		OfAudit:       audit.NewAudit(c.b),
		OfRecovery:    recovery.NewRecovery(c.b),
		OfOperators:   people.NewOperators(c.b),
		OfPeople:      people.NewPeople(c.b),
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
