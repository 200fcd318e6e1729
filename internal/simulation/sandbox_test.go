package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// tried is the account of the sandboxes.
const tried = "tried"

var trialRails = []string{"sbx_pix", "sbx_card"}

// trials are what the developers of a shop do in its sandbox, with their notes. The owner of the turn may touch them.
type trials struct {
	shop   *merchant
	made   []*trial
	resets int  // whose end they saw
	closed bool // a reset was requested, and they have not seen its end
}

// trial is a sandbox payment whose request was answered.
type trial struct {
	id   string
	gone bool // a reset was requested later, and is over
	kept bool // it was requested after the end of the last reset
}

// develop lets a shop's developers try payments in the sandbox, and empty it now and then.
func (w *world) develop(shop *merchant, chance *rand.Rand) {
	s := &trials{shop: shop}
	w.sandboxes = append(w.sandboxes, s)
	for program := range 2 {
		own := rand.New(rand.NewPCG(chance.Uint64(), uint64(program)))
		w.aside.Go(func() {
			for i := 0; ; i++ {
				time.Sleep(time.Duration(own.Int64N(int64(w.span+w.longer) / 12)))
				tag := fmt.Sprint("trial ", shop.host, " ", program, " ", i)
				w.turns.turn(tag)
				if w.healing() {
					return
				}
				w.try(s, tag, own)
			}
		})
	}
	own := rand.New(rand.NewPCG(chance.Uint64(), 9))
	w.aside.Go(func() {
		for i := range 2 {
			time.Sleep(time.Duration(own.Int64N(int64(w.span+w.longer) / 2)))
			w.turns.turn(fmt.Sprint("reset ", shop.host, " ", i))
			if w.healing() && i > 0 {
				return
			}
			w.reset(s)
		}
	})
}

// entered makes a request to the sandbox of a shop, as the API does it.
func (w *world) entered(s *trials, name string, do func(context.Context, *node) error) error {
	err, heard := w.ask(name, patience, func(ctx context.Context, n *node) error {
		if err := n.app.Sandboxes.MayEnter(ctx, s.shop.trial.Scope); err != nil {
			return err
		}
		return do(ctx, n)
	})
	if !heard {
		return errDead
	}
	return err
}

// try makes a payment, and sometimes refunds it.
func (w *world) try(s *trials, tag string, chance *rand.Rand) {
	shop, open, resets := s.shop, !s.closed, s.resets
	amount, rail := money.New(int64(10+chance.IntN(200))*100, money.USD), trialRails[chance.IntN(len(trialRails))]
	var made pay.Payment
	err := w.entered(s, tag, func(ctx context.Context, n *node) (err error) {
		made, _, err = n.app.Payments.Create(ctx, shop.trial, payments.NewPayment{
			Amount: amount, PaymentMethodID: rail, OrderID: tag, RequestID: "req_" + tag,
			Buyer: pay.Buyer{Document: "52998224725", Name: "Ana", Email: "ana@example.com"},
		})
		return err
	})
	if err != nil {
		if errors.Is(err, base.ErrEmptying) {
			w.count("requests to a closed sandbox")
		}
		return
	}
	w.count("payments in sandboxes")
	s.made = append(s.made, &trial{id: made.ID, kept: open && !s.closed && resets == s.resets})
	if chance.IntN(2) > 0 {
		return
	}
	time.Sleep(time.Duration(chance.Int64N(int64(time.Minute))))
	w.turns.turn("gives back " + tag)
	_ = w.entered(s, "back "+tag, func(ctx context.Context, n *node) error { // it may be gone by now
		_, _, err := n.app.Claims.Refund(ctx, shop.trial.Scope, claims.NewRefund{Payment: made.ID, Reason: tag, By: audit.Actor{Kind: audit.ByKey, ID: shop.trial.KeyID}})
		return err
	})
}

// reset empties the sandbox, and returns when the reset is over.
func (w *world) reset(s *trials) {
	merchant := s.shop.by.Merchant
	before := slices.Clone(s.made)
	s.closed = true
	for _, t := range s.made {
		t.kept = false
	}
	for try := range tries {
		err, heard := w.ask(fmt.Sprint("reset ", merchant, " ", try), patience, func(ctx context.Context, n *node) error {
			_, err := n.app.Sandbox.Reset(ctx, audit.Actor{Kind: audit.ByUser, ID: "dev"}, merchants.Scope{Merchant: merchant})
			return err
		})
		if heard && err == nil {
			break
		}
		if w.over {
			return
		}
		time.Sleep(30 * time.Second)
		w.turns.turn(fmt.Sprint("again reset ", merchant))
	}
	w.count("resets of sandboxes")
	for busy := map[*node]bool{}; !w.over; {
		time.Sleep(2 * time.Second)
		w.turns.turn("two seconds of the reset of " + merchant)
		if r, err := w.eye.Resets().Get(context.Background(), merchant); err == nil && !r.Running() {
			break
		}
		w.pass(merchant, busy)
	}
	for _, t := range before {
		t.gone = true
	}
	s.closed = false
	s.resets++
}

// pass lets every node look for resets, as its loop does all the time in production: in a world, the loops that look
// for others' writes run once in two days.
func (w *world) pass(merchant string, busy map[*node]bool) {
	for _, n := range slices.Clone(w.nodes) {
		if busy[n] || n.isDead() || n.isPaused() {
			continue
		}
		busy[n] = true
		n.requests.Go(func() {
			name := n.name + " empties sandboxes for " + merchant
			w.turns.turn(name)
			ctx, cancel := context.WithTimeout(lane(context.Background(), name), 10*time.Minute)
			defer cancel()
			if err := n.app.Sandbox.EmptySandboxes(ctx); err != nil {
				w.turns.turn(name + " in vain")
				w.count("passes broken off")
			} else {
				w.turns.turn(name + " no more")
			}
			delete(busy, n)
		})
	}
}

// checkSandboxes proves that resets deleted everything from before them, and nothing else.
func (w *world) checkSandboxes(ctx context.Context) {
	for _, s := range w.sandboxes {
		r, err := w.eye.Resets().Get(ctx, s.shop.by.Merchant)
		if err == nil && r.Running() {
			w.find(resetsEnd, "", "the reset of %s is %+v", s.shop.by.Merchant, r)
			continue
		}
		for _, t := range s.made {
			_, err := w.eye.Payments().Any(ctx, t.id)
			switch {
			case t.gone && !errors.Is(err, store.ErrNotFound):
				w.find(resetsEmpty, t.id, "%s is from before a reset, and still exists (%v)", t.id, err)
			case t.kept && err != nil:
				w.find(resetsSpare, "", "%s is from after the last reset, and reads as %v", t.id, err)
			}
		}
	}
}
