package app

import (
	"sync"
	"time"
)

const (
	// askWidth is how many questions to one provider account are under way at a time,
	// and askQueue how many wait for that; others come again when their lease ends.
	askWidth = 8
	askQueue = 16
	// askFailures is how many questions in a row without an answer open an account's
	// circuit: then one is asked now and then, at first after askPause, and then after
	// twice as long each time.
	askFailures = 5
	askPause    = 5 * time.Second
	maxAskPause = 5 * time.Minute
)

// asking makes the calls of the sweeps to providers, a lane for each account, so that
// one that hangs delays nobody else. What a lane does not take is left to its lease.
type asking struct {
	now     func() time.Time
	workers sync.WaitGroup

	mu    sync.Mutex // owns lanes
	lanes map[string]*askLane
}

// askLane is what is asked of one account.
type askLane struct {
	queue   []question
	active  int
	failed  int // questions in a row that had no answer
	pause   time.Duration
	probeAt time.Time // while the circuit is open: when the next one is asked
}

// question is one to a provider, with what follows from its answer.
type question struct {
	do    func()
	begun *sync.WaitGroup
}

func newAsking(now func() time.Time) *asking {
	return &asking{now: now, lanes: map[string]*askLane{}}
}

// submit hands work to an account's lane, where that takes it now, and counts it among
// what was begun until it is done. It never blocks.
func (q *asking) submit(account string, begun *sync.WaitGroup, do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[account]
	if l == nil {
		l = &askLane{}
		q.lanes[account] = l
	}
	now := q.now()
	switch {
	case l.open() && (l.active > 0 || now.Before(l.probeAt)), len(l.queue) >= askQueue:
		return
	case l.open():
		l.probeAt = now.Add(l.pause)
	}
	begun.Add(1)
	l.queue = append(l.queue, question{do, begun})
	if l.active < askWidth {
		l.active++
		q.workers.Go(func() { q.work(account, l) })
	}
}

// open reports whether the account does not answer.
func (l *askLane) open() bool { return l.failed >= askFailures }

// work does what waits in a lane until nothing does.
func (q *asking) work(account string, l *askLane) {
	for {
		q.mu.Lock()
		if len(l.queue) == 0 {
			if l.active--; l.active == 0 && l.failed == 0 {
				delete(q.lanes, account)
			}
			q.mu.Unlock()
			return
		}
		next := l.queue[0]
		l.queue = l.queue[1:]
		q.mu.Unlock()
		next.do()
		next.begun.Done()
	}
}

// heard notes whether an account answered a question.
func (q *asking) heard(account string, answered bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[account]
	if l == nil {
		return
	}
	if answered {
		l.failed, l.pause = 0, 0
		return
	}
	if l.failed++; l.open() {
		l.pause = min(max(2*l.pause, askPause), maxAskPause)
		l.probeAt = q.now().Add(l.pause)
		for _, next := range l.queue { // it comes again when its lease ends
			next.begun.Done()
		}
		l.queue = nil
	}
}

// silent counts the accounts that do not answer.
func (q *asking) silent() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lanes {
		if l.open() {
			n++
		}
	}
	return n
}

// drain waits for what is under way.
func (q *asking) drain() { q.workers.Wait() }
