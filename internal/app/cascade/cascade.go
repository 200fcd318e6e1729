// Package cascade takes payments through the providers, one call at a time, each between two
// commits. It queries open payments and ends those whose window is over. Package acquiring plans
// which accounts may be called, and package pay decides what follows from an answer.
package cascade

import (
	"context"
	"sync"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// Cascade takes payments through the providers, and queries their outcomes. It is safe for use by
// many goroutines.
type Cascade struct {
	*base.Base
	// Play continues a create call if its provider says that more is played (pay.Outcome). It is
	// set before the first payment.
	Play func(context.Context, pay.Payment, view.Cause) (pay.Payment, error)

	providers  *accounts.Providers
	catalog    *accounts.Catalog
	lanes      *accounts.Lanes // queries to providers about payments; they have limits of their own
	background sync.WaitGroup
	closing    chan struct{} // closed by Close
}

// New returns a cascade.
func New(b *base.Base, providers *accounts.Providers, catalog *accounts.Catalog) *Cascade {
	return &Cascade{Base: b, providers: providers, catalog: catalog, lanes: accounts.NewLanes(b.Now), closing: make(chan struct{})}
}

// Close ends background work, and waits for queries that are under way.
func (c *Cascade) Close() {
	close(c.closing)
	c.background.Wait()
	c.lanes.Drain()
}

// Silent counts the provider accounts that do not answer queries about payments.
func (c *Cascade) Silent() int { return c.lanes.Silent() }
