// Package table describes rows: a table's name, its columns with the variables that hold their values, and
// the statements that follow from these. It also encrypts the columns that may name persons.
//
// It knows no noun and has no database: other packages describe the tables and run the statements. It keeps a list of the
// described tables, and says which of their statements a commit needs.
package table

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Table describes the rows of one kind. Its fields name the columns; its inserts, updates and reads are
// made from them.
//
// A table with a version is guarded: version 1 is inserted, a later version replaces exactly the one
// before, and the statement returns the ids that it replaced.
type Table[T any] struct {
	Name string
	// Lock is the table's place in the lock order: every transaction of Commit locks its tables from the lowest number
	// on. A new table takes a free number. An old one keeps its own, because nodes of two versions run at the same time.
	Lock int
	// Of returns a change's rows. Only selects the rows of an insert; nil selects all.
	Of      func(*pay.Change) []T
	Only    func(*T) bool
	ID      func(*T) string
	Version func(*T) int64 // nil: rows are only inserted
	Over    func(*T) bool  // the row leaves the table, instead of being replaced; nil: none does
	Fields  func(*Fields, *T)
	Where   string // condition for rows of an insert
	Met     Meeting
	// Hashed: each row has a keyed hash of itself (Hashing). Every statement that changes another column writes the row's new
	// hash too. Loose names columns that statements change alone, as a lease does; due_at is always one.
	Hashed bool
	Loose  []string
	// OftenMet: a batch looks for existing rows before it writes anything.
	OftenMet bool

	hashing  *Hashing
	Columns  []engine.Column
	List     string // the columns to read
	Insert   string
	Update   string
	Delete   string // deletes rows that are over
	Look     string // finds ids that an update would miss
	Existing string // finds ids that exist, if they are often met
}

// Meeting is what happens to a new row when its id exists already.
type Meeting int

const (
	fails     Meeting = iota // cannot happen: we make the ids
	Stays                    // the existing row stays, and is the same
	Stale                    // the change loses a guard: ErrStale
	Duplicate                // likewise: ErrDuplicate
	// StaleAnyhow and DuplicateAnyhow also cover a conflict with a unique index on another column.
	StaleAnyhow
	DuplicateAnyhow // see StaleAnyhow
)

// GuardsNew reports whether a new row can lose, like a row that replaces another.
func (m Meeting) GuardsNew() bool { return m >= Stale }

// Describe makes and registers a table's statements, and makes Commit write its rows. Call it once per table, when the
// program starts. It panics if the table has no place in the lock order, or the place of another table: the program does not
// start.
func Describe[T any](t Table[T]) *Table[T] {
	t.Fields(&Fields{columns: &t.Columns}, new(T))
	if t.Hashed {
		registerHashed(&t)
	}
	var values, sets, read []string
	for _, c := range t.Columns {
		values = append(values, "r."+c.Name)
		if !c.Fixed {
			sets = append(sets, c.Name+" = r."+c.Name)
		}
		if !c.WriteOnly {
			read = append(read, c.Name)
		}
	}
	t.List = strings.Join(read, ", ")
	source := "{rows: " + t.Spec() + "}"
	t.Insert = "INSERT INTO " + t.Name + " (" + strings.Join(t.Names(), ", ") + ") SELECT " + strings.Join(values, ", ") +
		" FROM " + source + " AS r WHERE {unless lost}"
	if t.Where != "" {
		t.Insert += "\n  AND (" + t.Where + ")"
	}
	switch t.Met {
	case Stays, Stale, Duplicate:
		t.Insert += " ON CONFLICT (id) DO NOTHING RETURNING id"
	case StaleAnyhow, DuplicateAnyhow:
		t.Insert += " ON CONFLICT DO NOTHING RETURNING id"
	}
	engine.Statement(t.Insert)
	if t.Version != nil {
		t.Update = engine.Statement("UPDATE " + t.Name + " SET " + strings.Join(sets, ", ") + " FROM " + source + " AS r" +
			" WHERE " + t.Name + ".id = r.id AND " + t.Name + ".version = r.version - 1 AND {among " + t.Name + ".id id} AND {unless lost} RETURNING " + t.Name + ".id")
		// A subquery per row is a lookup, whatever size the planner assumes for the table.
		t.Look = engine.Statement("SELECT {lost r.id} FROM {rows: id TEXT, version BIGINT} AS r" +
			" WHERE coalesce((SELECT t.version FROM " + t.Name + " AS t WHERE t.id = r.id), 0) <> r.version - 1")
	}
	if t.OftenMet {
		t.Existing = engine.Statement("SELECT {lost " + t.Name + ".id} FROM " + t.Name + " WHERE {given " + t.Name + ".id}")
	}
	if t.Over != nil {
		t.Delete = engine.Statement("DELETE FROM " + t.Name +
			" WHERE {among id id} AND (id, version) IN (SELECT r.id, r.version - 1 FROM {rows: id TEXT, version BIGINT} AS r) AND {unless lost} RETURNING id")
	}
	switch {
	case t.Lock > 0 && t.Of != nil:
		Register(&t)
	case t.Lock != ByAnotherKind:
		panic("store: the description of " + t.Name + " does not say where Commit locks it, or where a change has its rows")
	}
	return &t
}

// InsertOf begins a statement that makes rows of other rows: up to its FROM. values has an expression for each column. It
// panics if that names other columns than the table: the program does not start.
func (t *Table[T]) InsertOf(values map[string]string) string {
	names := t.Names()
	if known := slices.Sorted(maps.Keys(values)); !slices.Equal(known, slices.Sorted(slices.Values(names))) {
		panic(fmt.Sprintf("store: %s has the columns %v, and its rows are made of %v", t.Name, names, known))
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = values[name]
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ")\nSELECT " + strings.Join(list, ", ")
}

// Rows returns the items' rows sorted by id, so that two committers lock rows in the same order.
func (t *Table[T]) Rows(d engine.Dialect, p Personal, items []*T) *engine.Rows {
	slices.SortFunc(items, func(a, b *T) int { return cmp.Compare(t.ID(a), t.ID(b)) })
	r := engine.NewRows(d, t.Columns, len(items))
	t.Gather(r, p, items)
	return r
}

// Gather adds the items to rows in stored form.
func (t *Table[T]) Gather(r *engine.Rows, p Personal, items []*T) {
	f := Fields{rows: r, Personal: p}
	if t.Hashed {
		f.hash = newRowHash(t.hashing, p.RowKey)
	}
	for _, item := range items {
		t.Fields(&f, item)
		if f.hash != nil {
			r.Text(f.hash.sum())
		}
		r.Next()
	}
	f.hash.free()
}

// Reader returns a reader of rows with the columns of List. It is for one goroutine. If nothing in the rows
// is encrypted, p may be the zero value.
func (t *Table[T]) Reader(p Personal) func(engine.Row, *T) error {
	f := Fields{into: make([]any, 0, len(t.Columns)), late: make([]late, 0, len(t.Columns)), Personal: p}
	return func(r engine.Row, item *T) error {
		f.into, f.late = f.into[:0], f.late[:0]
		t.Fields(&f, item)
		if err := r.Scan(f.into...); err != nil {
			return err
		}
		for i := range f.late {
			if err := f.late[i].finish(); err != nil {
				return fmt.Errorf("%s, %s: %w", t.Name, t.ID(item), err)
			}
		}
		return nil
	}
}

// Scan is Reader for one row at a time.
func (t *Table[T]) Scan(p Personal) func(engine.Row) (T, error) {
	read := t.Reader(p)
	return func(r engine.Row) (item T, err error) {
		err = read(r, &item)
		return item, err
	}
}

// ScanAnd is Scan for rows with one more column.
func ScanAnd[T, M any](p Personal, t *Table[T], more func(*T, M)) func(engine.Row) (T, error) {
	scan := t.Scan(p)
	return func(r engine.Row) (T, error) {
		var m M
		item, err := scan(With(r, &m))
		more(&item, m)
		return item, err
	}
}

// With is a row with one more column, which is read into last.
func With(r engine.Row, last any) engine.Row { return rowWith{r, last} }

type rowWith struct {
	engine.Row
	last any
}

// Scan implements engine.Row.
func (r rowWith) Scan(into ...any) error { return r.Row.Scan(append(into, r.last)...) }

// Hashing is how the table's rows are hashed; nil: they are not.
func (t *Table[T]) Hashing() *Hashing { return t.hashing }

// Names are the names of all columns, in order.
func (t *Table[T]) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// Spec is the columns for {rows: …}.
func (t *Table[T]) Spec() string {
	spec := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		spec[i] = c.Name + " " + c.Kind
	}
	return strings.Join(spec, ", ")
}

// ListOf is List for a table with an alias.
func (t *Table[T]) ListOf(alias string) string { return columnsOf(alias, t.List) }

// IsNew reports whether the item is inserted rather than updated.
func (t *Table[T]) IsNew(item *T) bool { return t.Version == nil || t.Version(item) == 1 }

// Micros is a time as stored: microseconds UTC, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros reverses Micros.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// columnsOf prefixes columns with a table's name.
func columnsOf(table, columns string) string {
	names := strings.Fields(columns)
	return table + "." + strings.Join(names, " "+table+".")
}

// List stores a set of words as one text column: ",a,b,".
func List(words []string) string { return "," + strings.Join(words, ",") + "," }

// Unlist reverses List.
func Unlist(text string) []string { return strings.Split(strings.Trim(text, ","), ",") }

// Encode is a document as stored.
func Encode(doc any) string {
	text, err := json.Marshal(doc)
	if err != nil {
		panic("store: a document that is no JSON: " + err.Error()) // our own types
	}
	return Text(text)
}

// Text is b as a string, without a copy of it. b must not be changed any more.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// RateText is a rate as stored, "" for none.
func RateText(r money.Rate) string {
	if r.IsZero() {
		return ""
	}
	return r.Decimal()
}

// ParseRate reverses RateText.
func ParseRate(text string) (money.Rate, error) {
	if text == "" {
		return money.Rate{}, nil
	}
	return money.ParseRate(text)
}
