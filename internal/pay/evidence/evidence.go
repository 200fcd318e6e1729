// Package evidence says which files a merchant may send against a claim. A file's content must be of the
// type that it claims to be: whoever looks at it later must not get anything that runs.
package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
)

// The accepted types.
const (
	PDF  = "application/pdf"
	PNG  = "image/png"
	JPEG = "image/jpeg"
	Text = "text/plain"
)

// MaxText is the longest text of a piece of evidence, in characters.
const MaxText = 20_000

// Limits of what names a piece of evidence, in characters.
const (
	MaxKind     = 60
	MaxFileName = 200
)

// Types lists the accepted types.
func Types() []string { return []string{PDF, PNG, JPEG, Text} }

// endings are the file name endings of each type. A name that has none of them gets the first.
var endings = map[string][]string{
	PDF: {".pdf"}, PNG: {".png"}, JPEG: {".jpg", ".jpeg"}, Text: {".txt", ".csv", ".log", ".md"},
}

// Is reports whether content is of an accepted type. An unknown type has no content.
func Is(kind string, content []byte) bool {
	switch kind {
	case PDF:
		return bytes.HasPrefix(content, []byte("%PDF-"))
	case PNG:
		return bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n"))
	case JPEG:
		return bytes.HasPrefix(content, []byte("\xff\xd8\xff"))
	case Text:
		control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\f\r", r) }
		return utf8.Valid(content) && bytes.IndexFunc(content, control) < 0
	}
	return false
}

// TypeOf is the type of a file by its content, "" for one that is not accepted. A text must also have the
// ending of a text file, because HTML and SVG are texts too.
func TypeOf(name string, content []byte) string {
	for _, kind := range Types() {
		if Is(kind, content) && (kind != Text || ends(kind, name)) {
			return kind
		}
	}
	return ""
}

// GoodName reports whether a name is a file's, without a path.
func GoodName(name string) bool {
	return name != "" && len(name) <= 200 && utf8.ValidString(name) && !strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(name, unicode.IsControl)
}

// Describe describes a file of an accepted type. Its name has an ending of the type.
func Describe(name, kind string, content []byte) *pay.EvidenceFile {
	sum := sha256.Sum256(content)
	if !ends(kind, name) {
		name += endings[kind][0]
	}
	return &pay.EvidenceFile{Name: name, Type: kind, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

func ends(kind, name string) bool {
	return slices.ContainsFunc(endings[kind], func(ending string) bool { return strings.HasSuffix(strings.ToLower(name), ending) })
}
