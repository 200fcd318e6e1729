package pay

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// PayoutKind is a payout provider's answer about a withdrawal.
type PayoutKind string

// Kinds of answers.
const (
	PayoutPaid        PayoutKind = "paid"        // the money has arrived
	PayoutRejected    PayoutKind = "rejected"    // it has not and will not arrive, because of the destination
	PayoutUnavailable PayoutKind = "unavailable" // proof that this account did not pay, because of the account: another one may
	PayoutReturned    PayoutKind = "returned"    // it had arrived, or nearly, and came back in full
	PayoutAccepted    PayoutKind = "accepted"    // on its way
	PayoutUnknown     PayoutKind = "unknown"     // no answer, or none we understand
	PayoutMissing     PayoutKind = "missing"     // proof that the provider never had it
	PayoutUnsent      PayoutKind = "unsent"      // the provider has it, and pays once it is sent again
	PayoutHeld        PayoutKind = "held"        // a person pays it and confirms it
)

// PayoutOutcome is an answer of a payout provider.
type PayoutOutcome struct {
	Kind        PayoutKind
	ProviderRef string
	Code        string       // why it was rejected, unavailable or returned: our code
	Message     string       // the same for people; never the provider's own name
	Local       money.Amount // what was paid, if the provider reports it; else zero
	CheckAt     time.Time    // when the provider will know more; zero if that is not known
}

// PayoutNotice is what a provider's notification reports of a payout. Its signature was checked, or
// the provider was queried.
type PayoutNotice struct {
	ID          string // the provider's own id of it; a notice with a known id is not applied again
	Reference   string // ours; "" if it has only the provider's own
	ProviderRef string
	Outcome     PayoutOutcome
	Body        []byte
}

// PayoutRoute is the account that a withdrawal goes to, and why.
type PayoutRoute struct {
	Account string
	Why     string
	Passed  []string     // the accounts that were passed over, and why
	Float   money.Amount // what it takes of the account's float; zero if no float is kept
}

// PayoutAttempt is an account's proof that it did not pay a withdrawal.
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

// attemptsKept is the number of a withdrawal's attempts that are kept: a withdrawal that waits
// weeks for money is tried often.
const attemptsKept = 20

// ParsePayoutReference returns the withdrawal's id and the round of the reference.
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

// accountRests is how long an account rests for a withdrawal that it proved not to pay. What stopped it, such as a bank that
// is closed, is often over in minutes. If not, accounts must not hand the withdrawal on to each other without end.
var accountRests = backoff{first: 5 * time.Minute, most: time.Hour}

// Rests is the time until which the withdrawal is not sent again to an account that proved that it
// did not pay. It is zero if the account gave no such proof.
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
	return last.Add(accountRests.after(times))
}

// Wait records why a due withdrawal is not sent, and when to look again. It reports whether there
// is something to write: the same reason is not written again.
func (w Withdrawal) Wait(reason string, until, now time.Time) (Withdrawal, Change, bool) {
	if w.Status != WithdrawalPending || w.Waiting == reason {
		return w, Change{}, false
	}
	w = w.next(now)
	w.Waiting, w.DueAt = reason, until
	return w, Change{Withdrawals: []Withdrawal{w}}, true
}

// GoneTo reports whether a reference is of a round in which the withdrawal was with the account.
// Another account's notification must not change it, even if its signature is valid.
func (w Withdrawal) GoneTo(reference, account string) bool {
	if reference == w.Reference() {
		return w.Payout.Provider == account
	}
	if id, round, ok := ParsePayoutReference(reference); ok && id == w.ID && round < w.Round-len(w.Tried) {
		return true // a round so old that its account is no longer kept
	}
	return slices.ContainsFunc(w.Tried, func(a PayoutAttempt) bool { return a.Reference == reference && a.Account == account })
}

// ApplyPayoutNotice applies a payout notice to the withdrawal. proved is the part of its outcome that is proved.
// The Change always keeps the notice. A notice that contradicts the withdrawal is kept for the
// operator.
func (w Withdrawal) ApplyPayoutNotice(n PayoutNotice, account string, proved PayoutOutcome, now time.Time) (Withdrawal, Change, Verdict) {
	next, change, verdict := w, Change{}, Ignored
	switch current := n.Reference == w.Reference(); {
	case !current && (n.Outcome.Kind == PayoutPaid || n.Outcome.Kind == PayoutAccepted):
		verdict = Mismatched // this account had proved that it did not pay
	case !current:
	case n.Outcome.Kind == PayoutReturned && n.Outcome.Local != (money.Amount{}) && slices.Contains(w.ReturnedParts, n.Outcome.Local.Minor):
		verdict = Mismatched // it may be a part that is booked: the operator's word, or the same news under another id
	case w.isPart(n.Outcome):
		usd, _ := w.returning(n.Outcome.Local)
		next, change = w.comeBack(usd, n.Outcome.Local, n.Outcome, now)
		verdict = Applied
	case w.arrivedAndCameBack(proved):
		next, change = w.partBeforeItsPayment(n.Outcome, now)
		verdict = Applied
	case w.misfits(n.Outcome), n.Outcome.Kind == PayoutUnknown:
		verdict = Mismatched
	case w.Status == WithdrawalProcessing:
		next, change, _ = w.ApplyPayoutOutcome(proved, now)
		verdict = Applied
	case w.Status == WithdrawalDone && n.Outcome.Kind == PayoutReturned && w.Returns == 0: // all of it
		next, change = w.comeBack(w.Net(), w.LeftToReturn(), n.Outcome, now)
		verdict = Applied
	case w.Status == WithdrawalDone && n.Outcome.Kind != PayoutPaid && n.Outcome.Kind != PayoutAccepted, // any other answer
		w.Status == WithdrawalRefused && w.CompletedAt.IsZero() && n.Outcome.Kind == PayoutPaid,
		w.Status == WithdrawalCanceled && n.Outcome.Kind == PayoutPaid:
		verdict = Mismatched
	}
	change.Notices = []KeptNotice{{ID: account + "/" + n.ID, Account: account, Payment: w.ID, Verdict: verdict, Body: n.Body, At: now}}
	return next, change, verdict
}

// Contradiction keeps for the operator an answer to a call or query that contradicts the withdrawal's
// present state, or reports another amount. before is the withdrawal as it was at the call. It
// returns false if there is no contradiction.
func (w Withdrawal) Contradiction(before Withdrawal, o PayoutOutcome, now time.Time) (Change, bool) {
	switch o.Kind {
	case PayoutPaid, PayoutRejected, PayoutUnavailable, PayoutReturned:
	default: // two nodes may have queried at once, and one of them may have learnt nothing
		if !w.misfits(o) && (o.Kind != PayoutAccepted || before.Round == w.Round) {
			return Change{}, false
		}
	}
	told := PayoutNotice{
		ID: fmt.Sprintf("answer/%s %s", before.Reference(), o.Kind), Reference: before.Reference(), Outcome: o,
		Body: fmt.Appendf(nil, "when queried about %s, the provider says %s %s; the withdrawal is %s", before.Reference(), o.Kind, o.Local, w.Status),
	}
	if w.Status == WithdrawalProcessing && told.Reference == w.Reference() && !w.misfits(o) {
		return Change{}, false
	}
	_, change, verdict := w.ApplyPayoutNotice(told, before.Payout.Provider, o, now)
	if verdict == Applied { // money came back: a notice of it is booked, but an answer may be older than what is booked
		verdict = Mismatched
		change.Notices[0].Verdict = verdict
	}
	return Change{Notices: change.Notices}, verdict == Mismatched
}

// BatchPrefix begins the id of a batch of payouts.
const BatchPrefix = "bat_"

// MostLines is the largest number of payouts in a batch.
const MostLines = 2_000

// BatchStatus is the state of a batch of payouts.
type BatchStatus string

// States of a batch.
const (
	BatchMade      BatchStatus = "made"      // its file is written and was not exported
	BatchApproved  BatchStatus = "approved"  // another operator approved it: the file may be exported
	BatchExported  BatchStatus = "exported"  // an operator has the file; the bank may have it too
	BatchDissolved BatchStatus = "dissolved" // its file was never exported: the payouts wait for another batch
)

// Batch is a group of payouts of one account that leave in one file.
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
	File     []byte // encrypted, bound to Secret
	// MadeBy, ApprovedBy and EndedBy are operators. MadeBy and ApprovedBy are different people.
	MadeBy     string
	ApprovedBy string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExportedAt time.Time // of the first export
}

// Secret names what the encrypted file belongs to.
func (b Batch) Secret() string { return "payout batch " + b.Account + "/" + b.ID }

// Scope is the scope of the audit entries about a batch. A batch has payouts of
// many merchants, so its scope has no merchant.
func (b Batch) Scope() merchants.Scope { return merchants.Scope{Live: b.Live} }

// LineReference is the name of a line of the batch in the bank's file: 16 letters and digits. Lines
// are numbered from 1. References of different accounts differ, so an answer that is read for the
// wrong account matches no line.
func (b Batch) LineReference(line int) string {
	sum := sha256.Sum256([]byte(b.Account))
	mark := strings.ToUpper(base32.HexEncoding.EncodeToString(sum[:2])[:3])
	return fmt.Sprintf("P%s%06dL%05d", mark, b.Number, line)
}

// LineNumber numbers an account's lines in seven digits, the most that SPEI allows.
func (b Batch) LineNumber(line int) int { return (b.Number*MostLines+line-1)%9_999_999 + 1 }

// Approve allows the export of a batch's file.
//
// Errors: conflict_state if it does not wait for approval, or if the same operator made it.
func (b Batch) Approve(operator string, now time.Time) (Batch, Change, error) {
	if b.Status != BatchMade {
		return b, Change{}, b.conflict("approve", batchNotToApprove)
	}
	if samePerson(operator, b.MadeBy) {
		err := b.conflict("approve", batchBySamePerson)
		err.Details.Reason = "same_operator"
		return b, Change{}, err
	}
	return b.move(BatchApproved, operator, now)
}

// Export records that the file was exported.
//
// Errors: conflict_state if it was not approved.
func (b Batch) Export(now time.Time) (Batch, Change, error) {
	switch b.Status {
	case BatchExported:
		return b, Change{}, nil
	case BatchApproved:
		b.ExportedAt = now
		return b.move(BatchExported, b.ApprovedBy, now)
	}
	return b, Change{}, b.conflict("export", batchNotApproved)
}

// MayDissolve reports whether the batch's file has not left yet, but still may.
func (b Batch) MayDissolve() bool { return b.Status == BatchMade || b.Status == BatchApproved }

// Dissolve frees the payouts of a batch whose file was never exported.
//
// Errors: conflict_state if it was exported.
func (b Batch) Dissolve(of []Withdrawal, now time.Time) (Batch, Change, error) {
	if !b.MayDissolve() {
		return b, Change{}, b.conflict("dissolve", batchExported)
	}
	next, change, err := b.move(BatchDissolved, b.ApprovedBy, now)
	for _, w := range of {
		w = w.next(now)
		w.Payout.Batch, w.Payout.ProviderRef, w.DueAt = "", "", now
		change.Withdrawals = append(change.Withdrawals, w)
	}
	return next, change, err
}

func (b Batch) move(to BatchStatus, approved string, now time.Time) (Batch, Change, error) {
	b.Version++
	b.Status, b.ApprovedBy, b.UpdatedAt = to, approved, now
	return b, Change{Batches: []Batch{b}}, nil
}

func (b Batch) conflict(action string, why problem.Of1) *problem.Error {
	return &problem.Error{Code: problem.ConflictState, Reason: why.With(b.Status), Details: problem.Details{From: string(b.Status), Action: action}}
}

// Batchable reports whether a withdrawal waits for a batch of an account.
func (w Withdrawal) Batchable(account string) bool {
	return w.Status == WithdrawalProcessing && w.Payout.Provider == account && w.Payout.Batch == ""
}

// InBatch adds a withdrawal to a batch under the line's reference.
func (w Withdrawal) InBatch(b Batch, reference string, now time.Time) Withdrawal {
	w = w.next(now)
	w.Payout.Batch, w.Payout.ProviderRef = b.ID, reference
	return w
}

// arrivedAndCameBack reports whether the first news of a payout's end is that a part of it came back: so it had arrived.
func (w Withdrawal) arrivedAndCameBack(o PayoutOutcome) bool {
	arrived := w
	arrived.Status = WithdrawalDone
	return w.Status == WithdrawalProcessing && o.Local != w.Local && arrived.isPart(o)
}

// partBeforeItsPayment books that the payout arrived and that a part of it came back, in one Change.
func (w Withdrawal) partBeforeItsPayment(o PayoutOutcome, now time.Time) (Withdrawal, Change) {
	next, change := w.complete(now)
	usd, _ := next.returning(o.Local)
	next, back := next.comeBack(usd, o.Local, o, now)
	next.Version = w.Version + 1
	change.Withdrawals = []Withdrawal{next}
	change.Transfers, change.Events = append(change.Transfers, back.Transfers...), append(change.Events, back.Events...)
	return next, change
}

// ResolvePayout applies the operator's finding to a withdrawal whose end no provider reports.
//
// Errors: conflict_state if its end is known, if it was never sent and the finding is that it
// arrived, or if the return is in the books (details.reason known); invalid_request for a part that
// does not fit.
func (word Word) ResolvePayout(w Withdrawal, o PayoutOutcome, back BankReturn, now time.Time) (Withdrawal, Change, error) {
	if o.ProviderRef != "" {
		w.Payout.ProviderRef = o.ProviderRef
	}
	switch {
	case word == WordPaid && w.Status == WithdrawalProcessing:
		next, change := w.complete(now)
		return next, change, nil
	case word == WordReturned && w.Status == WithdrawalDone:
		if err := w.isNew(back); err != nil {
			return w, Change{}, err
		}
		w.ReturnRefs = append(slices.Clip(w.ReturnRefs), back.Ref)
		return w.returnPart(back.Part, PayoutOutcome{}, now)
	case word == WordNotPaid && w.Open():
		next, change := w.fail(PayoutOutcome{Code: "not_paid", Message: "the payout did not arrive"}, now)
		return next, change, nil
	}
	return w, Change{}, &problem.Error{Code: problem.ConflictState, Reason: findingDoesNotApply.With(w.Status),
		Details: problem.Details{From: string(w.Status), Action: string(word)}}
}

// UnlessListed adapts the answer to a query about a payout: see Attempt.UnlessListed.
func (w Withdrawal) UnlessListed(o PayoutOutcome) PayoutOutcome {
	if w.Payout.Found && (o.Kind == PayoutMissing || o.Kind == PayoutUnsent) {
		return PayoutOutcome{Kind: PayoutUnknown, Code: "listed_and_not_known"}
	}
	return o
}
