package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Stdout is what commands print to. A shop's text may be in it.
var Stdout = Safely(os.Stdout)

// Safely is a writer to a terminal, or to what may become one: see printable.
func Safely(to io.Writer) io.Writer { return &printable{to: to} }

// printable writes text and JSON to a terminal. Characters that a terminal obeys, or that
// turn the direction of writing, are written as JSON does, as in \u001b; bytes that are no
// text as U+FFFD. New lines and tabs stay.
type printable struct {
	to   io.Writer
	rest []byte // the beginning of a character whose end is not there yet
}

func (w *printable) Write(text []byte) (int, error) {
	whole := text
	if len(w.rest) > 0 {
		whole = append(w.rest, text...)
	}
	var out bytes.Buffer
	out.Grow(len(whole))
	for len(whole) > 0 && utf8.FullRune(whole) {
		r, size := utf8.DecodeRune(whole)
		switch {
		case r == '\n' || r == '\t' || !problem.Unprintable(r):
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
