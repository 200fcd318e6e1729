package accounts

import (
	"context"
	"sync"
	"time"
)

const (
	// askWidth is how many queries to one provider account run at the same time, and askQueue how
	// many may wait for them: those of several sweeps. Further ones come again when their lease
	// ends.
	askWidth = 8
	askQueue = 1000
	// askFailures is how many queries in a row without an answer open an account's circuit. Then
	// one query is sent now and then, at first after askPause, doubling each time. The outcome of
	// all others is unknown, without a query.
	askFailures = 5
	askPause    = 5 * time.Second
	maxAskPause = 5 * time.Minute
)

// Lanes makes the sweeps' calls to providers, in a lane for each account, so that an account that
// hangs delays no other. If a lane is full, the row comes again when its lease ends.
//
// Payments, refunds and payouts have lanes of their own, whose circuits do not tell each other: a provider's refunds may be down
// while its charges work, and a payment must not stay unknown for that.
type Lanes struct {
	now     func() time.Time
	workers sync.WaitGroup

	mu    sync.Mutex // owns lanes
	lanes map[string]*askLane
}

// askLane is the queue of queries to one account.
type askLane struct {
	queue   []question
	about   map[string]struct{} // ids of queries that wait or run
	active  int
	failed  int // queries in a row without an answer
	pause   time.Duration
	probeAt time.Time // while the circuit is open: when the next query is sent
}

// question is a query to a provider, with the work that follows its answer.
type question struct {
	about string
	do    func(may bool)
	begun *sync.WaitGroup
}

// NewLanes returns empty lanes.
func NewLanes(now func() time.Time) *Lanes {
	return &Lanes{now: now, lanes: map[string]*askLane{}}
}

// lane returns the account's lane. The caller holds mu.
func (la *Lanes) lane(account string) *askLane {
	l := la.lanes[account]
	if l == nil {
		l = &askLane{about: map[string]struct{}{}}
		la.lanes[account] = l
	}
	return l
}

// Submit adds a query to an account's lane if there is room, and counts it in begun until it is
// done. do gets whether the account may be queried. A query whose id is in the lane already,
// because its row was leased again, is not added. Submit never blocks.
func (la *Lanes) Submit(account, about string, begun *sync.WaitGroup, do func(may bool)) {
	la.mu.Lock()
	defer la.mu.Unlock()
	l := la.lane(account)
	if _, known := l.about[about]; known || len(l.queue) >= askQueue {
		return
	}
	l.about[about] = struct{}{}
	begun.Add(1)
	l.queue = append(l.queue, question{about, do, begun})
	if l.active < askWidth {
		l.active++
		la.workers.Go(func() { la.work(account, l) })
	}
}

// open reports whether the account does not answer.
func (l *askLane) open() bool { return l.failed >= askFailures }

// work runs the queries of a lane until it is empty.
func (la *Lanes) work(account string, l *askLane) {
	for {
		la.mu.Lock()
		if len(l.queue) == 0 {
			if l.active--; l.active == 0 && l.failed == 0 {
				delete(la.lanes, account)
			}
			la.mu.Unlock()
			return
		}
		next := l.queue[0]
		l.queue = l.queue[1:]
		may := la.may(l)
		la.mu.Unlock()
		next.do(may)
		la.mu.Lock()
		delete(l.about, next.about)
		la.mu.Unlock()
		next.begun.Done()
	}
}

// may reports whether the account is queried now. While it answers, it always is. The caller holds
// mu.
func (la *Lanes) may(l *askLane) bool {
	if !l.open() {
		return true
	}
	now := la.now()
	if now.Before(l.probeAt) {
		return false
	}
	l.probeAt = now.Add(l.pause) // this query is the probe
	return true
}

// May reports whether an account is queried now. A query that it permits may be the one that finds out whether the account answers again:
// the caller tells its result to Record.
func (la *Lanes) May(account string) bool {
	la.mu.Lock()
	defer la.mu.Unlock()
	l := la.lanes[account]
	return l == nil || la.may(l)
}

// Record records whether an account answered a query of a caller. Charges do not count: if only charges go
// unanswered, queries are the only way to learn their outcome. A caller who left before the answer, such as an operator who
// closed the page, proves nothing about the account.
func (la *Lanes) Record(caller context.Context, account string, answered bool) {
	if !answered && caller.Err() != nil {
		return
	}
	la.mu.Lock()
	defer la.mu.Unlock()
	l := la.lanes[account]
	switch {
	case answered && l == nil:
	case answered:
		if l.failed, l.pause = 0, 0; l.active == 0 {
			delete(la.lanes, account)
		}
	default:
		l = la.lane(account)
		if l.failed++; l.open() {
			l.pause = min(max(2*l.pause, askPause), maxAskPause)
			l.probeAt = la.now().Add(l.pause)
		}
	}
}

// Silent counts the accounts that do not answer.
func (la *Lanes) Silent() (n int) {
	la.mu.Lock()
	defer la.mu.Unlock()
	for _, l := range la.lanes {
		if l.open() {
			n++
		}
	}
	return n
}

// Drain waits for the queries that are under way.
func (la *Lanes) Drain() { la.workers.Wait() }
