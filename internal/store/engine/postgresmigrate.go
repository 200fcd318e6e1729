package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// migrationLock is an arbitrary number that all nodes agree on.
const migrationLock = 7163290418

// lockTimeout is how long a migration waits for a lock, since others queue behind it. It is tried again.
const lockTimeout = 100 * time.Millisecond

// lockPause is how long a node waits between two looks whether another one migrates.
const lockPause = 50 * time.Millisecond

// migrationTimeout is for a schema that has to read large tables.
const migrationTimeout = 24 * time.Hour

// Migrate is for DB.
func (db *Postgres) Migrate(ctx context.Context, run func(Migrator) error) error {
	pools := db.Connected.Load()
	ctx, done := pools.bound(ctx, migrationTimeout)
	defer done()
	return pgx.BeginFunc(ctx, pools.readers, func(tx pgx.Tx) error {
		// Who waits for a lock, or holds a result, holds a snapshot too, and an index that is made beside
		// others waits for those.
		for mine := false; !mine; {
			err := tx.QueryRow(ctx, fmt.Sprintf("SELECT pg_try_advisory_xact_lock(%d)", migrationLock), pgx.QueryExecModeSimpleProtocol).Scan(&mine)
			if err == nil && !mine && !Rest(lockPause, ctx.Done()) {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
		}
		if err := run(pgMigrator{ctx, tx, pools.leasers}); err != nil {
			return err
		}
		return createRowTypes(ctx, tx)
	})
}

type pgMigrator struct {
	ctx   context.Context
	tx    pgx.Tx
	other *pgxpool.Pool // whose connections stand outside of the transaction
}

func (m pgMigrator) Exec(text string) error {
	_, err := m.tx.Exec(m.ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (m pgMigrator) Query(text string, each func(Row) error) error {
	found, err := m.tx.Query(m.ctx, PostgreSQL.SQL(text), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	return Drain(found, each)
}

func (m pgMigrator) Aside(text string) (changed int64, err error) {
	tag, err := m.other.Exec(m.ctx, text, pgx.QueryExecModeSimpleProtocol)
	return tag.RowsAffected(), err
}

func (m pgMigrator) Impatient() error {
	return m.Exec(fmt.Sprintf("SET LOCAL lock_timeout = %d", lockTimeout.Milliseconds()))
}

func (m pgMigrator) Bar() error { return m.Exec("LOCK TABLE committers IN SHARE ROW EXCLUSIVE MODE") }

// Ready is for engine: writers need the types of rows.
func (db *Postgres) Ready(ctx context.Context) error {
	missing := rowTypes()
	err := db.Query(ctx, selectRowTypes, nil, func(r Row) error {
		name, _, _, err := scanRowType(r)
		delete(missing, name)
		return err
	})
	if err == nil && len(missing) > 0 {
		return fmt.Errorf("%w: it lacks types of rows: run cascada migrate, or start the new cascada serve", ErrOldSchema)
	}
	return err
}
