package check

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

const (
	invariantRowHash = "a row is as the service wrote it"
	invariantNoHash  = "every row has a hash"
)

// rowHash proves the hashes of a table's rows.
type rowHash struct {
	*table.Hashing
	text string
}

// newRowHash registers its statement.
func newRowHash(s *table.Hashing) *rowHash {
	return &rowHash{s, engine.Statement("SELECT " + s.List("t") + " FROM " + s.Table + " AS t WHERE {part t.id}")}
}

// prove proves the rows of a part of the table.
func (rh *rowHash) prove(c *checker, ask engine.Asking, from, before string) (broken []Broken, err error) {
	read := rh.Reader(c.key)
	err = ask(rh.text, []any{from, before}, func(r engine.Row) error {
		row, err := read(r)
		switch {
		case err != nil:
			return err
		case row.State == table.HashBroken:
			broken = append(broken, Broken{invariantRowHash, row.ID, "somebody changed it in " + rh.Table})
		case row.State == table.Unhashed:
			broken = append(broken, Broken{invariantNoHash, row.ID, "its hash in " + rh.Table + " is gone, or somebody else wrote it"})
		}
		return nil
	})
	if err != nil {
		return broken, fmt.Errorf("prove the rows of %s: %w", rh.Table, err)
	}
	return broken, nil
}
