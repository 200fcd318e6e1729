// Package payout says what a provider of payouts has to be able to do: take
// money to a merchant's bank account or crypto wallet, and tell what became of
// it. Each provider is a package below this one; all speak in the core's words.
package payout

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Request is one payout: what Send asks for and what Query asks about.
type Request struct {
	Reference   string       // ours; the provider's idempotency key
	ProviderRef string       // the provider's, once it is known
	Calls       int          // how often Send was begun under the reference, this time counted
	Amount      money.Amount // USD that leaves the merchant's balance, our fee included
	Net         money.Amount // USD to pay out
	Local       money.Amount // what is to arrive, in Currency; zero of a token: as much as Net is worth
	Type        pay.WalletType
	Network     string
	Currency    string // what arrives: ISO 4217, or a token
	Destination string // secret; not to be logged
	pay.Beneficiary
	Sent time.Time
	Now  time.Time // in the merchant's clock
}

// FileLine is a payout in a bank's file.
type FileLine struct {
	Request
	LineReference string // ours in the file: at most 16 letters and digits, unique at the account
	Number        int    // 1 to 9999999
}

// FileAnswer is what a bank's answer says of a line.
type FileAnswer struct {
	LineReference string
	Whole         bool   // of all lines of the batch that have no answer of their own
	Batch         string // the batch's id in the file, "" where it is not told
	Line          int    // in the answer, from 1
	BankReference string
	Unclear       string // the bank's word, where no meaning of it is known
	Outcome       pay.PayoutOutcome
}

// Filer is a Provider whose payouts leave in files, which the operator takes to the bank.
type Filer interface {
	Provider
	// Layout names how files are written.
	Layout() string
	// Write is the file of a batch: the same bytes for the same batch. number counts the
	// account's files.
	//
	// Errors: which line does not fit, and why; it names no account.
	Write(id string, number int, at time.Time, lines []FileLine) ([]byte, error)
	// Answers reads a bank's answer, whole or not at all.
	//
	// Errors: where it cannot be read.
	Answers(file []byte) ([]FileAnswer, error)
}

// Choosy is a Provider that cannot pay to every wallet of its rails.
type Choosy interface {
	// Fits says why the account cannot pay to whom the request is for, whatever the amount; no call is made.
	Fits(r Request) error
}

// Provider pays out. Its methods are safe for use by many goroutines, keep to
// the context's deadline, and never return an error: what they do not know is
// pay.PayoutUnknown.
type Provider interface {
	// Send starts a payout. Called twice with one reference it pays once; that
	// is what a crash between the call and its answer relies on.
	// pay.PayoutRejected and pay.PayoutUnavailable are proof that it did not pay and
	// never will under this reference; they differ in who has to change something.
	Send(ctx context.Context, r Request) pay.PayoutOutcome
	// Query asks what became of a payout, under our reference; it moves no money.
	// pay.PayoutMissing is proof that the provider never had it, and pay.PayoutUnsent
	// that it waits there for another Send; no answer, and a question that was refused,
	// are pay.PayoutUnknown.
	Query(ctx context.Context, r Request) pay.PayoutOutcome
}
