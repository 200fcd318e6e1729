package engine

import (
	"sync"
	"time"

	modernc "modernc.org/sqlite"

	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// virtualClock makes SQLite ask for the time where Go does: it would ask the machine.
// In a bubble of testing/synctest that is the bubble's, since the function is called
// by the goroutine that runs the statement. It is one for the process.
var virtualClock sync.Once

// OpenMemory opens an SQLite database that has no file, and one connection. content is
// what it holds, as serialized returned it; nil is an empty one.
func OpenMemory(ctx context.Context, content []byte, now func() time.Time) (*Lite, error) {
	virtualClock.Do(func() {
		modernc.MustRegisterScalarFunction("unixepoch", 1, func(*modernc.FunctionContext, []driver.Value) (driver.Value, error) {
			return float64(now().UnixMicro()) / 1e6, nil
		})
	})
	writers, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("open sqlite in memory: %w", err)
	}
	writer, err := writers.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite in memory: %w", err), writers.Close())
	}
	db := &Lite{writers: writers, writer: writer, prepared: map[string]*sql.Stmt{}}
	if len(content) > 0 {
		err = writer.Raw(func(conn any) error {
			return conn.(interface{ Deserialize(content []byte) error }).Deserialize(content)
		})
	}
	if err == nil {
		_, err = writer.ExecContext(ctx, `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384`)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("open sqlite in memory: %w", err)
	}
	return db, nil
}

// Serialized returns what a database in memory holds.
func (db *Lite) Serialized() (content []byte, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	err = db.writer.Raw(func(conn any) error {
		content, err = conn.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	return content, err
}
