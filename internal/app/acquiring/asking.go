package acquiring

import (
	"sync"
	"time"
)

const (
	// askWidth is how many questions to one provider account are under way at a time,
	// and askQueue how many wait for that: several sweeps of them. Others come again when
	// their lease ends.
	askWidth = 8
	askQueue = 1000
	// askFailures is how many questions in a row without an answer open an account's
	// circuit: then one is asked now and then, at first after askPause, and then after
	// twice as long each time. To others nobody knows the answer, without asking.
	askFailures = 5
	askPause    = 5 * time.Second
	maxAskPause = 5 * time.Minute
)

// Lanes makes the calls of the sweeps to providers, a lane for each account, so that
// one that hangs delays nobody else. What a lane does not take is left to its lease.
type Lanes struct {
	now     func() time.Time
	workers sync.WaitGroup

	mu    sync.Mutex // owns lanes
	lanes map[string]*askLane
}

// askLane is what is asked of one account.
type askLane struct {
	queue   []question
	about   map[string]struct{} // ids of what waits or is under way
	active  int
	failed  int // questions in a row that had no answer
	pause   time.Duration
	probeAt time.Time // while the circuit is open: when the next one is asked
}

// question is one to a provider, with what follows from its answer.
type question struct {
	about string
	do    func(may bool)
	begun *sync.WaitGroup
}

// NewLanes returns lanes that wait for nothing.
func NewLanes(now func() time.Time) *Lanes {
	return &Lanes{now: now, lanes: map[string]*askLane{}}
}

// lane returns an account's. The caller holds mu.
func (q *Lanes) lane(account string) *askLane {
	l := q.lanes[account]
	if l == nil {
		l = &askLane{about: map[string]struct{}{}}
		q.lanes[account] = l
	}
	return l
}

// Submit hands a question about something to an account's lane, where that takes it now,
// and counts it among what was begun until it is done. do is told whether the account may
// be asked. What is in the lane already, and was leased again meanwhile, is not asked about
// twice. It never blocks.
func (q *Lanes) Submit(account, about string, begun *sync.WaitGroup, do func(may bool)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(account)
	if _, known := l.about[about]; known || len(l.queue) >= askQueue {
		return
	}
	l.about[about] = struct{}{}
	begun.Add(1)
	l.queue = append(l.queue, question{about, do, begun})
	if l.active < askWidth {
		l.active++
		q.workers.Go(func() { q.work(account, l) })
	}
}

// open reports whether the account does not answer.
func (l *askLane) open() bool { return l.failed >= askFailures }

// work does what waits in a lane until nothing does.
func (q *Lanes) work(account string, l *askLane) {
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
		may := q.may(l)
		q.mu.Unlock()
		next.do(may)
		q.mu.Lock()
		delete(l.about, next.about)
		q.mu.Unlock()
		next.begun.Done()
	}
}

// may reports whether an account is asked now: always while it answers. The caller holds
// mu.
func (q *Lanes) may(l *askLane) bool {
	if !l.open() {
		return true
	}
	now := q.now()
	if now.Before(l.probeAt) {
		return false
	}
	l.probeAt = now.Add(l.pause) // this one is it
	return true
}

// Heard notes whether an account answered a question. What became of calls says nothing:
// where those alone are not answered, questions are all there is.
func (q *Lanes) Heard(account string, answered bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[account]
	switch {
	case answered && l == nil:
	case answered:
		if l.failed, l.pause = 0, 0; l.active == 0 {
			delete(q.lanes, account)
		}
	default:
		l = q.lane(account)
		if l.failed++; l.open() {
			l.pause = min(max(2*l.pause, askPause), maxAskPause)
			l.probeAt = q.now().Add(l.pause)
		}
	}
}

// Silent counts the accounts that do not answer.
func (q *Lanes) Silent() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lanes {
		if l.open() {
			n++
		}
	}
	return n
}

// Drain waits for what is under way.
func (q *Lanes) Drain() { q.workers.Wait() }
