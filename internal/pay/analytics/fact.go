package analytics

import (
	"cmp"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Outcome is how a payment ended, or an attempt at a provider.
type Outcome string

// The outcomes.
const (
	Paid     Outcome = "paid"
	Declined Outcome = "declined" // refused, failed or canceled
	Expired  Outcome = "expired"  // nobody paid in time
)

// Step is how far a checkout came. A later step does not take an earlier one back.
type Step string

// The steps of a checkout session (CHK-2). A payment of the session that is paid is the last one.
const (
	Opened  Step = "opened"  // the shop made the session
	Visited Step = "visited" // the shopper saw the page
	Chosen  Step = "chosen"  // the shopper chose a method: there is a payment
	Bought  Step = "paid"
)

// Steps lists the steps in their order.
func Steps() []Step { return []Step{Opened, Visited, Chosen, Bought} }

// Fact is what is counted of a payment that ended, or of a checkout's step.
type Fact struct {
	tenant.Scope
	At      time.Time // when the payment or the session was created
	Outcome Outcome   // "" of a checkout's step
	Step    Step      // "" of a payment that is none of a session, or was not paid

	Method  string
	Country string // ISO 3166 alpha-3
	Rail    string
	Amount  int64         // USD cents
	Fees    int64         // what the merchant pays for a paid payment, in USD cents
	Answer  string        // why it was not paid: the issuer's reason, or an error code of the API
	Waited  time.Duration // from its creation to its payment; 0 on a rail that answers at once
	Tries   []Try
}

// Try is an attempt at a provider account.
type Try struct {
	Account string  `json:"account"`
	Outcome Outcome `json:"outcome"`
}

// OfPayment returns the fact of a payment that ends with this value. It returns false for any other value.
func OfPayment(p *pay.Payment) (f Fact, ends bool) {
	if p.Status.Open() || p.Stored != "" && !p.Stored.Open() {
		return f, false
	}
	f = Fact{
		Scope: p.Scope, At: p.Times.Created, Method: p.Way.Method, Country: p.Way.Country, Rail: p.Way.RailID,
		Amount: p.Price.Amount.Minor, Outcome: Paid,
	}
	switch p.Status {
	case pay.Failed:
		f.Outcome = Declined
	case pay.Expired:
		f.Outcome = Expired
	}
	if f.Outcome == Paid {
		f.Fees = p.Terms.Fees.Total()
		if !p.Way.Sync {
			f.Waited = max(p.Times.Completed.Sub(p.Times.Created), time.Microsecond) // the least that is stored
		}
		if p.Page.Selected {
			f.Step = Bought
		}
	} else if p.Failure != nil {
		f.Answer = cmp.Or(p.Failure.Decline, p.Failure.Code)
	}
	for _, a := range p.Attempts {
		f.Tries = append(f.Tries, Try{a.Provider, outcomeOf(a, f.Outcome, a.Order == len(p.Attempts))})
	}
	return f, true
}

// outcomeOf is how an attempt of a payment ended. The last one ended as the payment did: money that comes later
// approves the attempt, and the payment stays unpaid.
func outcomeOf(a pay.Attempt, payment Outcome, last bool) Outcome {
	switch {
	case a.Status == pay.Approved && payment == Paid:
		return Paid
	case last && payment != Paid:
		return payment
	default:
		return Declined
	}
}

// OfSession returns the fact of a session that reaches a step with this value. It returns false for any other value,
// and for a session in which a shopper tries again: the checkout was counted when it was opened.
func OfSession(s *pay.Session) (Fact, bool) {
	if s.Reached == "" || s.After != "" {
		return Fact{}, false
	}
	return Fact{Scope: s.Scope, At: s.CreatedAt, Step: Step(s.Reached), Country: s.Country}, true
}
