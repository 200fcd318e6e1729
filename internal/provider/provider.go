// Package provider defines what a payment provider's client must do. Each provider is a
// package below this one. All return outcomes in our terms.
package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// ErrUnsigned means that a notification did not come from the provider: its signature is
// missing, wrong or too old.
var ErrUnsigned = errors.New("the notification is not signed by the provider")

// ErrNotOurs means that a notification that nothing proves names nothing that is open at its account: nobody is asked about it.
var ErrNotOurs = errors.New("the notification is about nothing of ours")

// ErrUnreachable means that a notification is authentic, but the provider did not answer
// the query about it.
var ErrUnreachable = errors.New("the provider does not answer the query about its notification")

// Request is one charge, to make or to query.
type Request struct {
	Reference   string // ours; the idempotency key at the provider
	ProviderRef string // the provider's, once it is known
	MoneyRef    string // of a refund: the provider's id of the money to give back, if it reported one
	Amount      money.Amount
	Local       money.Amount
	Rail        string // the catalog's key: "pix.BRA"
	RailID      string
	Method      string // slug
	Country     string // alpha-3
	Sync        bool
	Merchant    string // id; two merchants' shoppers are never one at the provider, whatever their data
	Buyer       pay.Buyer
	OrderID     string       // the shop's own reference of the order, or ""
	Purchase    pay.Purchase // what is bought, as the shop described it
	Shop        string       // the shop's name, of Charge alone: it may differ in the next call
	Lang        string       // "es", "pt" or "en": what the shopper reads; "" if he did not choose: see Language
	PageURL     string       // our page, which shows the code and the result
	// BackURL is the same, for the shopper whom a provider sends back: with the key of the page. No provider is told the shop's own
	// address: not all take an app's, and none could show what became of the payment.
	BackURL string
	Created time.Time  // when the payment was created
	Sent    time.Time  // when this charge was first sent
	Expires time.Time  // until when the shopper may pay
	Now     time.Time  // by the merchant's clock
	Script  pay.Script // sandbox only
	// Installments are what the shopper may choose, of Charge: at most what Installer said for the amount. Zero: pays at once.
	Installments installment.Terms
}

// RefundRequest is one refund, to make or to query.
type RefundRequest struct {
	Reference string       // ours; the idempotency key at the provider
	RefundRef string       // the provider's, once it is known
	Charge    Request      // the charge to refund, in full or in part
	Local     money.Amount // the amount of this refund
	Sent      time.Time    // when it was first sent, by the clock of Charge.Now; zero if not known
	Last      time.Time    // when it was last sent, likewise
	Reason    string
}

// Provider is an account at a provider. Its methods are safe for concurrent use, keep to
// the context's deadline, and never return an error: an unclear result is pay.Unknown.
type Provider interface {
	// Charge asks for the money. Two calls with one reference charge once.
	Charge(ctx context.Context, r Request) pay.Outcome
	// Query asks for the state of a charge, by our reference. pay.Missing proves that the
	// provider never had it. If the provider does not answer, the outcome is Unknown, never
	// Errored or Unavailable, which would mean that there is no charge: see pay.Outcome.AsQueried.
	Query(ctx context.Context, r Request) pay.Outcome
	// Refund refunds a charge. Two calls with one reference refund once. Approved: the shopper
	// has the money or is certain to get it. Awaiting: the provider accepted the refund and
	// will report the result. Declined: there will be no refund. Errored and Unavailable prove
	// that this call refunded nothing.
	Refund(ctx context.Context, r RefundRequest) pay.Outcome
	// QueryRefund asks for the state of a refund, by our reference. pay.Missing proves that
	// the provider never had it; if there is no answer, the outcome is Unknown, as in Query.
	QueryRefund(ctx context.Context, r RefundRequest) pay.Outcome
	// Notices returns what a notification reports about our charges; nothing if it is about
	// something else. If the notification only says that something changed, Notices queries
	// the provider for the details.
	//
	// Errors: ErrUnsigned if the notification is not authentic; ErrUnreachable if the details
	// cannot be queried now and the provider has to send it again; any other error if it
	// cannot be understood.
	Notices(ctx context.Context, n Notification) ([]pay.Notice, error)
}

// Notification is a provider's HTTP request, with its body as it was sent.
type Notification struct {
	Header http.Header
	Query  url.Values
	Body   []byte
	// Asks reports whether the account may be asked about a payout that a notification without a signature names: by our
	// reference, or by the account's own. Anybody can send such a notification, so the core knows which payouts are there and how
	// often it asks. nil: about each.
	Asks func(ctx context.Context, reference, own string) error
}

// MayAsk is nil if the account may be asked about the payout that an unsigned notification names.
//
// Errors: ErrUnsigned if no such payout is there; rate_limited.
func (n Notification) MayAsk(ctx context.Context, reference, own string) error {
	if n.Asks == nil {
		return nil
	}
	return n.Asks(ctx, reference, own)
}
