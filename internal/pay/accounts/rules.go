package accounts

import "time"

// RoutingRules is one stored version of the operator's routing rules. Each change is a new version,
// and the newest one applies. internal/pay/routing reads them.
type RoutingRules struct {
	Version int64  // from 1
	Doc     []byte // JSON; none if the operator withdrew the rules
	At      time.Time
}
