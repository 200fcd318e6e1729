package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// Canonical is a body in the form that is compared with an earlier one of the same key: members of objects
// sorted by name, no spaces. It compares what a body says: 5 and 5.00 are one number, and a member that is null is one
// that is absent. Invalid JSON stays as it is.
func Canonical(body []byte) []byte {
	if flat, ok := flat(body); ok {
		return flat
	}
	return deep(body)
}

func deep(body []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return body
	}
	text, err := json.Marshal(valued(v))
	if err != nil {
		return body
	}
	return text
}

// valued returns a decoded value without members that are null, and with each number in its shortest form.
func valued(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(Shortest([]byte(v)))
	case []any:
		for i := range v {
			v[i] = valued(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = valued(member)
		}
	}
	return v
}

// longestExponent is how far a number's point is moved when it is written without an exponent.
const longestExponent = 30

// Shortest writes a number of JSON in one way for each value: 5.00, 0.5e1 and 5 are 5. A number with an exponent beyond
// all amounts stays as it is.
func Shortest(number []byte) []byte {
	digits, exponent := make([]byte, 0, len(number)+longestExponent), 0
	negative, fraction := false, false
	for i, c := range number {
		switch {
		case c == '-':
			negative = true
		case c == '.':
			fraction = true
		case c == 'e' || c == 'E':
			n, err := strconv.Atoi(string(number[i+1:]))
			if err != nil || n < -longestExponent || n > longestExponent {
				return number
			}
			exponent += n
		default:
			digits = append(digits, c)
			if fraction {
				exponent--
			}
		}
		if c == 'e' || c == 'E' {
			break
		}
	}
	digits = bytes.TrimLeft(digits, "0")
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits, exponent = digits[:len(digits)-1], exponent+1
	}
	if len(digits) == 0 {
		return []byte("0")
	}
	text := make([]byte, 0, len(digits)+longestExponent+3)
	if negative {
		text = append(text, '-')
	}
	point := len(digits) + exponent // digits before the point
	switch {
	case exponent >= 0:
		return append(append(text, digits...), bytes.Repeat([]byte("0"), exponent)...)
	case point > 0:
		return append(append(append(text, digits[:point]...), '.'), digits[point:]...)
	}
	return append(append(append(text, "0."...), bytes.Repeat([]byte("0"), -point)...), digits...)
}

// flat is Canonical for nearly all bodies: an object of plain texts, numbers and literals, which
// needs no decoding. It reports false for any other body.
func flat(body []byte) ([]byte, bool) {
	type member struct{ name, value []byte }
	var room [16]member
	members := room[:0]
	s := scanner{rest: body}
	if !s.skip('{') {
		return nil, false
	}
	for !s.skip('}') {
		if len(members) > 0 && !s.skip(',') {
			return nil, false
		}
		var m member
		if m.name = s.text(); m.name == nil || !s.skip(':') {
			return nil, false
		}
		if m.value = s.scalar(); m.value == nil {
			return nil, false
		}
		members = append(members, m)
	}
	if s.space(); len(s.rest) > 0 {
		return nil, false
	}
	unquoted := func(m member) []byte { return m.name[1 : len(m.name)-1] }
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(unquoted(a), unquoted(b)) })
	text := append(make([]byte, 0, len(body)), '{')
	for i, m := range members {
		if i > 0 && bytes.Equal(m.name, members[i-1].name) {
			return nil, false
		}
		if m.value[0] == 'n' {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		if c := m.value[0]; c == '-' || c >= '0' && c <= '9' {
			m.value = Shortest(m.value)
		}
		text = append(append(append(text, m.name...), ':'), m.value...)
	}
	return append(text, '}'), true
}

// scanner reads JSON from the start.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\t' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// skip reads a character, after spaces, if it is next.
func (s *scanner) skip(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// next reads n bytes.
func (s *scanner) next(n int) []byte {
	text := s.rest[:n]
	s.rest = s.rest[n:]
	return text
}

// text reads a string as encoding/json would write it, with its quotes; nil if there is none.
func (s *scanner) text() []byte {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil
	}
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			return s.next(i + 1)
		case c < ' ', c == '\\', c == '<', c == '>', c == '&', c > '~':
			return nil
		}
	}
	return nil
}

// scalar reads a text, a number or a literal; nil if there is none.
func (s *scanner) scalar() []byte {
	if text := s.text(); text != nil {
		return text
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.rest, []byte(word)) {
			return s.next(len(word))
		}
	}
	if n := number(s.rest); n > 0 {
		return s.next(n)
	}
	return nil
}

// number is the length of the number that comes next, 0 for none (RFC 8259, section 6).
func number(b []byte) int {
	digits := func(i int) int {
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digits(i)
	if whole == i || b[i] == '0' && whole > i+1 {
		return 0
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		end := digits(i + 1)
		if end == i+1 {
			return 0
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		at := i + 1
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		end := digits(at)
		if end == at {
			return 0
		}
		i = end
	}
	return i
}
