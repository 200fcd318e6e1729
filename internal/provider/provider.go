// Package provider says what an upstream payment provider has to be able to
// do. Each provider is a package below this one; all speak of outcomes in the
// core's words.
package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// ErrUnsigned says that a notification is not the provider's: no signature, a
// wrong one, or one that is too old.
var ErrUnsigned = errors.New("the notification is not signed by the provider")

// ErrUnreachable says that a notification is authentic, and that the provider
// could not be asked what it means.
var ErrUnreachable = errors.New("the provider cannot be asked about its notification")

// Request is one charge: what Charge asks for and what Query asks about.
type Request struct {
	Reference   string // ours; the provider's idempotency key
	ProviderRef string // the provider's, once it is known
	Amount      money.Amount
	Local       money.Amount
	Rail        string // the catalog's key: "pix.BRA"
	RailID      string
	Method      string // slug
	Country     string // alpha-3
	Sync        bool
	Buyer       pay.Buyer
	ReturnURL   string     // the shop's; a provider sends the shopper to PageURL
	PageURL     string     // our own page: it shows a code, and how the payment ended
	Created     time.Time  // the payment
	Sent        time.Time  // this charge: when it was first asked for
	Expires     time.Time  // when the shopper's time is over
	Now         time.Time  // in the merchant's clock
	Script      pay.Script // sandbox only
}

// RefundRequest is one refund: what Refund asks for and what QueryRefund asks
// about.
type RefundRequest struct {
	Reference string       // ours; the provider's idempotency key
	RefundRef string       // the provider's, once it is known
	Charge    Request      // what it gives back, in full or in part
	Local     money.Amount // how much of it
	Sent      time.Time    // when it was first asked for, in the clock of Charge.Now; zero: not known
	Reason    string
}

// Provider is an account at an upstream. Its methods are safe for use by many
// goroutines, keep to the context's deadline, and never return an error: what
// they do not know is pay.Unknown.
type Provider interface {
	// Charge asks for the money. Called twice with one reference it charges once.
	Charge(ctx context.Context, r Request) pay.Outcome
	// Query asks what became of a charge, under our reference. pay.Missing is
	// proof that the provider never had it. A question that got no answer is
	// Unknown, never Errored or Unavailable, which would say that there is no
	// charge: see pay.Outcome.Asked.
	Query(ctx context.Context, r Request) pay.Outcome
	// Refund gives money of a charge back. Called twice with one reference it
	// refunds once. Approved: the shopper has it, or will have it for certain;
	// Awaiting: the provider took it and will tell; Declined: it will not be;
	// Errored and Unavailable prove that it was not done this time.
	Refund(ctx context.Context, r RefundRequest) pay.Outcome
	// QueryRefund asks what became of a refund, under our reference. pay.Missing
	// is proof that the provider never had it; no answer is Unknown, as of Query.
	QueryRefund(ctx context.Context, r RefundRequest) pay.Outcome
	// Notices reads a notification: what it tells of our charges, nothing where
	// it is about something else. A provider that only says that something moved
	// is asked what, within the call.
	//
	// Errors: ErrUnsigned when it is not authentic, ErrUnreachable when what it
	// tells cannot be learnt now and it has to come again; any other error when
	// it cannot be understood.
	Notices(ctx context.Context, n Notification) ([]pay.Notice, error)
}

// Notification is an HTTP request of a provider, with its body as it was sent.
type Notification struct {
	Header http.Header
	Query  url.Values
	Body   []byte
}
