// Package ledger is the double-entry bookkeeping of Cascada: accounts,
// postings, and transfers whose postings sum to zero.
//
// A merchant's amounts are USD minor units (cents); the local amount of a
// payment is a memo on the transfer and never enters a sum. A float's amounts
// are minor units of its own currency ([FloatOwner]). The package is pure: it
// knows neither the database nor the clock.
package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Account names a place where money can be: a merchant's account in one environment, or one of the
// service's own. The service's accounts are kept per merchant too, so that no
// payment of one merchant waits for another's lock on a shared balance.
type Account string

// Accounts that belong to the merchant.
const (
	Pending   Account = "pending"    // captured, not yet settled
	Available Account = "available"  // may be withdrawn
	Frozen    Account = "frozen"     // held against open claims
	Reserve   Account = "reserve"    // rolling reserve, released later
	Suspense  Account = "suspense"   // real money with no payment to book it on
	InTransit Account = "in_transit" // withdrawn, not yet known to have arrived: still the merchant's
)

// Accounts of the service. They mirror the merchant's: what a provider owes us is negative,
// what we or a provider earned is positive.
const (
	Receivable     Account = "receivable"      // what the providers owe for captures
	PlatformFees   Account = "platform_fees"   // what the operator of Cascada earned
	ProviderFees   Account = "provider_fees"   // the providers' share of the amount
	FlatFees       Account = "flat_fees"       // the providers' fixed price per payment
	NetworkFees    Account = "network_fees"    // the fees of schemes and networks
	FeeTaxes       Account = "fee_taxes"       // taxes on fees: the operator owes them to the tax office
	ChargebackFees Account = "chargeback_fees" // the price of a dispute
	Refunds        Account = "refunds"         // paid back to shoppers by refunds
	Chargebacks    Account = "chargebacks"     // paid back to shoppers by disputes
	PaidOut        Account = "paid_out"        // arrived at the merchant's wallets
	WithdrawalFees Account = "withdrawal_fees" // the price of withdrawals
	// WithdrawalTaxes are taxes on the fees of withdrawals. They are apart from FeeTaxes, as withdrawals are apart from what a period earned.
	WithdrawalTaxes Account = "withdrawal_taxes"
	Rounding        Account = "rounding" // what providers owe beyond what merchants are credited with: less than a cent a payment
)

// Adjustments is what operators booked by hand to merchants, with the opposite sign. It is the service's.
const Adjustments Account = "adjustments"

// Accounts of a float: the operator's money at a payout account, in one
// currency. Its transfers have [FloatOwner] in the merchant's place.
const (
	Float          Account = "float"           // may be paid out
	FloatCommitted Account = "float_committed" // sent, not yet known to have arrived
	FloatPaid      Account = "float_paid"      // arrived
	FloatFunding   Account = "float_funding"   // what the operator paid into it, negative
)

// FloatOwner is the owner of a float's transfers, in place of a merchant: they never mix
// with a merchant's, nor with those in another currency.
func FloatOwner(account, currency string) string { return floatPrefix + account + "/" + currency }

const floatPrefix = "float/"

// FloatOf is the payout account and the currency of a transfer's owner; false for a
// merchant.
func FloatOf(owner string) (account, currency string, ok bool) {
	rest, ok := strings.CutPrefix(owner, floatPrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// Accounts lists every account. A balance row has one column for each, in this
// order.
func Accounts() []Account {
	return []Account{
		Pending, Available, Frozen, Reserve, Suspense,
		Receivable, PlatformFees, ProviderFees, FlatFees, NetworkFees, FeeTaxes, ChargebackFees, Refunds, Chargebacks,
		InTransit, PaidOut, WithdrawalFees, WithdrawalTaxes, Rounding, Adjustments,
		Float, FloatCommitted, FloatPaid, FloatFunding,
	}
}

// Balances holds the balance of every account of one merchant, or of one float,
// in one environment, in minor units. An absent account is zero.
type Balances map[Account]int64

// GrossVolume is the worth of all that shoppers ever paid, before refunds, as merchants are credited with it.
func (b Balances) GrossVolume() int64 { return -b[Receivable] - b[Rounding] }

// Net is what the merchant owns, wherever it is held.
func (b Balances) Net() int64 {
	return b[Pending] + b[Available] + b[Frozen] + b[Reserve] + b[Suspense] + b[InTransit]
}

// Posting is one signed line of a transfer, in minor units. A positive amount
// adds to the account.
type Posting struct {
	Account Account
	Amount  int64
}

// Kind says why money moved; it is the type of a movement.
type Kind string

// Kinds of transfers.
const (
	Capture           Kind = "capture"            // a payment was completed
	RefundFreeze      Kind = "refund_freeze"      // a refund opened: available, then pending, and reserve to frozen
	RefundPaid        Kind = "refund"             // frozen and fees went back to the shopper
	RefundFee         Kind = "refund_fee"         // the price of a refund, from available
	RefundRelease     Kind = "refund_release"     // a refund was not made: frozen to available and reserve
	RefundReturn      Kind = "refund_return"      // a refund came back after it was paid: refunds and fees to available
	ChargebackHold    Kind = "chargeback_hold"    // a dispute opened: available to frozen
	ChargebackFee     Kind = "chargeback_fee"     // the price of a dispute, from available
	ChargebackPaid    Kind = "chargeback"         // a dispute was lost: frozen went back to the shopper
	ChargebackRelease Kind = "chargeback_release" // a dispute was won: frozen to available
	// A lost dispute continues, or was won after all: what the shopper got is frozen again.
	ChargebackReversal Kind = "chargeback_reversal"

	LateCapture  Kind = "late_capture"  // paid after the end: receivable to suspense
	LateRefund   Kind = "late_refund"   // late money went back to the shopper, from suspense
	LateReturn   Kind = "late_return"   // late money that went back to the shopper came back: refunds to suspense
	LateAccepted Kind = "late_accepted" // late money is accepted for the merchant: suspense to available
	LateKept     Kind = "late_kept"     // a part of it is: suspense to available
	LateReversal Kind = "late_reversal" // it never came: suspense to receivable
	LateApplied  Kind = "late_applied"  // a part of it completes its payment, whose capture follows: suspense to receivable

	WithdrawalOpened   Kind = "withdrawal"          // available to in transit
	WithdrawalPaid     Kind = "withdrawal_paid"     // it arrived: in transit to paid out and fees
	WithdrawalReversal Kind = "withdrawal_reversal" // it failed or was cancelled: in transit to available
	WithdrawalReturn   Kind = "withdrawal_return"   // it had arrived and came back: paid out to available
)

// TransferPrefix begins the id of a transfer.
const TransferPrefix = "tr_"

// Transfer is a set of postings that sums to zero, for one merchant, or one
// float, in one environment. Transfers are never changed; only a sandbox's reset deletes them.
type Transfer struct {
	ID       string
	Merchant string // or a FloatOwner
	Live     bool
	Kind     Kind
	Payment  string       // the payment it belongs to, or ""
	Claim    string       // the claim it belongs to, or ""
	Local    money.Amount // memo: the amount that the shopper sees
	Memo     string       // what was agreed beyond the amounts, for a later proof; ""
	At       time.Time
	Settles  time.Time // of a capture: when its payment's terms make it available; zero for others
	Postings []Posting
}

// Floor is what a balance must keep once a change is applied: the account's
// balance, in minor units, must then be at least Min.
type Floor struct {
	Merchant string
	Live     bool
	Account  Account
	Min      int64
}

// Errors of Check.
var (
	ErrUnbalanced = errors.New("postings do not sum to zero")
	ErrPosting    = errors.New("posting is not valid")
)

// Check reports whether t may be written: it has at least two postings, names each account
// once, has no empty posting, and sums to zero.
func (t Transfer) Check() error {
	if t.ID == "" || t.Merchant == "" || t.Kind == "" || len(t.Postings) < 2 {
		return fmt.Errorf("transfer %q (%s): %w: it needs an id, a merchant, a kind and two postings", t.ID, t.Kind, ErrPosting)
	}
	var sum int64
	for i, p := range t.Postings {
		if p.Amount == 0 || !slices.Contains(Accounts(), p.Account) {
			return fmt.Errorf("transfer %s: %w: %q has amount %d", t.ID, ErrPosting, p.Account, p.Amount)
		}
		same := func(q Posting) bool { return q.Account == p.Account }
		if slices.ContainsFunc(t.Postings[:i], same) {
			return fmt.Errorf("transfer %s: %w: %q is named twice", t.ID, ErrPosting, p.Account)
		}
		sum += p.Amount
	}
	if sum != 0 {
		return fmt.Errorf("transfer %s (%s): %w: off by %d", t.ID, t.Kind, ErrUnbalanced, sum)
	}
	return nil
}

// Amount returns what t adds to the account, zero if it does not touch it.
func (t Transfer) Amount(a Account) int64 {
	for _, p := range t.Postings {
		if p.Account == a {
			return p.Amount
		}
	}
	return 0
}

// Gross is the worth, in USD cents, of what t received from a provider, as the merchant is credited with it.
func (t Transfer) Gross() int64 { return -t.Amount(Receivable) - t.Amount(Rounding) }

// Post returns the lines that are not empty.
func Post(lines ...Posting) []Posting {
	return slices.DeleteFunc(lines, func(p Posting) bool { return p.Amount == 0 })
}

// String is the form a failing test prints: one line per posting.
func (t Transfer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.Kind, t.ID)
	for _, p := range t.Postings {
		fmt.Fprintf(&b, "\n  %-20s %+d", p.Account, p.Amount)
	}
	return b.String()
}
