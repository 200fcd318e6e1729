package provider

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// Adapter is a kind of provider at which the operator may open accounts. Each adapter is a
// package below this one.
type Adapter struct {
	Name   string  // "stripe": in the CLI, the database and the docs
	Fields []Field // the credentials of an account
	Rails  []string
	// Declines are the provider's codes of refusals, for those who read what it says.
	Declines []Codes
	// Report is the format of the provider's settlement report; zero if the provider does not
	// document it.
	Report reconcile.Format
	// Open makes the client of an account that takes payments. It makes no call.
	//
	// Errors: *FieldError for a credential that cannot be valid.
	Open func(Account) (Provider, error)
	// OpenPayouts replaces Open for an account that pays out. Its rails are a network and a
	// currency, "pix.BRL", or all rails of a network, "account.*".
	OpenPayouts func(Account) (payouts.Provider, error)
	// Needs lists what the adapter has to know of a beneficiary, by rail ("pix.BRL" or
	// "pix.*").
	Needs map[string][]pay.HolderField
}

// PayoutListener is a payouts.Provider that receives notifications of payouts.
type PayoutListener interface {
	// Notices reads a notification as Provider.Notices does, with the same errors. It also
	// reports payouts that had arrived and came back.
	Notices(ctx context.Context, n Notification) ([]pay.PayoutNotice, error)
}

// Rails lists the rails of an adapter's table: first, then the others in order.
func Rails[M any](table map[string]M, first string) []string {
	list := slices.Sorted(maps.Keys(table))
	if at := slices.Index(list, first); at > 0 {
		list = slices.Insert(slices.Delete(list, at, at+1), 0, first)
	}
	return list
}

// Field is one credential.
type Field struct {
	Name     string // "secretKey"
	Doc      string // where to find it
	Optional bool
	Public   bool // not secret: a merchant's number, a published key
}

// FieldError says what is wrong with a credential. It never holds the value.
type FieldError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }

// Account is what an adapter needs to know of an account.
type Account struct {
	ID   string // our id; it is in the notification URL
	Live bool   // the provider's production
	// BaseURL replaces the provider's own address, unless it is "".
	BaseURL     string
	Credentials map[string]string // by Field.Name; all required ones are present
	// NotificationURL is where the provider should send notifications.
	NotificationURL string
	Client          *http.Client
	Now             func() time.Time // to check the age of signatures
	// Unmapped, if set, is called with each status that the adapter does not know.
	Unmapped func(word string)
}

// Credential returns one of the account's credentials, of at most most characters.
//
// Errors: *FieldError if it is missing or cannot be valid.
func (a Account) Credential(name string, most int) (string, error) {
	value := a.Credentials[name]
	switch {
	case value == "":
		return "", &FieldError{Field: name, Reason: "it is missing"}
	case !Plain(value, most):
		return "", &FieldError{Field: name, Reason: fmt.Sprintf("it has a space, a character that no credential has, or more than %d characters", most)}
	}
	return value, nil
}

// Base is the provider's address in this environment, or the account's BaseURL if it has
// one.
func (a Account) Base(test, live string) string {
	switch {
	case a.BaseURL != "":
		return strings.TrimSuffix(a.BaseURL, "/")
	case a.Live:
		return live
	}
	return test
}

// Strange reports a word of the provider's that we do not know; of says what kind of word
// it is.
func (a Account) Strange(of, word string) {
	if a.Unmapped != nil {
		a.Unmapped(of + ": " + Printable(word, 64))
	}
}

// Checker is a provider whose credentials can be checked with a free call.
type Checker interface {
	// Check returns why the credentials do not work, in words for the operator.
	Check(ctx context.Context) error
}

// Balancer is a payouts.Provider that reports how much it can pay out now.
type Balancer interface {
	// Balance is what the account can pay out now.
	//
	// Errors: in words for the operator.
	Balance(ctx context.Context) (money.Amount, error)
}

// Canceler is a provider that can end a charge that is not yet paid.
type Canceler interface {
	// Cancel ends a charge. It returns Lapsed if the charge has ended, Approved if the shopper
	// was faster, Awaiting if the provider does not end it on request and it may still be
	// paid, and Unknown if there is no clear answer. A second call does no harm.
	Cancel(ctx context.Context, r Request) pay.Outcome
}

// Doubted is a Canceler of which no document says that a page that was ended takes no money any more. A shopper whose card was refused
// there is not sent to another provider: he could pay on both pages.
type Doubted interface {
	// Doubts says what is not proved of a rail's pages, "" if nothing is in doubt.
	Doubts(rail string) string
}

// Accepter is a provider with its own rule about amounts: only whole amounts, for example, or
// only some currencies.
type Accepter interface {
	// Accepts reports whether a rail takes a charge of an amount. Charge refuses other amounts,
	// and shoppers are not offered the rail for them.
	Accepts(rail string, local money.Amount) bool
}

// Accepts reports whether a provider takes an amount over a rail. A provider without a rule
// of its own takes all.
func Accepts(p Provider, rail string, local money.Amount) bool {
	t, decides := p.(Accepter)
	return !decides || t.Accepts(rail, local)
}

// Installer is a provider at which shoppers may pay by card in installments. An adapter without it charges all at once.
//
// The outcome says what the shopper chose (pay.Outcome.Installments). What the card is charged with interest is its Total, never
// pay.Outcome.Local: that is what the provider books for us, and another amount than the payment's would not complete the payment.
type Installer interface {
	// Installments reports which numbers of installments a shopper can choose over a rail if Charge gets the terms. They are
	// no more than the terms allow: a provider that cannot be kept to them offers none under them. A zero amount asks for the
	// offer for any amount, in the rail's own currency. If the offer is empty, Charge ignores the terms: the shopper pays at once.
	//
	// installment.Offer.Under narrows what a provider can do to the terms.
	Installments(rail string, local money.Amount, t installment.Terms) installment.Offer
}

// Installments reports what a provider offers under terms: nothing if it is no Installer, or if the terms allow none.
func Installments(p Provider, rail string, local money.Amount, t installment.Terms) installment.Offer {
	i, able := p.(Installer)
	if !able || !t.Offered() {
		return installment.Offer{}
	}
	return i.Installments(rail, local, t)
}

// Refunder is a provider that does not refund the payments of every rail: vouchers, mostly.
type Refunder interface {
	// Refunds reports whether a payment over a rail can be refunded through the provider. Refund declines others, and shops are
	// told before they try.
	Refunds(rail string) bool
}

// Refunds reports whether a provider refunds payments over a rail. A provider without a rule of its own refunds all.
func Refunds(p Provider, rail string) bool {
	r, decides := p.(Refunder)
	return !decides || r.Refunds(rail)
}

// DisputeRequest asks for the state of a dispute.
type DisputeRequest struct {
	ID     string // the provider's; "" if it sent none
	Charge Request
}

// DisputeQuerier is a provider that can be asked for the state of a dispute.
type DisputeQuerier interface {
	// CanQueryDispute reports whether the provider has a call for a dispute at all: some can only
	// be asked by the dispute's id. A dispute that can be queried is not ended by our own clock.
	CanQueryDispute(r DisputeRequest) bool
	// QueryDispute returns the state of a dispute as a notification would report it. It
	// returns false if the provider gives no answer, sends one that cannot be read, or has no
	// such dispute.
	QueryDispute(ctx context.Context, r DisputeRequest) (pay.Notice, bool)
}
