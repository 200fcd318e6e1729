package pay

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// PayoutKind is what a payout provider says of a withdrawal.
type PayoutKind string

// Kinds of outcomes.
const (
	PayoutPaid        PayoutKind = "paid"        // the money has arrived
	PayoutRejected    PayoutKind = "rejected"    // it has not and will not, for a reason of the destination
	PayoutUnavailable PayoutKind = "unavailable" // proof that this account did not pay, for a reason of its own: another one may
	PayoutReturned    PayoutKind = "returned"    // it had arrived, or nearly, and came back whole
	PayoutAccepted    PayoutKind = "accepted"    // on its way
	PayoutUnknown     PayoutKind = "unknown"     // no answer, or none we understand
	PayoutMissing     PayoutKind = "missing"     // proof that the provider never had it
	PayoutUnsent      PayoutKind = "unsent"      // the provider has it, and pays once it is sent again
	PayoutHeld        PayoutKind = "held"        // a person pays it, and says so
)

// PayoutOutcome is an answer of a payout provider.
type PayoutOutcome struct {
	Kind        PayoutKind
	ProviderRef string
	Code        string       // why it was rejected, unavailable or returned, in our words
	Message     string       // the same for people; never the provider's own name
	Local       money.Amount // what was paid, when the provider says so; else zero
	CheckAt     time.Time    // when the provider will know more; zero: no idea
}

// PayoutNotice is what a provider tells by itself of a payout. Whether it was signed has been
// checked, or the provider was asked.
type PayoutNotice struct {
	ID          string // the provider's own id of it; the same one is applied once
	Reference   string // ours; "" where it tells its own alone
	ProviderRef string
	Outcome     PayoutOutcome
	Body        []byte
}

// Conversion is what the USD of a withdrawal arrive as. Of a token, which no rate is kept of, it
// is zero: who pays it out pays what the USD are worth.
type Conversion struct {
	Local      money.Amount // in the wallet's currency
	Rate       money.Rate   // of one USD
	RateSource string
	RateAt     time.Time
}

// Into converts what is paid out of USD, rounded half to even, with a reading.
func (r Reading) Into(usd money.Amount) (Conversion, error) {
	local, err := r.Rate.Convert(usd, r.Currency, money.HalfEven)
	return Conversion{Local: local, Rate: r.Rate, RateSource: r.Source, RateAt: r.At}, err
}

// PayoutRoute is the account that a withdrawal goes to, and why.
type PayoutRoute struct {
	Account string
	Why     string
	Passed  []string     // who was passed over, and why
	Float   money.Amount // what it takes of the account's float; zero where none is kept
}

// PayoutAttempt is how an account proved that it did not pay a withdrawal.
type PayoutAttempt struct {
	Account     string   `json:"account"`
	Reference   string   `json:"reference"`
	ProviderRef string   `json:"providerRef,omitempty"`
	Code        string   `json:"code,omitempty"`
	Message     string   `json:"message,omitempty"`
	Why         string   `json:"why,omitempty"`
	Passed      []string `json:"passed,omitempty"`
	Started     int64    `json:"started"` // microseconds UTC
	Ended       int64    `json:"ended"`
}

// attemptsKept is how many of a withdrawal's attempts are kept: one that waits for money for
// weeks is tried often.
const attemptsKept = 20

// Reference is what the payout provider knows the withdrawal by, and its idempotency key there:
// one for each account that it goes to, however often it is sent there.
func (w Withdrawal) Reference() string {
	if w.Round == 0 {
		return w.suffix()
	}
	return fmt.Sprintf("%s-%d", w.suffix(), w.Round+1)
}

// ParsePayoutReference returns the withdrawal's id, and the round that the reference is of.
func ParsePayoutReference(ref string) (id string, round int, ok bool) {
	suffix, number, later := strings.Cut(ref, "-")
	if suffix == "" {
		return "", 0, false
	}
	if !later {
		return WithdrawalPrefix + suffix, 0, true
	}
	order, err := strconv.Atoi(number)
	if err != nil || order < 2 || strconv.Itoa(order) != number {
		return "", 0, false
	}
	return WithdrawalPrefix + suffix, order - 1, true
}

// passOn gives a withdrawal back to who chooses accounts: this one proved that it did not pay.
func (w Withdrawal) passOn(o PayoutOutcome, now time.Time) (Withdrawal, Change) {
	tried := append(slices.Clone(w.Tried), PayoutAttempt{
		Account: w.Provider, Reference: w.Reference(), ProviderRef: cmp.Or(o.ProviderRef, w.ProviderRef), Code: o.Code, Message: o.Message,
		Why: w.Why, Passed: w.Passed, Started: w.SentAt.UnixMicro(), Ended: now.UnixMicro(),
	})
	w, float := w.freeFloat(now)
	w = w.next(now)
	w.Tried = tried[max(0, len(tried)-attemptsKept):]
	w.Round++
	w.Provider, w.ProviderRef, w.Batch, w.BankRef, w.Why, w.Passed, w.Checks, w.Accepted, w.Found, w.Said, w.Flight = "", "", "", "", "", nil, 0, false, false, "", Flight{}
	w.Status, w.DueAt, w.SentAt = WithdrawalPending, now, time.Time{}
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: float}
}

// Rests is until when an account that proved not to pay the withdrawal is not tried again with it:
// five minutes at first, twice as long each time, an hour at most. Zero where it did not.
func (w Withdrawal) Rests(account string) time.Time {
	var last time.Time
	times := 0
	for _, a := range w.Tried {
		if a.Account == account {
			last, times = time.UnixMicro(a.Ended).UTC(), times+1
		}
	}
	if times == 0 {
		return time.Time{}
	}
	return last.Add(min(5*time.Minute<<min(times-1, 10), time.Hour))
}

// Wait notes why a withdrawal that is due is not sent, and when somebody looks again. It reports
// whether there is something to write: a reason that is known is not written again.
func (w Withdrawal) Wait(reason string, until, now time.Time) (Withdrawal, Change, bool) {
	if w.Status != WithdrawalPending || w.Waiting == reason {
		return w, Change{}, false
	}
	w = w.next(now)
	w.Waiting, w.DueAt = reason, until
	return w, Change{Withdrawals: []Withdrawal{w}}, true
}

// misfits reports whether the provider speaks of another amount than was asked for.
func (w Withdrawal) misfits(o PayoutOutcome) bool {
	return o.Local != (money.Amount{}) && w.Local != (money.Amount{}) && o.Local != w.Local
}

// GoneTo reports whether a reference is of a round in which the withdrawal was with an account. A
// notification of another account tells nothing of it, whoever signed that.
func (w Withdrawal) GoneTo(reference, account string) bool {
	if reference == w.Reference() {
		return w.Provider == account
	}
	if id, round, ok := ParsePayoutReference(reference); ok && id == w.ID && round < w.Round-len(w.Tried) {
		return true // nobody knows any more where it was then
	}
	return slices.ContainsFunc(w.Tried, func(a PayoutAttempt) bool { return a.Reference == reference && a.Account == account })
}

// Told applies what a provider tells of a withdrawal by itself, proved is its outcome as far as it
// proves something. The Change always keeps the receipt. What does not fit what was decided is
// for the operator.
func (w Withdrawal) Told(n PayoutNotice, account string, proved PayoutOutcome, now time.Time) (Withdrawal, Change, Verdict) {
	next, change, verdict := w, Change{}, Ignored
	switch current := n.Reference == w.Reference(); {
	case !current && (n.Outcome.Kind == PayoutPaid || n.Outcome.Kind == PayoutAccepted):
		verdict = Mismatched // it had proved that it did not pay
	case !current:
	case w.misfits(n.Outcome), n.Outcome.Kind == PayoutUnknown: // a part came back, say
		verdict = Mismatched
	case w.Status == WithdrawalProcessing:
		next, change, _ = w.Resolve(proved, now)
		verdict = Applied
	case w.Status == WithdrawalDone && n.Outcome.Kind == PayoutReturned:
		next, change = w.comeBack(n.Outcome, now)
		verdict = Applied
	case w.Status == WithdrawalDone && n.Outcome.Kind != PayoutPaid && n.Outcome.Kind != PayoutAccepted, // whatever it is
		w.Status == WithdrawalRefused && w.CompletedAt.IsZero() && n.Outcome.Kind == PayoutPaid,
		w.Status == WithdrawalCanceled && n.Outcome.Kind == PayoutPaid:
		verdict = Mismatched
	}
	change.Receipts = []Receipt{{ID: account + "/" + n.ID, Account: account, Payment: w.ID, Verdict: verdict, Body: n.Body, At: now}}
	return next, change, verdict
}

// Contrary keeps for the operator that the answer to a call, or to a question, about a withdrawal
// as it stood then is against what was decided of it, or of another amount; false where it is not.
func (w Withdrawal) Contrary(then Withdrawal, o PayoutOutcome, now time.Time) (Change, bool) {
	switch o.Kind {
	case PayoutPaid, PayoutRejected, PayoutUnavailable, PayoutReturned:
	default: // asked by two at once, one may know nothing
		if !w.misfits(o) && (o.Kind != PayoutAccepted || then.Round == w.Round) {
			return Change{}, false
		}
	}
	told := PayoutNotice{
		ID: fmt.Sprintf("answer/%s %s", then.Reference(), o.Kind), Reference: then.Reference(), Outcome: o,
		Body: fmt.Appendf(nil, "asked about %s, the provider says %s %s; the withdrawal is %s", then.Reference(), o.Kind, o.Local, w.Status),
	}
	if w.Status == WithdrawalProcessing && told.Reference == w.Reference() && !w.misfits(o) {
		return Change{}, false
	}
	_, change, verdict := w.Told(told, then.Provider, o, now)
	return Change{Receipts: change.Receipts}, verdict == Mismatched
}

// comeBack gives back what had arrived: the bank sent it back. The fee stays, for it was paid out.
func (w Withdrawal) comeBack(o PayoutOutcome, now time.Time) (Withdrawal, Change) {
	before := w.Status
	w = w.next(now)
	w.Status, w.FailedAt = WithdrawalRefused, now
	w.FailureCode, w.FailureMessage = cmp.Or(o.Code, "returned"), cmp.Or(o.Message, "the payout arrived and was sent back")
	back := w.transfer("return", ledger.WithdrawalReturn, now,
		ledger.Posting{Account: ledger.PaidOut, Amount: -w.Net()},
		ledger.Posting{Account: ledger.Available, Amount: w.Net()},
	)
	float := w.moveFloat("return", ledger.FloatReturned, ledger.FloatPaid, ledger.Float, now)
	w.Float = money.Amount{}
	w, told := w.event(hook.WithdrawalFailed, before, now)
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: append(float, back), Events: []Event{told}}
}

// BatchPrefix begins the id of every batch of payouts.
const BatchPrefix = "bat_"

// MostLines is how many payouts a batch has at the most.
const MostLines = 2_000

// BatchStatus is where a batch of payouts stands.
type BatchStatus string

// States of a batch.
const (
	BatchMade      BatchStatus = "made"      // its file is written, and nobody has it
	BatchApproved  BatchStatus = "approved"  // by another operator: the file may leave
	BatchExported  BatchStatus = "exported"  // somebody has the file, and the bank perhaps
	BatchDissolved BatchStatus = "dissolved" // before its file left: the payouts wait for another one
)

// Batch is payouts of one account that leave in one file.
type Batch struct {
	ID       string // bat_…
	Version  int64
	Account  string // the payout account
	Live     bool
	Number   int // of the account's batches, from 1
	Status   BatchStatus
	Network  string
	Layout   string
	Lines    int
	Total    money.Amount
	Checksum string // SHA-256 of the file, hex
	File     []byte // sealed, bound to Secret
	// MadeBy, ApprovedBy and EndedBy are operators: who made it is not who approves it.
	MadeBy     string
	ApprovedBy string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExportedAt time.Time // the first time
}

// Secret names what the sealed file belongs to.
func (b Batch) Secret() string { return "payout batch " + b.Account + "/" + b.ID }

// Scope is whose audit log a batch's acts stand in: it has payouts of many merchants.
func (b Batch) Scope() tenant.Scope { return tenant.Scope{Live: b.Live} }

// LineReference is what a bank's file calls a line of a batch, numbered from 1: 16 letters and digits.
// Those of two accounts differ, so that an answer which is read for the wrong one names no line there.
func (b Batch) LineReference(line int) string {
	sum := sha256.Sum256([]byte(b.Account))
	mark := strings.ToUpper(base32.HexEncoding.EncodeToString(sum[:2])[:3])
	return fmt.Sprintf("P%s%06dL%05d", mark, b.Number, line)
}

// LineNumber counts an account's lines in seven digits, which is all that SPEI has room for.
func (b Batch) LineNumber(line int) int { return (b.Number*MostLines+line-1)%9_999_999 + 1 }

// Approve lets a batch's file leave.
//
// Errors: conflict_state: it is not waiting for that, or the operator made it himself.
func (b Batch) Approve(operator string, now time.Time) (Batch, Change, error) {
	if b.Status != BatchMade {
		return b, Change{}, b.conflict("approve", "only a batch that waits for approval can be approved")
	}
	if person(operator) == person(b.MadeBy) {
		err := b.conflict("approve", "who made the batch does not approve it: another operator has to")
		err.Details.Reason = "same_operator"
		return b, Change{}, err
	}
	return b.move(BatchApproved, operator, now)
}

// person is who an operator is, whichever machine he is at and whatever he does it as: "ana" of
// "ana as root@host".
func person(operator string) string {
	name, _, _ := strings.Cut(operator, "@")
	name, _, _ = strings.Cut(name, " as ")
	return name
}

// Export notes that the file has left.
//
// Errors: conflict_state: nobody approved it.
func (b Batch) Export(now time.Time) (Batch, Change, error) {
	switch b.Status {
	case BatchExported:
		return b, Change{}, nil
	case BatchApproved:
		b.ExportedAt = now
		return b.move(BatchExported, b.ApprovedBy, now)
	}
	return b, Change{}, b.conflict("export", "the file leaves once another operator has approved it")
}

// Dissolve takes its payouts out of a batch whose file never left.
//
// Errors: conflict_state.
func (b Batch) Dissolve(of []Withdrawal, now time.Time) (Batch, Change, error) {
	if b.Status != BatchMade && b.Status != BatchApproved {
		return b, Change{}, b.conflict("dissolve", "a batch whose file has left cannot be dissolved: the bank may have it")
	}
	next, change, err := b.move(BatchDissolved, b.ApprovedBy, now)
	for _, w := range of {
		w = w.next(now)
		w.Batch, w.ProviderRef, w.DueAt = "", "", now
		change.Withdrawals = append(change.Withdrawals, w)
	}
	return next, change, err
}

func (b Batch) move(to BatchStatus, approved string, now time.Time) (Batch, Change, error) {
	b.Version++
	b.Status, b.ApprovedBy, b.UpdatedAt = to, approved, now
	return b, Change{Batches: []Batch{b}}, nil
}

func (b Batch) conflict(action, message string) *problem.Error {
	return &problem.Error{Code: problem.ConflictState, Message: message + ": it is " + string(b.Status), Details: problem.Details{From: string(b.Status), Action: action}}
}

// Batchable reports whether a withdrawal waits for a batch of an account.
func (w Withdrawal) Batchable(account string) bool {
	return w.Status == WithdrawalProcessing && w.Provider == account && w.Batch == ""
}

// InBatch puts a withdrawal into a batch, under the line's reference.
func (w Withdrawal) InBatch(b Batch, reference string, now time.Time) Withdrawal {
	w = w.next(now)
	w.Batch, w.ProviderRef = b.ID, reference
	return w
}
