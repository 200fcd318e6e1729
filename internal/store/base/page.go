package base

import "cmp"

// Page is a part of a list.
type Page struct {
	Limit, Offset int
	After         string // in place of Offset: what stands behind the row of this id; "" for all
}

// Before is the bound of a list whose newest rows come first, with the highest ids: what stands
// behind a row has lower ones.
func Before(id string) string { return cmp.Or(id, BehindAll) }

// BehindAll is behind every id.
const BehindAll = "\U0010FFFF"
