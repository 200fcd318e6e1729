package store

import (
	"context"
	"io/fs"
	"time"

	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/due"
)

// OldestDue returns the earliest due time of each kind of work; zero where
// nothing waits. What waits for a test clock is left out.
func (s *core) OldestDue(ctx context.Context) (map[string]time.Time, error) {
	return due.Oldest(ctx, s.Base)
}

// NextDue returns when the next row of each kind of work comes due, in the service's
// clock; kinds of which nothing waits are left out. Parked deliveries are one, due since
// ever: it is their endpoints that they wait for. It is one statement, or two where
// a test clock was moved, and reads the first row of each index.
func (s *core) NextDue(ctx context.Context) (map[string]time.Time, error) {
	return due.Next(ctx, s.Base)
}

// OldestOpen returns since when the oldest open thing of each kind is open; zero where
// there is none.
func (s *core) OldestOpen(ctx context.Context) (map[string]time.Time, error) {
	return due.OldestOpen(ctx, s.Base)
}

// Quarantine reads the rows of due work that were set aside because they cannot be
// read, of all tenants.
func (s *core) Quarantine(ctx context.Context) ([]due.Quarantined, error) {
	return due.Quarantine(ctx, s.Base)
}

// OpenKinds lists the kinds of things that OldestOpen tells of.
func OpenKinds() []string { return due.OpenKinds() }

// WorkKinds lists the kinds of due work that OldestDue tells of.
func WorkKinds() []string { return due.WorkKinds() }

// CheckOptions say how much a check proves, and who hears how far it is.
type CheckOptions = check.Options

// OpenReader connects to a database that is only read, by a few connections of its own: see check.OpenReader.
func OpenReader(ctx context.Context, database string, more fs.FS) (*Reader, error) {
	return check.OpenReader(ctx, database, more)
}
