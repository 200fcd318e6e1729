package base

import (
	"cmp"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Before is the bound of a list whose newest rows come first, with the highest ids: what stands
// behind a row has lower ones.
func Before(id string) string { return cmp.Or(id, BehindAll) }

// BehindAll is behind every id.
const BehindAll = "\U0010FFFF"

// Beyond is after every time that is stored: in the year 9999.
const Beyond = 253402300799_000000

// Bounds are the first and the last but one microsecond of a time.
func Bounds(s pay.Span) (from, to int64) {
	if to = table.Micros(s.To); s.To.IsZero() {
		to = Beyond
	}
	return table.Micros(s.From), to
}
