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

// Sound reads all pages of an SQLite file, and says what is damaged.
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

// Alone makes sure that no process serves an SQLite database, and that none begins to before
// release is called.
//
// Errors: ErrNotAFile, that one serves it.
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
			db.lock.Close() // and so lets go
		}
	}, nil
}

// aside comes between the path of a database and the time at which it was moved aside.
const aside = ".before-"

// MoveAside renames an SQLite database that nobody has open, with its log, and returns what it is called
// then; "" where there is none. Where another process was killed in the middle of that, it goes on.
//
// The file goes before its log: without the log it would be a database of some time ago, or an empty one, which
// whoever comes next takes for the whole one. That there is none is refused, see brokenOff.
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

// asideName is a name that is free, or the one of a database whose log did not follow it yet.
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

// movedAside lists what MoveAside made of databases at a path, oldest first.
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

// brokenOff refuses to make a database where one was moved aside and nothing has its place yet: a service would
// begin anew, and know nothing of what is paid.
func brokenOff(path string) error {
	list, err := movedAside(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nor is the directory there
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
	return fmt.Errorf("there is no database at %s, but %s is there: a restore was broken off. Run cascada restore --move-aside again, or rename what is there back; "+
		"to begin anew, take it away", path, left)
}
