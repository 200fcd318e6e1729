package client

import (
	"iter"
	"strconv"
	"time"
)

// Pagination is the position of a page.
type Pagination struct {
	Total  int64 `json:"total"` // rows that the filter selects, on all pages
	Limit  int   `json:"limit"`
	Offset int   `json:"offset"`
	Pages  int64 `json:"pages"`
	// TotalCapped means that there are at least Total rows: a search by e-mail or amount
	// counts at most 10000.
	TotalCapped bool `json:"totalCapped"`
	// NextCursor is the StartingAfter of the next page; "" on the last one.
	NextCursor string `json:"nextCursor"`
}

// Page is a part of a list.
type Page struct {
	Limit  int // rows, 1 to 100; 0 means 50
	Offset int // rows to skip
	// StartingAfter replaces Offset: the NextCursor of the page before. New rows do not shift
	// the pages.
	StartingAfter string
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func addPage(v map[string]string, p Page) {
	if p.Limit != 0 {
		v["limit"] = strconv.Itoa(p.Limit)
	}
	if p.Offset != 0 {
		v["offset"] = strconv.Itoa(p.Offset)
	}
	v["startingAfter"] = p.StartingAfter
}

// each iterates over the rows from a page on, one page at a time. New rows do not shift the
// pages. It ends after the first error.
func each[T any](from Page, page func(Page) ([]T, Pagination, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := from; ; {
			rows, stands, err := page(at)
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
			if stands.NextCursor == "" {
				return
			}
			at.StartingAfter, at.Offset = stands.NextCursor, 0
		}
	}
}
