// Package payouttest is the suite that every adapter for payouts has to pass. It runs over
// HTTP against a strict fake of the adapter's provider, which keeps books of what it really
// paid. Only tests use it.
package payouttest

import (
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
)

// Behaviour is what a provider does with payouts.
type Behaviour string

// The behaviours. Suite.Without lists those that the provider's documents do not have.
const (
	Pays     Behaviour = "pays"           // as fast as it ever does
	Slow     Behaviour = "slow"           // it accepts the order, and pays on Complete
	PaysLess Behaviour = "another amount" // it pays one minor unit less, and reports that
	NoFloat  Behaviour = "no float"       // our account there has too little money
	Barred   Behaviour = "barred"         // our account there is not allowed to pay out
	Nonsense Behaviour = "nonsense"       // it accepts the order; the status is not documented

	// ComesBack is not set by Next but done by Fake.Return. It is for Suite.Without.
	ComesBack Behaviour = "comes back"

	// The refusals because of the beneficiary. Each has its code as its name.
	InvalidAccount Behaviour = "invalid_account"
	AccountClosed  Behaviour = "account_closed"
	Compliance     Behaviour = "compliance_rejected"
	OverLimit      Behaviour = "limit_exceeded"
	Refused        Behaviour = "rejected"
)

// Refusals lists the behaviours that are refusals because of the beneficiary.
func Refusals() []Behaviour {
	return []Behaviour{InvalidAccount, AccountClosed, Compliance, OverLimit, Refused}
}

// Stage is the state of a payout in the books.
type Stage string

// The stages.
const (
	Open     Stage = "open"     // it may still be paid, by the provider or by a person there
	Done     Stage = "done"     // paid
	Failed   Stage = "failed"   // it can no longer be paid
	Returned Stage = "returned" // paid, and sent back whole
)

// Entry is a payout in the books of a fake.
type Entry struct {
	Reference   string       // ours
	Destination string       // in the form of payouts.Request
	Asked       money.Amount // the ordered amount
	Paid        money.Amount // the total that left the account
	Times       int          // how often money left
	Stage       Stage
	Why         Behaviour // it failed, came back, or is Nonsense
	Created     time.Time
}

// Fake is a provider with its books. It is safe for concurrent use. Frame implements most
// of it.
type Fake interface {
	// ServeHTTP answers the documented endpoints. It refuses what the documents do not allow
	// (another path, header, field, type or amount) as the documents say, and records it as a
	// complaint.
	http.Handler
	// Next sets what happens to later payouts. After NoFloat or Barred, another value means
	// that the operator has solved that.
	Next(Behaviour)
	// Complete pays an open payout; Fail ends it unpaid, with a refusal as the reason.
	Complete(reference string)
	Fail(reference string, why Behaviour)
	// Return sends a payout back whole, days after it was paid.
	Return(reference string, why Behaviour)
	// Notify is the provider's signed notification of a payout in its present state. Each call
	// is another delivery of the same news. The zero value: the provider sends none for this
	// stage.
	Notify(reference string) provider.Notification
	// Forge lists what a stranger could send about an open payout, by how it was made: each
	// says that it was paid. Strangers may be customers of the provider.
	Forge(reference string) map[string]provider.Notification
	// Other lists signed notifications about something else, by what that is.
	Other() map[string]provider.Notification
	// Books lists every payout, in order.
	Books() []Entry
	// Complaints lists the requests that are not documented.
	Complaints() []string
}
