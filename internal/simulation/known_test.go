package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// known are the rules that the service is known to break, each with the reason. Worlds
// that break them are counted and do not fail, unless -strict is given. A rule is
// taken out with the defect; the list is to be empty.
var known = map[string]string{
	chargedOnce:   "a stalled node's call is not fenced, and leases compare the clocks of nodes",
	chargesAgree:  "nobody asks about a payment that ended while its provider was away",
	checkIsClean:  "a batch whose outcome is unknown is run again, change by change",
	comesToRest:   "after a mismatch, a timeout and a mismatch a payment is asked about for ever, every 30 seconds",
	disputesAgree: "a ruling without an opening, and a dispute before the payment is completed, are ignored",
	doneOnce:      "a change whose commit's reply is lost is decided again",
	eventsArrived: "a batch whose outcome is unknown is run again, change by change",
	lifeGoesOn:    "a batch whose outcome is unknown is run again, change by change",
	answersTrue:   "a change whose commit's reply is lost is decided again, and told that it cannot be done",
	merchantsPart: "a refund after the reserve's release takes the reserve's part from the merchant twice",
	paymentsEnd:   "after a mismatch, a timeout and a mismatch a payment never ends",
}

// findings gathers which worlds broke which rules.
type findings struct {
	mu    sync.Mutex // owns seeds
	seeds map[string][]uint64
}

// news notes what was found in a world, and returns what is not known.
func (r result) news(all *findings) (list []finding) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, f := range r.findings {
		if seeds := all.seeds[f.rule]; !slices.Contains(seeds, r.seed) {
			all.seeds[f.rule] = append(seeds, r.seed)
		}
		if known[f.rule] == "" || *strict {
			list = append(list, f)
		}
	}
	return list
}

// String lists the rules that were broken.
func (f *findings) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, rule := range slices.Sorted(maps.Keys(f.seeds)) {
		seeds := f.seeds[rule]
		slices.Sort(seeds)
		fmt.Fprintf(&b, "broken in %d worlds: %s: %v\n", len(seeds), rule, seeds[:min(len(seeds), 8)])
		if why := known[rule]; why != "" {
			fmt.Fprintf(&b, "           known: %s\n", why)
		}
	}
	return b.String()
}
