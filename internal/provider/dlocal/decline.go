package dlocal

import (
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// declines are the rejections (reference: Payment status codes, Rejection status). Soft
// ones have a reason that lies with the provider, not with the shopper.
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
	"316": decline.ProcessingError,
	"317": decline.FraudSuspected,
	"318": decline.ProcessingError,
	"319": decline.LimitExceeded,
	"320": decline.AuthenticationNeeded,
	"321": decline.ProcessingError,
	"322": decline.AccountUnavailable,
	"323": decline.AccountUnavailable,
	"324": decline.InvalidPIN,
	"325": decline.LimitExceeded,
	"326": decline.AccountUnavailable,
}
