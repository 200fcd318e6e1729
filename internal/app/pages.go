package app

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// CursorParam is the parameter that an error about a page names.
const CursorParam = "startingAfter"

// behind proves that the row is there which a page is to stand behind, where it is to stand behind
// one: find looks for it among all that the caller may see, whatever the filter of the list.
//
// Errors: invalid_request.
func behind(after string, find func() error) error {
	switch {
	case after == "":
		return nil
	case !storable(after):
		return orNotBehind(store.ErrNotFound)
	}
	return orNotBehind(find())
}

// orNotBehind turns what is not found into the refusal and leaves other errors alone.
func orNotBehind(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return pay.FieldError(pay.CodeInvalidRequest, CursorParam,
			"there is no such row in this list: send the nextCursor of the page before, or leave "+CursorParam+" out to begin anew")
	}
	return err
}

// storable reports whether a text can be in the database: PostgreSQL fails on
// any other, so an id that is not is nobody's.
func storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// settledAs fills in where the settlements of captured payments stand.
func (a *Base) settledAs(ctx context.Context, list []pay.Payment) error {
	var captured []string
	for _, p := range list {
		if !p.Times.Completed.IsZero() {
			captured = append(captured, p.ID)
		}
	}
	if len(captured) == 0 {
		return nil
	}
	settled, err := a.store.SettledAs(ctx, captured)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Settlement = settled[list[i].ID]
	}
	return nil
}
