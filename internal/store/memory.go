package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// openMemory opens an SQLite database that has no file, and one connection. content is
// what it holds, as serialized returned it; nil is an empty one.
func openMemory(ctx context.Context, content []byte) (*lite, error) {
	writers, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("open sqlite in memory: %w", err)
	}
	writer, err := writers.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite in memory: %w", err), writers.Close())
	}
	db := &lite{writers: writers, writer: writer, prepared: map[string]*sql.Stmt{}}
	if len(content) > 0 {
		err = writer.Raw(func(conn any) error {
			return conn.(interface{ Deserialize(content []byte) error }).Deserialize(content)
		})
	}
	if err == nil {
		_, err = writer.ExecContext(ctx, `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384`)
	}
	if err != nil {
		db.close()
		return nil, fmt.Errorf("open sqlite in memory: %w", err)
	}
	return db, nil
}

// serialized returns what a database in memory holds.
func (db *lite) serialized() (content []byte, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	err = db.writer.Raw(func(conn any) error {
		content, err = conn.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	return content, err
}
