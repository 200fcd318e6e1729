package engine

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"
)

// Rows collects values row by row, in the column order of a {rows: …}: Text, Number, Flag and Bytes append the
// next value, and Next ends the row.
type Rows struct {
	Columns []Column
	at      int // column of the next value
	N       int
	Form
}

// Form is how a database receives rows.
type Form interface {
	begin() // a row
	appendText(v string)
	appendNumber(v int64)
	appendFlag(v bool)
	appendBytes(v []byte)
	end()
	Args() []any // of the statement
}

// NewRows returns rows with these columns, and room for capacity of them.
func NewRows(d Dialect, columns []Column, capacity int) *Rows {
	r := &Rows{Columns: columns}
	switch {
	case d == SQLite:
		r.Form = newJSONRows(columns, capacity)
	case composite(columns):
		r.Form = newBinaryRows(columns, capacity)
	default:
		r.Form = NewArrays(columns, capacity)
	}
	return r
}

// value moves to the next column, which must have this kind.
func (ro *Rows) value(kind string) {
	if ro.at >= len(ro.Columns) || ro.Columns[ro.at].Kind != kind {
		panic(fmt.Sprintf("store: a %s as value %d of %v", kind, ro.at, ro.Columns))
	}
	if ro.at == 0 {
		ro.begin()
	}
	ro.at++
}

// Text appends the next columns' values.
func (ro *Rows) Text(values ...string) *Rows {
	for _, v := range values {
		ro.value("TEXT")
		ro.appendText(v)
	}
	return ro
}

// Number appends the next columns' values.
func (ro *Rows) Number(values ...int64) *Rows {
	for _, v := range values {
		ro.value("BIGINT")
		ro.appendNumber(v)
	}
	return ro
}

// Flag appends the next column's value.
func (ro *Rows) Flag(v bool) *Rows {
	ro.value("BOOLEAN")
	ro.appendFlag(v)
	return ro
}

// Bytes appends the next column's value. v must not be changed any more.
func (ro *Rows) Bytes(v []byte) *Rows {
	ro.value(bytesKind)
	ro.appendBytes(v)
	return ro
}

// Next ends a row.
func (ro *Rows) Next() {
	if ro.at != len(ro.Columns) {
		panic(fmt.Sprintf("store: %d values for %v", ro.at, ro.Columns))
	}
	ro.end()
	ro.at = 0
	ro.N++
}

// Bit is 1 for true.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// jsonRows are one JSON text, an array of arrays.
type jsonRows struct{ b []byte }

func newJSONRows(columns []Column, capacity int) *jsonRows {
	return &jsonRows{append(make([]byte, 0, 64+capacity*32*len(columns)), '[')}
}

func (j *jsonRows) begin() {
	if len(j.b) > 1 {
		j.b = append(j.b, ',')
	}
	j.b = append(j.b, '[')
}

// comma precedes each value except a row's first.
func (j *jsonRows) comma() {
	if j.b[len(j.b)-1] != '[' {
		j.b = append(j.b, ',')
	}
}

func (j *jsonRows) appendText(v string) {
	j.comma()
	j.b = AppendJSONText(j.b, v)
}

func (j *jsonRows) appendNumber(v int64) {
	j.comma()
	j.b = strconv.AppendInt(j.b, v, 10)
}

func (j *jsonRows) appendFlag(v bool) {
	j.comma()
	j.b = strconv.AppendBool(j.b, v)
}

// appendBytes appends hexadecimal digits: JSON has no bytes.
func (j *jsonRows) appendBytes(v []byte) {
	j.comma()
	j.b = append(j.b, '"')
	j.b = hex.AppendEncode(j.b, v)
	j.b = append(j.b, '"')
}

func (j *jsonRows) end() { j.b = append(j.b, ']') }

// Args returns the arguments of the statement.
func (j *jsonRows) Args() []any { return []any{string(append(j.b, ']'))} }

// AppendJSONText appends a text as JSON. The text is already valid UTF-8: encoding it again for each of
// many columns would be the most expensive step of a write.
func AppendJSONText(b []byte, text string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[start:i]...)
		start = i + 1
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		} else {
			b = append(b, '\\', c)
		}
	}
	b = append(b, text[start:]...)
	return append(b, '"')
}

// binaryRows are the elements of a composite-type array in PostgreSQL's binary format (record_recv in its
// sources).
type binaryRows struct {
	b                 []byte // with room for the head of the array, which Encode fills in
	columns, capacity int
	n                 int
	start             int // of the current row
}

func newBinaryRows(columns []Column, capacity int) *binaryRows {
	return &binaryRows{b: newBuffer(0)[:arrayHead], columns: len(columns), capacity: capacity}
}

func (r *binaryRows) begin() {
	r.start = len(r.b)
	r.b = binary.BigEndian.AppendUint32(r.b, 0) // the row's length, filled in later
	r.b = binary.BigEndian.AppendUint32(r.b, uint32(r.columns))
}

// field starts a value of this length in bytes.
func (r *binaryRows) field(oid uint32, length int) {
	r.b = binary.BigEndian.AppendUint32(r.b, oid)
	r.b = binary.BigEndian.AppendUint32(r.b, uint32(length))
}

func (r *binaryRows) appendText(v string) {
	r.field(pgtype.TextOID, len(v))
	r.b = append(r.b, v...)
}

func (r *binaryRows) appendNumber(v int64) {
	r.field(pgtype.Int8OID, 8)
	r.b = binary.BigEndian.AppendUint64(r.b, uint64(v))
}

func (r *binaryRows) appendFlag(v bool) {
	r.field(pgtype.BoolOID, 1)
	r.b = append(r.b, byte(Bit(v)))
}

func (r *binaryRows) appendBytes(v []byte) {
	r.field(pgtype.ByteaOID, len(v))
	r.b = append(r.b, v...)
}

func (r *binaryRows) end() {
	binary.BigEndian.PutUint32(r.b[r.start:], uint32(len(r.b)-r.start-4))
	if r.n++; r.n == 1 {
		r.b = slices.Grow(r.b, r.capacity*len(r.b)) // the others are about as long
	}
}

// Args returns the arguments of the statement.
func (r *binaryRows) Args() []any { return []any{r} }

// Arrays holds one array per column: PostgreSQL takes rows of few columns this way, and seals are made from
// it.
type Arrays struct {
	at int
	Of []Array
}

// Array is the values of a column, in the field of its kind.
type Array struct {
	kind  string
	Texts []string
	Ints  []int64
	Bools []bool
	Blobs [][]byte
}

// NewArrays returns arrays with room for capacity rows.
func NewArrays(columns []Column, capacity int) *Arrays {
	r := &Arrays{Of: make([]Array, len(columns))}
	for i, c := range columns {
		of := &r.Of[i]
		switch of.kind = c.Kind; c.Kind {
		case "TEXT":
			of.Texts = make([]string, 0, capacity)
		case "BIGINT":
			of.Ints = make([]int64, 0, capacity)
		case "BOOLEAN":
			of.Bools = make([]bool, 0, capacity)
		case bytesKind:
			of.Blobs = make([][]byte, 0, capacity)
		default:
			panic("store: column " + c.Name + " of unknown kind " + c.Kind)
		}
	}
	return r
}

// next is the column of the next value.
func (a *Arrays) next() *Array {
	a.at++
	return &a.Of[a.at-1]
}

func (a *Arrays) begin() { a.at = 0 }

func (a *Arrays) appendText(v string) {
	of := a.next()
	of.Texts = append(of.Texts, v)
}

func (a *Arrays) appendNumber(v int64) {
	of := a.next()
	of.Ints = append(of.Ints, v)
}

func (a *Arrays) appendFlag(v bool) {
	of := a.next()
	of.Bools = append(of.Bools, v)
}

func (a *Arrays) appendBytes(v []byte) {
	of := a.next()
	of.Blobs = append(of.Blobs, v)
}

func (a *Arrays) end() {}

// Args returns the arguments of the statement.
func (a *Arrays) Args() []any {
	args := make([]any, len(a.Of))
	for i, of := range a.Of {
		switch of.kind {
		case "TEXT":
			args[i] = of.Texts
		case "BIGINT":
			args[i] = of.Ints
		case bytesKind:
			args[i] = of.Blobs
		default:
			args[i] = of.Bools
		}
	}
	return args
}
