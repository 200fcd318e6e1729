package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// migrationLock is an arbitrary number that all nodes share.
const migrationLock = 7163290418

// lockTimeout is how long a migration waits for a lock, because others queue behind it. Then it retries.
const lockTimeout = 100 * time.Millisecond

// lockPause is the pause between two checks whether another node is migrating.
const lockPause = 50 * time.Millisecond

// migrationTimeout allows for migrations that read large tables.
const migrationTimeout = 24 * time.Hour

// Migrate implements DB.
func (pg *Postgres) Migrate(ctx context.Context, run func(Migrator) error) error {
	pools := pg.Connected.Load()
	ctx, done := pools.bound(ctx, migrationTimeout)
	defer done()
	return pgx.BeginFunc(ctx, pools.readers, func(tx pgx.Tx) error {
		// A session that waits for a lock or holds a result also holds a snapshot, and a concurrent index
		// build waits for all snapshots.
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
	other *pgxpool.Pool // with connections outside the transaction
}

func (p pgMigrator) Exec(text string) error {
	_, err := p.tx.Exec(p.ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (p pgMigrator) Query(text string, each func(Row) error) error {
	found, err := p.tx.Query(p.ctx, PostgreSQL.SQL(text), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	return Drain(found, each)
}

func (p pgMigrator) Aside(text string) (changed int64, err error) {
	tag, err := p.other.Exec(p.ctx, text, pgx.QueryExecModeSimpleProtocol)
	return tag.RowsAffected(), err
}

func (p pgMigrator) Impatient() error {
	return p.Exec(fmt.Sprintf("SET LOCAL lock_timeout = %d", lockTimeout.Milliseconds()))
}

func (p pgMigrator) Bar(table string) error {
	return p.Exec("LOCK TABLE " + table + " IN SHARE ROW EXCLUSIVE MODE")
}

// Ready implements DB: writers need the row types.
func (pg *Postgres) Ready(ctx context.Context) error {
	missing := rowTypes()
	err := pg.Query(ctx, selectRowTypes, nil, func(r Row) error {
		name, _, _, err := scanRowType(r)
		delete(missing, name)
		return err
	})
	if err == nil && len(missing) > 0 {
		return fmt.Errorf("%w: it lacks types of rows: run cascada migrate, or start the new cascada serve", ErrOldSchema)
	}
	return err
}
