package bankfile

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// MaxSize is the largest file that is read or written, in bytes.
const MaxSize = 32 << 20

// Outcome is what the bank says became of a line.
type Outcome string

// Outcomes of lines.
const (
	Paid     Outcome = "paid"     // the money left for good, as far as the bank knows
	Rejected Outcome = "rejected" // the bank did not pay
	Returned Outcome = "returned" // it had paid, and the money came back
	Pending  Outcome = "pending"  // anything else: not decided, or not understood
)

// Our codes for why a bank did not pay. They are those of withdrawals.
const (
	InvalidAccount     = "invalid_account"
	AccountClosed      = "account_closed"
	ComplianceRejected = "compliance_rejected"
	LimitExceeded      = "limit_exceeded"
	OtherReason        = "rejected"
)

// Answer is what a bank says about a line. A file may hold several about one
// line; they are in the file's order. Files name payments that are not ours, too.
type Answer struct {
	Unclear string // the bank's word for what became of it, where no meaning of it is known
	// Reference is Line.Reference, or what stands in its place ("": nothing does).
	// In a CSV it may be Line.Number, where that is the column which was named.
	Reference string
	// Whole says that the answer is about all lines of the batch that have no
	// answer of their own in the file; Reference is empty then.
	Whole         bool
	Batch         string // Batch.ID where the file repeats it, or ""
	Outcome       Outcome
	Amount        money.Amount // what was paid or given back; the zero value where the file does not tell
	Destination   string       // secret; of a CSV that has the column
	BankReference string       // the bank's own: nosso número, endToEndId, autenticação …
	At            time.Time    // when, in UTC; midnight where the file tells days; zero where it tells nothing
	Reason        string       // our code of why, of Rejected and Returned
	Code          string       // the bank's code, or several with spaces between
	Message       string       // what the code means, in our words
	Text          string       // the bank's free text: may hold names, for the operator only
	Line          int          // in the file, from 1
}

// SyntaxError says where and why a file cannot be read. Nothing of such a file counts.
type SyntaxError struct {
	Line int // from 1; 0: the file as a whole
	Why  string
}

// Error makes a SyntaxError an error.
func (f *SyntaxError) Error() string {
	if f.Line == 0 {
		return "the file " + f.Why
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Why)
}

func fault(line int, why string, args ...any) error {
	return &SyntaxError{line, fmt.Sprintf(why, args...)}
}

// consistent makes Pending of lines that a file calls both paid (or returned)
// and rejected. A line that was paid and came back later is no contradiction.
func consistent(answers []Answer) []Answer {
	said := map[string]map[Outcome]bool{}
	for _, a := range answers {
		if a.Reference == "" {
			continue
		}
		if said[a.Reference] == nil {
			said[a.Reference] = map[Outcome]bool{}
		}
		said[a.Reference][a.Outcome] = true
	}
	for i, a := range answers {
		of := said[a.Reference]
		if of[Rejected] && (of[Paid] || of[Returned]) {
			answers[i].Outcome, answers[i].Reason = Pending, ""
			answers[i].Message = "the file says both paid and rejected of this line: ask the bank"
		}
	}
	return answers
}
