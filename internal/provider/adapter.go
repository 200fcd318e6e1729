package provider

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
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
	// Open makes the account's client; it calls nobody.
	//
	// Errors: *FieldError for a credential that cannot be one.
	Open func(Account) (Provider, error)
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

// Checker is a provider that can prove its credentials with a call that costs
// nothing.
type Checker interface {
	// Check returns why the credentials do not work, in words for the operator.
	Check(ctx context.Context) error
}

// Canceler is a provider that can end a charge which nobody has paid yet.
type Canceler interface {
	// Cancel ends a charge: Lapsed when it is ended, Approved when the shopper was
	// faster, Unknown when nobody knows. Called twice it does no harm.
	Cancel(ctx context.Context, r Request) pay.Outcome
}
