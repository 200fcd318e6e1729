package table_test

import (
	"maps"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/table"
)

type thing struct {
	id, name string
	size     int64
}

var things = table.Describe(table.Table[thing]{
	Name: "things",
	Lock: 10,
	Of:   func(*pay.Change) []thing { return nil },
	ID:   func(t *thing) string { return t.id },
	Fields: func(f *table.Fields, t *thing) {
		f.Text("id!", &t.id)
		f.Text("name", &t.name)
		f.Number("size", &t.size)
		f.Written("words", t.name)
	},
})

// The program does not start with a table that has no place in the lock order, the place of another table, or rows that no
// change has.
func TestEveryTableHasAPlaceInTheLockOrder(t *testing.T) {
	of := func(*pay.Change) []thing { return nil }
	for name, wrong := range map[string]table.Table[thing]{
		"without one":      {Of: of},
		"with another's":   {Lock: 10, Of: of},
		"without its rows": {Lock: 20},
	} {
		t.Run(name, func(t *testing.T) {
			wrong.Name, wrong.Fields = "wrong", func(f *table.Fields, t *thing) { f.Text("id!", &t.id) }
			defer func() {
				if recover() == nil {
					t.Error("the table is described")
				}
			}()
			table.Describe(wrong)
		})
	}
	if kinds := table.Kinds(); len(kinds) != 1 || kinds[0] != table.Kind(things) {
		t.Errorf("the kinds are %v, want things", kinds)
	}
}

// A statement that makes rows of other rows names each column with its value, in whatever order. One that leaves out a
// column, or knows one that the table has not, does not even start.
func TestRowsOfRowsHaveAllColumns(t *testing.T) {
	values := map[string]string{"words": "o.name", "size": "0", "name": "o.name", "id": "o.id"}
	if got, want := things.InsertOf(values), "INSERT INTO things (id, name, size, words)\nSELECT o.id, o.name, 0, o.name"; got != want {
		t.Errorf("the statement is %q, want %q", got, want)
	}
	without, beyond, renamed := maps.Clone(values), maps.Clone(values), maps.Clone(values)
	delete(without, "size")
	beyond["color"] = "''"
	delete(renamed, "size")
	renamed["length"] = "0"
	for name, wrong := range map[string]map[string]string{"without a column": without, "with one more": beyond, "with a renamed one": renamed} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the statement is made")
				}
			}()
			things.InsertOf(wrong)
		})
	}
}
