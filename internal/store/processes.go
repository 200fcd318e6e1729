package store

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/table"
)

const (
	// processKept is how long a process is listed after its last sign of life.
	processKept = 3 * schema.AliveEvery
	// mostNodes is how many leases of nodes are listed.
	mostNodes = 100
)

// Process is a program that serves the database.
type Process struct {
	ID      string
	Host    string
	Version string
	Schema  int // the newest migration that it knows
	Began   time.Time
	Self    bool // it is the process that reads this
}

// Lease is the lease of a node that calls providers.
type Lease struct {
	Node   string
	Joined time.Time
	Until  time.Time
	Gone   time.Time // when another node found that it was over; zero while it lives
	Self   bool
}

// Machine is what serves the database, as the database knows it.
type Machine struct {
	Processes []Process // the newest last
	Leases    []Lease   // those alive first
	Alone     bool      // this process alone serves the database
	Schema    schema.State
}

var (
	tellProcess = engine.Standalone(`INSERT INTO processes (id, host, version, schema, began, until)
VALUES ($1, $4, $5, CAST($6 AS BIGINT), ` + databaseClock + `, ` + databaseClock + ` + CAST($2 AS BIGINT))
ON CONFLICT (id) DO UPDATE SET until = excluded.until`)

	dropProcess = engine.Standalone(`DELETE FROM processes WHERE id = $1 OR until + CAST($2 AS BIGINT) < ` + databaseClock)

	selectProcesses = engine.Statement(`SELECT p.id, p.host, p.version, p.schema, p.began FROM processes AS p
WHERE p.until >= (CASE WHEN CAST($1 AS BIGINT) = 0 THEN {now} ELSE CAST($1 AS BIGINT) END) ORDER BY p.began, p.id`)

	selectNodes = engine.Statement(`SELECT n.id, n.joined, n.until, n.gone FROM nodes AS n ORDER BY n.gone > 0, n.joined DESC LIMIT $1`)
)

// process is this process as others see it.
type process struct {
	Process
	told bool // the database may have its row
}

func newProcess(s *core, version string) process {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return process{Process: Process{ID: s.name("prc_"), Host: host, Version: version, Schema: len(s.migrations), Self: true}}
}

// beat writes that this process lives, and drops the rows of those that died. It is for people: a failure waits for the
// next time.
func (co *core) beat() {
	ctx, cancel := context.WithTimeout(co.life, nodeLease)
	defer cancel()
	co.process.told = true
	err := co.b.DB.Lease(ctx, co.b.Text(tellProcess), []any{co.process.ID, processKept.Microseconds(), co.clock(), co.process.Host, co.process.Version, co.process.Schema}, nil)
	err = cmp.Or(err, co.b.DB.Lease(ctx, co.b.Text(dropProcess), []any{"", nodeKept.Microseconds(), co.clock()}, nil))
	if err != nil {
		co.b.Log.Info("this process could not report that it lives: the console may not list it", "error", err)
	}
}

// hush removes the row of this process.
func (co *core) hush(ctx context.Context) error {
	if !co.process.told {
		return nil
	}
	return co.b.DB.Lease(ctx, co.b.Text(dropProcess), []any{co.process.ID, nodeKept.Microseconds(), co.clock()}, nil)
}

// Machine reads what serves the database: the processes that live, the leases of nodes, the schema.
func (co *core) Machine(ctx context.Context) (m Machine, err error) {
	m.Alone = co.b.DB.Alone()
	if m.Schema, err = co.migrations.State(engine.Outside(ctx, co.b.DB)); err != nil {
		return m, err
	}
	m.Processes, err = base.Many(ctx, co.b, selectProcesses, func(r engine.Row) (p Process, err error) {
		var began int64
		err = r.Scan(&p.ID, &p.Host, &p.Version, &p.Schema, &began)
		p.Began, p.Self = table.FromMicros(began), p.ID == co.process.ID
		return p, err
	}, co.clock())
	if err != nil {
		return m, err
	}
	if m.Alone {
		m.Processes = []Process{co.process.Process} // alone, it writes no row about itself
	}
	me := ""
	if h := co.node.held.Load(); h != nil {
		me = h.node
	}
	m.Leases, err = base.Many(ctx, co.b, selectNodes, func(r engine.Row) (l Lease, err error) {
		var joined, until, gone int64
		err = r.Scan(&l.Node, &joined, &until, &gone)
		l.Joined = table.FromMicros(joined)
		l.Until = table.FromMicros(until)
		l.Gone = table.FromMicros(gone)
		l.Self = l.Node == me
		return l, err
	}, mostNodes)
	return m, err
}
