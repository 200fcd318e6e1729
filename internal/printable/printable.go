// Package printable shows texts of others on a terminal, which obeys control characters and marks that change the direction
// of writing.
package printable

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Unprintable reports whether a character can make a line of text look like something else: a
// control character, a line end, or a mark that changes the direction of writing.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Safely returns a writer whose output is safe to show on a terminal.
func Safely(to io.Writer) io.Writer { return &writer{to: to} }

// writer writes text and JSON to a terminal. It escapes control characters, and characters that
// change the direction of writing, as JSON does: \u001b. Invalid UTF-8 becomes U+FFFD. Newlines and
// tabs stay as they are.
type writer struct {
	to   io.Writer
	rest []byte // the first bytes of a character that is not complete yet
}

// Write implements io.Writer.
func (w *writer) Write(text []byte) (int, error) {
	whole := text
	if len(w.rest) > 0 {
		whole = append(w.rest, text...)
	}
	var out bytes.Buffer
	out.Grow(len(whole))
	for len(whole) > 0 && utf8.FullRune(whole) {
		r, size := utf8.DecodeRune(whole)
		switch {
		case r == '\n' || r == '\t' || !Unprintable(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		whole = whole[size:]
	}
	w.rest = append([]byte(nil), whole...)
	if _, err := w.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}
