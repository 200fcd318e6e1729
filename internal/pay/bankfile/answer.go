package bankfile

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// MaxSize is the largest file, in bytes, that is read or written.
const MaxSize = 32 << 20

// Outcome is a line's result, as the bank reports it.
type Outcome string

// Outcomes of lines.
const (
	Paid     Outcome = "paid"     // by the bank's report, the money has left for good
	Rejected Outcome = "rejected" // the bank did not pay
	Returned Outcome = "returned" // it had paid, and the money came back
	Pending  Outcome = "pending"  // anything else: not decided, or not clear
)

// Our codes for why a bank did not pay: those of withdrawals.
const (
	InvalidAccount     = "invalid_account"
	AccountClosed      = "account_closed"
	ComplianceRejected = "compliance_rejected"
	LimitExceeded      = "limit_exceeded"
	OtherReason        = "rejected"
)

// Answer is what a bank reports about a line. A file may hold several answers about one
// line; they are in the file's order. Files may also name payments that are not ours.
type Answer struct {
	// Notice says what an operator must know about the file, such as a count that is wrong. The
	// answer says nothing else then.
	Notice  string
	Unclear string // the bank's status, if its meaning is not known
	// Reference is Line.Reference, or the text in its place ("": there is none). In a CSV it
	// may be Line.Number, if that is the named column.
	Reference string
	// Whole says that the answer is about all lines of the batch without an answer of their
	// own in the file; Reference is empty then.
	Whole         bool
	Batch         string // Batch.ID if the file repeats it, or ""
	Outcome       Outcome
	Amount        money.Amount // the amount paid or returned; zero if the file has none
	Destination   string       // secret; only of a CSV with that column
	BankReference string       // the bank's own: nosso número, endToEndId, autenticação …
	At            time.Time    // when, in UTC; midnight if the file has only dates; zero if it has none
	Reason        string       // our code for the reason of Rejected and Returned
	Code          string       // the bank's code, or several with spaces between
	Message       string       // the meaning of the code, in our words
	Text          string       // the bank's free text: may hold names, for the operator only
	Line          int          // in the file, from 1
}

// notice is an answer for the operator alone.
func notice(line int, why string, args ...any) Answer {
	return Answer{Notice: fmt.Sprintf(why, args...), Outcome: Pending, Line: line}
}

// SyntaxError says where and why a file cannot be read. Then the whole file is ignored.
type SyntaxError struct {
	Line int // from 1; 0: the file as a whole
	Why  string
}

// Error implements error.
func (s *SyntaxError) Error() string {
	if s.Line == 0 {
		return "the file " + s.Why
	}
	return fmt.Sprintf("line %d: %s", s.Line, s.Why)
}

func syntaxError(line int, why string, args ...any) error {
	return &SyntaxError{line, fmt.Sprintf(why, args...)}
}

// consistent turns a line that a file calls both paid (or returned) and rejected into
// Pending. A line that was paid and came back later is not a contradiction.
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
			answers[i].Message = "the file reports this line as both paid and rejected: ask the bank"
		}
	}
	return answers
}
