package reconcile

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Line is a line of a report that was read.
type Line struct {
	File              string
	Number            int // in the file, from 1
	Kind              Kind
	Word              string // for other lines: the report's name for them
	Reference         string
	ProviderRef       string
	RefundReference   string
	RefundProviderRef string
	Amount            money.Amount // always above zero
	Date              time.Time    // zero if the report has none
	Day               bool         // the date is a whole day
	Fee               money.Amount // without a currency if the report has none
	Unpriced          bool         // the fee is not an amount in its currency
}

// Unreadable says why a line of a report cannot be read. Reading can go on with the next
// line.
type Unreadable struct {
	Number int
	Why    string
}

// Error implements error.
func (u *Unreadable) Error() string { return fmt.Sprintf("line %d: %s", u.Number, u.Why) }

// Reader reads a report.
type Reader struct {
	format Format
	table  *Table
	fees   []string // names of columns
	kinds  map[string]Kind
	counts map[string]bool
	out    map[Kind]bool // whether payouts and returns are below zero
}

// NewReader reads a report up to its header.
//
// Errors: columns are missing, or the file is not text.
func NewReader(file string, in io.Reader, f Format) (*Reader, error) {
	r := &Reader{format: f, kinds: map[string]Kind{}, counts: map[string]bool{}, out: map[Kind]bool{}}
	for word, kind := range f.Kinds {
		r.kinds[Normal(word)] = kind
	}
	for _, word := range f.Counts {
		r.counts[Normal(word)] = true
	}
	for i := range f.Columns.Fees {
		r.fees = append(r.fees, fmt.Sprint("fee", i))
	}
	hint := "name it with --columns"
	if f.Hint != "" {
		hint = f.Hint
	}
	var err error
	r.table, err = OpenTable(file, in, f.Separator, f.Columns.find, hint)
	return r, err
}

// find returns the places of the columns in a header, or the name of a missing one.
func (c Columns) find(row []string) (at map[string]int, lacks string) {
	names := map[string]string{}
	for word, column := range c.places() {
		names[word] = *column
	}
	for i, column := range c.Fees {
		names[fmt.Sprint("fee", i)] = column
	}
	at, lacks = FindColumns(row, names)
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
func (r *Reader) Dated() bool { return r.table.Has("date") }

// Next returns the next line.
//
// Errors: io.EOF after the last one; *Unreadable, after which reading may go on; any other
// if the file cannot be read.
func (r *Reader) Next() (Line, error) {
	row, number, err := r.table.Next()
	if err != nil {
		return Line{}, err
	}
	line, err := r.line(row)
	if err != nil {
		return Line{}, &Unreadable{number, err.Error()}
	}
	line.File, line.Number = r.table.file, number
	return line, nil
}

// kind reads a value of the type column.
func (r *Reader) kind(word string) (Kind, error) {
	if kind, known := r.kinds[Normal(word)]; known {
		return kind, nil
	}
	if kind, known := r.kinds["*"]; known {
		return kind, nil
	}
	return "", fmt.Errorf("the type %q is not known", word)
}

// sums are the words of a line that sums up others.
var sums = regexp.MustCompile(`^(grand_|sub_?)?(total|totals|totais|totales)(_(geral|general|gross|bruto|neto|líquido))?:?$`)

// sum is the word of a line that sums up others, or "": a word for it stands in a cell, and nothing where the references are.
func (r *Reader) sum(row []string) (word string) {
	for _, name := range []string{"reference", "provider_reference", "refund_reference", "refund_provider_reference"} {
		if cell := r.table.Cell(row, name); cell != "" && !sums.MatchString(Normal(cell)) {
			return ""
		}
	}
	for _, cell := range row {
		if cell = plain(cell); sums.MatchString(Normal(cell)) {
			return cell
		}
	}
	return ""
}

func (r *Reader) line(row []string) (l Line, err error) {
	if word := r.sum(row); word != "" {
		return Line{Kind: Other, Word: word}, nil
	}
	if r.table.Has("status") {
		if status := r.table.Cell(row, "status"); !r.counts[Normal(status)] {
			return Line{Kind: Other, Word: "status " + status}, nil
		}
	}
	if r.table.Has("type") {
		word := r.table.Cell(row, "type")
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
	case l.Kind == Charge && l.Amount.IsNegative() && r.format.Outgoing && r.table.Cell(row, "reference") == "":
		return Line{Kind: Other, Word: r.table.Cell(row, "type") + ", outgoing"}, nil
	case l.Kind == Charge && l.Amount.IsNegative():
		return l, fmt.Errorf("a charge of %s", l.Amount)
	case l.Kind == "":
		l.Kind = r.bySign(l.Amount)
	}
	if payouts := l.Kind == Payout || l.Kind == Return; payouts != r.format.Payouts {
		return Line{Kind: Other, Word: string(l.Kind)}, nil
	}
	if err := r.direction(l); err != nil {
		return l, err
	}
	l.Amount = positive(l.Amount)
	l.Reference, l.ProviderRef = r.table.Cell(row, "reference"), r.table.Cell(row, "provider_reference")
	l.RefundReference, l.RefundProviderRef = r.table.Cell(row, "refund_reference"), r.table.Cell(row, "refund_provider_reference")
	if l.Reference+l.ProviderRef+l.RefundReference+l.RefundProviderRef == "" {
		return l, errors.New("it has no reference")
	}
	if l.Date, l.Day, err = r.format.ReadDate(r.table.Cell(row, "date")); err != nil {
		return l, err
	}
	l.Fee, err = r.fee(row, l.Amount.Currency)
	if errors.Is(err, money.ErrPrecision) { // some reports have fractions of a cent: not a reason to skip the line
		l.Unpriced, err = true, nil
	}
	return l, err
}

// direction refuses a payout or a return in the opposite direction of those before it, or
// of its column: then the meaning of its type is not clear. Amounts without a sign may go
// either way.
func (r *Reader) direction(l Line) error {
	if !r.format.Payouts {
		return nil
	}
	out := l.Amount.IsNegative()
	if before, known := r.out[l.Kind]; known && before != out {
		return fmt.Errorf("a %s in the opposite direction of those before it", l.Kind)
	}
	r.out[l.Kind] = out
	payout, paid := r.out[Payout]
	back, returned := r.out[Return]
	columns := !r.table.Has("amount")
	if paid && payout && returned && back || columns && (paid && !payout || returned && back) {
		delete(r.out, l.Kind)
		return fmt.Errorf("a %s in the wrong direction", l.Kind)
	}
	return nil
}

// bySign is the kind of a line in a report without types.
func (r *Reader) bySign(amount money.Amount) Kind {
	out := amount.IsNegative()
	if !r.format.Payouts {
		return map[bool]Kind{false: Charge, true: Refund}[out]
	}
	if !r.table.Has("amount") { // a debit of the account
		out = !out
	}
	return map[bool]Kind{false: Payout, true: Return}[out]
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
	if r.table.Has("currency") {
		code, err := money.ParseCurrency(strings.ToUpper(r.table.Cell(row, "currency")))
		if err != nil {
			return money.Amount{}, fmt.Errorf("the currency %q is not valid", r.table.Cell(row, "currency"))
		}
		currency = code
	}
	if currency == "" {
		return money.Amount{}, errors.New("its currency is missing: name the column, or the currency of all lines")
	}
	if r.table.Has("amount") {
		return r.format.ReadAmount(r.table.Cell(row, "amount"), currency)
	}
	credit, debit := r.table.Cell(row, "credit"), r.table.Cell(row, "debit")
	if (credit == "") == (debit == "") {
		if zero, err := r.format.ReadAmount(debit, currency); err == nil && zero.IsZero() { // "0.00" beside the other
			debit = ""
		} else if zero, err := r.format.ReadAmount(credit, currency); err == nil && zero.IsZero() {
			credit = ""
		} else {
			return money.Amount{}, fmt.Errorf("want one of debit and credit, not %q and %q", debit, credit)
		}
	}
	if credit != "" {
		return r.format.ReadAmount(credit, currency)
	}
	amount, err := r.format.ReadAmount(debit, currency)
	if err != nil {
		return amount, err
	}
	return positive(amount).Neg(), nil
}

// fee sums the line's fees. Reports write them with or without a sign.
func (r *Reader) fee(row []string, currency money.Currency) (money.Amount, error) {
	if code := r.table.Cell(row, "fee_currency"); code != "" {
		of, err := money.ParseCurrency(strings.ToUpper(code))
		if err != nil {
			return money.Amount{}, fmt.Errorf("the fee's currency %q is not valid", code)
		}
		currency = of
	}
	sum, told := money.New(0, currency), false
	for _, column := range r.fees {
		text := r.table.Cell(row, column)
		if text == "" {
			continue
		}
		part, err := r.format.ReadAmount(text, currency)
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
