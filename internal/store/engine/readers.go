package engine

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// MostReaders is the most connections of a reader. It opens them as it needs them.
const MostReaders = 8

// SQLiteReader reads an SQLite file.
type SQLiteReader struct{ db *sql.DB }

// OpenSQLiteReader opens a file read-only.
func OpenSQLiteReader(path string) (*SQLiteReader, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+url.Values{
		"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(ON)", "cache_size(-8192)"},
	}.Encode())
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	db.SetMaxOpenConns(MostReaders)
	db.SetMaxIdleConns(MostReaders) // or connections are opened again for each snapshot
	return &SQLiteReader{db}, nil
}

// Dialect implements Reads.
func (l *SQLiteReader) Dialect() Dialect { return SQLite }

// Close closes the file.
func (l *SQLiteReader) Close() { l.db.Close() }

// Snapshot implements Reads.
func (l *SQLiteReader) Snapshot(ctx context.Context, _ Lookups, read func(Asking) error) error {
	return liteSnapshot(ctx, l.db, read)
}

// PostgresReader reads a PostgreSQL server.
type PostgresReader struct{ pool *pgxpool.Pool }

// OpenPostgresReader connects to a server or a standby, read-only.
func OpenPostgresReader(ctx context.Context, dsn string) (*PostgresReader, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["application_name"] = "cascada check"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.AfterConnect = setting(map[string]string{
		"jit": "off", "default_transaction_read_only": "on",
		// The server closes the snapshot of a client that is gone.
		"idle_in_transaction_session_timeout": "60000",
	})
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.DialFunc = dial
	config.MaxConns, config.MinConns = MostReaders, 0
	if config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
		if err := pingAlone(ctx, config.ConnConfig); err != nil {
			config.ConnConfig.ValidateConnect = nil // no primary found
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	return &PostgresReader{pool}, nil
}

// pingAlone reports whether one of the address's servers meets its target_session_attrs.
func pingAlone(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Dialect implements Reads.
func (p *PostgresReader) Dialect() Dialect { return PostgreSQL }

// Close disconnects.
func (p *PostgresReader) Close() { p.pool.Close() }

// Snapshot implements Reads.
func (p *PostgresReader) Snapshot(ctx context.Context, how Lookups, read func(Asking) error) error {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return Down(err)
	}
	defer conn.Release()
	return pgSnapshot(ctx, conn, how, read)
}

// Readings is an engine that reads.
type Readings interface {
	Reads
	Close()
}

// Reads is what a check needs of a database.
type Reads interface {
	Dialect() Dialect
	Snapshot(ctx context.Context, how Lookups, read func(Asking) error) error
}
