package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Stdout is what commands print to. The output may contain text from shops, which is not trusted.
var Stdout = Safely(os.Stdout)

// Safely returns a writer whose output is safe to show on a terminal; see printable.
func Safely(to io.Writer) io.Writer { return &printable{to: to} }

// printable writes text and JSON to a terminal. It escapes control characters, and characters that
// change the direction of writing, as JSON does: \u001b. Invalid UTF-8 becomes U+FFFD. Newlines and
// tabs stay as they are.
type printable struct {
	to   io.Writer
	rest []byte // the first bytes of a character that is not complete yet
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
