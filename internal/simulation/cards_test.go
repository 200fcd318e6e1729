package simulation

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/view"
)

var cards = flag.Int("cards", 3*cardsAWorld, "how many card payments on two providers' pages to simulate")

// cardsAWorld is how many shoppers a world of cards has.
const cardsAWorld = 40

// pages are the accounts whose shoppers enter their cards on a page.
var pages = accountIDs[:2]

// Shoppers enter cards on the pages of two providers, are declined, try again at the other one, leave, and come back to an old tab,
// while nodes die in the middle of a retry and notices are late, lost, doubled and wrong. Nobody pays twice.
func TestCardsOnPages(t *testing.T) {
	if *one > 0 {
		r := run(t, *one, cardsAWorld, true)
		t.Logf("%s\n%s\n%d turns", r.tape, strings.Join(r.logged, "\n"), r.turns)
		r.fail(t)
		return
	}
	began := time.Now()
	counts, turns, ran, found := runAll(t, (*cards+cardsAWorld-1)/cardsAWorld, cardsAWorld)
	t.Logf("%s%s", summary("worlds of cards", counts, turns, ran, time.Since(began)), found)
	n := func(what string) int { return counts["cards: "+what] }
	t.Logf("%d card payments at two page providers: %d paid on the first page, %d refused there, of which the second provider saved %d (%.1f%%)",
		n("payments"), n("paid on the first page"), n("refused on the first page"), n("saved by the second provider"),
		100*float64(n("saved by the second provider"))/float64(max(1, n("refused on the first page"))))
	t.Logf("%d paid twice; %d paid a page that its provider had called ended, each with an inquiry; the providers have %d moneys, the books %d",
		n("paid twice"), n("paid twice after a provider's lie"), n("moneys at providers"), n("moneys in the books"))
	if n("payments") == 0 || n("saved by the second provider") == 0 || n("paid twice") > 0 || n("moneys at providers") != n("moneys in the books") {
		t.Error("that is not what was to be shown")
	}
}

// pager is a provider that takes cards on a page.
type pager struct {
	final bool // a refusal ends the page
	lies  int  // one in so many pages is called ended, by an answer or a notice, and is not
}

// page is where the shopper of a charge enters cards.
type page struct {
	until time.Time
	tries []decline.Try
}

// card is a shopper's card: whether an account refuses it, and why.
type card struct {
	reason decline.Reason
	at     []string // the accounts that refuse it
}

// cardsOf are the two cards of a shopper.
func cardsOf(chance *rand.Rand) (two [2]card) {
	for i := range two {
		switch chance.IntN(8) {
		case 0, 1:
			two[i] = card{decline.InsufficientFunds, pages}
		case 2:
			two[i] = card{decline.FraudSuspected, pages}
		case 3, 4, 5:
			picky := chance.IntN(4) / 3 // the first one refuses more
			two[i] = card{[]decline.Reason{decline.DoNotHonor, decline.ProcessingError, decline.IssuerUnavailable}[chance.IntN(3)], pages[picky : picky+1]}
		}
	}
	return two
}

// shows opens a charge's page, and lets it end.
func (u *upstream) shows(made *charge, r provider.Request) {
	made.page = &page{until: r.Expires}
	u.w.aside.Go(func() {
		time.Sleep(time.Until(made.page.until))
		u.w.turns.turn("the page " + made.ref + " ends")
		if made.status == "open" {
			made.status = "canceled"
			if !u.silent {
				u.send(news{ID: made.ref + "/ended", Ref: made.ref, Try: true})
			}
		}
	})
}

// lies reports whether the provider calls an open page ended.
func (u *upstream) lies(made *charge) bool {
	if made.page == nil || !u.w.turns.one(u.pager.lies) {
		return false
	}
	made.lied = true
	u.w.count("pages called ended that are open")
	return true
}

// enters is a card that a shopper enters on a page. It returns false if nothing can be entered there.
func (u *upstream) enters(made *charge, of card) (paid, open bool) {
	switch {
	case made == nil || made.page == nil || made.status != "open":
		return false, false
	case !slices.Contains(of.at, u.name):
		u.pay(made)
		return true, true
	}
	id := fmt.Sprint(made.ref, "/t", len(made.page.tries)+1)
	made.page.tries = append(made.page.tries, provider.Try(id, time.Now().UnixMicro(), of.reason, string(of.reason)))
	u.w.count("cards refused on a page")
	if u.pager.final {
		made.status = "refused"
	}
	if !u.silent {
		u.send(news{ID: id, Ref: made.ref, Try: true})
	}
	if made.status == "open" && !u.silent && u.lies(made) {
		u.send(news{ID: made.ref + "/lie", Ref: made.ref, Lie: true})
	}
	return false, made.status == "open"
}

// opensPages makes two providers take cards on pages.
func (w *world) opensPages() {
	c := w.turns
	for _, name := range pages {
		u := w.upstreams[name]
		u.pager = &pager{final: c.one(4)}
		if c.one(3) {
			u.pager.lies = 1 + c.chance.IntN(8)
		}
		u.again, u.wrong = 0, 0 // a page is paid once, and with its amount
		u.cancels = u.cancels || !c.one(4)
		u.declines *= 4 // few pages are refused before they open
	}
}

// routesCards sends cards to these two alone.
func (w *world) routesCards() error {
	rules := routing.Rules{Rails: map[string]routing.Rule{"card.BRA": {Accounts: pages}}}
	a := w.nodes[0].app
	_, _, err := a.Rules.Apply(lane(context.Background(), "rules"), a.Self(), rules)
	return err
}

// sellByCard lets shoppers buy by card.
func (w *world) sellByCard() error {
	c := w.turns
	if c.one(2) {
		if err := w.staff(rand.New(rand.NewPCG(w.seed, 97))); err != nil {
			return err
		}
	}
	for i := range w.cards {
		own := rand.New(rand.NewPCG(w.seed, uint64(5000+i)))
		w.aside.Go(func() { w.buys(fmt.Sprint("card-", i), own) })
	}
	return nil
}

// buys makes a payment by card, and is its shopper.
func (w *world) buys(tag string, chance *rand.Rand) {
	time.Sleep(time.Duration(chance.Int64N(int64(w.span))))
	r := &request{what: "create", shop: w.shops[chance.IntN(len(w.shops))], tag: tag, key: tag}
	amount, rail := money.New(int64(10+chance.IntN(200))*100, money.USD), w.rails[len(w.rails)-1]
	w.made(r, chance, func(ctx context.Context, n *node) (string, pay.Status, error) {
		p, _, err := n.app.Payments.Create(ctx, r.shop.by, payments.NewPayment{
			Amount: amount, PaymentMethodID: rail, OrderID: r.tag, Buyer: pay.Buyer{Document: "52998224725", Name: "Ana", Email: "ana@example.com"},
			Idempotency: r.idempotency("POST /payments", amount.Decimal(), rail, r.tag), RequestID: "req_" + r.tag,
		})
		if err == nil {
			err = p.Refusal()
		}
		return p.ID, p.Work.Answered, err
	})
	if r.id == "" || r.err != nil {
		return
	}
	if chance.IntN(12) == 0 {
		w.aside.Go(func() { w.cancel(r, rand.New(rand.NewPCG(w.seed, hash64("cancel of "+r.tag)))) })
	}
	w.cardholder(r, chance)
}

// cardholder looks at the payment again and again. He enters one of two cards on the page that he is shown, tries again if he is told
// of a refusal, or leaves; some keep the tab of a page open, and pay there later.
func (w *world) cardholder(r *request, chance *rand.Rand) {
	two := cardsOf(chance)
	for round := range 16 {
		wait := time.Duration(chance.Int64N(int64(2 * time.Minute)))
		if chance.IntN(10) == 0 {
			wait = time.Duration(chance.Int64N(int64(40 * time.Minute)))
		}
		time.Sleep(wait)
		var p pay.Payment
		err, heard := w.ask(fmt.Sprint("page of ", r.tag, " ", round), patience, func(ctx context.Context, n *node) (err error) {
			p, err = n.app.Cascade.Payment(ctx, r.shop.by.Scope, r.id)
			return err
		})
		if !heard || err != nil || p.Status == pay.Processing {
			continue
		}
		attempt, ok := p.Attempts.Current()
		if !ok || p.Status != pay.Pending || chance.IntN(16) == 0 {
			return // it is over, or the shopper has enough
		}
		if len(attempt.Tries) > 0 && chance.IntN(5) > 0 {
			w.again(fmt.Sprint(r.tag, " ", round), r.id, chance)
			continue
		}
		w.turns.turn("the shopper of " + r.tag + " enters a card")
		u := w.upstreams[attempt.Provider]
		made := u.charges[p.Reference(attempt.Order)]
		paid, _ := u.enters(made, two[chance.IntN(2)])
		if paid {
			w.count("shoppers who paid")
			if chance.IntN(4) > 0 {
				return
			}
		}
		if made != nil && chance.IntN(3) == 0 {
			tab := rand.New(rand.NewPCG(w.seed, hash64(fmt.Sprint("tab of ", r.tag, round))))
			w.aside.Go(func() { w.tab(u, made, []card{two[0], two[1], {}, {}}[tab.IntN(4)], tab) })
		}
	}
}

// tab is an old tab, in which the shopper enters a card later.
func (w *world) tab(u *upstream, made *charge, of card, chance *rand.Rand) {
	wait := time.Second << chance.IntN(12)
	time.Sleep(wait + time.Duration(chance.Int64N(int64(wait))))
	w.turns.turn("a card is entered in the tab of " + made.ref)
	if paid, _ := u.enters(made, of); paid {
		w.count("shoppers who paid in an old tab")
	}
}

// again presses "try again", sometimes in two windows at once.
func (w *world) again(tag, id string, chance *rand.Rand) {
	var windows sync.WaitGroup
	for window := range 1 + chance.IntN(3)/2 {
		windows.Go(func() {
			var p pay.Payment
			err, heard := w.ask(fmt.Sprint("try again ", tag, " ", window), patience, func(ctx context.Context, n *node) (err error) {
				p, err = n.app.Sessions.TryAgain(ctx, id, view.Cause{RequestID: "req_again_" + tag})
				return err
			})
			switch {
			case !heard || unclear(err):
				w.count("second chances without an answer")
			case err != nil:
				w.count("second chances refused")
			case len(p.Attempts) > 1:
				w.count("second chances")
			}
		})
	}
	windows.Wait()
}

// strikes now and then ends or pauses a node in the middle of a retry: when the first page has ended and nothing is written, or when
// the intent is written and the next provider is not called. The caller has the turn.
func (w *world) strikes(n *node, change *pay.Change, when string) {
	if w.cards == 0 || w.healing() || n == w.office || n.isDead() || len(change.Payments) != 1 {
		return
	}
	p := change.Payments[0]
	if current, ok := p.Attempts.Current(); !ok || p.Stored != pay.Pending || p.Status != pay.Processing || !current.Again {
		return
	}
	switch {
	case w.turns.luck("dies "+when+" the retry of "+p.ID, 12):
		w.count("nodes killed " + when + " the commit of a retry")
		n.crash()
		w.revive()
	case w.turns.luck("stalls "+when+" the retry of "+p.ID, 8):
		w.count("nodes stalled " + when + " the commit of a retry")
		n.pause(w.turns.between(5*time.Second, 3*time.Minute))
	}
}

// byCard reports whether a payment was made by a shopper of a world of cards.
func byCard(p pay.Payment) bool { return strings.HasPrefix(p.Order.ID, "card-") }

// countCards counts how card payments ended. moneys has what the providers took for each payment.
func (w *world) countCards(all *books, moneys map[string]int, lied map[string]bool) {
	for id, p := range all.payments {
		if !byCard(p) || len(p.Attempts) == 0 {
			continue
		}
		w.count("cards: payments")
		first := p.Attempts[0]
		if len(first.Tries) > 0 {
			w.count("cards: refused on the first page")
		}
		switch {
		case captured(p) && p.Attempts[p.End.Captured-1].Again:
			w.count("cards: saved by the second provider")
		case captured(p):
			w.count("cards: paid on the first page")
		}
		switch {
		case moneys[id] < 2:
		case lied[id]:
			w.count("cards: paid twice after a provider's lie")
		default:
			w.count("cards: paid twice")
		}
	}
}
