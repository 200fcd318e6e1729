package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// brokenJSON says where a body stops being JSON, and how to fix it.
func brokenJSON(body []byte, broken *jsontext.SyntacticError) string {
	if errors.Is(broken, jsontext.ErrDuplicateName) {
		return "the body has " + path(broken.JSONPointer) + " twice: leave one of them out"
	}
	if what := foreign(body); what != "" {
		return what
	}
	at := min(max(int(broken.ByteOffset), 0), len(body))
	if !utf8.Valid(body) && strings.Contains(broken.Err.Error(), "UTF-8") {
		return "the body is not valid JSON: it must be sent in UTF-8"
	}
	rest, why := body[at:], ""
	if strings.Contains(broken.Err.Error(), "string") && len(rest) > 0 {
		why = mendText(rest)
	}
	if why == "" {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		at = len(body) - len(rest)
		why = mend(body[:at], rest)
	}
	if why == "" {
		why = broken.Err.Error() + "; a JSON linter shows the place"
	}
	line, column := position(body, at)
	return fmt.Sprintf("the body is not valid JSON at line %d, column %d: %s", line, column, why)
}

// position is the line and column of a byte, both from 1. Columns count characters.
func position(body []byte, at int) (line, column int) {
	before := body[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// mend says how to fix a text that is JSON up to some point, "" if that is unclear.
func mend(before, rest []byte) string {
	last := lastByte(before)
	if len(rest) == 0 {
		return `it ends too early: a }, ] or " is missing`
	}
	after := lastByte(rest[:min(len(rest), 1)])
	if first, more := rest[0], bytes.TrimLeft(rest[1:], " \t\r\n"); first == ',' && len(more) > 0 {
		after = more[0]
	}
	switch first := rest[0]; {
	case last == 0 && first != '{':
		return `a JSON object begins with {, such as {"amount":25.5}`
	case last == '.':
		return "write a number as 0.5 or 10, with a digit on either side of the point"
	case after == '}' && first == ',', after == ']' && first == ',':
		return fmt.Sprintf("take away the comma before %c", after)
	case first == ',':
		return "take away this comma, or put what is missing before it"
	case first == '\'' || first == '`':
		return `put names and texts in double quotes, as in "amount"`
	case first == '/' || first == '#':
		return "take away the comment: JSON has none"
	case first == ';':
		return "put a comma in place of ;"
	case last == ',' && first >= '0' && first <= '9':
		return "put the next name in double quotes; the decimals of a number stand after a point, as in 25.50"
	case last == '"' && (first >= '0' && first <= '9' || first == '='):
		return "put a colon between the name and its value"
	case strings.ContainsRune("+.0123456789", rune(first)):
		return "write a number as 0.5 or 10: no + or zeros in front of it, a digit on either side of the point, and no grouping"
	}
	word := string(rest[:wordLength(rest)])
	switch {
	case word == "True" || word == "False" || word == "None" || word == "nil" || word == "undefined" || word == "NULL" || word == "TRUE" || word == "FALSE":
		return "write true, false and null in lower case"
	case word == "NaN" || word == "Infinity":
		return "write a number: JSON has no " + word
	case last == '}' && balanced(before):
		return "take away what follows the end of the object: a body is one JSON object"
	case word != "":
		return `put names and texts in double quotes, as in "` + word + `"`
	case rest[0] == '"':
		return "put a comma or a colon before this text, or take a quote away"
	case rest[0] == '{' || rest[0] == '[':
		return "put a comma or a colon before it"
	case rest[0] == '}' || rest[0] == ']':
		return "take it away, or put what is missing before it"
	}
	return ""
}

// mendText is mend inside a text.
func mendText(rest []byte) string {
	switch first := rest[0]; {
	case first < ' ':
		return `write a line break in a text as \n, and a tab as \t`
	case bytes.HasPrefix(rest, []byte(`\u`)):
		return `write a character beyond FFFF as it is, or as both of its halves, as in \ud83d\ude00`
	case first == '\\':
		return `write a backslash as \\; after one come only " \ / b f n r t, or u and four digits`
	}
	return ""
}

// wordLength is the number of leading letters of a word that is short enough to show.
func wordLength(text []byte) int {
	const longest = 30
	n := 0
	for n < len(text) && n < longest && (text[n] >= 'a' && text[n] <= 'z' || text[n] >= 'A' && text[n] <= 'Z' || n > 0 && (text[n] == '_' || text[n] >= '0' && text[n] <= '9')) {
		n++
	}
	return n
}

// lastByte is the last byte that is not white space, 0 for none.
func lastByte(text []byte) byte {
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) == 0 {
		return 0
	}
	return text[len(text)-1]
}

// balanced reports whether as many objects end as begin. It also counts braces in texts, so a hint may be
// wrong.
func balanced(text []byte) bool {
	return bytes.Count(text, []byte("{")) == bytes.Count(text, []byte("}"))
}
