package call

import (
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/danielgtaylor/huma/v2"
)

// Access is which credentials an endpoint requires.
type Access string

// Access without a right.
const (
	Open      Access = "none"   // no Authorization header
	AnyKey    Access = "any"    // secret or publishable
	secretKey Access = "secret" // secret keys only
	OrNone    Access = "orNone" // as secretKey, or no Authorization header: the body holds the credentials
)

// Access that also requires a right of a secret or restricted key.
const (
	ToRead     = Access(merchants.RightRead)
	ToCharge   = Access(merchants.RightPayments)
	ToRefund   = Access(merchants.RightRefunds)
	ToAnswer   = Access(merchants.RightClaims)
	ToNotify   = Access(merchants.RightWebhooks)
	ToWithdraw = Access(merchants.RightWithdrawals)
	ToPlay     = Access(merchants.RightSandbox)
)

// right is the right that an endpoint requires, "" for none.
func (a Access) right() merchants.Right {
	if a == Open || a == AnyKey || a == secretKey || a == OrNone {
		return ""
	}
	return merchants.Right(a)
}

// Keys of an operation's metadata.
const (
	accessKey = "access"
	withinKey = "within" // time.Duration: how long the body may take to arrive
	// BrowserKey is true: pages of any origin may use it (web.CrossOrigin).
	BrowserKey = "browser"
	// ReadKey is true: reads of one object are limited (LIMIT-3).
	ReadKey = "read"
	// BeforeKey is func(context.Context, Caller, id string) error: asked before a large body is read.
	BeforeKey = "before"
)

// shared adds the parameters that follow from an operation's access.
func (a *API) shared(op *huma.Operation, need Access) {
	if need != Open && need != OrNone {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: shopParam, In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Example: "shp_01J0000000000000000000000A",
			Description: "The shop that the request is about, if the credentials are the whole merchant's",
		})
	}
}
