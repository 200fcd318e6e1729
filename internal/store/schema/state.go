package schema

import "github.com/cascadapay/cascada/internal/store/engine"

// State is which migrations a database has.
type State struct {
	Known   int      // the newest that the program knows
	Done    int      // the newest that was done
	Waiting []string // those that wait, such as for an older program to go
}

// State reads which migrations a database has.
func (known Known) State(query engine.QueryFunc) (s State, err error) {
	done, err := readVersions(query)
	s.Known = len(known)
	for n := range done {
		s.Done = max(s.Done, n)
	}
	for _, m := range done.missing(known) {
		s.Waiting = append(s.Waiting, m.String())
	}
	return s, err
}
