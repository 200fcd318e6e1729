package bankfile

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

// CSV describes a table to write, and tables of answers. The zero value has the usual
// columns and words.
type CSV struct {
	Written   []Column       // in their order; none: all columns
	Answers   []Column       // none: the usual ones; a column whose name ends in "?" is optional
	Separator rune           // zero: a comma when we write, and the header's when we read
	Comma     bool           // the decimal sign is a comma
	Minor     bool           // amounts are in minor units
	Currency  money.Currency // if answers have no column for it
	Dates     []string       // layouts of time.Parse, tried before the usual ones; we write the first one
	Zone      *time.Location // of dates without a zone in answers; nil: UTC
	// Outcomes are words of the status column, in addition to the usual ones or overriding
	// them. Letter case, spaces and underscores do not count.
	Outcomes map[string]Outcome
	// Reasons map the bank's codes to ours.
	Reasons map[string]string
}

// Column is a column of a table: our word for it, and its name in the header.
type Column struct{ Word, Name string }

// writers give the cell of a line, by our word for the column.
var writers = map[string]func(Batch, Line, CSV) string{
	"reference":    func(_ Batch, l Line, _ CSV) string { return l.Reference },
	"number":       func(_ Batch, l Line, _ CSV) string { return strconv.Itoa(l.Number) },
	"amount":       func(_ Batch, l Line, c CSV) string { return c.amount(l.Amount) },
	"currency":     func(b Batch, _ Line, _ CSV) string { return string(b.Currency) },
	"network":      func(_ Batch, l Line, _ CSV) string { return l.Network },
	"destination":  func(_ Batch, l Line, _ CSV) string { account, _ := l.account(); return account },
	"name":         func(_ Batch, l Line, _ CSV) string { return harmless(l.Name) },
	"document":     func(_ Batch, l Line, _ CSV) string { return l.Document },
	"bank_code":    func(_ Batch, l Line, _ CSV) string { return l.BankCode },
	"branch":       func(_ Batch, l Line, _ CSV) string { return l.Branch },
	"account_type": func(_ Batch, l Line, _ CSV) string { return l.AccountType },
	"country":      func(_ Batch, l Line, _ CSV) string { return l.Country },
	"date": func(b Batch, _ Line, c CSV) string {
		return b.At.Format(append(slices.Clone(c.Dates), "2006-01-02")[0])
	},
	"batch": func(b Batch, _ Line, _ CSV) string { return b.ID },
}

// usual is the order in which all columns are written.
var usual = []string{
	"reference", "number", "amount", "currency", "network", "destination", "name", "document", "bank_code", "branch",
	"account_type", "country", "date", "batch",
}

// answered are the columns of an answer, with their usual names.
var answered = []Column{
	{"reference", "reference"}, {"status", "status"}, {"amount", "amount?"}, {"currency", "currency?"},
	{"destination", "destination?"}, {"bank_reference", "bank_reference?"}, {"date", "date?"}, {"code", "code?"}, {"message", "message?"},
}

// WrittenWords lists our words for the columns that can be written.
func WrittenWords() []string { return slices.Clone(usual) }

// AnswerWords lists our words for the columns of an answer.
func AnswerWords() (names []string) {
	for _, c := range answered {
		names = append(names, c.Word)
	}
	return names
}

// ParseColumns reads "reference=Ref,amount=Valor"; a word alone is its own name.
//
// Errors: a word that is not in known, and one that occurs twice.
func ParseColumns(text string, known []string) (columns []Column, err error) {
	for pair := range strings.SplitSeq(text, ",") {
		word, name, named := strings.Cut(pair, "=")
		word, name = strings.TrimSpace(word), strings.TrimSpace(name)
		if !named {
			name = word
		}
		switch {
		case !slices.Contains(known, word):
			return nil, fmt.Errorf("a table has no %q: want some of %s", word, strings.Join(known, ", "))
		case name == "":
			return nil, fmt.Errorf("the column of %s has no name", word)
		case slices.ContainsFunc(columns, func(c Column) bool { return c.Word == word || c.Name == name }):
			return nil, fmt.Errorf("the column %s=%s occurs twice", word, name)
		}
		columns = append(columns, Column{word, name})
	}
	return columns, nil
}

// Layout is the layout that writes such a table.
func (c CSV) Layout() Layout {
	columns := c.Written
	if len(columns) == 0 {
		for _, word := range usual {
			columns = append(columns, Column{word, word})
		}
	}
	return Layout{
		Name:  "csv",
		Title: "a table (CSV) with columns that you name",
		payer: func(Payer) error {
			for _, column := range columns {
				if writers[column.Word] == nil {
					return problem("columns", "have no %q", column.Word)
				}
			}
			return nil
		},
		check: csvCheck,
		write: func(b Batch, lines []Line) ([]byte, error) { return c.write(columns, b, lines) },
	}
}

// csvCheck says why a line cannot be in a table. Cells that a spreadsheet would read as
// formulas are refused, because a quote in front of them would change the value for the
// bank.
func csvCheck(_ Payer, l Line) error {
	account, err := l.account()
	if err != nil {
		return err
	}
	phone := l.Network == "pix" && strings.HasPrefix(account, "+") && digits(account[1:])
	if !phone && strings.ContainsAny(account[:1], "=+-@") {
		return problem("destination", "must not begin with =, +, - or @, which a spreadsheet would read as a formula")
	}
	for _, f := range []struct{ name, value string }{
		{"document", l.Document}, {"bank_code", l.BankCode}, {"branch", l.Branch}, {"country", l.Country},
	} {
		if f.value != "" && (latin(f.value, ".-/", len(f.value)) != f.value || strings.HasPrefix(f.value, "-")) {
			return problem(f.name, "must be letters and digits")
		}
	}
	return named(l.Name, harmless(l.Name))
}

// harmless is free text that no spreadsheet reads as a formula. Other cells are checked,
// and keep a leading sign, such as that of a telephone number.
func harmless(text string) string {
	text = shortText(text, longest)
	if first, _ := utf8.DecodeRuneInString(text); strings.ContainsRune("=+-@＝＋－＠", first) {
		return "'" + text
	}
	return text
}

func (c CSV) amount(a money.Amount) string {
	switch {
	case c.Minor:
		return strconv.FormatInt(a.Minor, 10)
	case c.Comma:
		return strings.Replace(decimal(a), ".", ",", 1)
	}
	return decimal(a)
}

func (c CSV) write(columns []Column, b Batch, lines []Line) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	if c.Separator != 0 {
		w.Comma = c.Separator
	}
	cells := make([]string, len(columns))
	for i, column := range columns {
		cells[i] = column.Name
	}
	if err := w.Write(cells); err != nil {
		return nil, fmt.Errorf("write the header: %w", err)
	}
	for _, l := range lines {
		for i, column := range columns {
			cells[i] = writers[column.Word](b, l, c)
		}
		if err := w.Write(cells); err != nil {
			return nil, fmt.Errorf("line %s: %w", l.Reference, err)
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}
