package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"
)

// rows gathers values row by row, in the order of a {rows: …}: text, number
// and flag append the next value, next ends the row.
type rows struct {
	columns []column
	at      int // the next value's column
	n       int
	form
}

// form is how a database takes rows.
type form interface {
	begin() // a row
	appendText(v string)
	appendNumber(v int64)
	appendFlag(v bool)
	end()
	args() []any // of the statement
}

func newRows(d dialect, columns []column, capacity int) *rows {
	r := &rows{columns: columns}
	switch {
	case d == sqlite:
		r.form = newJSONRows(columns, capacity)
	case composite(columns):
		r.form = newBinaryRows(columns, capacity)
	default:
		r.form = newArrays(columns, capacity)
	}
	return r
}

// value steps to the next column, which must be of the kind.
func (r *rows) value(kind string) {
	if r.at >= len(r.columns) || r.columns[r.at].kind != kind {
		panic(fmt.Sprintf("store: a %s as value %d of %v", kind, r.at, r.columns))
	}
	if r.at == 0 {
		r.begin()
	}
	r.at++
}

func (r *rows) text(values ...string) *rows {
	for _, v := range values {
		r.value("TEXT")
		r.appendText(v)
	}
	return r
}

func (r *rows) number(values ...int64) *rows {
	for _, v := range values {
		r.value("BIGINT")
		r.appendNumber(v)
	}
	return r
}

func (r *rows) flag(v bool) *rows {
	r.value("BOOLEAN")
	r.appendFlag(v)
	return r
}

// next ends a row.
func (r *rows) next() {
	if r.at != len(r.columns) {
		panic(fmt.Sprintf("store: %d values for %v", r.at, r.columns))
	}
	r.end()
	r.at = 0
	r.n++
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// jsonRows are one JSON text, an array of arrays.
type jsonRows struct{ b []byte }

func newJSONRows(columns []column, capacity int) *jsonRows {
	return &jsonRows{append(make([]byte, 0, 64+capacity*32*len(columns)), '[')}
}

func (r *jsonRows) begin() {
	if len(r.b) > 1 {
		r.b = append(r.b, ',')
	}
	r.b = append(r.b, '[')
}

// comma goes before each value but a row's first.
func (r *jsonRows) comma() {
	if r.b[len(r.b)-1] != '[' {
		r.b = append(r.b, ',')
	}
}

func (r *jsonRows) appendText(v string) {
	r.comma()
	r.b = appendJSONText(r.b, v)
}

func (r *jsonRows) appendNumber(v int64) {
	r.comma()
	r.b = strconv.AppendInt(r.b, v, 10)
}

func (r *jsonRows) appendFlag(v bool) {
	r.comma()
	r.b = strconv.AppendBool(r.b, v)
}

func (r *jsonRows) end() { r.b = append(r.b, ']') }

func (r *jsonRows) args() []any { return []any{string(append(r.b, ']'))} }

// appendJSONText appends a text as JSON. It is valid UTF-8 already: encoding
// it again for each of many columns would be the dearest step of a write.
func appendJSONText(b []byte, text string) []byte {
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

// binaryRows are the elements of an array of a composite type as PostgreSQL
// receives them (record_recv in its sources).
type binaryRows struct {
	b                 []byte
	columns, capacity int
	n                 int
	start             int // of the row that is gathered
}

func newBinaryRows(columns []column, capacity int) *binaryRows {
	return &binaryRows{columns: len(columns), capacity: capacity}
}

func (r *binaryRows) begin() {
	r.start = len(r.b)
	r.b = binary.BigEndian.AppendUint32(r.b, 0) // how long the row is, once it is known
	r.b = binary.BigEndian.AppendUint32(r.b, uint32(r.columns))
}

// field begins a value that has so many bytes.
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
	r.b = append(r.b, byte(btoi(v)))
}

func (r *binaryRows) end() {
	binary.BigEndian.PutUint32(r.b[r.start:], uint32(len(r.b)-r.start-4))
	if r.n++; r.n == 1 {
		r.b = slices.Grow(r.b, r.capacity*len(r.b)) // the others are about as long
	}
}

func (r *binaryRows) args() []any { return []any{r} }

// arrays are an array per column: PostgreSQL takes rows of few columns so, and
// seals are made of it.
type arrays struct {
	columns []column
	at      int
	texts   [][]string
	ints    [][]int64
	bools   [][]bool
}

func newArrays(columns []column, capacity int) *arrays {
	r := &arrays{
		columns: columns,
		texts:   make([][]string, len(columns)), ints: make([][]int64, len(columns)), bools: make([][]bool, len(columns)),
	}
	for i, c := range columns {
		switch c.kind {
		case "TEXT":
			r.texts[i] = make([]string, 0, capacity)
		case "BIGINT":
			r.ints[i] = make([]int64, 0, capacity)
		case "BOOLEAN":
			r.bools[i] = make([]bool, 0, capacity)
		default:
			panic("store: column " + c.name + " of unknown kind " + c.kind)
		}
	}
	return r
}

func (r *arrays) begin() { r.at = 0 }

func (r *arrays) appendText(v string) {
	r.texts[r.at] = append(r.texts[r.at], v)
	r.at++
}

func (r *arrays) appendNumber(v int64) {
	r.ints[r.at] = append(r.ints[r.at], v)
	r.at++
}

func (r *arrays) appendFlag(v bool) {
	r.bools[r.at] = append(r.bools[r.at], v)
	r.at++
}

func (r *arrays) end() {}

func (r *arrays) args() []any {
	args := make([]any, len(r.columns))
	for i, c := range r.columns {
		switch c.kind {
		case "TEXT":
			args[i] = r.texts[i]
		case "BIGINT":
			args[i] = r.ints[i]
		default:
			args[i] = r.bools[i]
		}
	}
	return args
}
