package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// ErrNotAFile says that a database is none of one file.
var ErrNotAFile = errors.New("only an SQLite database is one file")

// FilePath is where an SQLite database is.
//
// Errors: ErrNotAFile.
func FilePath(database string) (string, error) {
	path, ok := strings.CutPrefix(database, "sqlite:")
	if !ok {
		return "", ErrNotAFile
	}
	return path, CheckAddress(database)
}

// CopyFile copies an SQLite database into an empty file, as it is at one moment after the call,
// whoever writes meanwhile: SQLite's own backup begins anew with each commit of another process,
// and so never ends on a busy service. It only reads. The log of the database grows as long as
// it takes. All that was committed by the moment at is in the copy.
//
// Errors: ErrNotAFile, that there is no database.
func CopyFile(ctx context.Context, database, to string) (at time.Time, err error) {
	path, err := FilePath(database)
	if err != nil {
		return at, err
	}
	if _, err := os.Stat(path); err != nil {
		return at, fmt.Errorf("there is no database at %s: %w", path, err)
	}
	db, err := sql.Open("sqlite", liteDSN(path, "busy_timeout(10000)")+"&mode=ro")
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	at = time.Now()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return at, fmt.Errorf("copy %s: %w", path, err)
	}
	return at, nil
}

// Sound reads all pages of an SQLite file, and says what is damaged.
func Sound(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", liteDSN(path, "query_only(ON)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if said != "ok" {
		return fmt.Errorf("%s is damaged: %s", path, said)
	}
	return nil
}

// Alone makes sure that no process serves an SQLite database, and that none begins to before
// release is called.
//
// Errors: ErrNotAFile, that one serves it.
func Alone(database string) (release func(), err error) {
	path, err := FilePath(database)
	if err != nil {
		return nil, err
	}
	db := &lite{path: path}
	if err := db.claim(); err != nil {
		return nil, err
	}
	return func() {
		if db.lock != nil {
			db.lock.Close() // and so lets go
		}
	}, nil
}
