package problem

import "unicode"

// Unprintable reports whether a character can make a line of text look like something else: a
// control character, a line end, or a mark that changes the direction of writing. An operator's
// terminal obeys control characters and direction marks.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
