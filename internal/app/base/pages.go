package base

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Behind checks that the row after which a page begins exists, if one is given. find searches among
// all rows that the caller may see, whatever the list's filter.
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

// Absent reports whether a use case failed because the object that it was asked about does not exist.
func Absent(err error) bool { return errors.Is(err, store.ErrNotFound) }

// OrNotBehind replaces "not found" with the error for a bad cursor. It does not change other
// errors.
func OrNotBehind(err error) error {
	if Absent(err) {
		return problem.Field(problem.InvalidRequest, lists.CursorParam,
			noRowToContinue.With(lists.CursorParam))
	}
	return err
}

// Storable reports whether a text can be stored. PostgreSQL fails on others, so an id that is not
// storable does not exist.
func Storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// SettledAs sets the settlement status of captured payments.
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
	settled, err := b.Store.Settlements().SettledAs(ctx, captured)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Settlement = settled[list[i].ID]
	}
	return nil
}

// Settled is SettledAs of one payment. A payment that a refund is decided of has it: the refund's event shows it.
func Settled(ctx context.Context, b *Base, p pay.Payment) (pay.Payment, error) {
	one := []pay.Payment{p}
	err := b.SettledAs(ctx, one)
	return one[0], err
}

// OfStore reports whether an error is the database's or the request's own, and not about what was sent.
func OfStore(err error) bool {
	for _, fault := range []error{store.ErrNotFound, store.ErrStale, store.ErrDuplicate, store.ErrDown, store.ErrUnknown, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// NoRow is the error for a cursor that is no row of a list.
func NoRow() error { return OrNotBehind(store.ErrNotFound) }
