package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// checkout opens a session instead of a payment: the shopper chooses how to pay.
func (w *world) checkout(r *request, amount money.Amount, rail string, chance *rand.Rand) {
	r.what = "session"
	w.made(r, chance, func(ctx context.Context, n *node) (string, pay.Status, error) {
		s, token, _, err := n.app.Sessions.Create(ctx, r.shop.by, payments.NewSession{
			Amount: amount, OrderID: r.tag, Customer: pay.Customer{FirstName: "Ana", Email: "ana@example.com", Document: "52998224725"},
			Idempotency: r.idempotency("POST /checkout/sessions", amount.Decimal(), r.tag),
		})
		if err != nil {
			return "", "", err
		}
		r.token = token
		return s.ID, "", nil
	})
	if r.small {
		w.toldOfSmall(r)
	}
	if r.id == "" || r.err != nil {
		return
	}
	w.count("checkouts")
	w.aside.Go(func() { w.customer(r, rail, rand.New(rand.NewPCG(w.seed, hash64("customer of "+r.tag)))) })
}

// customer opens the page of a checkout soon, late, in the last moment or never; chooses, sometimes in two windows at once; pays, or
// calls that off and chooses another way, or tries again after it failed.
func (w *world) customer(r *request, rail string, chance *rand.Rand) {
	wait := time.Duration(chance.Int64N(int64(40 * time.Minute)))
	switch chance.IntN(8) {
	case 0:
		return
	case 1:
		wait = pay.SessionLife - time.Duration(chance.Int64N(int64(8*time.Minute))) + 4*time.Minute // clocks differ by minutes
	}
	token := r.token
	for round := range 3 {
		time.Sleep(wait)
		chosen := w.chooses(fmt.Sprint(r.tag, " ", round), token, rail, chance)
		if chosen == "" {
			return
		}
		r.won = chosen
		order := &request{shop: r.shop, tag: fmt.Sprint(r.tag, " ", round), id: chosen}
		if chance.IntN(8) == 0 {
			w.aside.Go(func() { w.cancel(order, rand.New(rand.NewPCG(w.seed, hash64("cancel of "+order.tag)))) })
		}
		if chance.IntN(3) > 0 {
			w.shopper(order, chance)
		}
		if token = w.another(order, chance); token == "" {
			return
		}
		rail = w.rails[chance.IntN(len(w.rails))]
		if chance.IntN(3) == 0 { // the shopper has the first page open still
			w.aside.Go(func() { w.shopper(order, rand.New(rand.NewPCG(w.seed, hash64("old page of "+order.tag)))) })
		}
		wait = time.Duration(chance.Int64N(int64(20 * time.Minute)))
	}
}

// chooses chooses a method, in one window or in two at once, until it is answered. It returns the payment that won, "" if the checkout
// is over or the shopper gives up.
func (w *world) chooses(tag, token, rail string, chance *rand.Rand) string {
	windows := 1 + chance.IntN(2)
	answers := make(chan string, windows)
	for window := range windows {
		own, way := rand.New(rand.NewPCG(chance.Uint64(), uint64(window))), rail
		if window > 0 {
			way = w.rails[chance.IntN(len(w.rails))]
		}
		w.aside.Go(func() { answers <- w.window(fmt.Sprint(tag, " window ", window), token, way, own) })
	}
	var won string
	for range windows {
		id := <-answers
		if won == "" {
			won = id
		}
		if id != "" && id != won {
			w.find(oneWins, id, "the windows of %s were answered with %s and %s", tag, won, id)
		}
	}
	return won
}

// window is one window of the shopper's: it shows the page, and sends the choice until it is answered.
func (w *world) window(tag, token, rail string, chance *rand.Rand) string {
	for try := range 12 {
		key := fmt.Sprint(tag, " ", try)
		if chance.IntN(2) == 0 {
			_, _ = w.ask("visit "+key, patience, func(ctx context.Context, n *node) error {
				_, err := n.app.Sessions.VisitSession(ctx, token, fmt.Sprint("203.0.113.", try))
				return err
			})
		}
		var s pay.Session
		err, heard := w.ask("choice "+key, patience, func(ctx context.Context, n *node) (err error) {
			s, _, err = n.app.Sessions.SelectMethod(ctx, token, payments.Choice{PaymentMethodID: rail, RequestID: "req_" + tag})
			return err
		})
		refused, is := errors.AsType[*problem.Error](err)
		switch {
		case heard && err == nil:
			w.count("methods chosen")
			return s.Payment
		case heard && is && refused.Code == problem.CheckoutSessionAlreadyCompleted:
			w.count("choices that came second")
			return refused.Details.ExistingTxID
		case heard && is && s.Payment != "": // the payment exists, and the provider does not answer
			return s.Payment
		case heard && is && !unclear(err) && refused.Code != problem.Forbidden: // a merchant may be paused
			w.count("choices refused")
			return ""
		}
		if w.over {
			return ""
		}
		time.Sleep(time.Second<<min(try, 8) + time.Duration(chance.Int64N(int64(time.Second))))
	}
	return ""
}

// another returns the token of the session in which the shopper chooses again: the present payment is called off, or was not paid.
// "" if there is nothing to try again.
func (w *world) another(order *request, chance *rand.Rand) string {
	for try := range 6 {
		time.Sleep(time.Duration(chance.Int64N(int64(10 * time.Minute))))
		token, off := "", chance.IntN(2) == 0
		err, heard := w.ask(fmt.Sprint("another way than ", order.tag, " ", try), patience, func(ctx context.Context, n *node) (err error) {
			if off {
				_, token, err = n.app.Sessions.ChangeWay(ctx, order.id, view.Cause{RequestID: "req_another_" + order.tag})
			} else {
				token, err = n.app.Sessions.RetryPayment(ctx, order.id)
			}
			return err
		})
		switch {
		case heard && err == nil && token != "":
			w.count("checkouts tried again")
			return token
		case heard && err == nil, w.over: // it was paid meanwhile
			return ""
		case heard && !unclear(err):
			w.count("nothing to try again")
		}
	}
	return ""
}

// readSessions reads all sessions whose id is known: there is no list of them. A node that dies in a commit reports none. In a world that
// lasts long, sessions are deleted by their age.
func (w *world) readSessions(ctx context.Context, s *store.Store, all *books) error {
	if w.quiet > 0 {
		return nil
	}
	known := maps.Clone(w.sessions)
	for _, r := range w.asked {
		if r.what == "session" && r.id != "" {
			known[r.id] = r.shop.by.Scope
		}
	}
	for id, p := range all.payments {
		of, err := s.Sessions().Of(ctx, id)
		switch {
		case err == nil:
			known[of.ID] = p.Scope
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	all.sessions = map[string]pay.Session{}
	for id, scope := range known {
		session, err := s.Sessions().Get(ctx, scope, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			all.sessions[id] = session
		}
	}
	return nil
}

// tokenOf is the token of a session.
func (w *world) tokenOf(s pay.Session) string { return w.nodes[0].app.Sessions.SessionToken(s.ID) }

// checkSessions proves that every checkout ended: with the one payment that was chosen in it, or with nothing, and then its shop was
// told; and that no order was paid twice, however often its shopper chose.
func (w *world) checkSessions(all *books) {
	if all.sessions == nil {
		return
	}
	of := map[string]string{} // the session of each payment
	paid := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(all.sessions)) {
		s := all.sessions[id]
		if s.Payment == "" {
			if !s.DueAt.IsZero() {
				w.find(oneWins, "", "%s of order %s is over since %s, and its end was not announced", id, s.OrderID, s.ExpiresAt())
			}
			w.count("checkouts without a choice")
			continue
		}
		p, known := all.payments[s.Payment]
		switch {
		case !known:
			w.find(oneWins, "", "%s names %s, which does not exist", id, s.Payment)
		case of[p.ID] != "":
			w.find(oneWins, p.ID, "%s is the payment of %s and of %s", p.ID, of[p.ID], id)
		case p.Order.ID != s.OrderID || p.Shop != s.Shop || !p.Page.Hosted:
			w.find(oneWins, p.ID, "%s is the payment of %s, which is about order %s of shop %s", p.ID, id, s.OrderID, s.Shop)
		}
		if of[p.ID] = id; captured(p) {
			paid[s.Shop+" "+s.OrderID] = append(paid[s.Shop+" "+s.OrderID], p.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		if all.payments[id].Page.Hosted && of[id] == "" {
			w.find(oneWins, id, "%s was chosen in a checkout that does not have it", id)
		}
	}
	for _, order := range slices.Sorted(maps.Keys(paid)) {
		if list := paid[order]; len(list) > 1 {
			w.find(oneWins, list[1], "order %s was paid by %v", order, list)
		}
	}
}
