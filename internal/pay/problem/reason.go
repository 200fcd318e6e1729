package problem

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/printable"
)

// Reason says why something is refused, as data: a key, and the values of its arguments. The sentences that people read
// are made of it at the edges, in package message: the core has none. A value is an amount, a time, a number, a word or a
// list of words, or a reason that is a part of this one.
type Reason struct {
	of     *Declared
	values []any
}

// Declared is a reason as its package declares it: its key never changes, as logs and rows may have it.
type Declared struct {
	Key  string
	Args []string
}

// declared are all reasons of the program. Declarations are variables of packages, which Go sets up one after the other.
var declared []*Declared

// Declarations lists every reason that the program's packages declare, by key.
func Declarations() []Declared {
	list := make([]Declared, 0, len(declared))
	for _, d := range declared {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b Declared) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func declare(key string, args ...string) *Declared {
	d := &Declared{key, args}
	declared = append(declared, d)
	return d
}

// Define declares a reason without arguments, as a variable of the package that uses it.
func Define(key string) Reason { return Reason{of: declare(key)} }

// Of1 is a reason with one argument.
type Of1 struct{ of *Declared }

// Define1 declares a reason with one argument.
func Define1(key, a string) Of1 { return Of1{declare(key, a)} }

// With gives the argument its value.
func (o Of1) With(a any) Reason { return Reason{o.of, []any{a}} }

// Of2 is a reason with two arguments.
type Of2 struct{ of *Declared }

// Define2 declares a reason with two arguments.
func Define2(key, a, b string) Of2 { return Of2{declare(key, a, b)} }

// With gives the arguments their values.
func (o Of2) With(a, b any) Reason { return Reason{o.of, []any{a, b}} }

// Of3 is a reason with three arguments.
type Of3 struct{ of *Declared }

// Define3 declares a reason with three arguments.
func Define3(key, a, b, c string) Of3 { return Of3{declare(key, a, b, c)} }

// With gives the arguments their values.
func (o Of3) With(a, b, c any) Reason { return Reason{o.of, []any{a, b, c}} }

// Key is the reason's name, "" for none.
func (r Reason) Key() string {
	if r.of == nil {
		return ""
	}
	return r.of.Key
}

// None reports whether there is no reason.
func (r Reason) None() bool { return r.of == nil }

// Arg is the value of an argument.
func (r Reason) Arg(name string) (value any, known bool) {
	if r.of == nil {
		return nil, false
	}
	i := slices.Index(r.of.Args, name)
	if i < 0 || i >= len(r.values) {
		return nil, false
	}
	return r.values[i], true
}

// Error is the reason for a log, or for a row: its key, and its arguments as name=value. So a package that knows no codes
// can return a reason as its error.
func (r Reason) Error() string {
	var b strings.Builder
	b.WriteString(r.Key())
	for i, value := range r.values {
		text := fmt.Sprint(value)
		if at, ok := value.(time.Time); ok {
			text = at.Format(time.RFC3339)
		}
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || printable.Unprintable(r) }) {
			text = strconv.Quote(text)
		}
		b.WriteString(" " + r.of.Args[i] + "=" + text)
	}
	return b.String()
}
