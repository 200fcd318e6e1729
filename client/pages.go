package client

import (
	"iter"
	"strconv"
	"time"
)

// Pagination tells where a page stands.
type Pagination struct {
	Total  int64 `json:"total"` // rows that the filter selects, on all pages
	Limit  int   `json:"limit"`
	Offset int   `json:"offset"`
	Pages  int64 `json:"pages"`
	// NextCursor is the next StartingAfter; "" on the last page and without one.
	NextCursor string `json:"nextCursor"`
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func addPage(v map[string]string, limit, offset int) {
	if limit != 0 {
		v["limit"] = strconv.Itoa(limit)
	}
	if offset != 0 {
		v["offset"] = strconv.Itoa(offset)
	}
}

// each goes through the rows from an offset on, asking for a page at a time. It
// ends after the first error.
func each[T any](offset int, page func(offset int) ([]T, Pagination, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := offset; ; {
			rows, at, err := page(next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			next += len(rows)
			if len(rows) == 0 || int64(next) >= at.Total {
				return
			}
		}
	}
}
