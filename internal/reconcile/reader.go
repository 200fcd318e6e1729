package reconcile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

// Line is a line of a report that was understood.
type Line struct {
	File              string
	Number            int // in the file, from 1
	Kind              Kind
	Word              string // of an other line: what the report calls it
	Reference         string
	ProviderRef       string
	RefundReference   string
	RefundProviderRef string
	Amount            money.Amount // above zero, whichever way it went
	Date              time.Time    // zero where none is told
	Day               bool         // the date is a whole day
	Fee               money.Amount // without a currency where none is told
	Unpriced          bool         // a fee is told that is no amount of its currency
}

// Unreadable says why a line of a report was not understood. The others can be
// read on.
type Unreadable struct {
	Number int
	Why    string
}

// Error is for error.
func (u *Unreadable) Error() string { return fmt.Sprintf("line %d: %s", u.Number, u.Why) }

const (
	// preamble is how many rows may stand before the header.
	preamble = 20
	// longest is how much of a field we keep: references are shorter.
	longest = 300
)

// Reader reads a report.
type Reader struct {
	format Format
	file   string
	rows   *csv.Reader
	at     map[string]int // column by its name in Columns
	fees   []string       // their names
	kinds  map[string]Kind
	counts map[string]bool
}

// NewReader reads a report up to its header.
//
// Errors: that it has no such columns, or is no text.
func NewReader(file string, in io.Reader, f Format) (*Reader, error) {
	text := bufio.NewReaderSize(in, 1<<16)
	start, err := text.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	switch {
	case len(start) >= 2 && (start[0] == 0xFE && start[1] == 0xFF || start[0] == 0xFF && start[1] == 0xFE):
		return nil, fmt.Errorf("%s is UTF-16: save it as CSV in UTF-8", file)
	case strings.HasPrefix(string(start), "PK\x03\x04"):
		return nil, fmt.Errorf("%s is a workbook or an archive: save it as CSV", file)
	case strings.HasPrefix(string(start), "\ufeff"):
		if _, err := text.Discard(len("\ufeff")); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	r := &Reader{format: f, file: file, rows: csv.NewReader(text), kinds: map[string]Kind{}, counts: map[string]bool{}}
	for word, kind := range f.Kinds {
		r.kinds[normal(word)] = kind
	}
	for _, word := range f.Counts {
		r.counts[normal(word)] = true
	}
	for i := range f.Columns.Fees {
		r.fees = append(r.fees, fmt.Sprint("fee", i))
	}
	r.rows.FieldsPerRecord = -1
	if r.rows.Comma = f.Separator; f.Separator == 0 {
		r.rows.Comma = separator(string(start))
	}
	r.rows.TrimLeadingSpace = r.rows.Comma != '\t' // or empty cells between tabs would be trimmed away
	return r, r.header()
}

// separator is the one of the usual four that the start of a report has most of.
func separator(start string) rune {
	best, most := ',', 0
	for _, c := range ",;\t|" {
		if n := strings.Count(start, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// header finds the row that has all columns. Some reports begin with a title.
func (r *Reader) header() error {
	missing, first := "", []string(nil)
	for range preamble {
		row, err := r.rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		if err != nil && !errors.As(err, &bad) {
			return fmt.Errorf("read %s: %w", r.file, err)
		}
		at, lacks := r.format.Columns.find(row)
		if lacks == "" {
			r.at = at
			return nil
		}
		if len(row) > len(first) { // the likeliest header is the widest row
			first, missing = slices.Clone(row), lacks
		}
	}
	if first == nil {
		return fmt.Errorf("%s is empty: not even a header", r.file)
	}
	for i := range first {
		first[i] = plain(first[i])
	}
	hint := "name it with --columns"
	if r.format.Hint != "" {
		hint = r.format.Hint
	}
	return fmt.Errorf("%s has no column %s: %s. Its columns are: %s", r.file, missing, hint, strings.Join(first, ", "))
}

// find says where the columns are in a header, or which one it lacks.
func (c Columns) find(row []string) (at map[string]int, lacks string) {
	at = map[string]int{}
	look := func(word, column string) {
		name, optional := strings.CutSuffix(column, "?")
		if name == "" {
			return
		}
		i := slices.IndexFunc(row, func(cell string) bool { return normal(cell) == normal(name) })
		if i >= 0 {
			at[word] = i
		} else if !optional && lacks == "" {
			lacks = name
		}
	}
	places := c.places()
	for _, word := range slices.Sorted(maps.Keys(places)) { // of several that are missing the same one is told each time
		look(word, *places[word])
	}
	for i, column := range c.Fees {
		look(fmt.Sprint("fee", i), column)
	}
	_, ours := at["reference"]
	_, theirs := at["provider_reference"]
	_, amount := at["amount"]
	_, debit := at["debit"]
	_, credit := at["credit"]
	switch {
	case lacks != "":
	case !ours && !theirs:
		lacks = "for the reference"
	case !amount && !debit && !credit:
		lacks = "for the amount"
	}
	return at, lacks
}

// Dated reports whether the report has a column of dates.
func (r *Reader) Dated() bool { _, ok := r.at["date"]; return ok }

// Next returns the next line.
//
// Errors: io.EOF behind the last one; *Unreadable, after which one may go on;
// any other when the file cannot be read.
func (r *Reader) Next() (Line, error) {
	for {
		row, err := r.rows.Read()
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return Line{}, &Unreadable{bad.StartLine, bad.Err.Error()}
		}
		if errors.Is(err, io.EOF) {
			return Line{}, io.EOF
		}
		if err != nil {
			return Line{}, fmt.Errorf("read %s: %w", r.file, err)
		}
		if !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}
		number, _ := r.rows.FieldPos(0)
		line, err := r.line(row)
		if err != nil {
			return Line{}, &Unreadable{number, err.Error()}
		}
		line.File, line.Number = r.file, number
		return line, nil
	}
}

// kind reads a word of the type column.
func (r *Reader) kind(word string) (Kind, error) {
	if kind, known := r.kinds[normal(word)]; known {
		return kind, nil
	}
	if kind, known := r.kinds["*"]; known {
		return kind, nil
	}
	return "", fmt.Errorf("no meaning is known for the type %q", word)
}

// cell is a field of a row by its word, without what no terminal should see.
func (r *Reader) cell(row []string, word string) string {
	i, ok := r.at[word]
	if !ok || i >= len(row) {
		return ""
	}
	return plain(row[i])
}

func plain(cell string) string {
	cell = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == utf8.RuneError {
			return -1
		}
		return c
	}, cell)
	cell = strings.ToValidUTF8(cell[:min(len(cell), longest)], "")
	return strings.Clone(strings.TrimSpace(cell)) // of the row, which is long
}

func (r *Reader) line(row []string) (l Line, err error) {
	if _, told := r.at["status"]; told {
		if status := r.cell(row, "status"); !r.counts[normal(status)] {
			return Line{Kind: Other, Word: "status " + status}, nil
		}
	}
	if _, told := r.at["type"]; told {
		word := r.cell(row, "type")
		if l.Kind, err = r.kind(word); err != nil {
			return l, err
		}
		if l.Kind == Other {
			l.Word = word
			return l, nil
		}
	}
	if l.Amount, err = r.amount(row); err != nil {
		return l, err
	}
	switch {
	case l.Amount.IsZero():
		return l, errors.New("the amount is zero")
	case l.Kind == Charge && l.Amount.IsNegative():
		return l, fmt.Errorf("a charge of %s", l.Amount)
	case l.Kind == "" && l.Amount.IsNegative():
		l.Kind = Refund
	case l.Kind == "":
		l.Kind = Charge
	}
	l.Amount = positive(l.Amount)
	l.Reference, l.ProviderRef = r.cell(row, "reference"), r.cell(row, "provider_reference")
	l.RefundReference, l.RefundProviderRef = r.cell(row, "refund_reference"), r.cell(row, "refund_provider_reference")
	if l.Reference+l.ProviderRef+l.RefundReference+l.RefundProviderRef == "" {
		return l, errors.New("it has no reference")
	}
	if l.Date, l.Day, err = r.format.date(r.cell(row, "date")); err != nil {
		return l, err
	}
	l.Fee, err = r.fee(row, l.Amount.Currency)
	if errors.Is(err, money.ErrPrecision) { // some tell fractions of a cent: no reason to leave the line out
		l.Unpriced, err = true, nil
	}
	return l, err
}

func positive(a money.Amount) money.Amount {
	if a.IsNegative() {
		return a.Neg()
	}
	return a
}

// amount is the line's amount with its sign.
func (r *Reader) amount(row []string) (money.Amount, error) {
	currency := r.format.Currency
	if _, told := r.at["currency"]; told {
		code, err := money.ParseCurrency(strings.ToUpper(r.cell(row, "currency")))
		if err != nil {
			return money.Amount{}, fmt.Errorf("the currency %q is none", r.cell(row, "currency"))
		}
		currency = code
	}
	if currency == "" {
		return money.Amount{}, errors.New("its currency is not told: name the column, or the currency of all lines")
	}
	if _, told := r.at["amount"]; told {
		return r.format.parse(r.cell(row, "amount"), currency)
	}
	credit, debit := r.cell(row, "credit"), r.cell(row, "debit")
	if (credit == "") == (debit == "") {
		if zero, err := r.format.parse(debit, currency); err == nil && zero.IsZero() { // "0.00" beside the other
			debit = ""
		} else if zero, err := r.format.parse(credit, currency); err == nil && zero.IsZero() {
			credit = ""
		} else {
			return money.Amount{}, fmt.Errorf("want one of debit and credit, not %q and %q", debit, credit)
		}
	}
	if credit != "" {
		return r.format.parse(credit, currency)
	}
	amount, err := r.format.parse(debit, currency)
	if err != nil {
		return amount, err
	}
	return positive(amount).Neg(), nil
}

// fee adds up the line's fees. Whether they are written with a sign or without
// differs from report to report.
func (r *Reader) fee(row []string, currency money.Currency) (money.Amount, error) {
	if code := r.cell(row, "fee_currency"); code != "" {
		of, err := money.ParseCurrency(strings.ToUpper(code))
		if err != nil {
			return money.Amount{}, fmt.Errorf("the fee's currency %q is none", code)
		}
		currency = of
	}
	sum, told := money.New(0, currency), false
	for _, column := range r.fees {
		text := r.cell(row, column)
		if text == "" {
			continue
		}
		part, err := r.format.parse(text, currency)
		if err != nil {
			return money.Amount{}, fmt.Errorf("the fee: %w", err)
		}
		sum, told = sum.Add(part), true
	}
	if !told {
		return money.Amount{}, nil
	}
	return positive(sum), nil
}
