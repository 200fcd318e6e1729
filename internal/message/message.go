// Package message has the sentences of errors: the API's English, and what pages show in English, Spanish and Portuguese,
// by the key of a problem.Reason. The edges make sentences with it; below them errors are data.
package message

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// texts has a file for the first word of the keys. A value is written as {name}; {name:q} puts it in quotes, and {{ is {.
//
//go:embed texts/*.json
var texts embed.FS

// entry is what is said for one reason.
type entry struct {
	API string `json:"api"` // what clients, the operators' API and the command line say
	EN  string `json:"en"`  // of pages, which do not speak of requests; "": API's
	ES  string `json:"es"`
	PT  string `json:"pt"`
}

func (e entry) in(lang string) string {
	switch lang {
	case "es":
		return e.ES
	case "pt":
		return e.PT
	}
	return cmp.Or(e.EN, e.API)
}

// catalog is read when the first sentence is made.
var catalog = sync.OnceValue(func() map[string]entry {
	all := map[string]entry{}
	files, err := texts.ReadDir("texts")
	if err != nil {
		panic("message: " + err.Error()) // our own files
	}
	for _, f := range files {
		body, err := texts.ReadFile(path.Join("texts", f.Name()))
		if err == nil {
			err = json.Unmarshal(body, &all)
		}
		if err != nil {
			panic("message: " + f.Name() + ": " + err.Error()) // our own files
		}
	}
	return all
})

// Literal is the reason for a sentence that an edge has made itself, in the language of whoever reads it.
func Literal(sentence string) problem.Reason { return literal.With(sentence) }

var literal = problem.Define1("edge.literal", "sentence")

// Refusal is the error for what an edge itself refuses.
func Refusal(code problem.Code, sentence string) *problem.Error {
	return problem.New(code, Literal(sentence))
}

// FieldRefusal is the same about one field.
func FieldRefusal(code problem.Code, param, sentence string) *problem.Error {
	return problem.Field(code, param, Literal(sentence))
}

// API is an error as the API says it.
func API(e *problem.Error) string {
	if !e.Reason.None() {
		return Text(e.Reason)
	}
	sentences := make([]string, 0, len(e.Details.Issues))
	for _, i := range e.Details.Issues {
		sentences = append(sentences, Text(i.Reason))
	}
	return strings.Join(sentences, "; ")
}

// Text is a reason as the API says it.
func Text(r problem.Reason) string {
	return fill(r, func(e entry) string { return e.API }, value)
}

// Values writes an argument as the pages of a language do; false for one that is written as the API writes it.
type Values func(lang string, arg any) (text string, own bool)

// Page is a reason as the pages of a language say it: en, es or pt.
func Page(lang string, r problem.Reason, values Values) string {
	return fill(r, func(e entry) string { return e.in(lang) }, func(arg any) string {
		if text, own := values(lang, arg); own {
			return text
		}
		return value(arg)
	})
}

// fill puts a reason's arguments into its sentence.
func fill(r problem.Reason, of func(entry) string, write func(any) string) string {
	if r.None() {
		return ""
	}
	e, known := catalog()[r.Key()]
	if !known {
		return r.Error() // a test holds the catalog to the reasons
	}
	var b strings.Builder
	for _, part := range parts(of(e)) {
		if part.arg == "" {
			b.WriteString(part.text)
			continue
		}
		arg, _ := r.Arg(part.arg)
		text := ""
		if inner, ok := arg.(problem.Reason); ok {
			text = fill(inner, of, write)
		} else {
			text = write(arg)
		}
		if part.quoted {
			text = strconv.Quote(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// part is a piece of a sentence: text, or an argument.
type part struct {
	text, arg string
	quoted    bool
}

// parts cuts a sentence at its arguments.
func parts(sentence string) (list []part) {
	text := ""
	for sentence != "" {
		i := strings.IndexAny(sentence, "{}")
		if i < 0 {
			break
		}
		text, sentence = text+sentence[:i], sentence[i:]
		if len(sentence) > 1 && sentence[1] == sentence[0] { // {{ or }}
			text, sentence = text+sentence[:1], sentence[2:]
			continue
		}
		name, rest, closed := strings.Cut(sentence[1:], "}")
		if sentence[0] == '}' || !closed {
			break
		}
		name, quoted := strings.CutSuffix(name, ":q")
		list, text, sentence = append(list, part{text: text}, part{arg: name, quoted: quoted}), "", rest
	}
	return append(list, part{text: text + sentence})
}

// value writes an argument as the API does.
func value(arg any) string {
	switch arg := arg.(type) {
	case time.Time:
		return arg.Format(time.RFC3339)
	case []string:
		return strings.Join(arg, ", ")
	}
	return fmt.Sprint(arg)
}

// Sentence is an error for the terminal: as its Error method has it, with the API's sentences in place of data.
func Sentence(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case problem.Reason:
		return Text(e)
	case *problem.Error:
		said := string(e.Code) + ": " + API(e)
		if e.Cause != nil {
			said += ": " + Sentence(e.Cause)
		}
		return said
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return strings.Replace(err.Error(), inner.Error(), Sentence(inner), 1)
		}
	case interface{ Unwrap() []error }:
		text := err.Error()
		for _, inner := range e.Unwrap() {
			text = strings.Replace(text, inner.Error(), Sentence(inner), 1)
		}
		return text
	}
	return err.Error()
}

// StoredText is the API's sentence for a reason that a row has kept as its Error method wrote it. Any other text stays as it is.
func StoredText(text string) string {
	key, rest, _ := strings.Cut(text, " ")
	e, known := catalog()[key]
	if !known {
		return text
	}
	args := map[string]string{}
	for rest != "" {
		name, after, _ := strings.Cut(rest, "=")
		word, err := strconv.QuotedPrefix(after)
		if err == nil {
			after = after[len(word):]
			word, err = strconv.Unquote(word)
		}
		if err != nil {
			word, after, _ = strings.Cut(after, " ")
			after = " " + after
		}
		args[name], rest = word, strings.TrimPrefix(after, " ")
	}
	var b strings.Builder
	for _, part := range parts(e.API) {
		switch {
		case part.quoted:
			b.WriteString(strconv.Quote(args[part.arg]))
		case part.arg != "":
			b.WriteString(args[part.arg])
		default:
			b.WriteString(part.text)
		}
	}
	return b.String()
}

// places lists the arguments of a sentence.
func places(sentence string) (names []string) {
	for _, p := range parts(sentence) {
		if p.arg != "" && !slices.Contains(names, p.arg) {
			names = append(names, p.arg)
		}
	}
	return names
}
