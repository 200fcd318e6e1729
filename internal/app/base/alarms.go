package base

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

// The loops that are woken when something comes due: one for each kind of due work, whose name it has (payments
// and deliveries have more than one kind), and the one that opens settlements.
const (
	PaymentsLoop      = "payments"
	DeliveriesLoop    = "deliveries"
	FanOutsLoop       = "fan-outs"
	ClaimsLoop        = "claims"
	WalletsLoop       = "wallets"
	WithdrawalsLoop   = "withdrawals"
	VerificationsLoop = "verifications"
	SettlementsLoop   = "settlements"
	ReceiptsLoop      = "settlement receipts"
	ReservesLoop      = "reserve releases"
	SealsLoop         = store.SealWork
	MailsLoop         = "mails"
	CheckoutsLoop     = "checkouts"
	LinksLoop         = "payment links"
	ReplaysLoop       = "replays"
	FactsLoop         = store.FactsWork
	OpeningLoop       = "opening settlements"
)

const (
	// usualLook is how often the database is checked for what other nodes wrote.
	usualLook = time.Second
	// longRest is the longest pause of a loop that is woken when it has something to do.
	longRest = time.Minute
	// OpeningPause is the wait before a settlement is opened, to gather a merchant's first money.
	OpeningPause = 2 * time.Second
)

// AtOnce is earlier than every time.
var AtOnce = time.UnixMicro(1)

// alarms has the loops' alarms, by name. The map is never changed.
type alarms map[string]*work.Alarm

func newAlarms() alarms {
	all := alarms{OpeningLoop: work.NewAlarm()}
	for _, kind := range store.WorkKinds() {
		all[LoopOf(kind)] = work.NewAlarm()
	}
	return all
}

// LoopOf is the name of the loop for a kind of due work.
func LoopOf(kind string) string {
	switch kind {
	case store.PendingWork, store.ProcessingWork, store.EndedWork:
		return PaymentsLoop
	case store.ParkedWork:
		return DeliveriesLoop
	case store.LinkUsesWork:
		return LinksLoop
	}
	return kind
}

// SetAlarms sets the alarms for what a change makes due.
func (b *Base) SetAlarms(c *pay.Change) {
	due := func(loop string, scope merchants.Scope, at time.Time) {
		if at.IsZero() {
			return
		}
		b.Alarms[loop].Set(at.Add(-b.Advance(scope)))
	}
	for i := range c.Payments {
		due(PaymentsLoop, c.Payments[i].Scope, c.Payments[i].Work.DueAt)
	}
	for i := range c.Claims {
		due(ClaimsLoop, c.Claims[i].Scope, c.Claims[i].DueAt)
	}
	for i := range c.Deliveries {
		due(DeliveriesLoop, c.Deliveries[i].Scope, c.Deliveries[i].DueAt)
	}
	for i := range c.Subscriptions {
		due(DeliveriesLoop, c.Subscriptions[i].Scope, c.Subscriptions[i].Circuit.ProbeAt)
	}
	for i := range c.Wallets {
		due(WalletsLoop, c.Wallets[i].Scope, c.Wallets[i].DueAt)
	}
	for i := range c.Withdrawals {
		due(WithdrawalsLoop, c.Withdrawals[i].Scope, c.Withdrawals[i].DueAt)
	}
	for i := range c.Verifications {
		due(VerificationsLoop, c.Verifications[i].Scope, c.Verifications[i].DueAt)
	}
	for i := range c.Settlements {
		loop := ReceiptsLoop
		if c.Settlements[i].Status == pay.BatchOpen {
			loop = SettlementsLoop
		}
		due(loop, c.Settlements[i].Scope, c.Settlements[i].DueAt)
	}
	for i := range c.Reserves {
		due(ReservesLoop, c.Reserves[i].Scope, c.Reserves[i].DueAt)
	}
	for i := range c.Mails {
		due(MailsLoop, c.Mails[i].Scope, c.Mails[i].DueAt)
	}
	for i := range c.Sessions {
		due(CheckoutsLoop, c.Sessions[i].Scope, c.Sessions[i].DueAt)
	}
	for i := range c.PaymentLinks {
		due(LinksLoop, c.PaymentLinks[i].Scope, c.PaymentLinks[i].DueAt)
	}
	for i := range c.LinkUses {
		due(LinksLoop, c.LinkUses[i].Scope, c.LinkUses[i].DueAt)
	}
	for i := range c.Replays {
		due(ReplaysLoop, c.Replays[i].Scope, c.Replays[i].DueAt)
	}
	now := b.Now()
	if len(c.Events) > 0 { // their deliveries are leased to the node that wrote them
		b.Alarms[DeliveriesLoop].Set(now.Add(webhooks.DeliveryLease))
	}
	if len(c.Transfers) > 0 {
		b.Alarms[OpeningLoop].Set(now.Add(OpeningPause))
	}
	if len(c.Transfers) > 0 || len(c.Audit) > 0 {
		b.Alarms[SealsLoop].Set(now.Add(sealEvery))
	}
	if len(c.Payments) > 0 || len(c.Sessions) > 0 {
		b.Alarms[FactsLoop].Set(now.Add(factsEvery))
	}
}

// wake makes all loops check for work now.
func (b *Base) wake() {
	for _, alarm := range b.Alarms {
		alarm.Set(AtOnce)
	}
}

// LookAround sets the alarms for what comes due, whichever node wrote it.
func (b *Base) LookAround(ctx context.Context) error {
	due, err := b.due(ctx)
	for loop, at := range due {
		b.Alarms[loop].Set(at)
		b.Alarms[loop].Check()
	}
	return err
}

// due returns when each loop has something to do, according to the database.
func (b *Base) due(ctx context.Context) (map[string]time.Time, error) {
	list, err := b.Store.NextDue(ctx)
	next := make(map[string]time.Time, len(list))
	for kind, at := range list {
		switch kind {
		case SealsLoop:
			at = at.Add(sealEvery)
		case FactsLoop:
			at = at.Add(factsEvery)
		}
		if loop := LoopOf(kind); next[loop].IsZero() || at.Before(next[loop]) {
			next[loop] = at
		}
	}
	return next, err
}

// next returns a function that tells when a loop has something to do.
func (b *Base) next(loop string) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		due, err := b.due(ctx)
		return due[loop], err
	}
}

// sealEvery is how long rows wait for a block of the hash chain, so that a block gathers several
// rows.
const sealEvery = 5 * time.Second

// factsEvery is how long facts wait to be added to the totals of analytics, so that payments of the same kind are
// added together.
const factsEvery = 2 * time.Second
