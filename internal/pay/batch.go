package pay

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

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
