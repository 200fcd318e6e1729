package merchants

import "time"

// Encrypted is an encrypted secret of the service itself: the root, or a key for access tokens.
type Encrypted struct {
	ID        string
	Version   int64
	Text      []byte // nil: the secret was deleted
	CreatedAt time.Time
}

// Drop deletes the secret.
func (s Encrypted) Drop() Encrypted { return s.Replace(nil) }

// Replace replaces the encrypted text.
func (s Encrypted) Replace(text []byte) Encrypted {
	s.Version++
	s.Text = text
	return s
}
