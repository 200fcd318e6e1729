package check

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

const (
	invariantRowSeal = "a row is as the service wrote it"
	invariantUnseal  = "every row that was written since rows have hashes has one"
)

// rowSeal proves the hashes of a table's rows.
type rowSeal struct {
	*table.Sealing
	text   string
	prefix string // of ids in time order; "": they have no order
}

// newRowSeal registers its statement.
func newRowSeal(s *table.Sealing, prefix string) *rowSeal {
	return &rowSeal{s, engine.Statement("SELECT " + s.List("t") + " FROM " + s.Table + " AS t WHERE {part t.id}"), prefix}
}

// look proves the rows of a part of the table.
func (s *rowSeal) look(c *checker, ask engine.Asking, from, before string) (broken []Broken, err error) {
	read := s.Reader(c.key)
	err = ask(s.text, []any{from, before}, func(r engine.Row) error {
		row, err := read(r)
		switch {
		case err != nil:
			return err
		case row.State == table.SealBroken:
			broken = append(broken, Broken{invariantRowSeal, row.ID, "somebody changed it in " + s.Table})
		case row.State == table.Unsealed && c.sealed.Must(s.prefix, row.ID, row.Live):
			broken = append(broken, Broken{invariantUnseal, row.ID, "its hash in " + s.Table + " is gone, or somebody else wrote it"})
		}
		return nil
	})
	if err != nil {
		return broken, fmt.Errorf("prove the rows of %s: %w", s.Table, err)
	}
	return broken, nil
}

// readSealedSince reads since when rows have hashes.
func readSealedSince(ask engine.Asking) (s table.SealedSince, err error) {
	err = ask(table.SelectSealedSince, nil, func(r engine.Row) error {
		s, err = table.ScanSealedSince(r)
		return err
	})
	return s, err
}
