package mail

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"regexp"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"
)

// Message is an e-mail of plain text.
type Message struct {
	ID      string // letters, digits and _; by it a receiver can recognize a second copy
	To      string // an address; a name in it is ignored
	Subject string // one line; line breaks are removed
	Text    string
	At      time.Time // when it was written
}

const (
	maxAddress = 254 // bytes (RFC 5321, with erratum 1690)
	maxLocal   = 64
)

// localPart is a dot-atom of RFC 5322. Quoted forms have been used to inject more than an
// address into a command, and no merchant has one.
var localPart = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+/=?^_{|}~\x60-]+(\.[A-Za-z0-9!#$%&'*+/=?^_{|}~\x60-]+)*$`)

// route is the form of a parsed address for commands and headers: ASCII only, an
// international domain as xn--….
func route(address string) (string, error) {
	at := strings.LastIndexByte(address, '@')
	local, domain := address[:max(at, 0)], address[at+1:]
	if len(local) > maxLocal || !localPart.MatchString(local) {
		return "", errors.New("the part before the @ is not a plain ASCII name")
	}
	domain, err := idna.Lookup.ToASCII(domain)
	if err != nil || domain == "" || len(local)+1+len(domain) > maxAddress {
		return "", errors.New("the part after the @ is not a domain")
	}
	return local + "@" + domain, nil
}

// Line makes a text one line: without control characters, characters that change the
// direction of writing, and line breaks of any script; each run of white space becomes a
// space.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}

// CheckAddress returns a person's address: only one, without a name before it.
func CheckAddress(text string) (string, error) {
	parsed, err := netmail.ParseAddress(text)
	if err != nil {
		return "", errors.New("this is not an address")
	}
	if _, err := route(parsed.Address); err != nil {
		return "", err
	}
	return parsed.Address, nil
}

// write returns the recipient's address and the bytes of a message, which are the same for each try.
func (s *Sender) write(m Message) (to string, text []byte, err error) {
	parsed, err := netmail.ParseAddress(m.To)
	if err != nil {
		return "", nil, errors.New("this is not an address")
	}
	if to, err = route(parsed.Address); err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"Date", m.At.UTC().Format(time.RFC1123Z)},
		{"From", s.from.String()},
		{"To", "<" + to + ">"},
		{"Message-ID", "<" + m.ID + "@" + s.domain + ">"},
		{"Subject", folded("Subject", Line(m.Subject))},
		{"Auto-Submitted", "auto-generated"}, // no automatic reply should come back (RFC 3834)
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		if strings.ContainsAny(strings.ReplaceAll(h[1], "\r\n ", ""), "\r\n") {
			panic("mail: a header of two lines: " + h[0]) // a bug of ours
		}
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	if _, err := body.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n"))); err != nil {
		return "", nil, fmt.Errorf("write an e-mail: %w", err)
	}
	if err := body.Close(); err != nil {
		return "", nil, fmt.Errorf("write an e-mail: %w", err)
	}
	return to, b.Bytes(), nil
}

// maxEncoded is the length of a header's line with an encoded word in it (RFC 2047).
const maxEncoded = 76

// folded is a line as the value of a header, with each encoded word on its own line.
func folded(name, line string) string {
	text := strings.ReplaceAll(mime.QEncoding.Encode("utf-8", line), "?= =?", "?=\r\n =?")
	if first, _, _ := strings.Cut(text, "\r\n"); text != line && len(name)+len(": ")+len(first) > maxEncoded {
		return "\r\n " + text
	}
	return text
}
