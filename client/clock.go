package client

import (
	"context"
	"net/http"
	"time"
)

// Clock is the test clock of the merchant's sandbox. It never goes back.
type Clock struct {
	Now            time.Time `json:"now"`            // the time in the sandbox
	AdvanceSeconds int64     `json:"advanceSeconds"` // how far it is ahead of the service's clock
}

// Clock reads the sandbox's test clock. Errors: production_key_refused.
func (c *Client) Clock(ctx context.Context) (Clock, error) {
	var clock Clock
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/sandbox/clock"}, &clock)
	return clock, err
}

// AdvanceClock moves the sandbox's test clock forward. What comes due by it, such
// as a payment's expiry or a settlement's closing, happens moments later.
//
// Errors: invalid_request unless the time is above zero and the clock stays
// within five years, production_key_refused.
func (c *Client) AdvanceClock(ctx context.Context, by time.Duration) (Clock, error) {
	var clock Clock
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/sandbox/clock", body: map[string]string{"advance": by.String()}}, &clock)
	return clock, err
}
