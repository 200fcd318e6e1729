package base

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Behind proves that the row is there which a page is to stand behind, where it is to stand behind
// one: find looks for it among all that the caller may see, whatever the filter of the list.
//
// Errors: invalid_request.
func Behind(after string, find func() error) error {
	switch {
	case after == "":
		return nil
	case !Storable(after):
		return OrNotBehind(store.ErrNotFound)
	}
	return OrNotBehind(find())
}

// Absent reports whether a use case failed because what it was asked about is not there.
func Absent(err error) bool { return errors.Is(err, store.ErrNotFound) }

// OrNotBehind turns what is not found into the refusal and leaves other errors alone.
func OrNotBehind(err error) error {
	if Absent(err) {
		return problem.Field(problem.InvalidRequest, pay.CursorParam,
			"there is no such row in this list: send the nextCursor of the page before, or leave "+pay.CursorParam+" out to begin anew")
	}
	return err
}

// Storable reports whether a text can be in the database: PostgreSQL fails on
// any other, so an id that is not is nobody's.
func Storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// SettledAs fills in where the settlements of captured payments stand.
func (b *Base) SettledAs(ctx context.Context, list []pay.Payment) error {
	var captured []string
	for _, p := range list {
		if !p.Times.Completed.IsZero() {
			captured = append(captured, p.ID)
		}
	}
	if len(captured) == 0 {
		return nil
	}
	settled, err := b.Store.Settlements.SettledAs(ctx, captured)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Settlement = settled[list[i].ID]
	}
	return nil
}
