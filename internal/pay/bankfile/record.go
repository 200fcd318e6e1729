package bankfile

import (
	"fmt"
	"strconv"
	"strings"
)

// record is a line of a fixed-width file. Positions are from 1 and inclusive, as in banks'
// manuals. err keeps the first value that does not fit.
type record struct {
	bytes []byte
	err   error
}

func newRecord(size int) *record {
	return &record{bytes: []byte(strings.Repeat(" ", size))}
}

// number writes digits right-aligned, filled with zeros. Empty is zero.
func (re *record) number(from, to int, value string) {
	width := to - from + 1
	if len(value) > width || value != "" && !digits(value) {
		re.fail(from, to, "digits")
		return
	}
	copy(re.bytes[from-1:to], strings.Repeat("0", width-len(value))+value)
}

// document writes the kind of a CPF or CNPJ at one position, and the number behind it. The
// letters of a CNPJ keep their places.
func (re *record) document(at int, number string) {
	kind := "2"
	if len(number) == 11 {
		kind = "1" // CPF
	}
	re.number(at, at, kind)
	re.inscription(at+1, at+14, number)
}

// inscription writes a CPF or CNPJ right-aligned, filled with zeros.
func (re *record) inscription(from, to int, number string) {
	re.number(from, to, "")
	if width := to - from + 1; len(number) > width {
		re.fail(from, to, "characters")
	} else {
		re.text(to-len(number)+1, to, number)
	}
}

func (re *record) count(from, to int, n int64) { re.number(from, to, strconv.FormatInt(n, 10)) }

// text writes printable ASCII left-aligned, filled with spaces.
func (re *record) text(from, to int, value string) {
	plain := !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' })
	if !plain || len(value) > to-from+1 {
		re.fail(from, to, "characters")
		return
	}
	copy(re.bytes[from-1:to], value)
}

func (re *record) fail(from, to int, of string) {
	if re.err == nil {
		re.err = problem("record", "holds at most %d %s at positions %d to %d", to-from+1, of, from, to)
	}
}

// row is a line that was read from a fixed-width file.
type row struct {
	line  int // in the file, from 1
	bytes []byte
}

// at is the text between two positions, without spaces around it. Banks write ISO-8859-1: a
// byte is a character.
func (ro row) at(from, to int) string {
	runes := make([]rune, 0, to-from+1)
	for _, b := range ro.bytes[from-1 : to] {
		runes = append(runes, rune(b))
	}
	return strings.TrimSpace(string(runes))
}

// number reads digits; all spaces are zero.
func (ro row) number(from, to int) (int64, error) {
	text := ro.at(from, to)
	if text == "" {
		return 0, nil
	}
	if len(text) != to-from+1 || !digits(text) {
		return 0, ro.syntaxError("positions %d to %d must be digits", from, to)
	}
	return strconv.ParseInt(text, 10, 64)
}

func (ro row) syntaxError(why string, args ...any) error {
	return &SyntaxError{ro.line, fmt.Sprintf(why, args...)}
}
