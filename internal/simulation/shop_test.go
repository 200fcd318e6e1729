package simulation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// merchant is a shop with its money.
type merchant struct {
	by        base.Principal
	trial     base.Principal // in the sandbox, with an endpoint at trialHost
	wallet    string
	host      string // of its endpoint
	trialHost string
	old       []string // payments that were completed before the world began
}

// request is a request of a shop, and its answer.
type request struct {
	what     string // create, session, refund, withdraw
	shop     *merchant
	tag      string // marks what it makes: an order's id, a refund's reason
	small    bool   // of a payment: it is worth almost nothing
	token    string // of a checkout session
	won      string // the payment that its shopper chose, "" before that
	amount   int64  // of a withdrawal; each has its own
	wallet   string // of a withdrawal; "": the shop's first
	key      string // the Idempotency-Key, "" without one
	tries    int
	settled  bool  // it has an answer that is not a 5xx
	unclear  bool  // as far as the shop knows, one of the tries may have been done
	err      error // the error in the answer
	id       string
	status   pay.Status // as the answer said
	doubled  []string   // other ids in answers for the same key
	canceled bool       // of a payment: the answer said that it is canceled
	took     time.Duration
}

// undone reports whether an answer means that nothing was done, and that the shop should
// retry.
func undone(err error) bool {
	shown, ok := errors.AsType[*problem.Error](err)
	return ok && shown.Code == problem.ServiceUnavailable && shown.Details.Reason != store.OutcomeUnknown
}

// unclear reports whether an answer leaves open what was done: a 5xx.
func unclear(err error) bool {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err != nil
	}
	return shown.Code == problem.ServiceUnavailable || shown.Code == "internal_error" ||
		shown.Code == problem.IdempotencyConflict && shown.Details.Reason == "request_in_progress"
}

// ask makes a request to some node, as over HTTP. heard is false if no answer came within
// the caller's patience.
//
// Requests within the same second use one connection, to one node.
func (w *world) ask(name string, patience time.Duration, do func(context.Context, *node) error) (err error, heard bool) {
	w.turns.turn(name)
	if time.Since(w.balanced.at) > time.Second || w.balanced.to == nil || w.balanced.to.isDead() {
		w.balanced.at, w.balanced.to = time.Now(), w.anyone()
	}
	n := w.balanced.to
	if n == nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(lane(context.Background(), name), patience)
	defer cancel()
	answer := make(chan error, 1)
	n.requests.Go(func() { answer <- do(ctx, n) })
	select {
	case err = <-answer:
		heard = ctx.Err() == nil && n.stand() == nil // if both are ready, select would choose at random
	case <-ctx.Done():
	case <-n.dead:
	}
	if !heard {
		err = nil
	}
	w.turns.turn(fmt.Sprint(name, " hears ", heard, " ", err))
	return err, heard
}

const (
	patience = 40 * time.Second
	// tries is how often an honest client repeats a request with a key.
	tries = 60
)

// made repeats a request until it is answered, or makes it once if it has no key: an honest
// client must not repeat such a request.
func (w *world) made(r *request, chance *rand.Rand, do func(context.Context, *node) (id string, status pay.Status, err error)) {
	w.turns.turn("asks for " + r.tag)
	w.asked = append(w.asked, r)
	for r.tries = 1; ; r.tries++ {
		began := time.Now()
		var id string
		var status pay.Status
		err, heard := w.ask(fmt.Sprint(r.what, " ", r.tag, " ", r.tries), patience, func(ctx context.Context, n *node) (err error) {
			id, status, err = do(ctx, n)
			return err
		})
		r.took = max(r.took, time.Since(began))
		if heard && !unclear(err) {
			if r.id != "" && id != "" && r.id != id {
				r.doubled = append(r.doubled, id)
			}
			r.settled, r.err, r.id, r.status = true, err, id, status
			return
		}
		if heard && undone(err) {
			w.count("requests answered that nothing was done")
		} else {
			r.unclear = true
		}
		w.count("requests without an answer")
		if r.key == "" || r.tries == tries || w.over {
			r.settled, r.err = r.key == "" && !r.unclear, err
			return
		}
		time.Sleep(time.Second<<min(r.tries, 7) + time.Duration(chance.Int64N(int64(time.Second))))
	}
}

func hashOf(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

// idempotency returns an Idempotency-Key with its request; the key is empty if the shop uses none.
func (r *request) idempotency(route string, body ...any) base.Idempotency {
	return base.Idempotency{Route: route, Key: r.key, Hash: hashOf(body...)}
}

// shopping is the life of one client: it makes payments, refunds some, and withdraws money.
func (w *world) shopping(number int, shop *merchant) {
	chance := rand.New(rand.NewPCG(w.seed, uint64(100+number)))
	keys := chance.IntN(2) > 0
	var mu sync.Mutex // guards orders
	var orders []*request
	one := func(r *request, chance *rand.Rand, refunds bool) {
		mu.Lock()
		known := slices.Clone(orders)
		mu.Unlock()
		slices.SortFunc(known, func(a, b *request) int { return strings.Compare(a.tag, b.tag) })
		dice := chance.IntN(10)
		if refunds {
			dice = 8
		}
		if shop == w.shops[2] && dice == 4 { // the shop whose payouts leave in files
			dice = 9
		}
		switch {
		case dice < 5 || len(known) == 0 && !refunds:
			mu.Lock()
			orders = append(orders, r)
			mu.Unlock()
			w.order(r, chance)
		case dice < 9 && (len(known) == 0 || chance.IntN(2) == 0):
			w.giveBack(r, &request{id: shop.old[chance.IntN(len(shop.old))], tag: "old"}, chance)
		case dice < 9:
			w.giveBack(r, known[chance.IntN(len(known))], chance)
		default:
			w.takeOut(r, chance)
		}
	}
	for i := range 2 + chance.IntN(4) {
		time.Sleep(time.Duration(chance.Int64N(int64(w.span) / 4)))
		if w.healing() {
			return
		}
		// Sometimes many come at once.
		many := 1
		if chance.IntN(2) == 0 {
			many = 4 + chance.IntN(10)
		}
		refunds := chance.IntN(2) == 0
		var rush sync.WaitGroup
		for k := range many {
			r := &request{shop: shop, tag: fmt.Sprintf("c%d-%d-%d", number, i, k)}
			if keys {
				r.key = r.tag
			}
			own := rand.New(rand.NewPCG(w.seed, hash64(r.tag)))
			rush.Go(func() {
				w.turns.turn("begins " + r.tag)
				one(r, own, refunds)
			})
		}
		rush.Wait()
	}
}

func (w *world) order(r *request, chance *rand.Rand) {
	r.what = "create"
	amount := money.New(int64(10+chance.IntN(200))*100, money.USD)
	rail := w.rails[chance.IntN(len(w.rails))]
	if r.small = chance.IntN(4) == 0; r.small {
		amount, rail = w.almostNothing(chance)
	}
	if chance.IntN(4) == 0 {
		w.checkout(r, amount, rail, chance)
		return
	}
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
	if r.small {
		w.toldOfSmall(r)
	}
	if r.id != "" && r.err == nil {
		w.aside.Go(func() { w.shopper(r, rand.New(rand.NewPCG(w.seed, hash64("shopper of "+r.tag)))) })
		if chance.IntN(4) == 0 {
			w.aside.Go(func() { w.cancel(r, rand.New(rand.NewPCG(w.seed, hash64("cancel of "+r.tag)))) })
		}
	}
}

// cancel is a shop that cancels a payment some time later. It repeats the request until it
// knows the result, and a second program of the shop may do the same at the same time.
func (w *world) cancel(order *request, chance *rand.Rand) {
	time.Sleep(time.Duration(chance.Int64N(int64(30 * time.Minute))))
	w.turns.turn("wants to cancel " + order.tag)
	for program := range 1 + chance.IntN(2) {
		own := rand.New(rand.NewPCG(chance.Uint64(), uint64(program)))
		w.aside.Go(func() {
			for try := range 12 {
				var p pay.Payment
				err, heard := w.ask(fmt.Sprint("cancel ", order.tag, " ", program, " ", try), patience, func(ctx context.Context, n *node) (err error) {
					p, err = n.app.Payments.Cancel(ctx, order.shop.by.Scope, order.id, view.Cause{RequestID: "req_cancel_" + order.tag})
					return err
				})
				if heard && err == nil && !p.End.Canceled() {
					w.find(answersTrue, order.id, "a cancel of %s says that it is %s", order.id, p.Status)
				}
				switch {
				case heard && err == nil:
					order.canceled = true
					w.count("payments canceled")
					return
				case heard && !unclear(err):
					w.count("cancels refused")
					return
				}
				w.count("cancels without an answer")
				if w.over {
					return
				}
				time.Sleep(time.Duration(own.Int64N(int64(10 * time.Minute))))
				w.turns.turn("wants to cancel " + order.tag)
			}
		})
	}
}

// shopper looks at the page some time later, and pays.
func (w *world) shopper(r *request, chance *rand.Rand) {
	for range 8 {
		wait := time.Duration(chance.Int64N(int64(20 * time.Minute)))
		if chance.IntN(4) == 0 {
			wait = time.Duration(chance.Int64N(int64(26 * time.Hour)))
		}
		if w.longer > 0 && chance.IntN(3) == 0 { // in the last moment
			wait = 21*time.Hour + time.Duration(chance.Int64N(int64(3*time.Hour)))
		}
		time.Sleep(wait)
		var p pay.Payment
		err, heard := w.ask("page of "+r.tag, patience, func(ctx context.Context, n *node) (err error) {
			p, err = n.app.Cascade.Payment(ctx, r.shop.by.Scope, r.id)
			return err
		})
		if !heard || err != nil || p.Status == pay.Processing {
			continue
		}
		attempt, ok := p.Attempts.Current()
		if !ok || p.Status != pay.Pending || chance.IntN(4) == 0 { // the shopper no longer wants it
			return
		}
		time.Sleep(time.Duration(chance.Int64N(int64(5 * time.Minute))))
		w.turns.turn("the shopper of " + r.tag + " pays")
		if u := w.upstreams[attempt.Provider]; u != nil {
			if shown := u.charges[p.Reference(attempt.Order)]; shown != nil && shown.status == "open" {
				w.count("shoppers who paid")
				u.pay(shown)
			}
		}
		return
	}
}

func (w *world) giveBack(r *request, order *request, chance *rand.Rand) {
	text := "" // all of the rest
	if chance.IntN(3) > 0 {
		text = strconv.Itoa(1 + chance.IntN(40))
	}
	if text != "" && (order.small || chance.IntN(8) == 0) {
		text = money.New(1+chance.Int64N(40), money.BRL).Decimal()
	}
	w.giveBackSome(r, order, text, chance)
}

func (w *world) giveBackSome(r *request, order *request, text string, chance *rand.Rand) {
	id := order.id
	if order.what == "session" {
		id = order.won
	}
	if id == "" {
		return
	}
	r.what = "refund"
	w.made(r, chance, func(ctx context.Context, n *node) (string, pay.Status, error) {
		refund, _, err := n.app.Claims.Refund(ctx, r.shop.by.Scope, claims.NewRefund{
			Payment: id, Amount: text, Reason: r.tag, By: audit.Actor{Kind: audit.ByKey, ID: r.shop.by.KeyID},
			Idempotency: r.idempotency("refund "+id, text, r.tag),
		})
		if err != nil {
			return "", "", err
		}
		return refund.ID, "", nil
	})
	w.count("refunds requested")
}

func (w *world) takeOut(r *request, chance *rand.Rand) {
	r.what = "withdraw"
	w.turns.turn("counts " + r.tag)
	w.withdrawals++
	r.amount = 1000 + int64(w.withdrawals) // each amount is unique
	if chance.IntN(4) == 0 {
		r.amount -= 700 // a few cents more than a fee of 3.00
	}
	w.made(r, chance, func(ctx context.Context, n *node) (string, pay.Status, error) {
		made, _, err := n.app.Payouts.Withdraw(ctx, r.shop.by, r.shop.by.Scope, payouts.NewWithdrawal{
			Wallet: cmp.Or(r.wallet, r.shop.wallet), Amount: money.New(r.amount, money.USD), Idempotency: r.idempotency("POST /withdrawals", r.amount),
		})
		if err != nil {
			return "", "", err
		}
		return made.ID, "", nil
	})
	w.count("withdrawals requested")
}

// afterwards refunds payments in parts, in the days after the busy time and again when
// reserves are released.
func (w *world) afterwards(chance *rand.Rand) {
	shop := w.shops[0]
	last := time.Now().Add(w.quiet + 8*day) // a later refund may still be open when the world ends
	for i := range 12 {
		wait := time.Duration(chance.Int64N(int64(2 * day)))
		if i == 6 {
			wait = w.quiet
		}
		time.Sleep(wait)
		w.turns.turn(fmt.Sprint("long afterwards ", i))
		if w.over || time.Now().After(last) {
			return
		}
		order := &request{id: shop.old[i%2], tag: "old"} // the same ones again and again
		amount := 2 + chance.IntN(12)
		if i == 6 || i == 7 {
			amount = 400 + chance.IntN(300)
		}
		r := &request{shop: shop, tag: fmt.Sprint("later-", i), key: fmt.Sprint("later-", i)}
		w.giveBackSome(r, order, strconv.Itoa(amount), chance)
	}
}

// atRelease refunds a part of each old payment at the moment when the node whose clock is
// furthest ahead releases the reserve of its day.
func (w *world) atRelease(chance *rand.Rand) {
	time.Sleep(w.span + w.longer + day)
	w.turns.turn("waits for the release")
	ahead := time.Duration(math.MinInt64)
	for _, n := range w.nodes {
		if !n.isDead() {
			ahead = max(ahead, n.skew)
		}
	}
	for i, shop := range w.shops {
		for k, id := range shop.old {
			p, err := w.eye.Payments().Any(context.Background(), id)
			if err != nil {
				w.find(checkIsClean, id, "%v", err)
				return
			}
			at := pay.ReleaseOf(p.Times.Completed).Add(-ahead)
			r := &request{shop: shop, tag: fmt.Sprint("release-", i, "-", k), key: fmt.Sprint("release-", i, "-", k)}
			amount := strconv.Itoa(2 + chance.IntN(12))
			own := rand.New(rand.NewPCG(chance.Uint64(), 7))
			w.aside.Go(func() {
				time.Sleep(time.Until(at))
				w.turns.turn("gives back at the release " + r.tag)
				w.giveBackSome(r, &request{id: id, tag: "old"}, amount, own)
			})
		}
	}
}
