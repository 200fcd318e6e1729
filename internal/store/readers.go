package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// liteReader reads an SQLite file.
type liteReader struct{ db *sql.DB }

func openLiteReader(path string) (*liteReader, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+url.Values{
		"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(ON)", "cache_size(-8192)"},
	}.Encode())
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	db.SetMaxOpenConns(1)
	return &liteReader{db}, nil
}

func (l *liteReader) dialect() dialect { return sqlite }

func (l *liteReader) close() { l.db.Close() }

func (l *liteReader) snapshot(ctx context.Context, _ lookups, read func(asking) error) error {
	return liteSnapshot(ctx, l.db, read)
}

// pgReader reads a PostgreSQL server.
type pgReader struct{ pool *pgxpool.Pool }

func openPGReader(ctx context.Context, dsn string) (*pgReader, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["application_name"] = "cascada check"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.AfterConnect = setting(map[string]string{
		"jit": "off", "default_transaction_read_only": "on",
		// A client that is gone keeps no snapshot open.
		"idle_in_transaction_session_timeout": "60000",
	})
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.DialFunc = dial
	config.MaxConns, config.MinConns = 1, 0
	if config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
		if err := pingAlone(ctx, config.ConnConfig); err != nil {
			config.ConnConfig.ValidateConnect = nil // there is no primary
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
	return &pgReader{pool}, nil
}

// pingAlone reports whether a server of the address is as it wants.
func pingAlone(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (p *pgReader) dialect() dialect { return postgres }

func (p *pgReader) close() { p.pool.Close() }

func (p *pgReader) snapshot(ctx context.Context, how lookups, read func(asking) error) error {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return down(err)
	}
	defer conn.Release()
	return pgSnapshot(ctx, conn, how, read)
}

// readings is an engine that reads.
type readings interface {
	engineReads
	close()
}

// engineReads is what a check needs of a database.
type engineReads interface {
	dialect() dialect
	snapshot(ctx context.Context, how lookups, read func(asking) error) error
}
