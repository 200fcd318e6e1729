package base

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// HashedSince is when rows began to have hashes.
type HashedSince struct {
	Begun bool // no older program writes any more
	Day   int64
}

// SelectHashedSince reads since when rows have hashes. There is no row while older programs may write.
var SelectHashedSince = engine.Statement(`SELECT day FROM watermarks WHERE id = 'row hashes'`)

// ScanHashedSince reads its row.
func ScanHashedSince(r engine.Row) (s HashedSince, err error) {
	s.Begun = true
	return s, r.Scan(&s.Day)
}

// Must reports whether a row needs a hash. In a database that never had rows without, all do. In another one, those of
// production that were made since: the ids in a sandbox may be of a test clock. prefix is of ids in time order; "": they
// have no order.
func (s HashedSince) Must(prefix, of string, live bool) bool {
	if !s.Begun {
		return false
	}
	return s.Day == 0 || live && prefix != "" && strings.TrimPrefix(of, prefix) >= id.From("", time.Unix((s.Day+1)*86400, 0).UTC())
}
