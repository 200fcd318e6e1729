package table

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Kind is a table as Commit writes it, whatever the type of its rows; its String is the table's name. A transaction
// first has the Guards of all kinds in lock order, and then their Inserts: an old default must go before the new one
// comes.
type Kind interface {
	fmt.Stringer
	// LockOrder is its place in the order in which every transaction locks tables.
	LockOrder() int
	// Touches reports whether a change has rows of it.
	Touches(c *pay.Change) bool
	// Guarded adds the ids of rows whose guard a change must win.
	Guarded(c *pay.Change, ids []string) []string
	// LostToDuplicate reports whether a change lost to a duplicate of its own row, and not to a later
	// version.
	LostToDuplicate(c *pay.Change, missing func(id string) bool) bool
	// Guards adds the statements that can be lost. Inserts adds those that cannot.
	Guards(b *Batch, steps []engine.Step) []engine.Step
	Inserts(b *Batch, steps []engine.Step) []engine.Step
}

// ByAnotherKind is the Lock of a table that is written by a Kind of more than one table, see Register.
const ByAnotherKind = -1

var kinds []Kind // in lock order

// Register makes Commit write a kind. Describe calls it for a table. Call it for a kind that is more than one table. It panics
// if another kind has the same place in the lock order: the program does not start.
func Register(k Kind) Kind {
	at, known := slices.BinarySearchFunc(kinds, k.LockOrder(), func(other Kind, order int) int { return cmp.Compare(other.LockOrder(), order) })
	if known {
		panic(fmt.Sprintf("store: %s and %s have the same place in the lock order, %d", kinds[at], k, k.LockOrder()))
	}
	if len(kinds) == MostKinds {
		panic("store: there are more kinds than a set can have")
	}
	kinds = slices.Insert(kinds, at, k)
	return k
}

// MostKinds is how many kinds there may be: a set of them is a number (KindSet).
const MostKinds = 64

// KindSet is a set of kinds, by their place among Kinds.
type KindSet uint64

// Has reports whether the kind at a place is in the set.
func (s KindSet) Has(place int) bool { return s&(1<<place) != 0 }

// Touched are those of kinds, which are all in their order, that a change has rows of. A commit asks once: most changes have rows of a few.
func Touched(kinds []Kind, c *pay.Change) (set KindSet) {
	for i, k := range kinds {
		if k.Touches(c) {
			set |= 1 << i
		}
	}
	return set
}

// Kinds returns what Commit writes, in every transaction's lock order. Call it when all tables are described.
func Kinds() []Kind { return slices.Clone(kinds) }

// Batch is the changes that one transaction writes, as their tables see them.
type Batch struct {
	Dialect  engine.Dialect
	Texts    engine.Texts
	Personal Personal

	Changes []*pay.Change
	Kept    []*pay.Change       // those that lost no guard
	Won     map[string]struct{} // ids of rows that a guarded statement changed
	Look    []engine.Step       // finds lost guards before any write
	Behind  map[string]struct{} // the ids with a lost guard, as found by Look
}

func (b *Batch) win(r engine.Row) error { return addID(b.Won, r) }

// foresee adds a query for rows whose guard would be lost. SQLite does not need it: it logs nothing.
func (b *Batch) foresee(text string, args func() []any) {
	if b.Dialect == engine.SQLite {
		return
	}
	b.Look = append(b.Look, engine.Step{Text: b.Texts.Of(text), Args: args(), Each: func(r engine.Row) error { return addID(b.Behind, r) }})
}

// addID adds a row's id, its only column.
func addID(ids map[string]struct{}, r engine.Row) error {
	var id string
	err := r.Scan(&id)
	ids[id] = struct{}{}
	return err
}

// String implements Kind.
func (t *Table[T]) String() string { return t.Name }

// LockOrder implements Kind.
func (t *Table[T]) LockOrder() int { return t.Lock }

// Touches implements Kind.
func (t *Table[T]) Touches(c *pay.Change) bool { return len(t.Of(c)) > 0 }

// Guarded implements Kind.
func (t *Table[T]) Guarded(c *pay.Change, ids []string) []string {
	if t.Version == nil && !t.Met.GuardsNew() {
		return ids
	}
	items := t.Of(c)
	for i := range items {
		if t.Met.GuardsNew() || !t.IsNew(&items[i]) {
			ids = append(ids, t.ID(&items[i]))
		}
	}
	return ids
}

// LostToDuplicate implements Kind.
func (t *Table[T]) LostToDuplicate(c *pay.Change, missing func(id string) bool) bool {
	if t.Met != Duplicate && t.Met != DuplicateAnyhow {
		return false
	}
	items := t.Of(c)
	for i := range items {
		if t.IsNew(&items[i]) && missing(t.ID(&items[i])) {
			return true
		}
	}
	return false
}

// Guards implements Kind.
func (t *Table[T]) Guards(b *Batch, steps []engine.Step) []engine.Step {
	if t.Version != nil {
		over := func(item *T) bool { return t.Over != nil && t.Over(item) }
		steps = t.Replace(b, steps, t.In(b.Changes, func(item *T) bool { return !t.IsNew(item) && !over(item) }))
		if t.Over != nil {
			steps = t.Remove(b, steps, t.In(b.Changes, t.Over))
		}
	}
	if !t.Met.GuardsNew() {
		return steps
	}
	items := t.In(b.Changes, t.IsNew)
	if t.OftenMet && len(items) > 0 {
		b.foresee(t.Existing, func() []any {
			ids := make([]string, len(items))
			for i, item := range items {
				ids[i] = t.ID(item)
			}
			return IDs(b.Dialect, ids)
		})
	}
	return t.won(b, steps, t.Insert, items)
}

// Inserts implements Kind.
func (t *Table[T]) Inserts(b *Batch, steps []engine.Step) []engine.Step {
	if t.Met.GuardsNew() {
		return steps
	}
	return t.Add(b, steps, t.In(b.Kept, func(item *T) bool { return t.IsNew(item) && (t.Only == nil || t.Only(item)) }))
}

// Replace updates rows that another commit may have updated first.
func (t *Table[T]) Replace(b *Batch, steps []engine.Step, items []*T) []engine.Step {
	t.foreseeMoved(b, items)
	return t.won(b, steps, t.Update, items)
}

// Remove is Replace for rows that leave the table.
func (t *Table[T]) Remove(b *Batch, steps []engine.Step, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	t.foreseeMoved(b, items)
	slices.SortFunc(items, func(a, b *T) int { return cmp.Compare(t.ID(a), t.ID(b)) })
	return append(steps, engine.Step{Text: b.Texts.Of(t.Delete), Args: t.versions(b, items), Each: b.win, Want: len(items)})
}

// Add adds rows.
func (t *Table[T]) Add(b *Batch, steps []engine.Step, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: b.Texts.Of(t.Insert), Args: t.Rows(b.Dialect, b.Personal, items).Args()})
}

// In returns the rows of changes that want selects; nil selects all.
func (t *Table[T]) In(changes []*pay.Change, want func(*T) bool) []*T {
	var items []*T
	for _, c := range changes {
		list := t.Of(c)
		for i := range list {
			if want == nil || want(&list[i]) {
				items = append(items, &list[i])
			}
		}
	}
	return items
}

// foreseeMoved is foresee for rows that may no longer have the previous version.
func (t *Table[T]) foreseeMoved(b *Batch, items []*T) {
	if len(items) > 0 {
		b.foresee(t.Look, func() []any { return t.versions(b, items) })
	}
}

var versionColumns = engine.ParseColumns("id TEXT, version BIGINT")

// versions are the arguments of a statement on rows and their versions.
func (t *Table[T]) versions(b *Batch, items []*T) []any {
	rows := engine.NewRows(b.Dialect, versionColumns, len(items))
	for _, item := range items {
		rows.Text(t.ID(item)).Number(t.Version(item)).Next()
	}
	return rows.Args()
}

// won runs a statement that returns the ids it wrote.
func (t *Table[T]) won(b *Batch, steps []engine.Step, text string, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: b.Texts.Of(text), Args: t.Rows(b.Dialect, b.Personal, items).Args(), Each: b.win, Want: len(items)})
}

var idColumns = engine.ParseColumns("id TEXT")

// IDs are the arguments of a statement with {rows: id TEXT}.
func IDs(d engine.Dialect, list []string) []any {
	r := engine.NewRows(d, idColumns, len(list))
	for _, id := range list {
		r.Text(id).Next()
	}
	return r.Args()
}
