package pay

import (
	"slices"
	"time"
)

// docket is a payment with its claims while news is applied to them: what several
// steps write becomes one Change.
type docket struct {
	from    Payment
	p       Payment
	moved   bool    // the payment is written
	claims  []Claim // as they stand
	stored  map[string]int64
	touched []string
	change  Change
	now     time.Time
}

func newDocket(p Payment, claims []Claim, now time.Time) *docket {
	d := &docket{from: p, p: p, claims: slices.Clone(claims), stored: map[string]int64{}, now: now}
	for _, c := range claims {
		d.stored[c.ID] = c.Version
	}
	return d
}

// add takes over what a step decided.
func (d *docket) add(c Change) {
	for _, next := range c.Payments { // one at most
		d.p, d.moved = next, true
	}
	for _, claim := range c.Claims {
		d.put(claim)
	}
	d.change.Transfers = append(d.change.Transfers, c.Transfers...)
	d.change.Events = append(d.change.Events, c.Events...)
	d.change.Receipts = append(d.change.Receipts, c.Receipts...)
}

// put takes over a claim that was decided on.
func (d *docket) put(c Claim) {
	if at := d.index(c.ID); at >= 0 {
		d.claims[at] = c
	} else {
		d.claims = append(d.claims, c)
	}
	if !slices.Contains(d.touched, c.ID) {
		d.touched = append(d.touched, c.ID)
	}
}

func (d *docket) index(claim string) int {
	return slices.IndexFunc(d.claims, func(c Claim) bool { return c.ID == claim })
}

// done returns one Change of all steps: each row is its stored version's next.
func (d *docket) done() (Payment, Change) {
	change := d.change
	if d.moved {
		d.p = d.p.written(d.from, d.now)
		change.Payments = []Payment{d.p}
	}
	for _, id := range d.touched {
		c := d.claims[d.index(id)]
		c.Version = d.stored[id] + 1
		change.Claims = append(change.Claims, c)
	}
	return d.p, change
}
