// Package cascade takes payments through the providers that may take them, one call at a time, each between two
// commits; it asks what became of each, and ends those whose time is over. Which providers may is planned by
// acquiring, and what follows from an answer is decided by pay.
package cascade

import (
	"context"
	"sync"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// Cascade takes payments through the providers that may take them, and finds out what became of
// each. It is safe for use by many goroutines.
type Cascade struct {
	*base.Base
	// Play is what a create call goes on with where its provider says that more is played (pay.Outcome).
	// It is set before the first payment.
	Play func(context.Context, pay.Payment, view.Cause) (pay.Payment, error)

	providers  *acquiring.Providers
	catalog    *acquiring.Catalog
	lanes      *acquiring.Lanes // what providers are asked about payments, with bounds of their own
	background sync.WaitGroup
	closing    chan struct{} // closed by Close
}

// NewCascade returns a cascade through accounts at providers.
func NewCascade(b *base.Base, providers *acquiring.Providers, catalog *acquiring.Catalog) *Cascade {
	return &Cascade{Base: b, providers: providers, catalog: catalog, lanes: acquiring.NewLanes(b.Now), closing: make(chan struct{})}
}

// Close ends what goes on in the background, and waits for the questions that are under way.
func (c *Cascade) Close() {
	close(c.closing)
	c.background.Wait()
	c.lanes.Drain()
}

// Silent counts the provider accounts that do not answer questions about payments.
func (c *Cascade) Silent() int { return c.lanes.Silent() }
