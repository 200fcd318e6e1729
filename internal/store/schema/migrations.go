package schema

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// The schema is what its migrations make of an empty database, one after the other. The first is the
// baseline, which makes every table; an empty database gets all migrations in one transaction. Each is a file,
// NNNN_what_it_is.KIND.sql:
//
//   - an expand migration leaves all that older programs use. It runs beside them, and they go on to
//     run when it is done;
//   - a contract migration takes away what only they use, or rests on their being gone. It waits until
//     none of them is left, and bars them.
//
// A file may begin with one of two comments: "-- by itself", for statements that PostgreSQL runs
// outside of a transaction, such as CREATE INDEX {concurrently}; "-- again and again", for one
// statement that changes some rows, and is done when it finds none.
//
//go:embed migrations
var ownMigrations embed.FS

// migration is one version of the schema.
type migration struct {
	version  int
	name     string
	contract bool
	aside    bool // outside of a transaction
	repeated bool // until it changes nothing; also aside
	text     string
}

func (m migration) String() string { return fmt.Sprintf("migration %d (%s)", m.version, m.name) }

// statements splits the text of a migration that runs aside.
func (m migration) statements() (list []string) {
	for _, statement := range strings.Split(m.text, ";\n") {
		if strings.TrimSpace(statement) != "" {
			list = append(list, statement)
		}
	}
	return list
}

var migrationFile = regexp.MustCompile(`^(\d{4})_([a-z0-9_]+)\.(expand|contract)\.sql$`)

// Known is all schema versions that a program knows, oldest first.
type Known []migration

// Texts are the migrations' texts as in their files, for tests that read them.
func (known Known) Texts() []string {
	texts := make([]string, len(known))
	for i, m := range known {
		texts[i] = m.text
	}
	return texts
}

// Read lists all migrations: the program's own, then those of more, which may be nil.
func Read(more fs.FS) (Known, error) {
	var list Known
	own, err := fs.Sub(ownMigrations, "migrations")
	if err != nil {
		return nil, err
	}
	for _, from := range []fs.FS{own, more} {
		if from == nil {
			continue
		}
		files, err := fs.Glob(from, "[0-9]*.sql") // sorted
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			m, err := readMigration(from, file)
			if err != nil {
				return nil, fmt.Errorf("schema: %s: %w", file, err)
			}
			if m.version != len(list)+1 {
				return nil, fmt.Errorf("schema: %s stands where version %d should", file, len(list)+1)
			}
			list = append(list, m)
		}
	}
	return list, nil
}

func readMigration(from fs.FS, file string) (m migration, err error) {
	found := migrationFile.FindStringSubmatch(path.Base(file))
	if found == nil {
		return m, errors.New("want NNNN_what_it_is.expand.sql or NNNN_what_it_is.contract.sql")
	}
	text, err := fs.ReadFile(from, file)
	if err != nil {
		return m, err
	}
	m = migration{name: strings.ReplaceAll(found[2], "_", " "), contract: found[3] == "contract", text: string(text)}
	m.version, _ = strconv.Atoi(found[1]) // digits
	first, _, _ := strings.Cut(m.text, "\n")
	m.repeated = first == "-- again and again"
	m.aside = m.repeated || first == "-- by itself"
	if m.aside && m.contract {
		return m, errors.New("a contract migration bars older programs in the transaction that it is done in: let an expand migration do what takes long")
	}
	return m, nil
}
