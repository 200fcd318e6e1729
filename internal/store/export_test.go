package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/store/check"
)

// ReaderOf reads by the connections of a Store. It is not closed.
func ReaderOf(s *Store) *check.Reader { return check.ReaderOn(s.b.DB, s.b.Texts, s.sealer.Key) }

// PrepareAll checks every statement of the package against a Store's database.
func PrepareAll(ctx context.Context, s *Store) error { return s.b.PrepareAll(ctx) }
