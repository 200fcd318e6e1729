package acquiring

import (
	"maps"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// ProviderCalls names the charges that are counted together.
type ProviderCalls struct {
	Account string
	Rail    string // catalog key
	Outcome pay.OutcomeKind
}

// CallCount is how many charges there were, and how long they took in all.
type CallCount struct {
	N    int64
	Took time.Duration
}

// tally counts what this node asked of the operator's accounts since it started.
type tally struct {
	mu       sync.Mutex // owns what follows
	calls    map[ProviderCalls]CallCount
	unmapped map[string]int64 // by account: status words that mean nothing here
	words    map[string]bool  // by account and word: what the log was told of
}

func newTally() *tally {
	return &tally{calls: map[ProviderCalls]CallCount{}, unmapped: map[string]int64{}, words: map[string]bool{}}
}

func (t *tally) charged(c ProviderCalls, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.calls[c]
	t.calls[c] = CallCount{n.N + 1, n.Took + took}
}

// maxWords bounds the words that the log is told of: a provider may send any.
const maxWords = 1000

// strange counts a word, and reports whether it is new. A word itself is told to the
// log, once for each account: there is no end of what a provider may send, and a metric
// must have one.
func (t *tally) strange(account, word string) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unmapped[account]++
	if t.words[account+" "+word] || len(t.words) >= maxWords {
		return false
	}
	t.words[account+" "+word] = true
	return true
}

// ProviderCalls counts the charges that this node has made at the operator's
// accounts since it started.
func (ps *Providers) ProviderCalls() map[ProviderCalls]CallCount {
	ps.tally.mu.Lock()
	defer ps.tally.mu.Unlock()
	return maps.Clone(ps.tally.calls)
}

// UnmappedStatuses counts, by account, the status words of providers that have no
// meaning here and were read as unknown. Every account counts from 0, or an alert that
// looks for more than before would miss the first one.
func (ps *Providers) UnmappedStatuses() map[string]int64 {
	counts := map[string]int64{}
	for account := range ps.Desks.Load().ByID {
		counts[account] = 0
	}
	ps.tally.mu.Lock()
	defer ps.tally.mu.Unlock()
	maps.Copy(counts, ps.tally.unmapped)
	return counts
}
