package reconcile

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// decoded reads a report as UTF-8 with line feeds, however its bank writes it: a byte that is not UTF-8 is one of Windows-1252,
// which Latin-1 is a part of, and where no line ends in a line feed, a carriage return ends one.
type decoded struct {
	in   *bufio.Reader
	cr   bool // a carriage return ends a line
	rest []byte
}

// decode reads what is left of a report that begins so.
func decode(in *bufio.Reader, start []byte) io.Reader {
	return &decoded{in: in, cr: bytes.ContainsRune(start, '\r') && !bytes.ContainsRune(start, '\n')}
}

// Read implements io.Reader.
func (d *decoded) Read(to []byte) (n int, err error) {
	for n < len(to) {
		if len(d.rest) == 0 {
			if err := d.fill(); err != nil {
				if n > 0 {
					return n, nil // the error comes again
				}
				return 0, err
			}
		}
		moved := copy(to[n:], d.rest)
		n, d.rest = n+moved, d.rest[moved:]
		if d.in.Buffered() == 0 { // a slow source is not waited for
			break
		}
	}
	return n, nil
}

// fill reads what is in the buffer, at least one character.
func (d *decoded) fill() error {
	if _, err := d.in.Peek(utf8.UTFMax); err != nil && d.in.Buffered() == 0 {
		return err
	}
	raw, err := d.in.Peek(d.in.Buffered())
	if err != nil {
		return err
	}
	out, used := make([]byte, 0, len(raw)+utf8.UTFMax), 0
	for used < len(raw) && (used == 0 || utf8.FullRune(raw[used:])) {
		r, size := utf8.DecodeRune(raw[used:])
		switch {
		case r == utf8.RuneError && size == 1:
			r = charmap.Windows1252.DecodeByte(raw[used])
		case r == '\r' && d.cr:
			r = '\n'
		}
		out, used = utf8.AppendRune(out, r), used+size
	}
	d.rest = out
	_, err = d.in.Discard(used)
	return err
}
