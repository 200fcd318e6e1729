package store

import "github.com/cascadapay/cascada/internal/store/check"

// ReaderOf reads by the connections of a Store. It is not closed.
func ReaderOf(s *Store) *check.Reader { return check.ReaderOn(s.DB, s.Texts, s.sealer.Key) }
