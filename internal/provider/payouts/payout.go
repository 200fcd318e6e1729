// Package payouts defines what a provider of payouts must do: send money to a merchant's
// bank account or crypto wallet, and report the result. Each provider is a package below
// this one; all return outcomes in our terms.
package payouts

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Request is one payout, to send or to query.
type Request struct {
	Reference   string       // ours; the idempotency key at the provider
	ProviderRef string       // the provider's, once it is known
	Calls       int          // how often Send was called under the reference, including this call
	Amount      money.Amount // USD that leaves the merchant's balance, our fee included
	Net         money.Amount // USD to pay out
	Local       money.Amount // the amount to arrive, in Currency; zero for a token: as much as Net is worth
	Type        pay.WalletType
	Network     string
	Currency    string // what arrives: ISO 4217, or a token
	Destination string // secret; not to be logged
	pay.Beneficiary
	Sent time.Time
	Now  time.Time // by the merchant's clock
}

// FileLine is a payout in a bank's file.
type FileLine struct {
	Request
	LineReference string // ours in the file: at most 16 letters and digits, unique at the account
	Number        int    // 1 to 9999999
}

// FileAnswer is a bank's answer about a line.
type FileAnswer struct {
	LineReference string
	Whole         bool   // for all lines of the batch without an answer of their own
	Batch         string // the batch's id in the file, "" if the file has none
	Line          int    // in the answer, from 1
	BankReference string
	Unclear       string // the bank's status, if its meaning is not known
	Notice        string // what an operator must know about the file; nothing else is answered then
	Outcome       pay.PayoutOutcome
}

// Filer is a Provider whose payouts leave in files that the operator uploads to the bank.
type Filer interface {
	Provider
	// Layout is the name of the files' layout.
	Layout() string
	// Write is the file of a batch: the same bytes for the same batch. number counts the
	// account's files.
	//
	// Errors: which line does not fit, and why; the text names no account.
	Write(id string, number int, at time.Time, lines []FileLine) ([]byte, error)
	// Answers reads a bank's answer, whole or not at all.
	//
	// Errors: if it cannot be read.
	Answers(file []byte) ([]FileAnswer, error)
}

// Choosy is a Provider that cannot pay to every wallet of its rails.
type Choosy interface {
	// Fits says why the account cannot pay to the request's destination, whatever the amount.
	// It makes no call.
	Fits(r Request) error
}

// Provider pays out. Its methods are safe for concurrent use, keep to the context's
// deadline, and never return an error: an unclear result is pay.PayoutUnknown.
type Provider interface {
	// Send starts a payout. Two calls with one reference pay once, which covers a crash
	// between the call and its answer. pay.PayoutRejected and pay.PayoutUnavailable prove that
	// it did not pay and never will under this reference: rejected for a reason of the
	// beneficiary's, unavailable for a reason of the account's.
	Send(ctx context.Context, r Request) pay.PayoutOutcome
	// Query asks for the state of a payout, by our reference; it moves no money.
	// pay.PayoutMissing proves that the provider never had it, and pay.PayoutUnsent that it
	// waits there for another Send. Without an answer, or after a refusal of the query, the
	// outcome is pay.PayoutUnknown.
	Query(ctx context.Context, r Request) pay.PayoutOutcome
}
