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
	"unicode"
	"unicode/utf8"
)

const (
	// MaxReport is the largest report that a form reads, in bytes.
	MaxReport = 32 << 20
	// preamble is how many rows may come before the header.
	preamble = 20
	// longest is the most bytes that we keep of a field: references are shorter.
	longest = 300
)

// Table reads CSV with a header in any usual form: in UTF-8 or Windows-1252, with a byte order mark, a title before
// the header, and any usual separator and end of lines.
type Table struct {
	file string
	rows *csv.Reader
	at   map[string]int // columns by our word for them
	wide int
}

// OpenTable reads up to the header: the first row in which find sees all columns. find
// returns the place of each column by our word for it, or the name of a missing one; hint
// says what to do then. A zero separator is guessed.
//
// Errors: columns are missing, or the file is not text.
func OpenTable(file string, in io.Reader, separator rune, find func(row []string) (at map[string]int, lacks string), hint string) (*Table, error) {
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
	t := &Table{file: file, rows: csv.NewReader(decode(text, start))}
	t.rows.FieldsPerRecord = -1
	if t.rows.Comma = separator; separator == 0 {
		t.rows.Comma = guess(string(start))
	}
	t.rows.TrimLeadingSpace = t.rows.Comma != '\t' // otherwise empty cells between tabs would be trimmed away
	return t, t.header(find, hint)
}

// guess is the one of the four usual separators that is most frequent at the start of a
// table.
func guess(start string) rune {
	best, most := ',', 0
	for _, c := range ",;\t|" {
		if n := strings.Count(start, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// header finds the row that has all columns. Some reports begin with a title.
func (ta *Table) header(find func([]string) (map[string]int, string), hint string) error {
	missing, first := "", []string(nil)
	for range preamble {
		row, err := ta.rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		if err != nil && !errors.As(err, &bad) {
			return fmt.Errorf("read %s: %w", ta.file, err)
		}
		at, lacks := find(row)
		if lacks == "" && bad != nil { // most often a quote that never ends: all lines are in it
			return fmt.Errorf("%s: the header cannot be read: line %d: %w", ta.file, bad.StartLine, bad.Err)
		}
		if lacks == "" {
			ta.at, ta.wide = at, len(row)
			return nil
		}
		if len(row) > len(first) { // the widest row is probably the header
			first, missing = slices.Clone(row), lacks
		}
	}
	if first == nil {
		return fmt.Errorf("%s is empty: not even a header", ta.file)
	}
	for i := range first {
		first[i] = plain(first[i])
	}
	return fmt.Errorf("%s has no column %s: %s. Its columns are: %s", ta.file, missing, hint, strings.Join(first, ", "))
}

// FindColumns returns the places of columns in a header by our words for them, or the name
// of a missing one. A column whose name ends in "?" is optional; one without a name is not
// searched for.
func FindColumns(row []string, names map[string]string) (at map[string]int, lacks string) {
	at = map[string]int{}
	for _, word := range slices.Sorted(maps.Keys(names)) { // of several missing columns, always report the same one
		name, optional := strings.CutSuffix(names[word], "?")
		if name == "" {
			continue
		}
		i := slices.IndexFunc(row, func(cell string) bool { return Normal(cell) == Normal(name) })
		if i >= 0 {
			at[word] = i
		} else if !optional && lacks == "" {
			lacks = name
		}
	}
	return at, lacks
}

// Has reports whether the table has a column, by our word for it.
func (ta *Table) Has(word string) bool { _, ok := ta.at[word]; return ok }

// Width is how many columns the header has.
func (ta *Table) Width() int { return ta.wide }

// Next returns the next row that is not empty, and its line in the file from 1.
//
// Errors: io.EOF after the last one; *Unreadable, after which reading may go on; any other
// if the file cannot be read.
func (ta *Table) Next() (row []string, number int, err error) {
	for {
		row, err := ta.rows.Read()
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, bad.StartLine, &Unreadable{bad.StartLine, bad.Err.Error()}
		}
		if errors.Is(err, io.EOF) {
			return nil, 0, io.EOF
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", ta.file, err)
		}
		if !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}
		number, _ := ta.rows.FieldPos(0)
		return row, number, nil
	}
}

// Cell is a field of a row by our word for its column, without control characters; "" if
// there is none.
func (ta *Table) Cell(row []string, word string) string {
	i, ok := ta.at[word]
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
