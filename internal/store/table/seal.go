package table

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// SealColumn is the column of a sealed table with the row's hash, and the row's version behind it. It is ” in a row that
// a program wrote that knew no such hash.
const SealColumn = "seal"

// Sealing is how the rows of a sealed table are hashed: keyed, so that nobody without the key makes a valid row; over all
// columns but the loose ones, sorted by name. A value that is "", 0 or false is left out, so that a new column changes no
// hash of an existing row.
//
// The hash has the row's version behind it. A program from before there were hashes leaves the hash as it was when it
// changes a row, and raises the version: the row counts as one without a hash.
type Sealing struct {
	Table   string
	Columns []engine.Column // without SealColumn
	// ID, Version and Live are the places of these columns; -1: the table has none.
	ID, Version, Live int
	loose             []bool
	order             []int // of the hashed columns, by name
}

var sealings []*Sealing // of all sealed tables

// Sealings returns the sealed tables. Call it when all tables are described.
func Sealings() []*Sealing { return slices.Clone(sealings) }

// registerSealed adds the hash's column to the table's.
func registerSealed[T any](t *Table[T]) {
	s := &Sealing{Table: t.Name, Columns: slices.Clone(t.Columns), ID: -1, Version: -1, Live: -1}
	for i, c := range s.Columns {
		switch c.Name {
		case "id":
			s.ID = i
		case "version":
			s.Version = i
		case "live":
			s.Live = i
		}
		loose := c.Name == "due_at" || slices.Contains(t.Loose, c.Name)
		s.loose = append(s.loose, loose)
		if !loose {
			s.order = append(s.order, i)
		}
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.Columns[a].Name, s.Columns[b].Name) })
	t.sealing, sealings = s, append(sealings, s)
	t.Columns = append(t.Columns, engine.Column{Name: SealColumn, Kind: "TEXT", WriteOnly: true})
}

// Covers reports whether the hash covers a column.
func (s *Sealing) Covers(column string) bool {
	return slices.ContainsFunc(s.order, func(i int) bool { return s.Columns[i].Name == column })
}

// SealState is what a row's hash says about it.
type SealState int

const (
	// SealFits: the service wrote the row as it is.
	SealFits SealState = iota
	// Unsealed: a program that knew no hashes wrote the row.
	Unsealed
	// SealBroken: somebody else changed the row.
	SealBroken
)

// SealedRow is what a row's hash says about it.
type SealedRow struct {
	ID      string
	Version int64 // 0: the table has none
	Live    bool
	State   SealState
}

// List is the columns that Reader reads, of an alias.
func (s *Sealing) List(alias string) string {
	list := ""
	for _, c := range s.Columns {
		list += alias + "." + c.Name + ", "
	}
	return list + alias + "." + SealColumn
}

// Reader returns a reader of rows with the columns of List, which compares each row as it is stored with its hash. It is for one
// goroutine, and holds one row at a time.
func (s *Sealing) Reader(key []byte) func(engine.Row) (SealedRow, error) {
	r := newRowSeal(s, key)
	values := make([]rowValue, len(s.Columns))
	var hash string
	into := make([]any, 0, len(s.Columns)+1)
	for i := range values {
		switch v := &values[i]; s.Columns[i].Kind {
		case "TEXT":
			into = append(into, &v.text)
		case "BIGINT":
			into = append(into, &v.number)
		default:
			into = append(into, &v.flag)
		}
	}
	into = append(into, &hash)
	return func(row engine.Row) (of SealedRow, err error) {
		if err := row.Scan(into...); err != nil {
			return of, err
		}
		of.ID = values[s.ID].text
		if s.Version >= 0 {
			of.Version = values[s.Version].number
		}
		of.Live = s.Live >= 0 && values[s.Live].flag
		r.values = append(r.values[:0], values...)
		of.State = state(hash, r.sum(), of.Version)
		return of, nil
	}
}

// state compares the hash of a row with the one that it should have.
func state(hash, want string, version int64) SealState {
	if hash == want {
		return SealFits
	}
	if hash == "" {
		return Unsealed
	}
	if len(hash) > seal.FieldsSize {
		sealed, err := strconv.ParseInt(hash[seal.FieldsSize:], 10, 64)
		if err == nil && sealed > 0 && sealed < version && !strings.HasPrefix(want, hash[:seal.FieldsSize]) {
			return Unsealed
		}
	}
	return SealBroken
}

// SealedSince is when rows began to have hashes.
type SealedSince struct {
	Begun bool // no older program writes any more
	Day   int64
}

// SelectSealedSince reads since when rows have hashes. There is no row while older programs may write.
var SelectSealedSince = engine.Statement(`SELECT day FROM watermarks WHERE id = 'seals'`)

// ScanSealedSince reads its row.
func ScanSealedSince(r engine.Row) (s SealedSince, err error) {
	s.Begun = true
	return s, r.Scan(&s.Day)
}

// Must reports whether a row needs a hash. In a database that never had rows without, all do. In another one, those of
// production that were made since: the ids in a sandbox may be of a test clock. prefix is of ids in time order; "": they
// have no order.
func (s SealedSince) Must(prefix, of string, live bool) bool {
	if !s.Begun {
		return false
	}
	return s.Day == 0 || live && prefix != "" && strings.TrimPrefix(of, prefix) >= id.From("", time.Unix((s.Day+1)*86400, 0).UTC())
}

// rowValue is the value of a column of any kind.
type rowValue struct {
	text   string
	number int64
	flag   bool
}

// rowSeal hashes rows one after the other.
type rowSeal struct {
	s      *Sealing
	h      *seal.Hasher
	values []rowValue // of the current row, in column order
}

func newRowSeal(s *Sealing, key []byte) *rowSeal {
	return &rowSeal{s: s, h: seal.New(key), values: make([]rowValue, 0, len(s.Columns))}
}

// sum is the hash of the row, as stored, and begins the next row.
func (r *rowSeal) sum() string {
	r.h.Fields(r.s.Table)
	for _, i := range r.s.order {
		c, v := &r.s.Columns[i], &r.values[i]
		switch c.Kind {
		case "TEXT":
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
