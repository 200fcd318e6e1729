package cardnumber

import (
	"unicode"
	"unicode/utf8"
)

// class is what a character is in a number.
type class uint8

const (
	other    class = iota // it ends a number
	isDigit               // of any script
	mark                  // it stands between groups of digits
	rareMark              // it does so seldom: in other numbers, dates and lists it separates
)

// syntax is how characters of a text are written.
type syntax uint8

const (
	plainText   syntax = 0
	jsonText    syntax = 1 << iota // with the escapes of JSON
	addressText                    // with those of addresses
)

// ascii are the classes of bytes below 0x80.
var ascii = func() (classes [utf8.RuneSelf]class) {
	for c := '0'; c <= '9'; c++ {
		classes[c] = isDigit
	}
	for _, c := range " \t\r\n-._+*" {
		classes[c] = mark
	}
	for _, c := range ",/:|;~'" {
		classes[c] = rareMark
	}
	return classes
}()

// begins are the bytes that a digit may begin with, in some syntax.
var begins = func() (some [256]bool) {
	for c := range some {
		some[c] = c >= utf8.RuneSelf || ascii[c] == isDigit || c == '\\' || c == '%'
	}
	return some
}()

// classOf returns what a character is, and the value of a digit.
func classOf(c rune) (class, byte) {
	switch {
	case c >= '0' && c <= '9':
		return isDigit, byte(c - '0')
	case c < utf8.RuneSelf:
		return ascii[c], 0
	case unicode.Is(unicode.Nd, c):
		return isDigit, value(c)
	case unicode.In(c, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Pd, unicode.Pc, unicode.Cf), c == '\u2212', c == '·', c == '•', c == '。', c == '．':
		return mark, 0
	}
	return other, 0
}

// value is the value of a digit of any script: its block begins with its zero, and the next block follows after ten.
func value(c rune) byte {
	for _, r := range unicode.Nd.R16 {
		if c <= rune(r.Hi) {
			return byte((c - rune(r.Lo)) % 10)
		}
	}
	for _, r := range unicode.Nd.R32 {
		if c <= rune(r.Hi) {
			return byte((c - rune(r.Lo)) % 10)
		}
	}
	return 0
}

// next returns what the character at i is, and how many bytes it has.
func next[T ~string | ~[]byte](text T, i int, how syntax) (kind class, digit byte, size int) {
	switch c := text[i]; {
	case c >= '0' && c <= '9':
		return isDigit, c - '0', 1
	case c == '\\' && how&jsonText != 0:
		return escaped(text, i)
	case c == '%' && how&addressText != 0:
		code, ok := hex(text, i+1, 2)
		switch {
		case !ok:
			return other, 0, 1
		case code >= utf8.RuneSelf: // part of a longer character, such as a wide space
			return mark, 0, 3
		}
		kind, digit = classOf(code)
		return kind, digit, 3
	case c < utf8.RuneSelf:
		return ascii[c], 0, 1
	}
	var character [utf8.UTFMax]byte
	n := 0
	for n < len(character) && i+n < len(text) {
		character[n] = text[i+n]
		n++
	}
	c, size := utf8.DecodeRune(character[:n])
	kind, digit = classOf(c)
	return kind, digit, size
}

// escaped reads an escape of JSON.
func escaped[T ~string | ~[]byte](text T, i int) (kind class, digit byte, size int) {
	if i+1 == len(text) {
		return other, 0, 1
	}
	switch text[i+1] {
	case 'n', 'r', 't':
		return mark, 0, 2
	case '/':
		return rareMark, 0, 2
	case 'u':
		first, ok := hex(text, i+2, 4)
		if !ok {
			return other, 0, 2
		}
		if size = 6; first >= 0xd800 && first < 0xdc00 && i+7 < len(text) && text[i+6] == '\\' && text[i+7] == 'u' {
			if second, ok := hex(text, i+8, 4); ok && second >= 0xdc00 && second < 0xe000 {
				first, size = (first-0xd800)<<10+(second-0xdc00)+0x10000, 12
			}
		}
		kind, digit = classOf(first)
		return kind, digit, size
	}
	return other, 0, 2
}

// hex reads a hexadecimal number of n digits.
func hex[T ~string | ~[]byte](text T, i, n int) (code rune, ok bool) {
	if i+n > len(text) {
		return 0, false
	}
	for ; n > 0; i, n = i+1, n-1 {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			code = code<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			code = code<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return code, true
}

// short returns where the run that begins at i ends, if it has too few digits for a card's number; 0 otherwise.
func short[T ~string | ~[]byte](text T, i int, how syntax) (end int) {
	digits, marks := 0, 0
	for i < len(text) {
		kind, size := other, 1
		if c := text[i]; c < utf8.RuneSelf && c != '\\' && c != '%' {
			kind = ascii[c]
		} else {
			kind, _, size = next(text, i, how)
		}
		i += size
		switch kind {
		case isDigit:
			if digits++; digits == shortest {
				return 0
			}
			marks = 0
		case other:
			return i
		default:
			if marks++; marks > mostMarks {
				return i
			}
		}
	}
	return i
}
