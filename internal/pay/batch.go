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

// Scope is the scope of the audit log in which a batch's acts are written. A batch has payouts of
// many merchants, so its scope has no merchant.
func (b Batch) Scope() tenant.Scope { return tenant.Scope{Live: b.Live} }

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
		return b, Change{}, b.conflict("approve", "only a batch that waits for approval can be approved")
	}
	if person(operator) == person(b.MadeBy) {
		err := b.conflict("approve", "the operator who made the batch cannot approve it: another operator must")
		err.Details.Reason = "same_operator"
		return b, Change{}, err
	}
	return b.move(BatchApproved, operator, now)
}

// person returns who an operator is, without the machine and the system account: "ana" for "ana as
// root@host".
func person(operator string) string {
	name, _, _ := strings.Cut(operator, "@")
	name, _, _ = strings.Cut(name, " as ")
	return name
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
	return b, Change{}, b.conflict("export", "the file can be exported once another operator has approved it")
}

// Dissolve frees the payouts of a batch whose file was never exported.
//
// Errors: conflict_state if it was exported.
func (b Batch) Dissolve(of []Withdrawal, now time.Time) (Batch, Change, error) {
	if b.Status != BatchMade && b.Status != BatchApproved {
		return b, Change{}, b.conflict("dissolve", "a batch whose file was exported cannot be dissolved: the bank may have it")
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

// InBatch adds a withdrawal to a batch under the line's reference.
func (w Withdrawal) InBatch(b Batch, reference string, now time.Time) Withdrawal {
	w = w.next(now)
	w.Batch, w.ProviderRef = b.ID, reference
	return w
}
