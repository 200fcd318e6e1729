package acquirer

import "time"

// RoutingRules is a version of the operator's rules for the cascade, as it is kept.
// Each change is a new one, and the newest counts. What they say is internal/routing's.
type RoutingRules struct {
	Version int64  // from 1
	Doc     []byte // JSON; none where the rules were taken back
	At      time.Time
}
