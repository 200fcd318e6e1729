package document

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Clean is a number or code as it was meant, of a text from the clipboard: spaces of every kind become plain ones and dashes of
// every kind become hyphens, letters are composed, and invisible marks (zero width, direction, soft hyphen) go. It keeps
// control characters, which are no part of a copied number and are refused where texts are read.
func Clean(text string) string {
	return strings.TrimSpace(norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.Is(unicode.Pd, r), r == '\u2212': // the minus sign
			return '-'
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, text)))
}
