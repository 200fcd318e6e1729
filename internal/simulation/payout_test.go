package simulation

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
)

// bank is the payout provider's books. Whoever has the turn may touch them.
type bank struct {
	payouts          map[string]*paidOut
	gone, mute, slow int
	rejects          int
	fickle           int // it rejects a call and keeps nothing of it
}

type paidOut struct {
	net    int64
	status string // open, paid, rejected
}

func (w *world) newBank() *bank {
	c := w.turns
	b := &bank{payouts: map[string]*paidOut{}, rejects: 8}
	for _, each := range []*int{&b.gone, &b.mute, &b.slow, &b.fickle} {
		if c.one(3) {
			*each = 3 + c.chance.IntN(8)
		}
	}
	return b
}

func (b *bank) heal() { b.gone, b.mute, b.slow, b.fickle = 0, 0, 0, 0 }

func (p *paidOut) outcome() pay.PayoutOutcome {
	switch p.status {
	case "paid":
		return pay.PayoutOutcome{Kind: pay.PayoutPaid}
	case "rejected":
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "invalid_account", Message: "there is no such account"}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutAccepted}
}

// payer is the bank's client within a node.
type payer struct{ n *node }

// Send is for payout.Provider, as Query.
func (p payer) Send(ctx context.Context, r payout.Request) pay.PayoutOutcome {
	w := p.n.w
	return p.call(ctx, "send "+r.Reference, func() pay.PayoutOutcome {
		if known, again := w.bank.payouts[r.Reference]; again {
			return known.outcome()
		}
		if w.turns.one(w.bank.fickle) {
			w.count("payouts rejected and forgotten")
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "busy"}
		}
		made := &paidOut{net: r.Net.Minor, status: "open"}
		if w.turns.one(w.bank.rejects) {
			made.status = "rejected"
		}
		w.bank.payouts[r.Reference] = made
		w.count("payouts")
		wait := w.turns.about(time.Second, 5*time.Hour)
		w.aside.Go(func() {
			time.Sleep(wait)
			w.turns.turn("payout arrives " + r.Reference)
			if made.status == "open" {
				made.status = "paid"
			}
		})
		return made.outcome()
	})
}

func (p payer) Query(ctx context.Context, r payout.Request) pay.PayoutOutcome {
	return p.call(ctx, "query "+r.Reference, func() pay.PayoutOutcome {
		if known, ok := p.n.w.bank.payouts[r.Reference]; ok {
			return known.outcome()
		}
		return pay.PayoutOutcome{Kind: pay.PayoutMissing}
	})
}

func (p payer) call(ctx context.Context, what string, at func() pay.PayoutOutcome) pay.PayoutOutcome {
	unknown := pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	key, w := p.n.name+" pays out: "+what, p.n.w
	if p.n.stand() != nil {
		return unknown
	}
	w.turns.turn(key)
	if ctx.Err() != nil || !provider.MayLeave(ctx) || p.n.isDead() {
		return unknown
	}
	there, back := w.turns.between(time.Millisecond, time.Second), w.turns.between(time.Millisecond, time.Second)
	lost, mute := w.turns.one(w.bank.gone), w.turns.one(w.bank.mute)
	if w.turns.one(w.bank.slow) {
		there, back = w.turns.between(0, 10*time.Second), w.turns.between(0, 15*time.Second)
	}
	answer := make(chan pay.PayoutOutcome, 1)
	w.aside.Go(func() {
		time.Sleep(there)
		w.turns.turn("arrives: " + key)
		if lost {
			return
		}
		o := at()
		time.Sleep(back)
		if !mute {
			answer <- o
		}
	})
	o := unknown
	select {
	case o = <-answer:
	case <-ctx.Done():
	case <-p.n.dead:
	}
	if p.n.stand() != nil {
		return unknown
	}
	w.turns.turn("returns: " + key)
	if w.faults.hears(p.n) != nil {
		return unknown
	}
	return o
}
