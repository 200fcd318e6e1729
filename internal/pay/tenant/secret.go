package tenant

import "time"

// Sealed is a secret of the service itself, encrypted: the root, a key of access tokens.
type Sealed struct {
	ID        string
	Version   int64
	Text      []byte // none: it was dropped
	CreatedAt time.Time
}

// Drop forgets the secret.
func (s Sealed) Drop() Sealed { return s.Replace(nil) }

// Replace puts another text in the place of the secret's.
func (s Sealed) Replace(text []byte) Sealed {
	s.Version++
	s.Text = text
	return s
}
