package store

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed schema.sql
var schema string

const (
	createVersion = `CREATE TABLE IF NOT EXISTS schema_version (n BIGINT NOT NULL PRIMARY KEY)`
	selectVersion = `SELECT coalesce(max(n), 0) FROM schema_version`
	insertVersion = `INSERT INTO schema_version (n) VALUES (%d)`
)

// migration is one version of the schema.
type migration struct {
	version int
	text    string
}

// migrations cuts the schema at its "-- version N" lines.
func migrations() ([]migration, error) {
	parts := strings.Split(schema, "\n-- version ")
	var list []migration
	for i, part := range parts[1:] {
		number, text, _ := strings.Cut(part, "\n")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("schema: version %q stands where %d should", number, i+1)
		}
		list = append(list, migration{n, text})
	}
	return list, nil
}

// known refuses a version that a newer program made.
func known(version, newest int) error {
	if version > newest {
		return fmt.Errorf("the database has version %d, this program knows up to %d: start a newer one", version, newest)
	}
	return nil
}

// migrate brings the database to the newest version. Any number of nodes may
// start at once: one migrates, the others find nothing left to do.
func migrate(ctx context.Context, db engine) error {
	list, err := migrations()
	if err != nil {
		return err
	}
	err = db.migrate(ctx, func(m migrator) error {
		if err := m.exec(createVersion); err != nil {
			return err
		}
		at, err := m.version()
		if err != nil {
			return err
		}
		if err := known(at, len(list)); err != nil {
			return err
		}
		for _, next := range list[at:] {
			if err := m.exec(db.dialect().sql(next.text)); err != nil {
				return fmt.Errorf("version %d: %w", next.version, err)
			}
			if err := m.exec(fmt.Sprintf(insertVersion, next.version)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
