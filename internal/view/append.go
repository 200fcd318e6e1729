package view

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// Every payment writes a reply and an event. encoding/json takes three times as long for them, which is
// 3 to 4 % of the service's throughput. So their types have a method in json.go, made of their fields:
//
//	go test ./internal/view -run JSONIsMadeOfTheTypes -write
//
// If json.go no longer compiles after a change of a type, delete the lines that do not, and run this.

// Appender appends itself as JSON: byte for byte what encoding/json writes without escapes for HTML.
type Appender interface {
	AppendJSON(b []byte) []byte
}

// encoded is JSON already.
type encoded []byte

// AppendJSON appends it.
func (e encoded) AppendJSON(b []byte) []byte { return append(b, e...) }

// encode is json.Marshal without escapes for HTML.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// closed ends an object whose members begin at a place, each with a comma.
func closed(b []byte, at int) []byte {
	if len(b) == at {
		return append(b, '{', '}')
	}
	b[at] = '{'
	return append(b, '}')
}

func appendText(b []byte, v string) []byte {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text, err := encode(v)
			if err != nil {
				panic("view: a string that is not JSON: " + err.Error()) // every string is
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, v...)
	return append(b, '"')
}

func appendPairs(b []byte, pairs map[string]string) []byte {
	at := len(b)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		b = append(appendText(append(b, ','), name), ':')
		b = appendText(b, pairs[name])
	}
	return closed(b, at)
}
