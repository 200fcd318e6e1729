package view

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Clock is the test clock of a merchant's sandbox (SBX-12).
type Clock struct {
	Now            Time  `json:"now" doc:"The time in the sandbox"`
	AdvanceSeconds int64 `json:"advanceSeconds" doc:"How far it is ahead of the service's clock, in whole seconds"`
}

// NewClock shows a clock and its time.
func NewClock(c merchants.Clock, now time.Time) Clock {
	return Clock{Time{now}, int64(c.Advance / time.Second)}
}
