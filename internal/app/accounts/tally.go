package accounts

import (
	"maps"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// ProviderCalls is the key under which charges are counted.
type ProviderCalls struct {
	Account string
	Rail    string // catalog key
	Outcome pay.OutcomeKind
}

// CallCount is the number of charges and their total duration.
type CallCount struct {
	N    int64
	Took time.Duration
}

// tally counts this node's calls to the operator's accounts since it started.
type tally struct {
	mu       sync.Mutex // guards the fields below
	calls    map[ProviderCalls]CallCount
	unmapped map[string]int64 // by account: status words without a meaning here
	words    map[string]bool  // by account and word: already logged
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

// maxWords limits the words that are logged: a provider may send any.
const maxWords = 1000

// strange counts an unknown status word, and reports whether it is new. Each word is logged once
// for each account. It is not a label of a metric, because the number of words has no limit.
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

// ProviderCalls counts the charges that this node has made at the operator's accounts since it
// started.
func (ps *Providers) ProviderCalls() map[ProviderCalls]CallCount {
	ps.tally.mu.Lock()
	defer ps.tally.mu.Unlock()
	return maps.Clone(ps.tally.calls)
}

// UnmappedStatuses counts, by account, the providers' status words that have no meaning here and
// were read as unknown. Every account starts at 0, so that an alert on an increase sees the first
// one.
func (ps *Providers) UnmappedStatuses() map[string]int64 {
	counts := map[string]int64{}
	for account := range ps.connectors.Load().byID {
		counts[account] = 0
	}
	ps.tally.mu.Lock()
	defer ps.tally.mu.Unlock()
	maps.Copy(counts, ps.tally.unmapped)
	return counts
}
