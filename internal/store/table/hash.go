package table

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// HashColumn is the column of a table with hashes, for the row's hash, and the row's version behind it.
const HashColumn = "row_hash"

// Hashing is how the rows of such a table are hashed: keyed, so that nobody without the key makes a valid row; over all
// columns but the loose ones, sorted by name. A value that is "", 0 or false is left out, so that a new column changes no
// hash of an existing row.
type Hashing struct {
	Table   string
	Columns []engine.Column // without HashColumn
	// ID and Version are the places of these columns; -1: the table has none.
	ID, Version int
	loose       []bool
	free        sync.Pool // of *rowHash: to begin one costs more than to hash a row
	order       []int     // of the hashed columns, by name
}

var hashings []*Hashing // of all tables with hashes

// Hashings returns the tables whose rows have hashes. Call it when all tables are described.
func Hashings() []*Hashing { return slices.Clone(hashings) }

// registerHashed adds the hash's column to the table's.
func registerHashed[T any](t *Table[T]) {
	s := &Hashing{Table: t.Name, Columns: slices.Clone(t.Columns), ID: -1, Version: -1}
	for i, c := range s.Columns {
		switch c.Name {
		case "id":
			s.ID = i
		case "version":
			s.Version = i
		}
		loose := c.Name == "due_at" || slices.Contains(t.Loose, c.Name)
		s.loose = append(s.loose, loose)
		if !loose {
			s.order = append(s.order, i)
		}
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.Columns[a].Name, s.Columns[b].Name) })
	t.hashing, hashings = s, append(hashings, s)
	t.Columns = append(t.Columns, engine.Column{Name: HashColumn, Kind: "TEXT", WriteOnly: true})
}

// Covers reports whether the hash covers a column.
func (h *Hashing) Covers(column string) bool {
	return slices.ContainsFunc(h.order, func(i int) bool { return h.Columns[i].Name == column })
}

// HashState is what a row's hash says about it.
type HashState int

const (
	// HashFits: the service wrote the row as it is.
	HashFits HashState = iota
	// Unhashed: the row has no hash, so the service did not write it.
	Unhashed
	// HashBroken: the row was changed from outside of the service.
	HashBroken
)

// HashedRow is what a row's hash says about it.
type HashedRow struct {
	ID      string
	Version int64 // 0: the table has none
	State   HashState
	Want    string // the hash that belongs to it
}

// List is the columns that Reader reads, of an alias.
func (h *Hashing) List(alias string) string {
	list := ""
	for _, c := range h.Columns {
		list += alias + "." + c.Name + ", "
	}
	return list + alias + "." + HashColumn
}

// Reader returns a reader of rows with the columns of List, which compares each row as it is stored with its hash. It is for one
// goroutine, and holds one row at a time.
func (h *Hashing) Reader(key []byte) func(engine.Row) (HashedRow, error) {
	r := newRowHash(h, key)
	values := make([]rowValue, len(h.Columns))
	var hash string
	blobs := make([][]byte, len(h.Columns))
	into := make([]any, 0, len(h.Columns)+1)
	for i := range values {
		switch v := &values[i]; h.Columns[i].Kind {
		case "TEXT":
			into = append(into, &v.text)
		case "BIGINT":
			into = append(into, &v.number)
		case "BYTES":
			into = append(into, &blobs[i])
		default:
			into = append(into, &v.flag)
		}
	}
	into = append(into, &hash)
	return func(row engine.Row) (of HashedRow, err error) {
		if err := row.Scan(into...); err != nil {
			return of, err
		}
		for i, blob := range blobs {
			if h.Columns[i].Kind == "BYTES" {
				values[i].text = string(blob)
			}
		}
		of.ID = values[h.ID].text
		if h.Version >= 0 {
			of.Version = values[h.Version].number
		}
		r.values = append(r.values[:0], values...)
		of.Want = r.sum()
		of.State = state(hash, of.Want)
		return of, nil
	}
}

// state compares the hash of a row with the one that it should have.
func state(hash, want string) HashState {
	switch hash {
	case want:
		return HashFits
	case "":
		return Unhashed
	}
	return HashBroken
}

// rowValue is the value of a column of any kind.
type rowValue struct {
	text   string
	number int64
	flag   bool
}

// rowHash hashes rows one after the other.
type rowHash struct {
	s      *Hashing
	key    []byte
	h      *seal.Hasher
	values []rowValue // of the current row, in column order
}

func newRowHash(s *Hashing, key []byte) *rowHash {
	if kept, ok := s.free.Get().(*rowHash); ok && bytes.Equal(kept.key, key) {
		return kept
	}
	return &rowHash{s: s, key: key, h: seal.New(key), values: make([]rowValue, 0, len(s.Columns))}
}

// free keeps it for others. Nobody may use it any more. nil is ignored.
func (r *rowHash) free() {
	if r != nil {
		clear(r.values[:cap(r.values)]) // so that the buffer keeps no row in memory
		r.s.free.Put(r)
	}
}

// sum is the hash of the row, as stored, and begins the next row.
func (r *rowHash) sum() string {
	r.h.Fields(r.s.Table)
	for _, i := range r.s.order {
		c, v := &r.s.Columns[i], &r.values[i]
		switch c.Kind {
		case "TEXT", "BYTES":
			r.h.Text(c.Name, v.text)
		case "BIGINT":
			r.h.Number(c.Name, v.number)
		default:
			r.h.Flag(c.Name, v.flag)
		}
	}
	sum := r.h.FieldsSum()
	if r.s.Version >= 0 {
		sum += strconv.FormatInt(r.values[r.s.Version].number, 10)
	}
	r.values = r.values[:0]
	return sum
}
