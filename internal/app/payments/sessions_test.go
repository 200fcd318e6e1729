package payments_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// ana is a shopper.
var ana = pay.Customer{FirstName: "Ana", LastName: "Silva", Email: "ana@example.com", Document: "11144477735"}

// checkout creates a checkout session, and returns its token.
func (s *service) checkout(t *testing.T) string {
	t.Helper()
	_, token, _, err := s.sessions.Create(t.Context(), s.By, payments.NewSession{Amount: money.New(10_00, money.USD), Country: "BRA", Customer: ana})
	must(t, err)
	return token
}

// choose chooses PIX in a session.
func (s *service) choose(token string) (pay.Payment, error) {
	_, p, err := s.sessions.SelectMethod(context.Background(), token, payments.Choice{PaymentMethodID: "sbx_pix"})
	return p, err
}

// holder is the payment that an error names.
func holder(err error) string {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown.Details.ExistingTxID
	}
	return ""
}

// atOnce calls do for all tokens at the same time, and returns the payments that were made and the errors.
func (s *service) atOnce(tokens []string) (made []pay.Payment, refused []error) {
	var mu sync.Mutex // guards the results
	var all sync.WaitGroup
	for _, token := range tokens {
		all.Go(func() {
			p, err := s.choose(token)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made = append(made, p)
			} else {
				refused = append(refused, err)
			}
		})
	}
	all.Wait()
	return made, refused
}

// Of many choices at once in a session one makes a payment. The others name it (CHK-9).
func TestSessionMakesOnePaymentAtATime(t *testing.T) {
	s := open(t)
	token := s.checkout(t)
	tokens := make([]string, 12)
	for i := range tokens {
		tokens[i] = token
	}
	made, refused := s.atOnce(tokens)
	if len(made) != 1 || len(s.Till.Charges()) != 1 || s.count(t) != 1 {
		t.Fatalf("12 choices at once made %d payments and the charges %v", len(made), s.Till.Charges())
	}
	for _, err := range refused {
		if refusal(err) != string(problem.CheckoutSessionAlreadyCompleted) || holder(err) != made[0].ID {
			t.Errorf("another choice gets %v, want the payment %s", err, made[0].ID)
		}
	}
	if _, p, err := s.sessions.ReadSession(t.Context(), token, ""); err != nil || p == nil || p.ID != made[0].ID {
		t.Errorf("the session shows %v, %v", p, err)
	}
}

// A choice whose commit is unknown is adopted: the payment goes on, with one charge, and the session is locked to it (CHK-9).
func TestChoiceWhoseCommitIsUnknownIsAdopted(t *testing.T) {
	s := open(t)
	token := s.checkout(t)
	s.Store.Around = func(_ context.Context, _ *pay.Change, commit func() error) error {
		s.Store.Around = nil
		must(t, commit())
		return store.ErrUnknown
	}
	if _, err := s.choose(token); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("the shopper gets %v", err)
	}
	_, err := s.choose(token)
	id := holder(err)
	if refusal(err) != string(problem.CheckoutSessionAlreadyCompleted) || id == "" {
		t.Fatalf("a second choice gets %v, want the payment of the first", err)
	}
	apptest.Eventually(t, "the payment waits for its shopper", func() bool { return s.Read(t, id).Status == pay.Pending })
	if charges := s.Till.Charges(); len(charges) != 1 || s.count(t) != 1 {
		t.Errorf("there are %d payments and the charges %v", s.count(t), charges)
	}
}

// Whoever did not pay tries again in one other session, however often he asks for it. Once money of the order came, nobody tries
// again, and the session that was opened before makes no payment (CHK-9, LATE-1).
func TestOrderIsTriedAgainOnce(t *testing.T) {
	s := open(t)
	first, err := s.choose(s.checkout(t))
	must(t, err)
	if _, err := s.sessions.RetryPayment(t.Context(), first.ID); refusal(err) != string(problem.ConflictState) {
		t.Errorf("a payment that waits is tried again: %v", err)
	}
	s.Clock.Advance(first.Times.Expires.Sub(s.Clock.Now()))
	s.says(pay.Outcome{Kind: pay.Lapsed})
	s.Swept(t)
	again, err := s.sessions.RetryPayment(t.Context(), first.ID)
	must(t, err)
	if other, err := s.sessions.RetryPayment(t.Context(), first.ID); err != nil || other != again {
		t.Errorf("a second click opens another session: %v", err)
	}
	s.apply(t, first.ID, pay.Outcome{Kind: pay.Approved}) // late
	if _, err := s.choose(again); refusal(err) != "conflict_state payment_received" || holder(err) != first.ID {
		t.Errorf("a choice for an order that was paid gets %v", err)
	}
	if _, err := s.sessions.RetryPayment(t.Context(), first.ID); refusal(err) != "conflict_state payment_received" {
		t.Errorf("an order that was paid is tried again: %v", err)
	}
	if s.count(t) != 1 {
		t.Errorf("there are %d payments of the order", s.count(t))
	}
}

// A shopper who wants another way to pay gets one only once the charge has ended: what was paid meanwhile, or may have been, is not
// called off (CHK-9).
func TestWayIsChangedOnceTheChargeHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		said    pay.OutcomeKind
		refused string
		then    pay.Status
	}{
		"it ended":       {pay.Lapsed, "", pay.Failed},
		"it was paid":    {pay.Approved, "", pay.Completed},
		"nobody answers": {pay.Unknown, "service_unavailable " + string(pay.NotEnded), pay.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			p, err := s.choose(s.checkout(t))
			must(t, err)
			s.says(pay.Outcome{Kind: c.said})
			_, token, err := s.sessions.ChangeWay(t.Context(), p.ID, view.Cause{})
			if refusal(err) != c.refused || (token != "") != (c.then == pay.Failed) {
				t.Errorf("the change gets %v and the token %q", err, token)
			}
			if got := s.Read(t, p.ID); got.Status != c.then {
				t.Errorf("the payment is %s, want %s", got.Status, c.then)
			}
			if token != "" {
				if next, err := s.choose(token); err != nil || next.Status != pay.Pending {
					t.Errorf("the next choice is %s, %v", next, err)
				}
			}
		})
	}
}

// Of a session's end and a choice one wins: the session was ended, or it has a payment (CHK-30).
func TestEndedSessionMakesNoPayment(t *testing.T) {
	s := open(t)
	ended, chosen := s.checkout(t), s.checkout(t)
	for range 2 {
		if _, err := s.sessions.ExpireSession(t.Context(), s.Scope, ended, view.Cause{}); err != nil {
			t.Errorf("the session is not ended: %v", err)
		}
	}
	if _, err := s.choose(ended); refusal(err) != string(problem.CheckoutSessionNotFound) {
		t.Errorf("a choice in an ended session gets %v", err)
	}
	p, err := s.choose(chosen)
	must(t, err)
	if _, err := s.sessions.ExpireSession(t.Context(), s.Scope, chosen, view.Cause{}); holder(err) != p.ID {
		t.Errorf("the end of a session with a payment gets %v, want %s", err, p.ID)
	}
	raced := s.checkout(t)
	s.Store.Around = func(_ context.Context, _ *pay.Change, commit func() error) error { // the shopper chooses right before the end
		s.Store.Around = nil
		p, err = s.choose(raced)
		must(t, err)
		return commit()
	}
	if _, err := s.sessions.ExpireSession(t.Context(), s.Scope, raced, view.Cause{}); holder(err) != p.ID {
		t.Errorf("an end right after the choice gets %v, want %s", err, p.ID)
	}
	other := s.Scope
	other.Merchant, other.Shop = "mer_other", "shp_other"
	if _, err := s.sessions.ExpireSession(t.Context(), other, s.checkout(t), view.Cause{}); refusal(err) != string(problem.CheckoutSessionNotFound) {
		t.Errorf("another shop ends a session: %v", err)
	}
	events, err := s.Store.Events().List(t.Context(), s.Scope, lists.EventFilter{Types: []webhooks.EventType{webhooks.SessionExpired}, Page: lists.Page{Limit: 10}})
	must(t, err)
	if s.count(t) != 2 || len(events) != 1 {
		t.Errorf("there are %d payments, and %d sessions ended, want 2 and 1", s.count(t), len(events))
	}
}

// link creates a payment link.
func (s *service) link(t *testing.T, uses int) string {
	t.Helper()
	l, _, err := s.links.Create(t.Context(), s.By, payments.NewPaymentLink{Amount: money.New(10_00, money.USD), Country: "BRA", Uses: uses})
	must(t, err)
	return l.ID
}

// shoppers begin the sessions of shoppers of a link.
func (s *service) shoppers(t *testing.T, link string, n int) (tokens []string) {
	t.Helper()
	for range n {
		token, err := s.links.Begin(t.Context(), link, ana, money.Amount{})
		must(t, err)
		tokens = append(tokens, token)
	}
	return tokens
}

// Of many shoppers who choose at once with a link as many get a payment as it has uses. One that ends unpaid frees its use. Paid ones
// are counted once, and the last one ends the link (CHK-25).
func TestPaymentLinkCountsItsUses(t *testing.T) {
	for _, uses := range []int{1, 3} {
		s := open(t)
		link := s.link(t, uses)
		late := s.shoppers(t, link, 2)
		made, refused := s.atOnce(s.shoppers(t, link, 8))
		if len(made) != uses || len(s.Till.Charges()) != uses {
			t.Fatalf("of 8 shoppers at once of a link for %d %d got a payment", uses, len(made))
		}
		for _, err := range refused {
			if refusal(err) != "conflict_state payment_link_held" || uses == 1 && holder(err) != made[0].ID {
				t.Errorf("one shopper more gets %v", err)
			}
		}
		for _, p := range made[1:] {
			s.Till.Pay(p.Reference(1))
		}
		s.Till.OnCancel = func(provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Lapsed} }
		_, err := s.Payments.Cancel(t.Context(), s.Scope, made[0].ID, view.Cause{})
		must(t, err)
		last, err := s.choose(late[0]) // the use is free
		must(t, err)
		s.Till.Pay(last.Reference(1))
		if s.due(t, last.ID).Status != pay.Completed {
			t.Fatal("the last payment is not paid")
		}
		for range 2 { // counting twice is harmless
			_, err := s.links.Step(t.Context())
			must(t, err)
		}
		l, err := s.links.Get(t.Context(), s.Scope, link)
		must(t, err)
		if l.Paid != uses || l.Status(s.Clock.Now()) != pay.LinkUsed {
			t.Errorf("a link for %d is %s with %d paid", uses, l.Status(s.Clock.Now()), l.Paid)
		}
		if p, err := s.choose(late[1]); err == nil {
			t.Errorf("a used link makes the payment %s", p)
		}
		if _, err := s.links.Begin(t.Context(), link, ana, money.Amount{}); err == nil {
			t.Error("a used link begins a checkout")
		}
	}
}

// Money that came late for a link's only payment keeps others from paying too (CHK-25, LATE-1).
func TestLateMoneyHoldsAPaymentLink(t *testing.T) {
	s := open(t)
	tokens := s.shoppers(t, s.link(t, 1), 2)
	p, err := s.choose(tokens[0])
	must(t, err)
	s.says(pay.Outcome{Kind: pay.Lapsed})
	_, err = s.cancel(t, p.ID)
	must(t, err)
	s.apply(t, p.ID, pay.Outcome{Kind: pay.Approved})
	if _, err := s.choose(tokens[1]); refusal(err) != "conflict_state payment_link_held" || holder(err) != p.ID {
		t.Errorf("another shopper of the link gets %v, want a conflict with %s", err, p.ID)
	}
}

// A closed link makes no payment, not even for who came before. One that was under way is completed, and counted (CHK-25).
func TestClosedPaymentLinkMakesNoPayment(t *testing.T) {
	s := open(t)
	link := s.link(t, 3)
	tokens := s.shoppers(t, link, 2)
	p, err := s.choose(tokens[0])
	must(t, err)
	for range 2 {
		_, err = s.links.Update(t.Context(), s.Operator, s.Scope, link, payments.LinkChange{Status: pay.LinkClosed})
		must(t, err)
	}
	if _, err := s.choose(tokens[1]); refusal(err) != "conflict_state payment_link_ended" {
		t.Errorf("a choice with a closed link gets %v", err)
	}
	s.Till.Pay(p.Reference(1))
	s.due(t, p.ID)
	_, err = s.links.Step(t.Context())
	must(t, err)
	l, err := s.links.Get(t.Context(), s.Scope, link)
	must(t, err)
	if l.Paid != 1 || l.Status(s.Clock.Now()) != pay.LinkClosed {
		t.Errorf("the link is %s with %d paid", l.Status(s.Clock.Now()), l.Paid)
	}
	other := s.Scope
	other.Merchant, other.Shop = "mer_other", "shp_other"
	if _, err := s.links.Update(t.Context(), s.Operator, other, link, payments.LinkChange{Status: pay.LinkOpen}); refusal(err) != string(problem.NotFound) {
		t.Errorf("another shop opens the link: %v", err)
	}
}
