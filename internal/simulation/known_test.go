package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// defectKnown is a known way in which the service breaks a rule.
type defectKnown struct {
	rule string
	text *regexp.Regexp // of the finding
	why  string
}

// known lists the known defects. Worlds that find only these are counted and do not fail,
// unless -strict is given. Remove a line when its defect is fixed; the list should be
// empty.
var known = []defectKnown{}

// knownAs returns why a finding is known, "" if it is new.
func (f finding) knownAs() string {
	first, _, _ := strings.Cut(f.text, "\n")
	for _, k := range known {
		if k.rule == f.rule && k.text.MatchString(first) {
			return k.why
		}
	}
	return ""
}

// findings records which worlds broke which rules.
type findings struct {
	mu    sync.Mutex // guards seeds
	seeds map[string][]uint64
}

// news records a world's findings, and returns the new ones.
func (r result) news(all *findings) (list []finding) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, f := range r.findings {
		rule := f.rule
		if why := f.knownAs(); why != "" {
			rule += " (known: " + why + ")"
		}
		if seeds := all.seeds[rule]; !slices.Contains(seeds, r.seed) {
			all.seeds[rule] = append(seeds, r.seed)
		}
		if f.knownAs() == "" || *strict {
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
	}
	return b.String()
}
