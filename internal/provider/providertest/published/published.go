// Package published has tables of what a provider publishes about its API, and holds an adapter and its fake to them: the
// adapter may send only what the provider's document knows, and the fake may answer only what it allows. A fake that was
// written by the hand that wrote the adapter proves nothing else.
//
// An adapter's test package has one Table, typed from the provider's own document: a Call for each call of the adapter, and
// a Notice for each notification. Nothing in it comes from the adapter or its fake. The fake returns it from a method
// Published() published.Table. Then the network of providertest and payouttest puts a Gate before the fake, in the suite and
// in the adapter's own tests, and the suites hold the fake's notifications to it.
package published

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Document is where a table comes from.
type Document struct {
	Name    string // "CheckoutService-v71.json of Adyen/adyen-openapi"
	Version string // "aa014f0", "2.3.0"
	Date    string // of the version, or of the day on which it was read: "2026-07-01"
}

// Table is what a provider publishes about the calls and notifications of one adapter.
type Table struct {
	Documents []Document
	Calls     []Call
	Notices   []Notice
	// Refusal is the provider's answer to a call that it does not understand.
	Refusal func() (status int, body string)
	// Strange are the words that the fake uses as statuses that no document has.
	Strange []string
}

// Call is a documented call.
type Call struct {
	Name   string // "create a payment link"
	Method string
	Path   string // "/paymentLinks/{id}", without the account's base URL; a name in braces stands for one segment
	Header Fields // those of the provider's own; HTTP's are allowed
	Query  Fields
	Form   bool  // the body is a form, with fields as a[b][0]
	Parts  bool  // the body is a form in parts (multipart/form-data), with files
	Body   Value // zero: there is none
	// Answers are the documented bodies by status; the zero Value is an empty one. A status without an entry is
	// not documented.
	Answers map[int]Value
}

// Notice is a documented notification.
type Notice struct {
	Name   string
	Header Fields
	Query  Fields
	Form   bool
	Body   Value
}

// Fields are the fields of an object by name. No others are allowed, unless the object is open.
type Fields map[string]Value

type kind string

const (
	text    kind = "a string"
	integer kind = "an integer"
	number  kind = "a number"
	boolean kind = "true or false"
	object  kind = "an object"
	list    kind = "a list"
	null    kind = "null"
	any_    kind = "anything"
)

// Value is what a document says of a value. The zero Value is none. Its methods return a changed copy.
type Value struct {
	kinds    []kind
	must     bool
	enum     []string
	pattern  *regexp.Regexp
	min, max int
	fields   Fields
	open     bool
	item     *Value
	either   []Value
	unit     string
	status   bool
	paid     []string
}

// String is a string.
func String() Value { return Value{kinds: []kind{text}} }

// Integer is a whole number.
func Integer() Value { return Value{kinds: []kind{integer}} }

// Number is a number.
func Number() Value { return Value{kinds: []kind{number}} }

// Boolean is true or false.
func Boolean() Value { return Value{kinds: []kind{boolean}} }

// Anything is a value of which the document says nothing, or nothing that matters.
func Anything() Value { return Value{kinds: []kind{any_}} }

// Enum is one of some strings.
func Enum(words ...string) Value { return Value{kinds: []kind{text}, enum: words} }

// File is a file in a form of parts, of one of these media types.
func File(types ...string) Value { return Enum(types...) }

// Object is an object with these fields.
func Object(fields Fields) Value { return Value{kinds: []kind{object}, fields: fields} }

// List is a list of values.
func List(of Value) Value { return Value{kinds: []kind{list}, item: &of} }

// Either is a value of one of several shapes.
func Either(shapes ...Value) Value { return Value{either: shapes} }

// Must says that the field is required.
func (v Value) Must() Value { v.must = true; return v }

// Len bounds the characters of a string or the entries of a list.
func (v Value) Len(least, most int) Value { v.min, v.max = least, most; return v }

// Match is the pattern that the whole string has.
func (v Value) Match(pattern string) Value {
	v.pattern = regexp.MustCompile(`^(?:` + pattern + `)$`)
	return v
}

// OrNull says that it may be null.
func (v Value) OrNull() Value { return v.or(null) }

// OrText says that a number or a boolean may be sent as a string.
func (v Value) OrText() Value { return v.or(text) }

// OrNumber says that a string may be sent as a number.
func (v Value) OrNumber() Value { return v.or(number) }

func (v Value) or(k kind) Value {
	v.kinds = append(append([]kind{}, v.kinds...), k)
	return v
}

// Open says that an object may have more fields, as free metadata has. Answers and notifications may always have
// more, and the gate adds some.
func (v Value) Open() Value { v.open = true; return v }

// In says in which unit an amount is, for readers: "minor units", "major units, two decimals".
func (v Value) In(unit string) Value { v.unit = unit; return v }

// Status says that an enum is the state of a charge or a payout, and which of its words mean that the money was paid. The suites
// let the fake answer each word: the adapter has to know all of them.
func (v Value) Status(paid ...string) Value { v.status, v.paid = true, paid; return v }

// Word is a documented status in the answers to a call.
type Word struct {
	Call, Word string
	Paid       bool
}

// Words lists the documented statuses.
func (t Table) Words() (words []Word) {
	for _, c := range t.Calls {
		seen := map[string]bool{}
		for _, status := range slices.Sorted(maps.Keys(c.Answers)) {
			c.Answers[status].words(func(v Value, word string) {
				if !seen[word] {
					words = append(words, Word{c.Name, word, slices.Contains(v.paid, word)})
				}
				seen[word] = true
			})
		}
	}
	return words
}

func (v Value) words(each func(Value, string)) {
	if v.status {
		for _, word := range v.enum {
			each(v, word)
		}
	}
	for _, shape := range v.either {
		shape.words(each)
	}
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		v.fields[name].words(each)
	}
	if v.item != nil {
		v.item.words(each)
	}
}

// zero reports whether nothing is there.
func (v Value) zero() bool { return len(v.kinds) == 0 && len(v.either) == 0 }

// matches reports whether a call is this one.
func (c Call) matches(method, path string) bool {
	want, got := strings.Split(c.Path, "/"), strings.Split(path, "/")
	if c.Method != method || len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		if !(strings.HasPrefix(segment, "{") && got[i] != "") && segment != got[i] {
			return false
		}
	}
	return true
}

// call finds the documented call of a request. Calls without variables come first.
func (t Table) call(r *http.Request) (found Call, ok bool) {
	for _, c := range t.Calls {
		if c.matches(r.Method, r.URL.Path) && (!ok || strings.Count(c.Path, "{") < strings.Count(found.Path, "{")) {
			found, ok = c, true
		}
	}
	return found, ok
}

// Sources lists the documents, for a failing test and for people.
func (t Table) Sources() string {
	var lines []string
	for _, d := range t.Documents {
		lines = append(lines, fmt.Sprintf("%s (%s, %s)", d.Name, d.Version, d.Date))
	}
	return strings.Join(lines, "; ")
}
