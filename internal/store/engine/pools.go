package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// countedMutex counts who had to wait for it.
type countedMutex struct {
	mu            sync.Mutex
	held          atomic.Bool
	waits, waited atomic.Int64 // how often, and how long in total
}

func (m *countedMutex) Lock() {
	if !m.mu.TryLock() {
		began := time.Now()
		m.mu.Lock()
		m.waits.Add(1)
		m.waited.Add(int64(time.Since(began)))
	}
	m.held.Store(true)
}

func (m *countedMutex) Unlock() {
	m.held.Store(false)
	m.mu.Unlock()
}

// Pools implements DB.
func (l *Lite) Pools() []Pool {
	used := Bit(l.mu.held.Load())
	list := []Pool{{Name: "writer", InUse: used, Idle: 1 - used, Most: 1, Waits: l.mu.waits.Load(), Waited: time.Duration(l.mu.waited.Load())}}
	if l.readers != nil {
		n := l.readers.Stats()
		list = append(list, Pool{Name: "readers", InUse: n.InUse, Idle: n.Idle, Most: n.MaxOpenConnections, Waits: n.WaitCount, Waited: n.WaitDuration})
	}
	return list
}

// Pools counts from 0 again after a move to another server.
func (pg *Postgres) Pools() []Pool {
	now := pg.Connected.Load()
	var list []Pool
	for _, of := range []struct {
		name string
		pool *pgxpool.Pool
	}{{"readers", now.readers}, {"leases", now.leasers}, {"node lease", now.holders}, {"writers", now.Writers}} {
		n := of.pool.Stat()
		list = append(list, Pool{
			Name: of.name, InUse: int(n.AcquiredConns()), Idle: int(n.IdleConns()), Most: int(n.MaxConns()),
			Waits: n.EmptyAcquireCount(), Waited: n.EmptyAcquireWaitTime(), GivenUp: n.CanceledAcquireCount(),
		})
	}
	return list
}

// Pool is the use of one kind of connections.
type Pool struct {
	Name    string
	InUse   int
	Idle    int
	Most    int
	Waits   int64         // how often a caller had to wait for one
	Waited  time.Duration // total waiting time
	GivenUp int64         // how often a caller gave up waiting; SQLite does not count it
}
