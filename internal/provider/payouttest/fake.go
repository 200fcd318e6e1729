// Package payouttest is what every adapter that pays out has to pass: one suite, played
// over HTTP against a strict fake of the adapter's provider, which keeps books of what it
// really paid. It is used by tests only.
package payouttest

import (
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
)

// Behaviour is what a provider does with payouts.
type Behaviour string

// The behaviours. A fake whose provider's documents do not have one says so in
// Suite.Without.
const (
	Pays     Behaviour = "pays"           // as fast as it ever does
	Slow     Behaviour = "slow"           // it takes the order, and pays when Complete says so
	PaysLess Behaviour = "another amount" // it pays one minor unit less, and says so
	NoFloat  Behaviour = "no float"       // our account there has too little money
	Barred   Behaviour = "barred"         // our account there may not pay out
	Nonsense Behaviour = "nonsense"       // it takes the order; the status is in no document

	// ComesBack is not scripted: Fake.Return does it. It is for Suite.Without.
	ComesBack Behaviour = "comes back"

	// The refusals for a reason of the beneficiary's. Each is called as its code.
	InvalidAccount Behaviour = "invalid_account"
	AccountClosed  Behaviour = "account_closed"
	Compliance     Behaviour = "compliance_rejected"
	OverLimit      Behaviour = "limit_exceeded"
	Refused        Behaviour = "rejected"
)

// Refusals lists the behaviours that are a refusal for a reason of the beneficiary's.
func Refusals() []Behaviour {
	return []Behaviour{InvalidAccount, AccountClosed, Compliance, OverLimit, Refused}
}

// Stage is how a payout in the books stands.
type Stage string

// The stages.
const (
	Open     Stage = "open"     // it may still be paid, by the provider or by a person there
	Done     Stage = "done"     // paid
	Failed   Stage = "failed"   // nobody can pay it any more
	Returned Stage = "returned" // paid, and sent back whole
)

// Entry is a payout in a fake's books.
type Entry struct {
	Reference   string       // ours
	Destination string       // in the form of payout.Request
	Asked       money.Amount // what was asked for
	Paid        money.Amount // what left the account, all in all
	Times       int          // how often money left
	Stage       Stage
	Why         Behaviour // it failed, came back, or is Nonsense
	Created     time.Time
}

// Fake is a provider with its books. It is safe for use by many goroutines. Most of it is
// in Frame.
type Fake interface {
	// ServeHTTP answers the documented endpoints. It refuses what the documents do not
	// allow (another path, header, field, type or amount) as the documents say, and notes
	// it as a complaint.
	http.Handler
	// Next says what is done with the payouts that begin after it. After NoFloat and
	// Barred, another one says that the operator has put that right.
	Next(Behaviour)
	// Complete pays an open payout; Fail ends it unpaid. A refusal says why.
	Complete(reference string)
	Fail(reference string, why Behaviour)
	// Return sends a payout back whole, days after it was paid.
	Return(reference string, why Behaviour)
	// Notify is what the provider sends of a payout as it stands now, signed. Each call is
	// another delivery of the same news. The zero value: it sends none of this stage.
	Notify(reference string) provider.Notification
	// Forge is what a stranger could send of an open payout, by how it was made: each says
	// that it was paid. Strangers may be customers of the provider.
	Forge(reference string) map[string]provider.Notification
	// Other is signed, and about something else: by what it is.
	Other() map[string]provider.Notification
	// Books lists every payout that there is, in order.
	Books() []Entry
	// Complaints lists what was asked and is not documented.
	Complaints() []string
}
