package bankfile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// whole are letters that do not decompose into a plain letter and a mark.
var whole = strings.NewReplacer(
	"ß", "ss", "ẞ", "SS", "æ", "ae", "Æ", "AE", "œ", "oe", "Œ", "OE", "ø", "o", "Ø", "O", "ł", "l", "Ł", "L",
	"đ", "d", "Đ", "D", "ð", "d", "Ð", "D", "þ", "th", "Þ", "TH", "ı", "i", "’", "'", "‘", "'", "–", "-", "—", "-",
)

// latin writes a text with ASCII letters, digits and the given signs. Everything else
// becomes a space; spaces are single, and not at the ends. The text is cut to length bytes.
func latin(text, signs string, length int) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(whole.Replace(text)) {
		switch {
		case unicode.Is(unicode.Mn, r): // the accent of a decomposed letter
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(signs, r)):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	s := strings.Join(strings.Fields(b.String()), " ")
	return strings.TrimSpace(s[:min(len(s), length)])
}

// upper is a text for fixed-width files: ASCII upper-case letters and digits only, because
// networks refuse signs. S.A. becomes SA.
func upper(text string, length int) string {
	joined := strings.NewReplacer(".", "", "'", "", "’", "").Replace(text)
	return strings.ToUpper(latin(joined, "", length))
}

// sepa is a text in the characters that banks agreed on for ISO 20022, which have a plus for & (EPC217-08).
// A slash is left out, because it must not be at an end or doubled.
func sepa(text string, length int) string {
	return latin(strings.ReplaceAll(text, "&", "+"), "-?:().,'+", length)
}

// named says why a name cannot be written, or nil.
func named(name, written string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return problem("name", "is missing")
	case !strings.ContainsFunc(written, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return problem("name", "has no letter that the file can hold")
	}
	return nil
}

// shortText is a short text of the bank's, without control characters for a terminal.
func shortText(text string, length int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), length)], "")
}
