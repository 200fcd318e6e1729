package wire

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Canonical is a body in the form that is compared with an earlier one of the same key: members of objects
// sorted by name, no spaces, numbers as written. Invalid JSON stays as it is.
func Canonical(body []byte) []byte {
	if flat, ok := canonicalFlat(body); ok {
		return flat
	}
	return canonical(body)
}

func canonical(body []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return body
	}
	text, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return text
}

// canonicalFlat is Canonical for nearly all bodies: an object of plain texts, numbers and literals, which
// needs no decoding. It reports false for any other body.
func canonicalFlat(body []byte) ([]byte, bool) {
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
		if i > 0 {
			if bytes.Equal(m.name, members[i-1].name) {
				return nil, false
			}
			text = append(text, ',')
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

// take reads n bytes.
func (s *scanner) take(n int) []byte {
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
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
			return s.take(i + 1)
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
			return s.take(len(word))
		}
	}
	if n := number(s.rest); n > 0 {
		return s.take(n)
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
