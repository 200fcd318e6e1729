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

// virtualClock makes SQLite take the time from Go and not from the machine. In a testing/synctest bubble
// that is the bubble's time, since the goroutine that runs the statement calls the function. It is set once
// per process.
var virtualClock sync.Once

// OpenMemory opens an SQLite database without a file, with one connection. content is its initial content,
// from Serialized; nil is an empty database.
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

// Serialized returns the content of a database in memory.
func (l *Lite) Serialized() (content []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.writer.Raw(func(conn any) error {
		content, err = conn.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	return content, err
}
