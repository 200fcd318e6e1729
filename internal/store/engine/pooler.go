package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// setting sets settings in a new connection's session. They are not startup parameters, because a pooler
// refuses those.
func setting(values map[string]string) func(context.Context, *pgx.Conn) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text.WriteString("SET " + name + " = '" + values[name] + "'; ")
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, text.String(), pgx.QueryExecModeSimpleProtocol)
		return err
	}
}

// ErrPooler: the address leads to a pooler that gives each transaction a different session.
var ErrPooler = errors.New("the address of the database leads to a pooler in transaction or statement mode: a session's settings and prepared " +
	"statements, which Cascada needs, are lost in it. Set pool_mode = session for this database (pgbouncer.ini), or name PostgreSQL's own " +
	"address; a node opens 15 connections at most")

// probe is a setting that nobody else uses.
const probe = "cascada.probe"

// probes is how often two connections are compared. While others use a pooler, it may give a connection its earlier
// session again by chance.
const probes = 10

// protocolViolation is the code for a message that the connection does not allow.
const protocolViolation = "08P01"

// refusePooler checks whether a connection keeps its session. A direct connection to PostgreSQL does.
//
// Errors: ErrPooler.
func (pg *Postgres) refusePooler(ctx context.Context) error {
	readers := pg.Connected.Load().readers
	first, err := pg.acquire(ctx, readers)
	if err != nil {
		return err
	}
	defer first.Release()
	var backend uint32
	if err := ask(ctx, first.Conn(), "SELECT pg_backend_pid()", &backend); err != nil {
		return Down(err)
	}
	if backend == first.Conn().PgConn().PID() {
		return nil
	}
	second, err := pg.acquire(ctx, readers)
	if err != nil {
		return err
	}
	defer second.Release()
	for range probes {
		if err := probed(ctx, first.Conn(), second.Conn()); err != nil {
			return err
		}
	}
	return nil
}

// ask reads one value.
func ask(ctx context.Context, conn *pgx.Conn, text string, into any) error {
	return conn.QueryRow(ctx, text, pgx.QueryExecModeSimpleProtocol).Scan(into)
}

// probed checks once whether two connections share a session.
//
// Errors: ErrPooler.
func probed(ctx context.Context, first, second *pgx.Conn) error {
	var of [2]string
	if err := ask(ctx, first, "SELECT set_config('"+probe+"', 'first', false)", &of[0]); err != nil {
		return Down(err)
	}
	// In its transaction the second connection has a session to itself: the first one's, if that is free.
	tx, err := second.Begin(ctx)
	if e, answered := errors.AsType[*pgconn.PgError](err); answered && e.Code == protocolViolation {
		return ErrPooler // statement mode has no transactions
	}
	if err != nil {
		return Down(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // the transaction changed nothing
	for i, conn := range []*pgx.Conn{second, first} {
		if err := ask(ctx, conn, "SELECT coalesce(current_setting('"+probe+"', true), '')", &of[i]); err != nil {
			return Down(err)
		}
	}
	if of != [2]string{"", "first"} {
		return ErrPooler
	}
	return nil
}
