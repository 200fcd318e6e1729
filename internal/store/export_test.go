package store

// ReaderOf reads by the connections of a Store. It is not closed.
func ReaderOf(s *Store) *Reader { return &Reader{db: s.DB, texts: s.Texts, key: s.sealKey} }
