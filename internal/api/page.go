package api

import (
	"errors"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Page is a page of a list: from an offset on, or behind a row. Numbers outside are clamped
// (LIST-1). They are texts here, so that a number too large for our type is clamped too.
type Page struct {
	LimitText  string `query:"limit" doc:"1 to 100, clamped"`
	OffsetText string `query:"offset" doc:"From 0, clamped"`
	Behind     string `query:"startingAfter" doc:"In place of offset: the nextCursor of the page before, which is the id of its last row. New rows do not shift the pages"`
	Older      string `query:"starting_after" doc:"Another name of startingAfter"`
	limit      int
	offset     int
	after      string // the row
}

// olderCursor is the other name of base.CursorParam.
const olderCursor = "starting_after"

// Resolve reads the page. A type that has this one inside and a Resolve of its
// own calls it.
func (p *Page) Resolve(huma.Context) (issues []error) {
	read := func(param, text string, absent, low, high int) int {
		if text == "" {
			return absent
		}
		n, err := strconv.Atoi(text)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			issues = append(issues, wire.Coded(problem.InvalidRequest, param, param+" must be a whole number, such as 50"))
		}
		return min(max(n, low), high)
	}
	p.limit = read("limit", p.LimitText, 50, 1, 100)
	p.offset = read("offset", p.OffsetText, 0, 0, 1_000_000)
	if p.after = p.Behind; p.after == "" {
		p.after = p.Older
	}
	if p.Older != "" && p.Older != p.after {
		issues = append(issues, wire.Coded(problem.InvalidRequest, base.CursorParam, base.CursorParam+" and "+olderCursor+" are one parameter: send one of them"))
	}
	if p.after != "" {
		p.offset = 0
	}
	return issues
}

// cursorParam is the name under which the caller sent the cursor.
func (p *Page) cursorParam() string {
	if p.Behind == "" && p.Older != "" {
		return olderCursor
	}
	return base.CursorParam
}

// named is an error about the page with the name that the caller knows.
func (p *Page) named(err error) error {
	var e *problem.Error
	if p.cursorParam() == olderCursor && errors.As(err, &e) && e.Param == base.CursorParam {
		renamed := *e
		renamed.Param, renamed.Message = olderCursor, strings.ReplaceAll(e.Message, base.CursorParam, olderCursor)
		return &renamed
	}
	return err
}

// more is how many rows to read: one more than the page shows, which tells whether it is the last.
func (p *Page) more() int { return p.limit + 1 }

// read is the page as it is read.
func (p *Page) read() store.Page {
	return store.Page{Limit: p.more(), Offset: p.offset, After: p.after}
}

// Pagination tells where a page stands (LIST-2).
type Pagination struct {
	Total  int64 `json:"total"`
	Limit  int   `json:"limit"`
	Offset int   `json:"offset"`
	Pages  int64 `json:"pages"`
	// TotalCapped says that Total is the least there can be.
	TotalCapped bool    `json:"totalCapped,omitempty" doc:"There are total rows, or more: a search by e-mail or amount counts 10000 at most"`
	NextCursor  *string `json:"nextCursor" doc:"The startingAfter of the next page; null on the last one"`
}

// pageOf is the rows that a page shows, of those that were read, and where it stands. id is what a
// page is to stand behind.
func pageOf[T any](p Page, list []T, total int64, id func(T) string) ([]T, Pagination) {
	limit := int64(p.limit)
	at := Pagination{Total: total, Limit: p.limit, Offset: p.offset, Pages: (total + limit - 1) / limit}
	if len(list) > p.limit {
		list = list[:p.limit]
		last := id(list[p.limit-1])
		at.NextCursor = &last
	}
	return list, at
}
