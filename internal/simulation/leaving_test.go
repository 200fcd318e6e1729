package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// The invariants of merchants that leave.
const (
	nothingBegins  = "nothing new of a closed merchant begins"
	leaversAreDone = "a merchant that leaves is paid out"
)

// closing is a time in which a merchant is closed.
type closing struct {
	from  time.Time // the operator knows that it is closed
	until time.Time // the operator begins to open it again; zero: it stays closed
}

// obeyed is when every node obeys a closing: one that was paused may still commit what it had decided.
const obeyed = 8 * time.Minute

// leavers closes a merchant while payments, refunds, disputes and payouts of it are open, often opens it again, and closes it once more. Nodes look at it
// meanwhile, two at once now and then.
func (w *world) leavers(chance *rand.Rand) {
	of := w.shops[chance.IntN(2)].by.Merchant
	for round := range 3 {
		time.Sleep(time.Duration(chance.Int64N(int64(w.span) / 3)))
		w.turns.turn(fmt.Sprint("the operator closes ", of, " ", round))
		if w.healing() {
			return
		}
		if !w.moves(of, fmt.Sprint("leaves close ", round), func(ctx context.Context, n *node) error {
			_, err := n.app.Leaving.Close(ctx, operator, of, "they asked us to")
			return err
		}) {
			return
		}
		w.count("merchants closed")
		w.closings[of] = append(w.closings[of], closing{from: time.Now()})
		for look := range 2 + chance.IntN(3) {
			time.Sleep(time.Duration(chance.Int64N(int64(15 * time.Minute))))
			for twin := range 1 + chance.IntN(2) {
				w.aside.Go(func() {
					_, _ = w.ask(fmt.Sprint("leaves look ", round, look, twin), 5*time.Minute, func(ctx context.Context, n *node) error { return n.app.Leaving.Step(ctx) })
				})
			}
		}
		if chance.IntN(3) == 0 {
			return
		}
		time.Sleep(time.Duration(chance.Int64N(int64(time.Hour))))
		w.turns.turn(fmt.Sprint("the operator opens ", of, " ", round))
		w.closings[of][round].until = time.Now()
		if !w.moves(of, fmt.Sprint("leaves open ", round), func(ctx context.Context, n *node) error {
			_, err := n.app.Onboarding.Reopen(ctx, operator, of)
			return err
		}) {
			return
		}
		w.count("merchants opened again")
	}
}

// moves repeats a command about a merchant until it is done, also by an earlier try.
func (w *world) moves(merchant, name string, do func(context.Context, *node) error) bool {
	for try := range tries {
		err, heard := w.ask(fmt.Sprint(name, " ", try), patience, do)
		refused, is := errors.AsType[*problem.Error](err)
		if heard && (err == nil || is && refused.Code == problem.ConflictState) {
			return true
		}
		time.Sleep(time.Minute)
		w.turns.turn(fmt.Sprint("again ", name, " ", try))
		if w.over {
			return false
		}
	}
	w.find(operatorWorks, "", "%s of %s is not done", name, merchant)
	return false
}

// began checks the first version of a payment or of a checkout.
func (w *world) began(id, merchant string) {
	now := time.Now()
	w.madeAt[id] = now
	for _, c := range w.closings[merchant] {
		if now.After(c.from.Add(obeyed)) && (c.until.IsZero() || now.Before(c.until)) {
			w.find(nothingBegins, id, "%s of %s begins %s after it was closed", id, merchant, now.Sub(c.from))
		}
	}
}

// paidBecause reports whether a lane makes withdrawals by itself because a merchant leaves.
func paidBecause(lane string) bool {
	return lane == "merchants that leave" || strings.HasPrefix(lane, "leaves ")
}

// checkLeavers finds merchants that are closed in the end and have money that nothing keeps. It makes the last payouts, so it is the last check.
func (w *world) checkLeavers() {
	ctx := lane(context.Background(), "leaves end")
	for _, of := range slices.Sorted(maps.Keys(w.closings)) {
		m, err := w.eye.Merchants().Get(ctx, of)
		if err != nil {
			w.find(leaversAreDone, "", "%v", err)
			continue
		}
		if !m.Leaving.Closed() {
			continue
		}
		n := w.anyone()
		if err := n.app.Leaving.Step(ctx); err != nil {
			w.find(leaversAreDone, "", "%v", err)
		}
		r, err := n.app.Leaving.Rest(ctx, m, true)
		if err != nil {
			w.find(leaversAreDone, "", "%v", err)
			continue
		}
		w.count("merchants closed in the end")
		settled := r.Payments+r.Claims == 0 && r.Balances[ledger.Pending] == 0 && r.Balances[ledger.Frozen] == 0
		if r.Waits == "" && r.Balances[ledger.Available] != 0 || r.Waits == leaving.WaitsOpen && settled || r.Payments+r.Claims > 0 {
			w.find(leaversAreDone, "", "%s has %v, %d payments and %d claims, and waits for %q", of, r.Balances, r.Payments, r.Claims, r.Waits)
		}
	}
}

// paysBecause keeps which withdrawals are made because a merchant leaves.
func (w *world) paysBecause(lane string, change *pay.Change) {
	for _, out := range change.Withdrawals {
		if out.Version == 1 && paidBecause(lane) {
			w.payoffs[out.ID] = true
			w.count("balances of leavers paid out")
		}
	}
}
