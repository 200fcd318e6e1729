package client

import (
	"context"
	"net/http"
	"strconv"
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

// AdvanceClock moves the sandbox's test clock forward. Everything that becomes due, such as
// a payment's expiry or a settlement's closing, happens moments later.
//
// Errors: invalid_request unless the time is above zero and the clock stays within five
// years, production_key_refused.
func (c *Client) AdvanceClock(ctx context.Context, by time.Duration) (Clock, error) {
	var clock Clock
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/sandbox/clock", body: map[string]string{"advance": by.String()}}, &clock)
	return clock, err
}

// Sandbox is the settings of the merchant's sandbox.
type Sandbox struct {
	// Strict: the sandbox refuses what production refuses, and sends a card's shopper to a
	// page first.
	Strict bool `json:"strict"`
}

// Sandbox reads the sandbox's settings. Errors: production_key_refused.
func (c *Client) Sandbox(ctx context.Context) (Sandbox, error) {
	var s Sandbox
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/sandbox/settings"}, &s)
	return s, err
}

// SetSandbox changes the sandbox's settings, for all shops of the merchant. Errors:
// production_key_refused.
func (c *Client) SetSandbox(ctx context.Context, s Sandbox) (Sandbox, error) {
	_, err := c.do(ctx, request{method: http.MethodPatch, path: "/sandbox/settings", body: s}, &s)
	return s, err
}

// yesOrNo is a header's value, "" for none.
func yesOrNo(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}
