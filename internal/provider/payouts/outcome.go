package payouts

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// Unknown is the outcome of a call or a query without a usable answer. The message is for the
// operator.
func Unknown(message string) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutUnknown, Message: message}
}

// Unavailable is the outcome of a payout that this account does not make: another one may.
func Unavailable(code, message string) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: code, Message: message}
}

// Reason is why something is not paid, in our terms.
type Reason struct {
	Kind          pay.PayoutKind
	Code, Message string
}

// Rejected is a reason that lies with the beneficiary: no account will pay.
func Rejected(code, message string) Reason { return Reason{pay.PayoutRejected, code, message} }

// NotHere is a reason that lies with this account: another one may pay.
func NotHere(code, message string) Reason { return Reason{pay.PayoutUnavailable, code, message} }

// Outcome is the outcome of a payout that is not paid for this reason.
func (r Reason) Outcome() pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: r.Kind, Code: r.Code, Message: r.Message}
}

// Reasons turns lists of a provider's codes, separated by spaces, into a table by code.
func Reasons(lists map[Reason]string) map[string]Reason {
	all := map[string]Reason{}
	for r, list := range lists {
		for _, code := range strings.Fields(list) {
			all[code] = r
		}
	}
	return all
}

// NotFound is the outcome of a query for which the provider has no payout. settles is how long a new
// payout may be missing from its answers: before that, nothing is proved. gone is the message for
// a payout that was there once.
func NotFound(r Request, settles time.Duration, gone string) pay.PayoutOutcome {
	switch {
	case r.ProviderRef != "":
		return Unknown(gone)
	case r.Now.Sub(r.Sent) < settles:
		o := Unknown("the payout is not there yet")
		o.CheckAt = r.Sent.Add(settles)
		return o
	}
	return pay.PayoutOutcome{Kind: pay.PayoutMissing}
}
