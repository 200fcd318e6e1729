package checkout

import (
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/pay"
)

// standing is the state that the page shows: the payment's status, or, if money of the
// order came late or in another amount, what happened to that money. While we hold that
// money, a shopper must not read that there was no charge, nor be asked to pay again.
func standing(s payments.Shown) string {
	switch s.Status {
	case pay.Refunded:
		if s.Refunds.Local < s.Price.Local.Minor {
			return "part_refunded"
		}
		return stateOf(s.Status)
	case pay.Completed, pay.Chargeback:
		return stateOf(s.Status)
	}
	if stray, ok := strayOf(s.Payment); ok {
		return strayStates[stray.Code][stray.End]
	}
	switch {
	case s.End.Reversed():
		return "reversed"
	case s.End.WayChanged():
		return "changed"
	case s.End.Canceled():
		return "canceled"
	case s.Canceling(): // a payment now would be for nothing
		return stateOf(pay.Processing)
	case s.Earlier != "":
		return "earlier"
	case !s.Times.Unsure.IsZero() && s.Status != pay.Processing:
		return "unsure"
	case refusedOnPage(s.Payment):
		return "refused"
	}
	return stateOf(s.Status)
}

// refusedOnPage reports whether a payment waits after a card was refused on its page.
func refusedOnPage(p pay.Payment) bool {
	attempt, _ := p.Attempts.Current()
	return p.Status == pay.Pending && p.Way.Sync && len(attempt.Tries) > 0
}

var strayStates = map[pay.AttentionCode]map[pay.StrayEnd]string{
	pay.LatePayment:    {"": "late", pay.Accepted: "accepted", pay.GivenBack: "given_back"},
	pay.PaidTwice:      {"": "late", pay.Accepted: "accepted", pay.GivenBack: "given_back"},
	pay.AmountMismatch: {"": "other_amount", pay.DealtWith: "dealt_with", pay.Accepted: "dealt_with", pay.GivenBack: "other_given_back"},
}

// strayOf is the money that the page shows: money that waits for a decision, else money
// that the merchant has, else money that was refunded.
func strayOf(p pay.Payment) (pay.Stray, bool) {
	for _, end := range []pay.StrayEnd{"", pay.Accepted, pay.DealtWith, pay.GivenBack} {
		for _, s := range p.Strays {
			if s.End == end {
				return s, true
			}
		}
	}
	return pay.Stray{}, false
}

// watches are the states that may change while the shopper looks.
var watches = map[string]bool{"waiting": true, "refused": true, "processing": true, "late": true, "other_amount": true, "unsure": true, "earlier": true}

// afterEnd is how long the page of a payment that ended unpaid waits for late money. A page
// that stays open for days must not use a watcher's place.
const afterEnd = time.Hour

// mayChange reports whether the page may change while the shopper looks.
func mayChange(s payments.Shown) bool {
	ended := s.Times.Expired
	if s.Status == pay.Failed {
		ended = s.Times.Failed
	}
	state := standing(s)
	return watches[state] || ends[state] && s.Now.Before(ended.Add(afterEnd))
}

// ends are the states of payments that ended without money.
var ends = map[string]bool{"expired": true, "failed": true, "changed": true, "canceled": true}
