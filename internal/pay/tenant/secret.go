package tenant

import "time"

// Sealed is an encrypted secret of the service itself: the root, or a key for access tokens.
type Sealed struct {
	ID        string
	Version   int64
	Text      []byte // nil: the secret was deleted
	CreatedAt time.Time
}

// Drop deletes the secret.
func (s Sealed) Drop() Sealed { return s.Replace(nil) }

// Replace replaces the encrypted text.
func (s Sealed) Replace(text []byte) Sealed {
	s.Version++
	s.Text = text
	return s
}
