package store

import "github.com/cascadapay/cascada/internal/store/engine"

// gone notes that the database does not answer: commits are refused at once until it does.
func (co *core) gone(cause error) {
	if !co.away.CompareAndSwap(false, true) {
		return
	}
	co.b.Log.Error("the database is away: requests that write get 503", "error", cause)
	co.gate.RLock()
	defer co.gate.RUnlock()
	if !co.closed {
		co.group.Go(co.watch)
	}
}

// back notes that the database accepted a commit. It is back if it has room for a larger one too: on a disk that is almost
// full, it would be away again at once.
func (co *core) back() {
	if !co.away.Load() || !co.looking.TryLock() { // another goroutine is asking the database
		return
	}
	defer co.looking.Unlock()
	if co.b.DB.HasRoom(co.life) == nil && co.away.CompareAndSwap(true, false) {
		co.b.Log.Info("the database is back")
	}
}

// watch tries small commits until the database is back.
//
// The database may fail again while a try still runs, and two watches would share the prober: a second
// watch leaves the work to the first, which looks again once watching is cleared.
func (co *core) watch() {
	for co.away.Load() && co.watching.CompareAndSwap(false, true) {
		open := true
		for pause := minFindPause; open && co.away.Load(); pause = min(2*pause, maxFindPause) {
			if open = engine.Rest(pause, co.closing); open {
				co.probe()
			}
		}
		co.watching.Store(false)
		if !open {
			return
		}
	}
}

// probe tries once.
func (co *core) probe() {
	if _, err := co.prober.claim(co.life); err == nil {
		co.back()
	}
}
