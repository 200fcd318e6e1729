package store

import (
	"context"
	"io/fs"
	"time"

	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/due"
)

// OldestDue returns the earliest due time of each kind of work; zero where nothing waits. Work that waits
// for a test clock does not count.
func (s *core) OldestDue(ctx context.Context) (map[string]time.Time, error) {
	return due.Oldest(ctx, s.b)
}

// NextDue returns when the next row of each kind of work comes due, in the service's clock; kinds without
// waiting work are missing. Parked deliveries are a kind that is always due, since they wait for endpoints.
// It takes one statement, or two if a test clock was moved, and reads the first row of each index.
func (s *core) NextDue(ctx context.Context) (map[string]time.Time, error) {
	return due.Next(ctx, s.b)
}

// OldestOpen returns when the oldest open object of each kind was opened; zero for none.
func (s *core) OldestOpen(ctx context.Context) (map[string]time.Time, error) {
	return due.OldestOpen(ctx, s.b)
}

// Quarantine reads the quarantined rows of due work, of all tenants.
func (s *core) Quarantine(ctx context.Context) ([]due.Quarantined, error) {
	return due.Quarantine(ctx, s.b)
}

// OpenKinds lists the kinds of objects in OldestOpen.
func OpenKinds() []string { return due.OpenKinds() }

// WorkKinds lists the kinds of due work in OldestDue.
func WorkKinds() []string { return due.WorkKinds() }

// CheckOptions say how much a check proves, and who receives its progress.
type CheckOptions = check.Options

// OpenReader connects to a database read-only, over a few connections of its own: see check.OpenReader.
func OpenReader(ctx context.Context, database string, more fs.FS) (*Reader, error) {
	return check.OpenReader(ctx, database, more)
}
