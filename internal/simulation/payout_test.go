package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// payers are the payout accounts, in the order in which withdrawals go to them.
var payers = []string{"bank-a", "bank-b"}

// bank is a payout account's books. The owner of the turn may touch them.
type bank struct {
	w                *world
	name             string
	payouts          map[string]*paidOut
	gone, mute, slow int
	rejects, returns int
	short            int // it has no money, and does not record the call
	fickle           int // it rejects a call and does not record it
	twice            int
}

type paidOut struct {
	net    int64
	local  money.Amount
	back   int64  // of local, while it is paid
	parts  int    // that came back
	status string // open, paid, rejected, returned
}

func (w *world) newBank(name string) *bank {
	c := w.turns
	b := &bank{w: w, name: name, payouts: map[string]*paidOut{}, rejects: 8, returns: 10}
	for _, each := range []*int{&b.gone, &b.mute, &b.slow, &b.fickle, &b.short, &b.twice} {
		if c.one(3) {
			*each = 3 + c.chance.IntN(8)
		}
	}
	return b
}

func (b *bank) heal() { b.gone, b.mute, b.slow, b.fickle, b.short = 0, 0, 0, 0, 0 }

func (p *paidOut) outcome() pay.PayoutOutcome {
	switch p.status {
	case "paid":
		return pay.PayoutOutcome{Kind: pay.PayoutPaid}
	case "rejected":
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "invalid_account", Message: "there is no such account"}
	case "returned":
		return pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed", Message: "the account is closed"}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutAccepted}
}

// tell notifies the nodes of a payout's result, until one accepts it.
func (b *bank) tell(ref string) {
	told := b.payouts[ref].outcome()
	b.notify(ref, ref+" "+string(told.Kind), told)
}

// partBack sends a part of a payout back.
func (b *bank) partBack(ref string) {
	made := b.payouts[ref]
	part := money.New(1+b.w.turns.chance.Int64N(max(1, (made.local.Minor-made.back)/2)), made.local.Currency)
	if part.Minor < 20 || made.back+part.Minor >= made.local.Minor {
		return // worth less than a cent, or all of it
	}
	made.back += part.Minor
	made.parts++
	b.w.count("parts of payouts returned")
	b.notify(ref, fmt.Sprint(ref, " part ", made.parts), pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed", Local: part})
}

// notify sends the nodes a notice about a payout, until one accepts it.
func (b *bank) notify(ref, id string, told pay.PayoutOutcome) {
	body, err := json.Marshal(pay.PayoutNotice{ID: id, Reference: ref, Outcome: told})
	if err != nil {
		panic(err)
	}
	c, copies := b.w.turns, 1
	if c.one(b.twice) {
		copies = 2
	}
	for copy := range copies {
		wait := c.between(10*time.Millisecond, time.Hour)
		b.w.aside.Go(func() {
			for try := range 200 {
				time.Sleep(wait)
				c.turn(b.name + " notifies " + id)
				err, heard := b.w.ask(fmt.Sprint("notice ", id, " ", copy), 30*time.Second, func(ctx context.Context, n *node) error {
					return n.app.Notices.Notify(ctx, b.name, provider.Notification{Body: body})
				})
				if heard && (err == nil || !unclear(err)) {
					return
				}
				wait = min(time.Hour, time.Second<<min(try, 12))
			}
		})
	}
	b.w.count("notifications of payouts")
}

// payoutAdapter lets nodes open the banks' accounts.
func (w *world) payoutAdapter(n *node) provider.Adapter {
	return provider.Adapter{
		Name: "bank", Rails: []string{"pix.*"},
		OpenPayouts: func(a provider.Account) (payouts.Provider, error) {
			if b := w.banks[a.ID]; b != nil {
				return payer{n, b}, nil
			}
			return nil, errors.New("there is no such bank")
		},
	}
}

// payer is a bank's client within a node.
type payer struct {
	n *node
	b *bank
}

// Notices implements provider.PayoutListener.
func (payer) Notices(_ context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	notice := pay.PayoutNotice{}
	err := json.Unmarshal(n.Body, &notice)
	notice.Body = n.Body
	return []pay.PayoutNotice{notice}, err
}

// Send implements payouts.Provider, as Query does.
func (p payer) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	w := p.n.w
	return p.call(ctx, "send "+r.Reference, func() pay.PayoutOutcome {
		if known, again := p.b.payouts[r.Reference]; again {
			return known.outcome()
		}
		if w.turns.one(p.b.fickle) {
			w.count("payouts rejected and forgotten")
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "busy"}
		}
		if w.turns.one(p.b.short) {
			w.count("payouts refused for lack of money")
			return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
		}
		w.gates.sentTo(w, w.walletAt[r.Destination], r.Reference)
		made := &paidOut{net: r.Net.Minor, local: r.Local, status: "open"}
		if w.turns.one(p.b.rejects) {
			made.status = "rejected"
		}
		p.b.payouts[r.Reference] = made
		w.count("payouts")
		wait := w.turns.about(time.Second, 5*time.Hour)
		w.aside.Go(func() {
			time.Sleep(wait)
			w.turns.turn("payout arrives " + r.Reference)
			if made.status != "open" {
				return
			}
			made.status = "paid"
			p.b.tell(r.Reference)
			if !w.turns.one(p.b.returns) {
				return
			}
			if w.turns.one(3) {
				for range 1 + w.turns.chance.IntN(2) {
					time.Sleep(w.turns.about(time.Minute, 10*time.Hour))
					w.turns.turn("a part of a payout comes back " + r.Reference)
					p.b.partBack(r.Reference)
				}
				return
			}
			time.Sleep(w.turns.about(time.Minute, 10*time.Hour))
			w.turns.turn("payout comes back " + r.Reference)
			made.status = "returned"
			w.count("payouts returned")
			p.b.tell(r.Reference)
		})
		return made.outcome()
	})
}

// Query implements payouts.Provider.
func (p payer) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	return p.call(ctx, "query "+r.Reference, func() pay.PayoutOutcome {
		if known, ok := p.b.payouts[r.Reference]; ok {
			return known.outcome()
		}
		return pay.PayoutOutcome{Kind: pay.PayoutMissing}
	})
}

func (p payer) call(ctx context.Context, what string, at func() pay.PayoutOutcome) pay.PayoutOutcome {
	unknown := pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	key, w := p.n.name+" at "+p.b.name+": "+what+" "+laneOf(ctx), p.n.w
	if p.n.stand() != nil {
		return unknown
	}
	w.turns.turn(key)
	if ctx.Err() != nil || !provider.MayLeave(ctx) || p.n.isDead() {
		return unknown
	}
	there, back := w.turns.between(time.Millisecond, time.Second), w.turns.between(time.Millisecond, time.Second)
	lost, mute := w.turns.one(p.b.gone), w.turns.one(p.b.mute)
	if w.turns.one(p.b.slow) {
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
	if w.faults.hears(p.n, key) != nil {
		return unknown
	}
	return o
}

// checkPayouts compares withdrawals with the banks' books.
func (w *world) checkPayouts(all *books) {
	type found struct {
		bank, ref string
		*paidOut
	}
	by := map[string][]found{} // by withdrawal
	for _, name := range payers {
		for ref, made := range w.banks[name].payouts {
			id, _, _ := pay.ParsePayoutReference(ref)
			by[id] = append(by[id], found{name, ref, made})
		}
	}
	for _, out := range all.withdrawn {
		if out.Payout.Provider == accounts.HandPayouts || out.Payout.Provider == filed {
			continue // the operator paid it, or checkFiles looks at it
		}
		paid, returned, back := 0, 0, int64(0)
		for _, f := range by[out.ID] {
			switch f.status {
			case "open", "rejected":
				continue
			case "returned":
				returned++
			default:
				paid++
				back += f.back
			}
			if f.net != out.Net() || f.bank != out.Payout.Provider || f.ref != out.Reference() {
				w.find(payoutsAgree, out.ID, "%s paid %d for %s, and withdrawal %s is %d at %s as %s", f.bank, f.net, f.ref, out.ID, out.Net(), out.Payout.Provider, out.Reference())
			}
		}
		delete(by, out.ID)
		if out.Status == pay.WithdrawalDone && out.ReturnedLocal != back {
			w.find(payoutsAgree, out.ID, "%d of withdrawal %s came back, the bank sent %d", out.ReturnedLocal, out.ID, back)
		}
		switch {
		case paid+returned > 1:
			w.find(payoutsAgree, out.ID, "withdrawal %s was paid %d times", out.ID, paid+returned)
		case (out.Status == pay.WithdrawalDone) != (paid == 1):
			w.find(payoutsAgree, out.ID, "withdrawal %s is %s, the banks paid it %d times", out.ID, out.Status, paid)
		case returned == 1 && out.Status != pay.WithdrawalRefused:
			w.find(payoutsAgree, out.ID, "withdrawal %s is %s, and the bank returned it", out.ID, out.Status)
		}
	}
	w.checkFloat(all)
	for id := range by {
		w.find(payoutsAgree, id, "a bank paid %s, which we do not have", id)
	}
}

// checkFloat compares the float since its beginning with what its bank paid.
func (w *world) checkFloat(all *books) {
	paid := int64(0)
	for _, made := range w.banks[payers[0]].payouts {
		if made.status == "paid" {
			paid += made.net
		}
	}
	for _, out := range all.withdrawn {
		if out.Payout.Provider == payers[0] && out.Status == pay.WithdrawalDone {
			paid -= out.Returned
		}
	}
	floats, err := w.eye.Books().Floats(context.Background())
	if err != nil {
		w.find(payoutsAgree, "", "%v", err)
	}
	for _, f := range floats {
		if f.Free < 0 || f.Committed != 0 || f.Free+f.Paid != f.Funded {
			w.find(payoutsAgree, "", "the float of %s has %+v", f.Account, f)
		}
		if f.Account == payers[0] && f.Paid != paid {
			w.find(payoutsAgree, "", "the float of %s paid %d, the bank %d", f.Account, f.Paid, paid)
		}
	}
}
