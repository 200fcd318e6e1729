package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// byteOrderMark is what some programs put before a text in UTF-8. It means nothing there.
var byteOrderMark = []byte("\xef\xbb\xbf")

// unmarked is a body without a byte order mark in front.
type unmarked struct {
	io.ReadCloser
	begun bool
	head  []byte // bytes that were read to look for a mark
	err   error
}

// Read implements io.Reader.
func (u *unmarked) Read(p []byte) (int, error) {
	if !u.begun {
		u.begun = true
		head := make([]byte, len(byteOrderMark))
		n, err := io.ReadFull(u.ReadCloser, head)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		u.head, u.err = bytes.TrimPrefix(head[:n], byteOrderMark), err
	}
	if len(u.head) > 0 {
		n := copy(p, u.head)
		u.head = u.head[n:]
		return n, nil
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.ReadCloser.Read(p)
}

// checkEncoding refuses a body that is compressed. A small one may hold more than any body may have.
func checkEncoding(encoding string) error {
	if encoding = strings.ToLower(strings.TrimSpace(encoding)); encoding == "" || encoding == "identity" {
		return nil
	}
	return message.Refusal(problem.ContentTypeRequired, "the body must not be compressed: send the JSON as it is, without the header Content-Encoding")
}

// foreign says what a body is that begins as other formats do, "" if it does not.
func foreign(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		return "the body is not JSON but gzip: send the JSON as it is"
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")), bytes.HasPrefix(body, []byte("{\x00")), bytes.HasPrefix(body, []byte("\x00{")):
		return "the body is JSON in UTF-16: send it in UTF-8"
	}
	return ""
}
