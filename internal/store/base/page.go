package base

import (
	"cmp"

	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Before is the upper bound for the next rows of a list sorted newest first, by falling ids.
func Before(id string) string { return cmp.Or(id, BehindAll) }

// BehindAll sorts after every id.
const BehindAll = "\U0010FFFF"

// Beyond is later than every stored time: in the year 9999.
const Beyond = 253402300799_000000

// Bounds returns the span's first microsecond and the one after its last.
func Bounds(s lists.Span) (from, to int64) {
	if to = table.Micros(s.To); s.To.IsZero() {
		to = Beyond
	}
	return table.Micros(s.From), to
}
