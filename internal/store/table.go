package store

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// table writes the rows of one type. Its column list is the one place where
// the columns are named; the statements are made from it.
//
// A table with a version column is guarded: version 1 is inserted, a later
// version replaces exactly the one before, and the statement returns the ids
// that it did replace.
type table[T any] struct {
	name    string
	columns []column
	insert  string
	update  string
	look    string // the ids of those rows that update would not find
	row     func(*rows, *T)
	id      func(*T) string
	version func(*T) int64
	unique  bool // a new row can lose too: to one that has what only one may have
}

func newTable[T any](name, spec string, id func(*T) string, version func(*T) int64, row func(*rows, *T)) table[T] {
	columns := parseColumns(spec)
	var names, values, sets []string
	for _, c := range columns {
		names = append(names, c.name)
		values = append(values, "r."+c.name)
		if !c.fixed {
			sets = append(sets, c.name+" = r."+c.name)
		}
	}
	source := "{rows: " + spec + "}"
	return table[T]{
		name: name, columns: columns,
		insert: "INSERT INTO " + name + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") +
			" FROM " + source + " AS r WHERE {unless lost}",
		update: "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " FROM " + source + " AS r" +
			" WHERE " + name + ".id = r.id AND " + name + ".version = r.version - 1 AND {among " + name + ".id id} AND {unless lost} RETURNING " + name + ".id",
		// A subquery for each row is a lookup, whatever the planner thinks of the table's size.
		look: "SELECT {lost r.id} FROM {rows: id TEXT, version BIGINT} AS r" +
			" WHERE coalesce((SELECT t.version FROM " + name + " AS t WHERE t.id = r.id), 0) <> r.version - 1",
		row: row, id: id, version: version,
	}
}

// where makes the insert leave out rows of which a condition is not true.
func (t table[T]) where(condition string) table[T] {
	t.insert += "\n  AND (" + condition + ")"
	return t
}

// onceOnly makes the insert leave out rows that are there already; it returns
// the ids of the others.
func (t table[T]) onceOnly() table[T] {
	t.insert += " ON CONFLICT (id) DO NOTHING RETURNING id"
	return t
}

// uniqueRows makes the insert leave out rows that break a unique index, and
// guards new rows by it: who loses to another row gets ErrDuplicate.
func (t table[T]) uniqueRows() table[T] {
	t.insert += " ON CONFLICT DO NOTHING RETURNING id"
	t.unique = true
	return t
}

// rows returns the rows of the items, sorted by id, so that two committers
// lock rows in the same order.
func (t table[T]) rows(s *Store, items []*T) *rows {
	slices.SortFunc(items, func(a, b *T) int { return cmp.Compare(t.id(a), t.id(b)) })
	r := newRows(s.db.dialect(), t.columns, len(items))
	r.personal = s.personal
	t.gather(r, items)
	return r
}

func (t table[T]) gather(r *rows, items []*T) {
	for _, item := range items {
		t.row(r, item)
		r.next()
	}
}

// isNew reports whether the item is inserted, and not updated.
func (t table[T]) isNew(item *T) bool { return t.version == nil || t.version(item) == 1 }

// micros is a time as it is stored: microseconds UTC, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the way back.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
