package table

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Cipher encrypts texts that may name persons: evidence and providers' messages. A text is bound to its
// column and row.
type Cipher interface {
	EncryptData(about string, plain []byte) []byte
	DecryptData(about string, encrypted []byte) ([]byte, error)
}

const (
	// encryptedMark starts an encrypted text; base64 follows. A text without it was written without a cipher, and is read
	// as it is.
	encryptedMark = "sealed:1:"
	// Shut replaces a text in a list that cannot be decrypted.
	Shut = "[cannot be opened]"
)

// ErrShut: a text cannot be decrypted. It was encrypted with another key or for another row, or is damaged.
var ErrShut = errors.New("a text cannot be opened")

// Personal encrypts and decrypts texts. Without a cipher it leaves them plain.
type Personal struct {
	Cipher Cipher
	RowKey []byte       // of the rows' hashes, see Hashing
	Log    *slog.Logger // logs evidence that cannot be decrypted
}

// Encrypt returns a text as stored; about names its column and row.
func (p Personal) Encrypt(about string, plain []byte) string {
	if p.Cipher == nil || len(plain) == 0 {
		return string(plain)
	}
	return encryptedMark + base64.StdEncoding.EncodeToString(p.Cipher.EncryptData(about, plain))
}

// Decrypt reverses Encrypt.
//
// Errors: ErrShut.
func (p Personal) Decrypt(about, text string) ([]byte, error) {
	encrypted, marked := strings.CutPrefix(text, encryptedMark)
	if !marked {
		return []byte(text), nil
	}
	if p.Cipher == nil {
		return nil, fmt.Errorf("%w: %s: there is no key", ErrShut, about)
	}
	raw, err := base64.StdEncoding.DecodeString(encrypted)
	if err == nil {
		raw, err = p.Cipher.DecryptData(about, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrShut, about, err)
	}
	return raw, nil
}

// Marked reports whether a text is encrypted.
func Marked(text string) bool { return strings.HasPrefix(text, encryptedMark) }

// Unmarked is the condition that a column of t is plain.
func Unmarked(column string) string {
	return fmt.Sprintf("substr(t.%s, 1, %d) <> '%s'", column, len(encryptedMark), encryptedMark)
}

// Place is an encrypted column.
type Place string

// The encrypted columns.
const (
	NoticeBody   Place = "receipts.body"
	FileName     Place = "files.name"
	FileContent  Place = "files.content"
	InboxBody    Place = "inbox.body"
	EventPayload Place = "events.payload"
	ClaimDoc     Place = "claims.doc"
	UserDoc      Place = "users.doc"
	MailLink     Place = "mails.doc"
)

// About names the place in the row with an id.
func (p Place) About(id string) string { return string(p) + " " + id }
