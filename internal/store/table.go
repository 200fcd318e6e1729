package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// table is all there is to know of the rows of one kind. Its fields name the columns; what
// inserts, updates and reads them is made from that.
//
// A table with a version is guarded: version 1 is inserted, a later version replaces exactly the
// one before, and the statement returns the ids that it did replace.
type table[T any] struct {
	name string
	// of is where a change has its rows; only leaves some out of an insert. Nil leaves out none.
	of      func(*pay.Change) []T
	only    func(*T) bool
	id      func(*T) string
	version func(*T) int64 // nil: rows are only inserted
	fields  func(*fields, *T)
	where   string // leaves rows out of an insert
	met     meeting
	// oftenMet: a batch looks for such rows before it writes anything.
	oftenMet bool

	columns []engine.Column
	list    string // of the columns that are read
	insert  string
	update  string
	look    string // the ids of those rows that update would not find
	taken   string // the ids of rows that are there, where they are often met
}

// meeting is what becomes of a new row where there is one already that has its id.
type meeting int

const (
	fails     meeting = iota // ids are made by us: it cannot be
	stays                    // what is there stays, and is the same
	stale                    // its change loses a guard: ErrStale
	duplicate                // and tells ErrDuplicate
	// The same where a unique index says so of another column.
	staleAnyhow
	duplicateAnyhow
)

// guardsNew reports whether a new row can lose, as one can that replaces another.
func (m meeting) guardsNew() bool { return m >= stale }

func describe[T any](t table[T]) *table[T] {
	t.fields(&fields{columns: &t.columns}, new(T))
	var values, sets, read, spec []string
	for _, c := range t.columns {
		values = append(values, "r."+c.Name)
		spec = append(spec, c.Name+" "+c.Kind)
		if !c.Fixed {
			sets = append(sets, c.Name+" = r."+c.Name)
		}
		if !c.WriteOnly {
			read = append(read, c.Name)
		}
	}
	t.list = strings.Join(read, ", ")
	source := "{rows: " + strings.Join(spec, ", ") + "}"
	t.insert = "INSERT INTO " + t.name + " (" + strings.Join(t.names(), ", ") + ") SELECT " + strings.Join(values, ", ") +
		" FROM " + source + " AS r WHERE {unless lost}"
	if t.where != "" {
		t.insert += "\n  AND (" + t.where + ")"
	}
	switch t.met {
	case stays, stale, duplicate:
		t.insert += " ON CONFLICT (id) DO NOTHING RETURNING id"
	case staleAnyhow, duplicateAnyhow:
		t.insert += " ON CONFLICT DO NOTHING RETURNING id"
	}
	engine.Statement(t.insert)
	if t.version != nil {
		t.update = engine.Statement("UPDATE " + t.name + " SET " + strings.Join(sets, ", ") + " FROM " + source + " AS r" +
			" WHERE " + t.name + ".id = r.id AND " + t.name + ".version = r.version - 1 AND {among " + t.name + ".id id} AND {unless lost} RETURNING " + t.name + ".id")
		// A subquery for each row is a lookup, whatever the planner thinks of the table's size.
		t.look = engine.Statement("SELECT {lost r.id} FROM {rows: id TEXT, version BIGINT} AS r" +
			" WHERE coalesce((SELECT t.version FROM " + t.name + " AS t WHERE t.id = r.id), 0) <> r.version - 1")
	}
	if t.oftenMet {
		t.taken = engine.Statement("SELECT {lost " + t.name + ".id} FROM " + t.name + " WHERE {given " + t.name + ".id}")
	}
	return &t
}

// rows returns the rows of the items, sorted by id, so that two committers
// lock rows in the same order.
func (t *table[T]) rows(d engine.Dialect, p personal, items []*T) *engine.Rows {
	slices.SortFunc(items, func(a, b *T) int { return cmp.Compare(t.id(a), t.id(b)) })
	r := engine.NewRows(d, t.columns, len(items))
	t.gather(r, p, items)
	return r
}

func (t *table[T]) gather(r *engine.Rows, p personal, items []*T) {
	f := fields{rows: r, personal: p}
	for _, item := range items {
		t.fields(&f, item)
		r.Next()
	}
}

// reader returns what reads rows that have the columns of list. It is for one goroutine. Where nothing
// of the rows is encrypted, p may be the zero value.
func (t *table[T]) reader(p personal) func(engine.Row, *T) error {
	f := fields{into: make([]any, 0, len(t.columns)), late: make([]late, 0, len(t.columns)), personal: p}
	return func(r engine.Row, item *T) error {
		f.into, f.late = f.into[:0], f.late[:0]
		t.fields(&f, item)
		if err := r.Scan(f.into...); err != nil {
			return err
		}
		for i := range f.late {
			if err := f.late[i].finish(); err != nil {
				return fmt.Errorf("%s, %s: %w", t.name, t.id(item), err)
			}
		}
		return nil
	}
}

// scan is reader for one row at a time.
func (t *table[T]) scan(p personal) func(engine.Row) (T, error) {
	read := t.reader(p)
	return func(r engine.Row) (item T, err error) {
		err = read(r, &item)
		return item, err
	}
}

// scanAnd is scan for rows with one column more.
func scanAnd[T, M any](p personal, t *table[T], more func(*T, M)) func(engine.Row) (T, error) {
	scan := t.scan(p)
	return func(r engine.Row) (T, error) {
		var m M
		item, err := scan(rowWith{r, &m})
		more(&item, m)
		return item, err
	}
}

// rowWith is a row with one column more.
type rowWith struct {
	engine.Row
	last any
}

// Scan is for row.
func (r rowWith) Scan(into ...any) error { return r.Row.Scan(append(into, r.last)...) }

// names are those of all columns, in their order.
func (t *table[T]) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	return names
}

// listOf is list, of a table that a statement calls otherwise.
func (t *table[T]) listOf(alias string) string { return of(alias, t.list) }

// isNew reports whether the item is inserted, and not updated.
func (t *table[T]) isNew(item *T) bool { return t.version == nil || t.version(item) == 1 }

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
