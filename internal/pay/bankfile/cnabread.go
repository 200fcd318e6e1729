package bankfile

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// cnabReader reads a return file record by record.
type cnabReader struct {
	bank    string
	answers []Answer
	groups  int64
	group   *cnabGroup // the open batch, or nil
	done    bool       // the file's trailer was read
	// Codes of the file, its batches and their trailers, if payments are refused there.
	above []Answer
}

// cnabGroup is a batch that is being read.
type cnabGroup struct {
	number       string
	records      int64
	asked, moved int64 // sums in centavos
	other        bool  // the line has segments of other products, whose amounts are not read
	open         int   // the answer that the next segment Z belongs to, or -1
}

// readCNAB reads a return file of CNAB 240.
func readCNAB(file []byte) ([]Answer, error) {
	rows, err := splitCNAB(file)
	if err != nil {
		return nil, err
	}
	r := &cnabReader{}
	for i, row := range rows {
		if err := r.read(row, i == 0); err != nil {
			return nil, err
		}
		if n, err := row.number(24, 29); r.done && (err != nil || n != int64(i+1)) {
			return nil, row.syntaxError("the trailer's count of records is %s, and the file has %d", row.at(24, 29), i+1)
		}
	}
	if !r.done {
		return nil, syntaxError(0, "has no trailer: it is not whole")
	}
	return append(consistent(r.answers), r.above...), nil
}

// splitCNAB splits a file into records of the right length.
func splitCNAB(file []byte) (rows []row, err error) {
	if len(file) == 0 {
		return nil, syntaxError(0, "is empty")
	}
	lines := bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) != cnabSize {
			return nil, syntaxError(i+1, "the record has %d bytes, and CNAB 240 has %d", len(line), cnabSize)
		}
		rows = append(rows, row{i + 1, line})
	}
	return rows, nil
}

func (r *cnabReader) read(row row, first bool) error {
	kind := row.at(8, 8)
	switch {
	case first != (kind == "0"):
		return row.syntaxError("the file's header must be the first record, and only that")
	case r.done:
		return row.syntaxError("there is a record after the file's trailer")
	case !first && row.at(1, 3) != r.bank:
		return row.syntaxError("the bank is %q, but %q in the header", row.at(1, 3), r.bank)
	}
	switch kind {
	case "0":
		return r.header(row)
	case "1":
		return r.open(row)
	case "9":
		return r.end(row)
	}
	if r.group == nil || row.at(4, 7) != r.group.number {
		return row.syntaxError("the record belongs to no batch that is open")
	}
	r.group.records++
	switch kind {
	case "2", "4": // in other products, records before and after the details
		return nil
	case "3":
		return r.detail(row)
	case "5":
		return r.close(row)
	}
	return row.syntaxError("records of type %q are not known", kind)
}

func (r *cnabReader) header(row row) error {
	r.bank = row.at(1, 3)
	switch {
	case len(r.bank) != 3 || !digits(r.bank):
		return row.syntaxError("positions 1 to 3 must be the bank's code")
	case row.at(4, 7) != "0000":
		return row.syntaxError("positions 4 to 7 must be 0000")
	case row.at(143, 143) == "1":
		return row.syntaxError("this is a file that was sent to the bank, not its answer")
	case row.at(143, 143) != "2":
		return row.syntaxError("position 143 must be 2, a file from the bank")
	}
	r.overall(row, "file")
	return nil
}

func (r *cnabReader) open(row row) error {
	number := row.at(4, 7)
	if r.group != nil {
		return row.syntaxError("batch %s has no trailer", r.group.number)
	}
	if len(number) != 4 || !digits(number) || number == "0000" || number == "9999" {
		return row.syntaxError("positions 4 to 7 must be the batch's number")
	}
	r.groups++
	r.group = &cnabGroup{number: number, records: 1, open: -1}
	r.overall(row, "batch")
	return nil
}

func (r *cnabReader) close(row row) error {
	g := r.group
	records, err := row.number(18, 23)
	if err != nil {
		return err
	}
	sum, err := row.number(24, 41)
	switch {
	case err != nil:
		return err
	case records != g.records:
		return row.syntaxError("the trailer counts %d records in the batch, and it has %d", records, g.records)
	case !g.other && sum != g.asked && sum != g.moved: // banks sum either the ordered or the paid amounts
		return row.syntaxError("the trailer's sum is %d centavos, but the lines sum to %d", sum, g.asked)
	}
	r.group = nil
	r.overall(row, "batch")
	return nil
}

func (r *cnabReader) end(row row) error {
	groups, err := row.number(18, 23)
	switch {
	case err != nil:
		return err
	case r.group != nil:
		return row.syntaxError("batch %s has no trailer", r.group.number)
	case row.at(4, 7) != "9999":
		return row.syntaxError("positions 4 to 7 of the file's trailer must be 9999")
	case groups != r.groups:
		return row.syntaxError("the trailer counts %d batches, and the file has %d", groups, r.groups)
	}
	r.done = true
	r.overall(row, "file")
	return nil
}

// overall reads the codes of a record that stands for many lines. They leave the lines
// pending: the operator looks before anything is paid again.
func (r *cnabReader) overall(row row, of string) {
	field := row.field(231, 240)
	if strings.Trim(field, "0 ") == "" {
		return // some banks fill it with zeros
	}
	s := occurred(r.bank, field)
	if s.outcome == Paid || s.code == "BD" {
		return // the lines have it themselves
	}
	r.above = append(r.above, Answer{
		Whole: true, Outcome: Pending, Code: s.code, Line: row.line,
		Message: "the bank reports for the whole " + of + ": " + s.means,
	})
}

func (r *cnabReader) detail(row row) error {
	switch segment := row.at(14, 14); segment {
	case "A":
		return r.segmentA(row)
	case "Z":
		if proof := shortText(row.at(15, 78), 128); proof != "" && r.group.open >= 0 {
			r.answers[r.group.open].BankReference = proof
		}
	case "J", "O", "N", "W":
		r.group.other, r.group.open = true, -1 // bills and taxes
	}
	return nil
}

// segmentA reads the result of one line.
func (r *cnabReader) segmentA(row row) error {
	if currency := row.at(102, 104); !reais(currency) {
		return row.syntaxError("the currency %q is not BRL", currency)
	}
	asked, err := row.number(120, 134)
	if err != nil {
		return err
	}
	moved, err := row.number(163, 177)
	if err != nil {
		return err
	}
	at, err := row.date(155, 162)
	if err != nil {
		return err
	}
	g := r.group
	var over [2]error
	g.asked, over[0] = add(g.asked, asked)
	g.moved, over[1] = add(g.moved, moved)
	if err := errors.Join(over[:]...); err != nil {
		return row.syntaxError("%v", errSum)
	}
	s := occurred(r.bank, row.field(231, 240))
	switch movement := row.at(15, 17); {
	case movement == "333": // a reversal, returned by the clearing house
		s.outcome, s.reason, s.means = Returned, OtherReason, "returned by the clearing house; "+s.means
	case movement[:min(1, len(movement))] == "3":
		s.outcome, s.reason, s.means = Pending, "", "a reversal without its originator; "+s.means
	case s.outcome == Paid && (moved == 0 || at.IsZero()):
		s.outcome, s.means = Pending, s.means+"; the bank reports no amount or date for it"
	case s.outcome == Paid && moved != asked:
		s.means += "; the paid amount differs from the ordered one"
	}
	a := Answer{
		Reference: shortText(row.at(74, 93), 40), Outcome: s.outcome, BankReference: shortText(row.at(135, 154), 40), At: at,
		Reason: s.reason, Code: shortText(s.code, 14), Message: shortText(s.means, longest), Line: row.line,
	}
	if moved != 0 {
		a.Amount = money.New(moved, "BRL")
	}
	g.open = len(r.answers)
	r.answers = append(r.answers, a)
	return nil
}

// longest is how much of a text is kept, in bytes.
const longest = 500

// field is a field with its spaces, one byte per character.
func (ro row) field(from, to int) string { return string(ro.bytes[from-1 : to]) }

// date reads DDMMYYYY; zeros or spaces are no date.
func (ro row) date(from, to int) (time.Time, error) {
	text := ro.at(from, to)
	if strings.Trim(text, "0") == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse("02012006", text)
	if err != nil {
		return at, ro.syntaxError("positions %d to %d are not a date", from, to)
	}
	return at, nil
}
