package payouttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// brief makes a call with a deadline that a silent provider exceeds, and fails the test if
// the call does not keep to it.
func brief(t *testing.T, f Fault, call func(context.Context) pay.PayoutOutcome) pay.PayoutOutcome {
	t.Helper()
	limit := 10 * time.Second
	if f == LateBefore || f == LateAfter {
		limit = patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	answered := make(chan pay.PayoutOutcome, 1)
	go func() { answered <- call(ctx) }()
	select {
	case o := <-answered:
		return o
	case <-time.After(limit + 5*time.Second): // a busy machine's scheduler needs some time too
		t.Fatal("the call does not keep to its deadline")
		return pay.PayoutOutcome{}
	}
}

// steps is how many calls a method makes if all goes well.
func (s Suite) steps(t *testing.T, sample payouts.Request, do func(*bench, *payouts.Request)) int {
	t.Helper()
	b := s.connect(t)
	r := b.order(sample, "01M7ZSTEPS")
	b.line.Fail(NoFault, 0)
	do(b, &r)
	return b.line.Count()
}

// callFaults makes each call of a Send fail in every way. A payout that was paid, or still
// may be, is never reported as unpaid; a query, or the same call again, continues it.
func (s Suite) callFaults(t *testing.T, sample payouts.Request) {
	steps := s.steps(t, sample, func(b *bench, r *payouts.Request) { b.send(t, "the call", r) })
	if steps == 0 {
		t.Fatal("a call makes no call")
	}
	for _, f := range Faults() {
		for at := 1; at <= steps; at++ {
			for _, again := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, call %d, sent again %t", f, at, again), func(t *testing.T) { s.callFault(t, sample, f, at, again) })
			}
		}
	}
	t.Run("nobody answers", func(t *testing.T) {
		b := s.connect(t)
		r := b.order(sample, "01M7ZNOBODY")
		b.line.Close()
		want(t, "the call", b.send(t, "the call", &r), pay.PayoutUnknown, pay.PayoutUnavailable)
		want(t, "the question", b.ask(t, "the question", &r), pay.PayoutUnknown)
	})
	t.Run("every call is refused after the reply was lost", func(t *testing.T) {
		for _, f := range []Fault{RateLimited, Unauthorized, Forbidden, Maintenance, DropBefore} {
			b := s.connect(t)
			r := b.order(sample, "01M7ZLOST")
			b.line.Fail(DropAfter, 1)
			b.send(t, "the call whose answer is lost", &r)
			b.line.Fail(f, 0)
			want(t, string(f), b.send(t, string(f), &r), pay.PayoutUnknown, pay.PayoutAccepted)
			b.line.Fail(NoFault, 0)
			b.recover(t, &r)
		}
	})
}

func (s Suite) callFault(t *testing.T, sample payouts.Request, f Fault, at int, again bool) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZFAULT")
	b.line.Fail(f, at)
	r.Calls++
	o := b.checkAnswer(t, "the call", &r, brief(t, f, func(ctx context.Context) pay.PayoutOutcome { return b.Send(ctx, r) }))
	want(t, "the call", o, pay.PayoutUnknown, pay.PayoutAccepted, pay.PayoutUnavailable, pay.PayoutPaid)
	b.line.Fail(NoFault, 0)

	b.ask(t, "a look at it", &r)
	if !again { // a query may do more when no call is on its way
		b.settle()
		b.ask(t, "a look at it", &r)
	}
	if o.Kind == pay.PayoutUnavailable {
		b.over(t, &r)
		return
	}
	if again {
		b.send(t, "the call again", &r)
	}
	b.recover(t, &r)
}

// questionFaults makes each call of a Query fail in every way, for a payout on its way and
// for one that never existed: that proves nothing.
func (s Suite) questionFaults(t *testing.T, sample payouts.Request) {
	for _, sent := range []bool{true, false} {
		prepare := func(b *bench, r *payouts.Request) {
			if sent {
				b.Next(Slow)
				b.send(t, "the call", r)
			}
			b.settle()
			b.line.Fail(NoFault, 0)
		}
		steps := s.steps(t, sample, func(b *bench, r *payouts.Request) { prepare(b, r); b.ask(t, "the question", r) })
		for _, f := range Faults() {
			for at := 0; at <= steps; at++ {
				t.Run(fmt.Sprintf("%s, sent %t, call %d", f, sent, at), func(t *testing.T) {
					b := s.connect(t)
					r := b.order(sample, "01M7ZASK")
					prepare(b, &r)
					b.line.Fail(f, at)
					r.Now = b.line.Time()
					o := b.checkAnswer(t, "the question", &r, brief(t, f, func(ctx context.Context) pay.PayoutOutcome { return b.Query(ctx, r) }))
					if at == 0 {
						want(t, "the question", o, pay.PayoutUnknown)
					} else if !sent {
						want(t, "the question", o, pay.PayoutUnknown, pay.PayoutMissing)
					}
				})
			}
		}
	}
}

// fenced sends when it is too late: other nodes may assume that the call is lost.
func (s Suite) fenced(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZLATE")
	r.Calls++
	late := provider.Fenced(within(t), func() bool { return false })
	want(t, "the call", b.Send(late, r), pay.PayoutUnknown, pay.PayoutUnavailable)
	if list := b.Books(); len(list) != 0 {
		t.Errorf("the call was sent nevertheless: %+v", list)
	}
}

// absence queries a payout that the provider never had.
func (s Suite) absence(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZNEVER")
	if s.Settles > 0 {
		want(t, "a question while it may not be found yet", b.ask(t, "the question", &r), pay.PayoutUnknown)
	}
	b.settle()
	if s.Blind != "" {
		want(t, "the question", b.ask(t, "the question", &r), pay.PayoutUnknown)
		if s.ByIDAlone != "" {
			r.ProviderRef = "theirs"
			want(t, "a question about one that was there", b.ask(t, "the question", &r), pay.PayoutUnknown)
		}
		return
	}
	want(t, "the question", b.ask(t, "the question", &r), pay.PayoutMissing)
	r.ProviderRef = "theirs" // it existed, so that it is not found is no proof of absence
	want(t, "a question about one that was there", b.ask(t, "the question", &r), pay.PayoutUnknown)
	other := b.order(sample, "01M7ZBESIDE")
	b.send(t, "the call", &other)
	r.ProviderRef = ""
	want(t, "the question, and there is another payout", b.ask(t, "the question", &r), pay.PayoutMissing)
}
