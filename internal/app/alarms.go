package app

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/work"
)

// Loops that are woken when something comes due: those of store.NextDue's kinds, the
// two of payments being one, and the one that opens settlements.
const (
	paymentsLoop      = "payments"
	deliveriesLoop    = "deliveries"
	fanOutsLoop       = "fan-outs"
	claimsLoop        = "claims"
	walletsLoop       = "wallets"
	withdrawalsLoop   = "withdrawals"
	verificationsLoop = "verifications"
	settlementsLoop   = "settlements"
	receiptsLoop      = "settlement receipts"
	reservesLoop      = "reserve releases"
	sealsLoop         = "seals"
	mailsLoop         = "mails"
	checkoutsLoop     = "checkouts"
	replaysLoop       = "replays"
	openingLoop       = "opening settlements"
)

const (
	// usualLook is how often the database is looked at for what others wrote.
	usualLook = time.Second
	// longRest is the longest pause of a loop that is told when it has something to do.
	longRest = time.Minute
	// openingPause gathers the first money of a merchant before a settlement is opened.
	openingPause = 2 * time.Second
)

// atOnce is before every time.
var atOnce = time.UnixMicro(1)

// alarms are those of the loops, by name. The map is never changed.
type alarms map[string]*work.Alarm

func newAlarms() alarms {
	all := alarms{}
	for _, name := range []string{
		paymentsLoop, deliveriesLoop, claimsLoop, walletsLoop, withdrawalsLoop, verificationsLoop, settlementsLoop,
		receiptsLoop, reservesLoop, sealsLoop, openingLoop, mailsLoop, fanOutsLoop, checkoutsLoop, replaysLoop,
	} {
		all[name] = work.NewAlarm()
	}
	return all
}

// loopOf names the loop of a kind of due work.
func loopOf(kind string) string {
	switch kind {
	case "pending payments", "processing payments", "ended payments":
		return paymentsLoop
	case "parked":
		return deliveriesLoop
	}
	return kind
}

// wrote sets the alarms for what a change made due.
func (a *Base) wrote(c *pay.Change) {
	due := func(loop string, scope pay.Scope, at time.Time) {
		if at.IsZero() {
			return
		}
		a.alarms[loop].Set(at.Add(-a.advance(scope)))
	}
	for i := range c.Payments {
		due(paymentsLoop, c.Payments[i].Scope, c.Payments[i].DueAt)
	}
	for i := range c.Claims {
		due(claimsLoop, c.Claims[i].Scope, c.Claims[i].DueAt)
	}
	for i := range c.Deliveries {
		due(deliveriesLoop, c.Deliveries[i].Scope, c.Deliveries[i].DueAt)
	}
	for i := range c.Subscriptions {
		due(deliveriesLoop, c.Subscriptions[i].Scope, c.Subscriptions[i].Circuit.ProbeAt)
	}
	for i := range c.Wallets {
		due(walletsLoop, c.Wallets[i].Scope, c.Wallets[i].DueAt)
	}
	for i := range c.Withdrawals {
		due(withdrawalsLoop, c.Withdrawals[i].Scope, c.Withdrawals[i].DueAt)
	}
	for i := range c.Verifications {
		due(verificationsLoop, c.Verifications[i].Scope, c.Verifications[i].DueAt)
	}
	for i := range c.Settlements {
		loop := receiptsLoop
		if c.Settlements[i].Status == pay.BatchOpen {
			loop = settlementsLoop
		}
		due(loop, c.Settlements[i].Scope, c.Settlements[i].DueAt)
	}
	for i := range c.Reserves {
		due(reservesLoop, c.Reserves[i].Scope, c.Reserves[i].DueAt)
	}
	for i := range c.Mails {
		due(mailsLoop, c.Mails[i].Scope, c.Mails[i].DueAt)
	}
	for i := range c.Sessions {
		due(checkoutsLoop, c.Sessions[i].Scope, c.Sessions[i].DueAt)
	}
	for i := range c.Replays {
		due(replaysLoop, c.Replays[i].Scope, c.Replays[i].DueAt)
	}
	now := a.Now()
	if len(c.Events) > 0 { // whose deliveries are leased to the node that wrote them
		a.alarms[deliveriesLoop].Set(now.Add(dispatchLease))
	}
	if len(c.Transfers) > 0 {
		a.alarms[openingLoop].Set(now.Add(openingPause))
	}
	if len(c.Transfers) > 0 || len(c.Audit) > 0 {
		a.alarms[sealsLoop].Set(now.Add(sealEvery))
	}
}

// wake makes all loops look at once.
func (a *Base) wake() {
	for _, alarm := range a.alarms {
		alarm.Set(atOnce)
	}
}

// lookAround sets the alarms for what comes due, whoever wrote it.
func (a *Base) lookAround(ctx context.Context) error {
	due, err := a.due(ctx)
	for loop, at := range due {
		a.alarms[loop].Set(at)
		a.alarms[loop].Check()
	}
	return err
}

// due returns when each loop has something to do, as far as the database knows.
func (a *Base) due(ctx context.Context) (map[string]time.Time, error) {
	list, err := a.store.NextDue(ctx)
	next := make(map[string]time.Time, len(list))
	for kind, at := range list {
		if kind == sealsLoop {
			at = at.Add(sealEvery)
		}
		if loop := loopOf(kind); next[loop].IsZero() || at.Before(next[loop]) {
			next[loop] = at
		}
	}
	return next, err
}

// next tells a loop when it has something to do.
func (a *Base) next(loop string) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		due, err := a.due(ctx)
		return due[loop], err
	}
}
