package webhooks

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// fanOutBatch is how many events are leased at a time; fanOutShops how many shops are served at
	// once.
	fanOutBatch = 64
	fanOutShops = 8
	// fanOutRest is the pause after a step, in multiples of the step's duration, while other
	// merchants write. So they wait for steps at most a fifth of the time.
	fanOutRest = 4
)

// FanOut makes the deliveries of events with many endpoints, a few at a time. A shop's events keep
// their order; shops take turns. It returns how many events it leased.
func (w *Webhooks) FanOut(ctx context.Context) (int, error) {
	now := w.Now()
	until := now.Add(webhooks.FanOutLease)
	list, err := w.Store.Deliveries().LeaseFanOuts(ctx, now, until, fanOutBatch)
	shops := map[string][]webhooks.FanOut{}
	for _, f := range list {
		shops[f.Shop] = append(shops[f.Shop], f)
	}
	var all errgroup.Group
	all.SetLimit(fanOutShops)
	for _, events := range shops {
		all.Go(func() error { return w.fanOutInOrder(ctx, events, until) })
	}
	return len(list), errors.Join(err, all.Wait())
}

// fanOutInOrder makes the deliveries of a shop's events. Those that it leaves come again when their
// lease ends.
func (w *Webhooks) fanOutInOrder(ctx context.Context, events []webhooks.FanOut, until time.Time) error {
	for _, f := range events {
		for over := false; !over; {
			if !w.Now().Before(until) { // another node may have it now
				return nil
			}
			next, err := w.Store.Deliveries().NextStep(ctx, f)
			if err != nil {
				return err
			}
			err = w.step(ctx, next)
			if errors.Is(err, store.ErrStale) { // another node has it
				break
			}
			if err != nil {
				return err
			}
			f, over = next, next.Over
			f.After = next.Through
		}
	}
	return nil
}

// step commits one step, and rests if necessary. Shops take turns then.
func (w *Webhooks) step(ctx context.Context, next webhooks.FanOut) error {
	do := func() error { return w.Store.Commit(ctx, pay.Change{FanOuts: []webhooks.FanOut{next}}) }
	if !w.Store.Deliveries().InCompany() {
		return do()
	}
	select {
	case w.steps <- struct{}{}:
		defer func() { <-w.steps }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := w.Now()
	err := do()
	base.Rest(ctx, fanOutRest*w.Now().Sub(began))
	return err
}
