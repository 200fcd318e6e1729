// Package settlements has the merchants' earnings: balances, movements, settlements, reserves, and
// receipts.
package settlements

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

const (
	// collectLimit is how many transfers one Change of a settlement collects: few enough not to delay
	// payments that wait for the same committer.
	collectLimit = 1000
	// settleBatch is how many settlements or reserves are leased at a time.
	settleBatch = 20
	openBatch   = 500
	// settleSlack is how far back the next settlement looks for transfers that have an earlier time
	// but were written later. It is much longer than any commit takes. In a sandbox whose clock was
	// moved, all transfers are searched: the clock may have jumped past a transfer that was being
	// written.
	settleSlack = 24 * time.Hour
)

// OpenSettlements opens the first settlement of merchants who have earned something. Each later one
// is opened when the one before is closed.
func (se *Settlements) OpenSettlements(ctx context.Context) (int, error) {
	list, err := se.Store.Settlements().Unopened(ctx, openBatch)
	if err != nil {
		return 0, err
	}
	opened := 0
	for _, m := range list {
		err := se.Store.Commit(ctx, pay.OpenSettlement(m.Scope, m.Start, se.TimeOf(m.Scope)))
		switch {
		case err == nil:
			opened++
		case !errors.Is(err, store.ErrDuplicate): // another node opened it
			return opened, fmt.Errorf("open a settlement of %s: %w", m.Merchant, err)
		}
	}
	return opened, nil
}

// CloseSettlements looks at due open settlements and closes those whose lines are due. Doing
// one twice is harmless.
func (se *Settlements) CloseSettlements(ctx context.Context) (int, error) {
	now := se.Now()
	due, err := se.Store.Settlements().Lease(ctx, now, now.Add(pay.SettleLease), settleBatch)
	if err != nil {
		return 0, err
	}
	for _, s := range due {
		if err := se.closeSettlement(ctx, s); err != nil && ctx.Err() == nil {
			se.Quiet.ComesAgain(ctx, s.Live, "a settlement was not closed; it is retried later", err, "settlement", s.ID)
		}
	}
	return len(due), nil
}

// closeSettlement looks at an open settlement, and collects transfers that are due, in as
// many Changes as necessary. If another node has it, this node stops.
func (se *Settlements) closeSettlement(ctx context.Context, s pay.Settlement) error {
	merchant, err := se.Store.Merchants().Get(ctx, s.Merchant)
	if err != nil {
		return err
	}
	now := se.TimeOf(s.Scope)
	terms, err := se.plans.Terms(ctx, s.Scope, merchant)
	if err != nil {
		return err
	}
	first, err := se.Store.Settlements().FirstDue(ctx, s.Scope, se.lookFrom(s, merchant), terms.Delay)
	if err != nil {
		return err
	}
	s, closing := s.Advance(first, terms.Delay, terms.Weekdays, now)
	if !closing {
		return base.UnlessStale(se.Store.Commit(ctx, pay.Change{Settlements: []pay.Settlement{s}}))
	}
	for {
		next, done, err := se.collectNext(ctx, s, merchant)
		if err != nil || done {
			return base.UnlessStale(err)
		}
		s = next
	}
}

// lookFrom is the time before which a settlement need not look for transfers that are not
// collected.
func (se *Settlements) lookFrom(s pay.Settlement, m merchants.Merchant) time.Time {
	if se.Moved(s.Scope) || s.Number == 1 {
		return time.Time{}
	}
	return s.Since.Add(-se.plans.Book().LongestDelay(m) - settleSlack)
}

// collectNext writes the next lines of a settlement that is closing. done: these were the last.
func (se *Settlements) collectNext(ctx context.Context, s pay.Settlement, m merchants.Merchant) (next pay.Settlement, done bool, err error) {
	list, at, err := se.unsettled(ctx, s, m)
	if err != nil {
		return s, false, err
	}
	gathered, lines := s.Gather(list, at)
	err = base.Again(func() error {
		change := pay.Change{}
		if next, change, err = se.gathered(ctx, gathered, lines); err != nil {
			return err
		}
		err := se.Commit(ctx, change, view.Cause{})
		if !errors.Is(err, store.ErrStale) {
			return err
		}
		// A day's reserve was released at the same time, or another node closes the settlement.
		read, readErr := se.Store.Settlements().Any(ctx, s.ID)
		if readErr != nil {
			return readErr
		}
		if read.Version != s.Version {
			return base.ErrDoneByOthers
		}
		return err
	})
	return next, at.Done(), err
}

// gathered decides what follows for a settlement with the lines that it has collected.
func (se *Settlements) gathered(ctx context.Context, s pay.Settlement, lines []pay.SettlementLine) (pay.Settlement, pay.Change, error) {
	held, err := se.reservesOf(ctx, s.Scope, lines)
	if err != nil {
		return s, pay.Change{}, err
	}
	now := se.TimeOf(s.Scope)
	if !s.At.Done() {
		next, change := s.Continue(lines, held, now.Add(pay.SettleLease), now)
		return next, change, nil
	}
	if s.Lines == 0 {
		return s, s.Rest(lines, held, now), nil
	}
	to, err := base.AudienceOf(ctx, se.Base, s.Merchant, s)
	if err != nil {
		return s, pay.Change{}, err
	}
	have, err := se.Store.Books().Balances(ctx, s.Scope)
	if err != nil {
		return s, pay.Change{}, err
	}
	next, change := s.Close(lines, held, have, to, now)
	return next, change, nil
}

// unsettled reads the next transfers that the settlement collects, over all kinds, and returns the
// new cursor.
func (se *Settlements) unsettled(ctx context.Context, s pay.Settlement, m merchants.Merchant) ([]pay.Unsettled, pay.Cursor, error) {
	at := s.At
	var list []pay.Unsettled
	for !at.Done() && len(list) < collectLimit {
		if at.At.IsZero() {
			at.At = se.lookFrom(s, m)
		}
		room := collectLimit - len(list)
		more, err := se.Store.Settlements().Unsettled(ctx, s.Scope, at, s.Matured, room)
		if err != nil {
			return nil, at, err
		}
		list = append(list, more...)
		if len(more) < room {
			at = at.Next()
			continue
		}
		at.At = more[len(more)-1].At
	}
	return list, at, nil
}

// reservesOf reads the reserves of the days of the lines.
func (se *Settlements) reservesOf(ctx context.Context, scope merchants.Scope, lines []pay.SettlementLine) (map[string]pay.Reserve, error) {
	var ids []string
	for _, l := range lines {
		if l.Day.IsZero() {
			continue
		}
		if id := pay.ReserveID(scope, l.Day); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return se.Store.Reserves().ByID(ctx, ids)
}

// ReleaseReserves releases the reserves of days that are due.
func (se *Settlements) ReleaseReserves(ctx context.Context) (int, error) {
	now := se.Now()
	due, err := se.Store.Reserves().Lease(ctx, now, now.Add(pay.SettleLease), settleBatch)
	if err != nil {
		return 0, err
	}
	for _, v := range due {
		if err := base.UnlessStale(se.release(ctx, v)); err != nil && ctx.Err() == nil {
			se.Quiet.ComesAgain(ctx, v.Live, "a reserve was not released; it is retried later", err, "reserve", v.ID)
		}
	}
	return len(due), nil
}

// release releases what is left of a day's reserve, in two Changes: the refunds from it are counted
// once no more can be taken.
func (se *Settlements) release(ctx context.Context, v pay.Reserve) error {
	if !v.Closed() {
		next, change := v.Close(se.TimeOf(v.Scope))
		if err := se.Store.Commit(ctx, change); err != nil {
			return err
		}
		v = next
	}
	merchant, err := se.Store.Merchants().Get(ctx, v.Merchant)
	if err != nil {
		return err
	}
	captured := v.ReleaseAt.AddDate(0, 0, -se.plans.Book().LongestReserve(merchant)-1) // the earliest payment of the day
	given, err := se.Store.Reserves().GivenBack(ctx, v, captured)
	if err != nil {
		return err
	}
	have, err := se.Store.Books().Balances(ctx, v.Scope)
	if err != nil {
		return err
	}
	return se.Store.Commit(ctx, v.Release(given, have, se.TimeOf(v.Scope)))
}
