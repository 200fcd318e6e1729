package analytics

import (
	"cmp"

	"github.com/cascadapay/cascada/internal/pay"
)

// Outcome is how a payment ended, or an attempt at a provider.
type Outcome string

// The outcomes.
const (
	Paid      Outcome = "paid"
	Declined  Outcome = "declined"  // refused, or no provider could take it
	Abandoned Outcome = "abandoned" // a page was opened and nobody tried, or gave up; or it was canceled before anybody tried
	Expired   Outcome = "expired"   // nobody paid a voucher or a transfer in time
)

// Step is how far a checkout got. A later step does not take an earlier one back.
type Step string

// The steps of a checkout session (CHK-2). The last one is a paid payment of the session.
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
	Class
	Amount int64 // USD cents; 0 for a step
	Fees   int64 // what the merchant pays for a paid payment, in USD cents
}

// OfPayment returns the fact of a payment that ends with this value. It returns false for any other value.
func OfPayment(p *pay.Payment) (f Fact, ends bool) {
	if !pay.Ends(p) {
		return f, false
	}
	f.Class = classAt(p.Scope, p.Times.Created)
	f.Outcome, f.Method, f.Country, f.Rail = Paid, p.Way.Method, p.Way.Country, p.Way.RailID
	f.Amount, f.Band = p.Price.Amount.Minor, band(p.Price.Amount.Minor)
	if p.Status == pay.Failed || p.Status == pay.Expired {
		f.Outcome, f.Answer = unpaid(p)
	} else {
		f.Fees = p.Terms.Fees.Total()
		if p.Way.Sync {
			f.Count = max(1, p.End.Plan.Count)
		}
		if !p.Way.Sync || !p.Times.Expires.IsZero() {
			f.Wait = waitClass(p.Times.Completed.Sub(p.Times.Created))
		}
		if !p.Page.Opened.IsZero() && !earlier(p) {
			f.Step = Bought
		}
	}
	if len(p.Attempts) > 0 {
		f.Tries = make([]Try, len(p.Attempts))
		for i, a := range p.Attempts {
			f.Tries[i] = Try{a.Provider, outcomeOf(pay.FateOf(p, a.Order), f.Outcome)}
			for _, t := range (pay.Attempts{a}).Tries() {
				f.Refusals = append(f.Refusals, Refusal{a.Provider, string(t.Reason)})
			}
		}
	}
	return f, true
}

// unpaid is how a payment that was not paid ended, and why. If anybody was refused it is declined, for that reason, also if the
// shop canceled it afterwards or the shopper gave up.
func unpaid(p *pay.Payment) (Outcome, string) {
	why := ""
	if f := p.End.Failure; f != nil {
		why = cmp.Or(f.Decline, f.Code)
	}
	switch refusal, refused := p.Attempts.Refusal(); {
	case p.Status == pay.Expired:
		return Expired, why
	case !p.End.GaveUp():
		return Declined, why
	case refused:
		return Declined, string(refusal.Reason)
	}
	return Abandoned, why
}

// BoughtEarlier returns the last step of a checkout that was opened on an earlier day than its payment was made, if p
// is that payment and was paid: all steps of a checkout count on the day on which it was opened. It returns
// false for any other value.
func BoughtEarlier(p *pay.Payment) (f Fact, ok bool) {
	if p.Page.Opened.IsZero() || !earlier(p) {
		return f, false
	}
	if f, ok = OfPayment(p); !ok || f.Outcome != Paid {
		return Fact{}, false
	}
	return Fact{Class: Class{Shop: f.Shop, Live: f.Live, Hour: p.Page.Opened.Unix() / 3600, Step: Bought}, Amount: f.Amount}, true
}

func earlier(p *pay.Payment) bool { return p.Page.Opened.Unix()/86400 != p.Times.Created.Unix()/86400 }

// outcomeOf is how an attempt with a fate ended. Late money approves an attempt, but the payment stays unpaid.
func outcomeOf(fate pay.Fate, payment Outcome) Outcome {
	switch {
	case fate == pay.FatePaid:
		return Paid
	case fate == pay.FateUntried && payment == Expired:
		return Expired
	case fate == pay.FateUntried:
		return Abandoned
	default:
		return Declined
	}
}

// OfSession returns a fact for each step that a session reaches with this value. It returns none
// for a session in which a shopper tries again: the checkout was counted when it was opened.
func OfSession(s *pay.Session) (facts []Fact) {
	if s.After != "" {
		return nil
	}
	for _, step := range s.Reached {
		f := Fact{Class: classAt(s.Scope, s.CreatedAt)}
		f.Step, f.Country = Step(step), s.Country
		facts = append(facts, f)
	}
	return facts
}
