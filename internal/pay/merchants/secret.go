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
func (e Encrypted) Drop() Encrypted { return e.Replace(nil) }

// Replace replaces the encrypted text.
func (e Encrypted) Replace(text []byte) Encrypted {
	e.Version++
	e.Text = text
	return e
}
