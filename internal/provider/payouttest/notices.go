package payouttest

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// notifications checks what the provider reports by itself.
func (s Suite) notifications(t *testing.T, sample payouts.Request) {
	_, listens := s.connect(t).Provider.(provider.PayoutListener)
	if listens != (s.Untold == "") {
		t.Fatalf("the adapter listens: %t, and the suite says %q", listens, s.Untold)
	}
	if !listens {
		t.Skip(s.Untold)
	}
	for _, c := range []struct {
		what string
		do   func(*testing.T, payouts.Request)
	}{
		{"of a payout that was paid", s.toldPaid},
		{"of a payout that was refused", s.toldRefused},
		{"of a payout that came back", s.toldReturned},
		{"of an open payout reports no final result", s.toldOpen},
		{"before the answer to the call", s.toldEarly},
		{"forged", s.forged},
		{"about something else", s.toldOther},
		{"while the provider cannot be queried", s.toldUnasked},
	} {
		t.Run(c.what, func(t *testing.T) { c.do(t, sample) })
	}
}

func (b *bench) listener() provider.PayoutListener { return b.Provider.(provider.PayoutListener) }

// notice returns the one notice of a payout, which arrives again and again with one id.
func (b *bench) notice(t *testing.T, r payouts.Request) pay.PayoutNotice {
	t.Helper()
	var first pay.PayoutNotice
	for delivery := range 2 {
		n := b.Notify(r.Reference)
		list, err := b.listener().Notices(within(t), n)
		if err != nil || len(list) != 1 {
			t.Fatalf("delivery %d reports %d payouts: %v", delivery+1, len(list), err)
		}
		told := list[0]
		ours := told.Reference == r.Reference || told.Reference == "" && told.ProviderRef != "" && told.ProviderRef == r.ProviderRef
		if told.ID == "" || !ours || len(told.Body) == 0 {
			t.Errorf("the notice is %+v, want one about %s (%s), with an id and its body", told, r.Reference, r.ProviderRef)
		}
		if delivery > 0 && told.ID != first.ID {
			t.Errorf("the same news has the ids %q and %q", first.ID, told.ID)
		}
		b.prove(t, "the notice", r, told.Outcome)
		first = told
	}
	return first
}

// learn reads a notice of a payout whose id is not known, as the core does: it keeps the
// id.
func (b *bench) learn(t *testing.T, r *payouts.Request) pay.PayoutOutcome {
	t.Helper()
	n := b.notice(t, *r)
	if n.ProviderRef == "" || n.ProviderRef != n.Outcome.ProviderRef {
		t.Errorf("the notice does not contain the id: %+v", n)
	}
	r.ProviderRef = n.ProviderRef
	return n.Outcome
}

// sent is an accepted payout whose id at the provider is known.
func (b *bench) sent(t *testing.T, sample payouts.Request, reference string, next Behaviour) payouts.Request {
	t.Helper()
	b.Next(next)
	r := b.order(sample, reference)
	b.send(t, "the call", &r)
	return r
}

func (s Suite) toldPaid(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.sent(t, sample, "01M7ZTOLD", Slow)
	b.Complete(r.Reference)
	n := b.notice(t, r)
	want(t, "the notice", n.Outcome, pay.PayoutPaid)
	want(t, "the question after it", b.ask(t, "the question after it", &r), pay.PayoutPaid)
	other := b.sent(t, sample, "01M7ZTOLD-2", Slow)
	b.Complete(other.Reference)
	if twin := b.notice(t, other); twin.ID == n.ID {
		t.Errorf("news of two payouts have the id %q", n.ID)
	}
	b.line.Pass(72 * time.Hour)
	if late := b.notice(t, r); late.ID != n.ID {
		t.Errorf("the same news has the ids %q and, days later, %q", n.ID, late.ID)
	}
	if s.Without[PaysLess] == "" {
		less := b.sent(t, sample, "01M7ZTOLD-3", PaysLess)
		e, _ := b.entry(t, less.Reference)
		if told := b.notice(t, less); told.Outcome.Local != e.Paid || told.Outcome.Local == less.Local {
			t.Errorf("%s was paid, the notice is %+v", e.Paid, told.Outcome)
		}
	}
}

func (s Suite) toldRefused(t *testing.T, sample payouts.Request) {
	for _, why := range Refusals() {
		if s.Without[why] != "" {
			continue
		}
		b := s.connect(t)
		r := b.sent(t, sample, "01M7ZTOLDNO", Slow)
		b.Fail(r.Reference, why)
		n := b.notice(t, r)
		if n.Outcome.Kind != pay.PayoutRejected || n.Outcome.Code != string(why) {
			t.Errorf("%s: the notice is %+v", why, n.Outcome)
		}
	}
}

// toldReturned makes a payout come back in full. Other money that comes back does not count
// for it: the notice is about our payout, and has that kind.
func (s Suite) toldReturned(t *testing.T, sample payouts.Request) {
	if s.ReturnsUntold != "" || s.Without[ComesBack] != "" {
		t.Skip(s.ReturnsUntold, s.Without[ComesBack])
	}
	b := s.connect(t)
	r := b.sent(t, sample, "01M7ZTOLDBACK", Slow)
	b.Complete(r.Reference)
	b.ask(t, "the question", &r)
	paid := b.notice(t, r)
	b.Return(r.Reference, AccountClosed)
	n := b.notice(t, r)
	want(t, "the notice", n.Outcome, pay.PayoutReturned)
	if n.ID == paid.ID {
		t.Errorf("the notices that it was paid and that it came back both have the id %q", n.ID)
	}
	if n.Outcome.Local != (money.Amount{}) && n.Outcome.Local != r.Local {
		t.Errorf("%s came back, want %s", n.Outcome.Local, r.Local)
	}
}

func (s Suite) toldOpen(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.sent(t, sample, "01M7ZTOLDOPEN", Slow)
	n := b.Notify(r.Reference)
	if len(n.Body) == 0 {
		return // it sends none
	}
	list, err := b.listener().Notices(within(t), n)
	if err != nil || len(list) > 1 {
		t.Fatalf("it reports %d payouts: %v", len(list), err)
	}
	for _, n := range list {
		want(t, "the notice", n.Outcome, pay.PayoutAccepted, pay.PayoutUnknown)
	}
}

// toldEarly makes the notification overtake the answer to the call, which is lost.
func (s Suite) toldEarly(t *testing.T, sample payouts.Request) {
	steps := s.steps(t, sample, func(b *bench, r *payouts.Request) { b.send(t, "the call", r) })
	b := s.connect(t)
	r := b.order(sample, "01M7ZEARLY")
	b.Next(Slow)
	b.line.Fail(DropAfter, steps)
	want(t, "the call", b.send(t, "the call", &r), pay.PayoutUnknown, pay.PayoutAccepted)
	b.line.Fail(NoFault, 0)
	b.Complete(r.Reference)
	want(t, "the notice", b.notice(t, r).Outcome, pay.PayoutPaid)
}

// forged sends what a stranger could. Either it is refused, or the provider is queried and
// reports the true state.
func (s Suite) forged(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.sent(t, sample, "01M7ZFORGED", Slow)
	done := b.sent(t, sample, "01M7ZFORGED-2", Slow)
	b.Complete(done.Reference)
	good := b.Notify(done.Reference)
	forgeries := b.Forge(r.Reference)
	if len(forgeries) == 0 {
		t.Error("the fake has no forgeries")
	}
	forgeries["nothing at all"] = provider.Notification{Header: http.Header{}}
	forgeries["a good signature and no body"] = provider.Notification{Header: good.Header, Query: good.Query}
	for name, n := range forgeries {
		list, err := b.listener().Notices(within(t), n)
		for _, told := range list {
			if told.Reference == "" || told.Outcome.Kind != pay.PayoutAccepted && told.Outcome.Kind != pay.PayoutUnknown {
				t.Errorf("%s: it is believed: %+v", name, told)
			}
		}
		if len(n.Body) == 0 && !errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("%s: %v, want ErrUnsigned", name, err)
		}
	}
	e, _ := b.entry(t, r.Reference)
	if e.Times != 0 {
		t.Errorf("a forgery paid: %+v", e)
	}
}

func (s Suite) toldOther(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	b.sent(t, sample, "01M7ZOTHER", Slow)
	before := b.Books()
	for name, n := range b.Other() {
		list, err := b.listener().Notices(within(t), n)
		if err != nil && !errors.Is(err, provider.ErrNotOurs) || len(list) != 0 {
			t.Errorf("%s: %d notices, %v", name, len(list), err)
		}
	}
	if after := b.Books(); !slices.Equal(before, after) {
		t.Errorf("the books were %+v, and are %+v", before, after)
	}
}

// toldUnasked makes the provider silent when it is queried about its notification.
func (s Suite) toldUnasked(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.sent(t, sample, "01M7ZUNASKED", Slow)
	b.Complete(r.Reference)
	b.line.Fail(NoFault, 0)
	b.notice(t, r)
	if b.line.Count() == 0 {
		t.Skip("the notification is accepted without a query")
	}
	for _, f := range []Fault{RateLimited, Unauthorized, Forbidden, Lost, ServerError, Maintenance, Redirect, DropBefore, Garbage, Cut, Page, Nothing} {
		b.line.Fail(f, 0)
		list, err := b.listener().Notices(within(t), b.Notify(r.Reference))
		if len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("%s: %d notices, %v, want ErrUnreachable", f, len(list), err)
		}
	}
	b.line.Fail(NoFault, 0)
	want(t, "the notice at last", b.notice(t, r).Outcome, pay.PayoutPaid)
}
