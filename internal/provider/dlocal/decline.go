package dlocal

import (
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// declines are the rejections of a payment (reference: Payment status codes, Rejection status, updated 2026-09-17; the same list to 321 in
// Paylands' documentation of dLocal; both read on 2026-11-28), and the refusals of a call that are about the shopper (Payments HTTP
// Errors). A code that says only that the payment is not paid gives no reason. No code at all is not documented, and is counted.
var declines = provider.Declines{
	"300": decline.DoNotHonor,
	"301": decline.DoNotHonor,
	"302": decline.InsufficientFunds,
	"303": decline.RestrictedCard,
	"304": decline.FraudSuspected,
	"305": decline.TooManyTries,
	"306": decline.CallIssuer,
	"307": decline.Duplicate,
	"308": decline.InactiveCard,
	"309": decline.ExpiredCard,
	"310": decline.LostCard,
	"311": decline.RestrictedCard,
	"312": decline.RestrictedCard,
	"313": decline.StolenCard,
	"314": decline.InvalidNumber,
	"315": decline.InvalidCVC,
	"316": decline.ProcessingError, // an operation that is not supported
	"317": decline.FraudSuspected,
	"318": decline.ProcessingError, // an invalid transaction
	"319": decline.LimitExceeded,
	"320": decline.AuthenticationNeeded,
	"321": decline.ProcessingError, // of the acquirer
	"322": decline.AccountUnavailable,
	"323": decline.AccountUnavailable,
	"324": decline.InvalidPIN,
	"325": decline.LimitExceeded,
	"326": decline.AccountUnavailable,

	"100": decline.Declined, "101": decline.Declined,

	"5005": decline.InvalidData, // the tax office does not accept the shopper's document
	"5006": decline.LimitExceeded,
	"5014": decline.FraudSuspected,
}
