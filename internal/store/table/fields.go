package table

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Fields are a table's columns, each named once with the variable that holds its value. A table visits them
// for three things: to learn its columns, to write a row, and to read one. A "!" after a name says that the
// column never changes.
type Fields struct {
	columns  *[]engine.Column // not nil: learn the columns
	rows     *engine.Rows     // not nil: write a row
	hash     *rowHash         // of a table with hashes, while a row is written
	into     []any            // otherwise: read a row
	late     []late
	Personal Personal
}

// putText, putNumber and putFlag write the next column's value.
func (f *Fields) putText(v string) {
	f.rows.Text(v)
	if f.hash != nil {
		f.hash.values = append(f.hash.values, rowValue{text: v})
	}
}

func (f *Fields) putNumber(v int64) {
	f.rows.Number(v)
	if f.hash != nil {
		f.hash.values = append(f.hash.values, rowValue{number: v})
	}
}

func (f *Fields) putFlag(v bool) {
	f.rows.Flag(v)
	if f.hash != nil {
		f.hash.values = append(f.hash.values, rowValue{flag: v})
	}
}

// putBytes writes the next column's value. v must not be changed any more.
func (f *Fields) putBytes(v []byte) {
	f.rows.Bytes(v)
	if f.hash != nil {
		f.hash.values = append(f.hash.values, rowValue{text: Text(v)})
	}
}

// late is a value that needs more than Scan.
type late struct {
	number int64
	text   string
	// Targets, of which one is set.
	at       *time.Time
	span     *time.Duration
	rate     *money.Rate
	of       *money.Amount // its currency
	optional bool          // the amount may have none
	read     func(text string) error
}

func (l *late) finish() (err error) {
	switch {
	case l.at != nil:
		*l.at = FromMicros(l.number)
	case l.span != nil:
		*l.span = time.Duration(l.number) * time.Microsecond
	case l.rate != nil:
		*l.rate, err = money.ParseRate(l.text)
	case l.of != nil && l.optional && l.text == "":
		*l.of = money.Amount{}
	case l.of != nil:
		l.of.Currency, err = money.ParseCurrency(l.text)
	case l.read != nil:
		err = l.read(l.text)
	}
	return err
}

// learn records a column, and reports whether that was all to do.
func (f *Fields) learn(name, kind string, writeOnly bool) bool {
	if f.columns == nil {
		return false
	}
	name, fixed := strings.CutSuffix(name, "!")
	*f.columns = append(*f.columns, engine.Column{Name: name, Kind: kind, Fixed: fixed, WriteOnly: writeOnly})
	return true
}

// later defers a value until all columns are scanned. Its address stays valid: Reader reserved room for all
// columns.
func (f *Fields) later() *late {
	f.late = append(f.late, late{})
	return &f.late[len(f.late)-1]
}

// Text is a plain text.
func (f *Fields) Text(name string, p *string) {
	switch {
	case f.learn(name, "TEXT", false):
	case f.rows != nil:
		f.putText(*p)
	default:
		f.into = append(f.into, p)
	}
}

// Word is a text of a named type.
func Word[W ~string](f *Fields, name string, p *W) {
	switch {
	case f.learn(name, "TEXT", false):
	case f.rows != nil:
		f.putText(string(*p))
	default:
		f.into = append(f.into, p)
	}
}

// Flag is true or false.
func (f *Fields) Flag(name string, p *bool) {
	switch {
	case f.learn(name, "BOOLEAN", false):
	case f.rows != nil:
		f.putFlag(*p)
	default:
		f.into = append(f.into, p)
	}
}

// Number is an integer; amounts are in minor units.
func (f *Fields) Number(name string, p *int64) {
	switch {
	case f.learn(name, "BIGINT", false):
	case f.rows != nil:
		f.putNumber(*p)
	default:
		f.into = append(f.into, p)
	}
}

// Count is Number for an int.
func (f *Fields) Count(name string, p *int) {
	switch {
	case f.learn(name, "BIGINT", false):
	case f.rows != nil:
		f.putNumber(int64(*p))
	default:
		f.into = append(f.into, p)
	}
}

// Time is in microseconds UTC, 0 for none.
func (f *Fields) Time(name string, p *time.Time) {
	switch {
	case f.learn(name, "BIGINT", false):
	case f.rows != nil:
		f.putNumber(Micros(*p))
	default:
		l := f.later()
		l.at = p
		f.into = append(f.into, &l.number)
	}
}

// Duration is in microseconds.
func (f *Fields) Duration(name string, p *time.Duration) {
	switch {
	case f.learn(name, "BIGINT", false):
	case f.rows != nil:
		f.putNumber(p.Microseconds())
	default:
		l := f.later()
		l.span = p
		f.into = append(f.into, &l.number)
	}
}

// textLater is a text that needs more than Scan.
func (f *Fields) textLater() *late {
	l := f.later()
	f.into = append(f.into, &l.text)
	return l
}

// Converted is a text converted from and to a value.
func (f *Fields) Converted(name string, write func() string, read func(text string) error) {
	switch {
	case f.learn(name, "TEXT", false):
	case f.rows != nil:
		f.putText(write())
	default:
		f.textLater().read = read
	}
}

// Written is a text that statements use and that is never read back.
func (f *Fields) Written(name, text string) {
	if !f.learn(name, "TEXT", true) && f.rows != nil {
		f.putText(text)
	}
}

// WrittenFlag is Written for a flag.
func (f *Fields) WrittenFlag(name string, flag bool) {
	if !f.learn(name, "BOOLEAN", true) && f.rows != nil {
		f.putFlag(flag)
	}
}

// WrittenBytes is Written for bytes. write is called when a row is written.
func (f *Fields) WrittenBytes(name string, write func() []byte) {
	if !f.learn(name, "BYTES", true) && f.rows != nil {
		f.putBytes(write())
	}
}

// Rate is a required rate: a row without it cannot be read.
func (f *Fields) Rate(name string, p *money.Rate) {
	switch {
	case f.learn(name, "TEXT", false):
	case f.rows != nil:
		f.putText(p.Decimal())
	default:
		f.textLater().rate = p
	}
}

// RateIfAny is an optional rate, "" for none.
func (f *Fields) RateIfAny(name string, p *money.Rate) {
	f.Converted(name, func() string { return RateText(*p) }, func(text string) (err error) {
		*p, err = ParseRate(text)
		return err
	})
}

// Bytes are stored in base64.
func (f *Fields) Bytes(name string, p *[]byte) {
	f.Converted(name, func() string { return base64.StdEncoding.EncodeToString(*p) }, func(text string) (err error) {
		*p, err = base64.StdEncoding.DecodeString(text)
		return err
	})
}

// Encrypted is a text encrypted for its place in the row of an id, see Personal.
func (f *Fields) Encrypted(name string, at Place, id *string, p *[]byte) {
	f.Converted(name, func() string { return f.Personal.Encrypt(at.About(*id), *p) }, func(text string) (err error) {
		*p, err = f.Personal.Decrypt(at.About(*id), text)
		return err
	})
}

// JSON is a value in its type's own JSON.
func (f *Fields) JSON(name string, p any) {
	f.Converted(name, func() string { return Encode(p) }, func(text string) error { return json.Unmarshal([]byte(text), p) })
}

// Amount has a column for the number, in minor units, and one for the currency. A row with an unknown
// currency cannot be read.
func (f *Fields) Amount(minor, currency string, p *money.Amount) {
	f.Number(minor, &p.Minor)
	switch {
	case f.learn(currency, "TEXT", false):
	case f.rows != nil:
		f.putText(string(p.Currency))
	default:
		f.textLater().of = p
	}
}

// AmountIfAny is an optional amount, "" as the currency for none.
func (f *Fields) AmountIfAny(minor, currency string, p *money.Amount) {
	f.Number(minor, &p.Minor)
	switch {
	case f.learn(currency, "TEXT", false):
	case f.rows != nil:
		f.putText(string(p.Currency))
	default:
		l := f.textLater()
		l.of = p
		l.optional = true
	}
}

// USD is an amount in USD cents.
func (f *Fields) USD(name string, p *money.Amount) {
	if f.rows == nil && f.columns == nil {
		p.Currency = money.USD
	}
	f.Number(name, &p.Minor)
}

// stored is a row's document: what no statement filters by.
type stored[D, T any] interface {
	*D
	Of(f *Fields, item *T)
	Into(f *Fields, item *T) error
}

// Document is a JSON column in the shape of D.
func Document[D, T any, P stored[D, T]](f *Fields, name string, item *T) {
	switch {
	case f.learn(name, "TEXT", false):
	case f.rows != nil:
		var doc D
		P(&doc).Of(f, item)
		f.putText(Encode(&doc))
	default:
		f.textLater().read = func(text string) error {
			var doc D
			if err := json.Unmarshal([]byte(text), &doc); err != nil {
				return err
			}
			return P(&doc).Into(f, item)
		}
	}
}

// JSONList is a column with a list as JSON, "" for an empty one.
func JSONList[T any](f *Fields, name string, list *[]T) {
	f.Converted(name, func() string {
		if len(*list) == 0 {
			return ""
		}
		return Encode(*list)
	}, func(text string) error {
		if text == "" {
			return nil
		}
		return json.Unmarshal([]byte(text), list)
	})
}
