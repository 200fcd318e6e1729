package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotAFile: the database is not a single file.
var ErrNotAFile = errors.New("only an SQLite database is one file")

// FilePath returns the path of an SQLite database.
//
// Errors: ErrNotAFile.
func FilePath(database string) (string, error) {
	path, ok := strings.CutPrefix(database, "sqlite:")
	if !ok {
		return "", ErrNotAFile
	}
	return path, CheckAddress(database)
}

// CopyFile copies an SQLite database into an empty file, as of one moment after the call, even while others
// write: SQLite's own backup restarts after each commit of another process, so on a busy service it never
// ends. It only reads. The database's log grows until it is done. The copy has everything committed by the
// moment at.
//
// Errors: ErrNotAFile, or there is no database.
func CopyFile(ctx context.Context, database, to string) (at time.Time, err error) {
	path, err := FilePath(database)
	if err != nil {
		return at, err
	}
	if _, err := os.Stat(path); err != nil {
		return at, fmt.Errorf("there is no database at %s: %w", path, err)
	}
	db, err := sql.Open("sqlite", SQLiteDSN(path, "busy_timeout(10000)")+"&mode=ro")
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

// Sound reads all pages of an SQLite file and reports damage.
func Sound(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", SQLiteDSN(path, "query_only(ON)"))
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

// Alone makes sure that no process serves an SQLite database, and that none starts to until release is
// called.
//
// Errors: ErrNotAFile, or a process serves it.
func Alone(database string) (release func(), err error) {
	path, err := FilePath(database)
	if err != nil {
		return nil, err
	}
	db := &Lite{path: path}
	if err := db.Claim(); err != nil {
		return nil, err
	}
	return func() {
		if db.lock != nil {
			db.lock.Close() // this also releases the lock
		}
	}, nil
}

// aside separates a database's path from the time at which it was moved aside.
const aside = ".before-"

// MoveAside renames an unused SQLite database with its log, and returns its new name; "" if there is none.
// It continues a move during which another process was killed.
//
// The file moves before its log: without its log it would be an older or empty database, and the next
// process would take that for the whole. A missing file, in contrast, is refused: see brokenOff.
func MoveAside(path string, at time.Time) (to string, err error) {
	if to, err = asideName(path, at); err != nil {
		return "", err
	}
	moved := false
	for _, end := range []string{"", "-wal", "-shm"} {
		err := os.Rename(path+end, to+end)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		moved = moved || err == nil
	}
	if !moved {
		return "", nil
	}
	return to, nil
}

// asideName returns a free name, or that of a moved database whose log has not followed yet.
func asideName(path string, at time.Time) (string, error) {
	if missing(path) && !missing(path+"-wal") {
		if list, err := movedAside(path); err != nil {
			return "", err
		} else if len(list) > 0 && missing(list[len(list)-1]+"-wal") {
			return list[len(list)-1], nil
		}
	}
	for n := 1; ; n++ {
		to := path + aside + at.UTC().Format("20060102T150405Z")
		if n > 1 {
			to += fmt.Sprintf("-%d", n)
		}
		if missing(to) && missing(to+"-wal") {
			return to, nil
		}
	}
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// movedAside lists the databases that MoveAside moved from a path, oldest first.
func movedAside(path string) (list []string, err error) {
	dir, name := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(dir, ".")) // sorted
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+aside) && !strings.HasSuffix(e.Name(), "-wal") && !strings.HasSuffix(e.Name(), "-shm") {
			list = append(list, dir+e.Name())
		}
	}
	return list, nil
}

// brokenOff refuses to create a database where one was moved aside and not replaced yet: the service would
// start empty, without any record of payments.
func brokenOff(path string) error {
	list, err := movedAside(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the directory is missing too
	}
	if err != nil {
		return err
	}
	if len(list) == 0 && missing(path+"-wal") {
		return nil
	}
	left := path + "-wal"
	if len(list) > 0 {
		left = list[len(list)-1]
	}
	return restoreBrokenOff.With(path, left)
}
