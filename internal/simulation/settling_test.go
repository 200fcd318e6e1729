package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
)

// nothingStrands is the rule of automatic payouts: what is owed and there is paid.
const nothingStrands = "automatic payouts leave nothing that is owed and there"

// gates is what the operator's stops and deletions of wallets promise: from a time on, nothing is sent that was not sent before.
type gates struct {
	stopped time.Time // since when payouts are stopped; zero: they are not
	gone    map[string]time.Time
}

// settles sets automatic payouts for some merchants. The operator pays settlements by hand beside them, stops payouts now and then,
// and some merchants delete a wallet while a withdrawal to it is under way.
func (w *world) settles() {
	chance := rand.New(rand.NewPCG(w.seed, 96))
	w.automatic = map[string]int64{}
	for _, shop := range w.shops {
		merchant := shop.by.Merchant
		if _, known := w.automatic[merchant]; !known && chance.IntN(2) == 0 {
			least := int64(chance.IntN(3)) * 20_00
			if w.limit("automatic payouts", merchant, func(l *pay.PayoutLimits) { l.Schedule, l.Minimum = pay.PayoutsAutomatic, least }) {
				w.automatic[merchant] = least
			}
		}
	}
	w.aside.Go(func() { w.handPays(rand.New(rand.NewPCG(w.seed, 95))) })
	if chance.IntN(2) == 0 {
		w.aside.Go(func() { w.stops(rand.New(rand.NewPCG(w.seed, 94))) })
	}
	if chance.IntN(2) == 0 {
		w.aside.Go(func() { w.deletes(w.shops[0], rand.New(rand.NewPCG(w.seed, 93))) })
	}
}

// limit changes limits of payouts, by any node that can. It returns false if none could.
func (w *world) limit(what, merchant string, change func(*pay.PayoutLimits)) bool {
	for try := range tries {
		err, heard := w.ask(fmt.Sprint("limits ", what, " ", merchant, " ", try), patience, func(ctx context.Context, n *node) error {
			_, err := n.app.Payouts.LimitPayouts(ctx, operator, merchant, true, change)
			return err
		})
		if heard && err == nil {
			return true
		}
		time.Sleep(time.Minute)
	}
	return false
}

// stops stops all payouts for a while, several times.
func (w *world) stops(chance *rand.Rand) {
	for round := range 3 {
		time.Sleep(time.Duration(chance.Int64N(int64(w.span+w.longer) / 2)))
		w.turns.turn(fmt.Sprint("the operator stops payouts ", round))
		if w.healing() {
			return
		}
		if w.limit(fmt.Sprint("stop ", round), "", func(l *pay.PayoutLimits) { l.Stopped = "a key was stolen" }) {
			w.gates.stopped = time.Now()
			w.count("stops of payouts")
		}
		time.Sleep(time.Duration(chance.Int64N(int64(20 * time.Minute))))
		w.turns.turn(fmt.Sprint("the operator resumes payouts ", round))
		w.gates.stopped = time.Time{}
		for !w.limit(fmt.Sprint("resume ", round), "", func(l *pay.PayoutLimits) { l.Stopped = "" }) {
			time.Sleep(time.Minute)
		}
	}
}

// deletes adds a wallet, withdraws to it and deletes it a while later, several times.
func (w *world) deletes(shop *merchant, chance *rand.Rand) {
	for round := range 4 {
		time.Sleep(time.Duration(chance.Int64N(int64(w.span) / 3)))
		name := fmt.Sprint("second-wallet-", round)
		var wallet string
		err, heard := w.ask("adds "+name, patience, func(ctx context.Context, n *node) error {
			made, err := n.app.Wallets.Add(ctx, shop.by, shop.by.Scope, payouts.NewWallet{Destination: destination.Destination{
				Type: "bank_account", Network: "pix", Currency: "BRL", Account: name + "@shop.example", Masked: "b…"}, Label: name})
			wallet = made.ID
			return err
		})
		if !heard || err != nil {
			continue
		}
		w.walletAt[name+"@shop.example"] = wallet
		time.Sleep(time.Minute) // its cool-down
		r := &request{shop: shop, tag: name, key: name, wallet: wallet}
		w.takeOut(r, chance)
		if r.id == "" || r.err != nil {
			continue
		}
		time.Sleep(8*time.Minute + time.Duration(chance.Int64N(int64(6*time.Minute)))) // about when it is sent
		for try := range 5 {
			err, heard := w.ask(fmt.Sprint("deletes ", name, " ", try), patience, func(ctx context.Context, n *node) error {
				return n.app.Wallets.Delete(ctx, shop.by.Actor(), shop.by.Scope, wallet)
			})
			if heard && err == nil {
				w.gates.gone[wallet] = time.Now()
				w.count("wallets deleted with a withdrawal under way")
				break
			}
		}
	}
}

// handPays pays settlements by hand, in the days when they are closed.
func (w *world) handPays(chance *rand.Rand) {
	for round := range 12 {
		time.Sleep(time.Duration(chance.Int64N(int64(day))))
		w.turns.turn(fmt.Sprint("the operator looks at settlements ", round))
		if w.over {
			return
		}
		list, err := w.eye.Settlements().All(context.Background(), "", pay.BatchClosed, "", 20)
		if err != nil {
			w.find(operatorWorks, "", "%v", err)
			return
		}
		if len(list) == 0 {
			continue
		}
		s := list[chance.IntN(len(list))]
		left := s.Uncovered()
		if !s.Live || left <= 1 || chance.IntN(2) == 0 {
			continue
		}
		amount := money.Amount{}
		if chance.IntN(2) == 0 {
			amount = money.New(1+chance.Int64N(left), money.USD)
		}
		err, heard := w.ask(fmt.Sprint("pays by hand ", s.ID, " ", round), patience, func(ctx context.Context, n *node) error {
			_, _, err := n.app.Payouts.PaySettlement(ctx, operator, payouts.HandPayment{Settlement: s.ID, Amount: amount, Reference: fmt.Sprint("wire ", round), Note: "by hand"})
			return err
		})
		if heard && err == nil {
			w.count("settlements paid by hand")
		}
	}
}

// sentTo is called when a bank gets a call to pay. It finds one that the gate should have held. A call may be on its way for a
// while after the gate was shut.
func (g gates) sentTo(w *world, wallet, reference string) {
	const late = 2 * time.Minute
	if !g.stopped.IsZero() && time.Since(g.stopped) > late {
		w.find(payoutsAgree, "", "%s is sent although payouts are stopped for %s", reference, time.Since(g.stopped))
	}
	if at, gone := g.gone[wallet]; gone && time.Since(at) > late {
		w.find(payoutsAgree, "", "%s is sent to a wallet that was deleted %s ago", reference, time.Since(at))
	}
}

// easy makes the banks pay whatever comes, so that automatic payouts can come to an end.
func (w *world) easy() {
	w.turns.turn("the banks take it easy")
	for _, name := range payers {
		w.banks[name].rejects, w.banks[name].returns = 0, 0
	}
	if w.counter != nil {
		w.counter.strict = false
	}
}

// paysOff keeps which withdrawals a settlement makes by itself.
func (w *world) paysOff(lane string, change *pay.Change) {
	for _, out := range change.Withdrawals {
		if out.Version == 1 && lane == base.ReceiptsLoop {
			w.payoffs[out.ID] = true
		}
	}
}

// checkAutomatic finds merchants with automatic payouts who are owed what is there.
func (w *world) checkAutomatic() {
	ctx := context.Background()
	for merchant, minimum := range w.automatic {
		scope := merchants.Scope{Merchant: merchant, Live: true}
		list, err := w.eye.Settlements().Uncovered(ctx, scope)
		if err != nil {
			w.find(nothingStrands, "", "%v", err)
			continue
		}
		made, err := w.eye.Withdrawals().Uncovering(ctx, scope)
		if err != nil {
			w.find(nothingStrands, "", "%v", err)
			continue
		}
		have, err := w.eye.Books().Balances(ctx, scope)
		if err != nil {
			w.find(nothingStrands, "", "%v", err)
			continue
		}
		owed, _ := pay.Owed(list, made)
		m, err := w.eye.Merchants().Get(ctx, merchant)
		if err != nil {
			w.find(nothingStrands, "", "%v", err)
			continue
		}
		if there := min(owed, have[ledger.Available]); there >= max(minimum, plans.OfTier(m.Tier).LeastWithdrawal()) {
			w.find(nothingStrands, "", "%s is owed %d, and %d are available", merchant, owed, have[ledger.Available])
		}
	}
}
