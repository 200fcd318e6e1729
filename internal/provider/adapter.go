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
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/reconcile"
)

// Adapter is a provider that the operator may open accounts at. Each is a
// package below this one.
type Adapter struct {
	Name   string  // "stripe": in the CLI, the database and the docs
	Fields []Field // the credentials of an account
	Rails  []string
	// Report is how its settlement report is written; the zero value where that is
	// not documented.
	Report reconcile.Format
	// Open makes the client of an account that takes payments; it calls nobody.
	//
	// Errors: *FieldError for a credential that cannot be one.
	Open func(Account) (Provider, error)
	// OpenPayouts makes the client of an account that pays out, in place of Open. Its rails are
	// a network and a currency, "pix.BRL", or all of the network's, "account.*".
	OpenPayouts func(Account) (payout.Provider, error)
	// Needs is what the adapter has to know of a beneficiary, by rail ("pix.BRL" or "pix.*").
	Needs map[string][]pay.HolderField
}

// PayoutListener is a payout.Provider that is told of payouts.
type PayoutListener interface {
	// Notices reads a notification as Provider.Notices does, with its errors. The returns of
	// payouts that had arrived are told so too.
	Notices(ctx context.Context, n Notification) ([]pay.PayoutNotice, error)
}

// Rails lists the rails of an adapter's table: one that goes first, and the others
// in order.
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
	Public   bool // not a secret: a merchant's number, a published key
}

// FieldError says what is wrong with a credential. It never holds the value.
type FieldError struct {
	Field  string
	Reason string
}

// Error is for error.
func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }

// Account is what an adapter needs to know of an account.
type Account struct {
	ID   string // ours; it is in the notification URL
	Live bool   // the provider's production
	// BaseURL goes in place of the provider's own address of the environment,
	// where it is not "".
	BaseURL     string
	Credentials map[string]string // by Field.Name; the required ones are there
	// NotificationURL is where the provider is to send notifications.
	NotificationURL string
	Client          *http.Client
	Now             func() time.Time // for signatures that have an age
	// Unmapped is told each status word that the adapter has no meaning for.
	Unmapped func(word string)
}

// Credential is one of the account's, which has so many characters at the most.
//
// Errors: *FieldError where it is missing or cannot be one.
func (a Account) Credential(name string, most int) (string, error) {
	value := a.Credentials[name]
	switch {
	case value == "":
		return "", &FieldError{Field: name, Reason: "it is missing"}
	case !Plain(value, most):
		return "", &FieldError{Field: name, Reason: fmt.Sprintf("it has a space, a character that no credential has, or more than %d of them", most)}
	}
	return value, nil
}

// Base is the provider's address: its own of the environment, or what the account
// has in place of it.
func (a Account) Base(test, live string) string {
	switch {
	case a.BaseURL != "":
		return strings.TrimSuffix(a.BaseURL, "/")
	case a.Live:
		return live
	}
	return test
}

// Strange tells of a word of the provider's that we have no meaning for; of says
// what the word is of.
func (a Account) Strange(of, word string) {
	if a.Unmapped != nil {
		a.Unmapped(of + ": " + Printable(word, 64))
	}
}

// Checker is a provider that can prove its credentials with a call that costs
// nothing.
type Checker interface {
	// Check returns why the credentials do not work, in words for the operator.
	Check(ctx context.Context) error
}

// Balancer is a payout.Provider that can be asked how much it can pay out now.
type Balancer interface {
	// Balance is what the account can pay out now.
	//
	// Errors: in words for the operator.
	Balance(ctx context.Context) (money.Amount, error)
}

// Canceler is a provider that can end a charge which nobody has paid yet.
type Canceler interface {
	// Cancel ends a charge: Lapsed when it is ended, Approved when the shopper was
	// faster, Awaiting when it cannot be ended on our demand and may still be paid,
	// Unknown when nobody knows. Called twice it does no harm.
	Cancel(ctx context.Context, r Request) pay.Outcome
}

// Taker is a provider with a rule of its own about amounts: that there be no cents, that the
// currency be one of few.
type Taker interface {
	// Takes reports whether a charge of an amount over a rail can be asked for. Charge keeps
	// to it, and so does what shoppers are offered.
	Takes(rail string, local money.Amount) bool
}

// Takes reports whether a provider takes an amount over a rail, as far as it has a rule
// of its own.
func Takes(p Provider, rail string, local money.Amount) bool {
	t, ruled := p.(Taker)
	return !ruled || t.Takes(rail, local)
}

// DisputeRequest asks how a dispute stands.
type DisputeRequest struct {
	ID     string // the provider's; "" where it told none
	Charge Request
}

// DisputeQuerier is a provider that can be asked how a dispute stands.
type DisputeQuerier interface {
	// QueryDispute tells how a dispute stands, as a notification of it would; false
	// where nobody knows: no answer, none that can be read, no such dispute.
	QueryDispute(ctx context.Context, r DisputeRequest) (pay.Notice, bool)
}
