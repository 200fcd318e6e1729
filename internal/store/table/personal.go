package table

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Cipher encrypts what persons may be named in: evidence, and what providers told. What a text
// is about, its column and row, is bound to it.
type Cipher interface {
	SealData(about string, plain []byte) []byte
	OpenData(about string, sealed []byte) ([]byte, error)
}

const (
	// sealedMark begins a text that is encrypted; base64 follows. Texts from before have none,
	// and are read as they are.
	sealedMark = "sealed:1:"
	// Shut stands in a list where a text cannot be opened.
	Shut = "[cannot be opened]"
)

// ErrShut says that a text cannot be opened: another key sealed it, for another row, or it was
// damaged.
var ErrShut = errors.New("a text cannot be opened")

// Personal encrypts and opens texts. Without a cipher it leaves them plain.
type Personal struct {
	Cipher Cipher
	Log    *slog.Logger // is told of evidence that cannot be opened
}

// Seal returns a text as it is stored; about says which column and row it is of.
func (p Personal) Seal(about string, plain []byte) string {
	if p.Cipher == nil || len(plain) == 0 {
		return string(plain)
	}
	return sealedMark + base64.StdEncoding.EncodeToString(p.Cipher.SealData(about, plain))
}

// Open is the way back.
//
// Errors: ErrShut.
func (p Personal) Open(about, text string) ([]byte, error) {
	sealed, marked := strings.CutPrefix(text, sealedMark)
	if !marked {
		return []byte(text), nil
	}
	if p.Cipher == nil {
		return nil, fmt.Errorf("%w: %s: there is no key", ErrShut, about)
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err == nil {
		raw, err = p.Cipher.OpenData(about, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrShut, about, err)
	}
	return raw, nil
}

// Marked reports whether a text is encrypted.
func Marked(text string) bool { return strings.HasPrefix(text, sealedMark) }

// Unmarked is the condition that a column of t is not encrypted.
func Unmarked(column string) string {
	return fmt.Sprintf("substr(t.%s, 1, %d) <> '%s'", column, len(sealedMark), sealedMark)
}

// Place is a column that is encrypted.
type Place string

// The columns that are encrypted.
const (
	ReceiptBody  Place = "receipts.body"
	FileName     Place = "files.name"
	FileContent  Place = "files.content"
	InboxBody    Place = "inbox.body"
	EventPayload Place = "events.payload"
	ClaimDoc     Place = "claims.doc"
)

// About names the place in the row of an id.
func (p Place) About(id string) string { return string(p) + " " + id }
