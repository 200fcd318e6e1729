package delivery

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// fanOutBatch is how many events are taken at a time, fanOutShops of how many shops at once.
	fanOutBatch = 64
	fanOutShops = 8
	fanOutLease = 30 * time.Second
	// fanOutRest is how often the time of a step passes before the next one, while other merchants
	// write: they wait for a step a fifth of the time at most, whatever one of them does.
	fanOutRest = 4
	// longestRest bounds that: a database that was slow once is not waited for.
	longestRest = time.Second
)

// FanOut makes the deliveries of wide events, a few at a time. A shop's events come in their order;
// shops take turns. It returns how many events it took.
func (w *Webhooks) FanOut(ctx context.Context) (int, error) {
	now := w.Now()
	until := now.Add(fanOutLease)
	list, err := w.Store.Deliveries.LeaseFanOuts(ctx, now, until, fanOutBatch)
	shops := map[string][]hook.FanOut{}
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

// fanOutInOrder makes all deliveries of a shop's events. What it leaves comes again when its lease ends.
func (w *Webhooks) fanOutInOrder(ctx context.Context, events []hook.FanOut, until time.Time) error {
	for _, f := range events {
		for over := false; !over; {
			if !w.Now().Before(until) { // it may be another node's
				return nil
			}
			next, err := w.Store.Deliveries.NextStep(ctx, f)
			if err != nil {
				return err
			}
			err = w.step(ctx, next)
			if errors.Is(err, store.ErrStale) { // somebody else has it
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

// step commits one, and rests where that is called for. Shops take turns then.
func (w *Webhooks) step(ctx context.Context, next hook.FanOut) error {
	do := func() error { return w.Store.Commit(ctx, pay.Change{FanOuts: []hook.FanOut{next}}) }
	if !w.Store.Deliveries.InCompany() {
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
	rest := time.NewTimer(min(fanOutRest*w.Now().Sub(began), longestRest))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
	}
	return err
}
