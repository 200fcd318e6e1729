package problem

import "unicode"

// Unprintable reports whether a character makes a line of text look like something else: a
// control character, the end of a line, or a mark that turns the direction of writing. An
// operator's terminal obeys the first and the last.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
