package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/store/check"
)

// ReaderOf returns a reader on the connections of a Store. It must not be closed.
func ReaderOf(s *Store) *check.Reader { return check.ReaderOn(s.b.DB, s.b.Texts, s.sealer.Key) }

// PrepareAll prepares every statement of the package on a Store's database.
func PrepareAll(ctx context.Context, s *Store) error { return s.b.PrepareAll(ctx) }
