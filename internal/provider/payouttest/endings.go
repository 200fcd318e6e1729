package payouttest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// begun are the possible outcomes of a fully successful call.
var begun = []pay.PayoutKind{pay.PayoutPaid, pay.PayoutAccepted}

func (s Suite) paid(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZPAID")
	want(t, "the call", b.send(t, "the call", &r), begun...)
	o := b.ask(t, "the question", &r)
	want(t, "the question", o, pay.PayoutPaid)
	if e, _ := b.entry(t, r.Reference); e.Times != 1 || e.Paid != r.Local {
		t.Errorf("want %s paid once, the books have %+v", r.Local, e)
	}
	r.ProviderRef = ""
	o = b.ask(t, "the question under our reference alone", &r)
	if s.ByIDAlone == "" {
		want(t, "the question under our reference alone", o, pay.PayoutPaid)
	}
}

// twice sends a payout again while it is on its way and after it was paid, as after a
// crash.
func (s Suite) twice(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZTWICE-2")
	b.Next(Slow)
	if s.Without[Slow] != "" {
		b.Next(Pays)
	}
	b.send(t, "the call", &r)
	known, kinds := r.ProviderRef, begun
	for _, what := range []string{"the call again", "the call again, and nothing is known of theirs"} {
		want(t, what, b.send(t, what, &r), kinds...)
		r.ProviderRef = ""
		if s.ByIDAlone != "" {
			kinds = append(slices.Clone(begun), pay.PayoutUnknown)
		}
	}
	if s.ByIDAlone != "" {
		r.ProviderRef = known
	}
	if s.Without[Slow] == "" {
		b.Complete(r.Reference)
	}
	want(t, "the call after it was paid", b.send(t, "the call after it was paid", &r), begun...)
	want(t, "the question", b.ask(t, "the question", &r), pay.PayoutPaid)
	if n := len(b.Books()); n != 1 {
		t.Errorf("there are %d payouts in the books", n)
	}
}

func (s Suite) parallel(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZMANY")
	ctx := within(t)
	outcomes := make([]pay.PayoutOutcome, 8)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			one := r
			if one.Calls = i/2 + 1; i%2 == 0 {
				outcomes[i] = b.Send(ctx, one)
			} else {
				outcomes[i] = b.Query(ctx, one)
			}
		})
	}
	all.Wait()
	for i, o := range outcomes {
		if o.Kind == pay.PayoutMissing && i%2 == 1 {
			continue // the query came before the first call
		}
		b.prove(t, "one of many", r, o)
	}
	b.recover(t, &r)
}

func (s Suite) slow(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZSLOW")
	b.Next(Slow)
	want(t, "the call", b.send(t, "the call", &r), pay.PayoutAccepted)
	for range 3 {
		b.settle()
		want(t, "the question", b.ask(t, "the question", &r), pay.PayoutAccepted)
	}
	b.Complete(r.Reference)
	want(t, "the question once it is paid", b.ask(t, "the question once it is paid", &r), pay.PayoutPaid)
}

// less makes the provider pay another amount than ordered. The core compares, so the
// adapter has to report it.
func (s Suite) less(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZLESS")
	b.Next(PaysLess)
	b.send(t, "the call", &r)
	o := b.ask(t, "the question", &r)
	e, _ := b.entry(t, r.Reference)
	if e.Times != 1 || o.Local != e.Paid || o.Local == r.Local {
		t.Errorf("it is %s with %s, the books have %+v", o.Kind, o.Local, e)
	}
}

// account makes the provider refuse a payout because of our account. Either nothing can be
// paid later under that reference and another account may pay, or the payout continues when
// it can.
func (s Suite) account(t *testing.T, sample payouts.Request, why Behaviour) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZACCOUNT")
	b.Next(why)
	o := b.send(t, "the call", &r)
	want(t, "the call", o, pay.PayoutUnavailable, pay.PayoutAccepted, pay.PayoutUnknown)
	if o.Kind != pay.PayoutUnavailable {
		if o.Message == "" {
			t.Errorf("the reason why it waits is not reported: %+v", o)
		}
		b.settle()
		o = b.ask(t, "the question", &r)
		want(t, "the question", o, pay.PayoutUnavailable, pay.PayoutAccepted, pay.PayoutUnknown, pay.PayoutMissing, pay.PayoutUnsent)
	}
	b.Next(Pays)
	if o.Kind == pay.PayoutUnavailable {
		b.over(t, &r)
		return
	}
	b.recover(t, &r)
}

// over proves that a payout that was given up is never paid: late calls may still arrive,
// and there may still be queries.
func (b *bench) over(t *testing.T, r *payouts.Request) {
	t.Helper()
	b.settle()
	b.ask(t, "a question after the end", r)
	if e, _ := b.entry(t, r.Reference); e.Times != 0 || e.Stage == Open {
		t.Errorf("it was given up, but the books have %+v", e)
	}
}

// recover continues a payout as the core does until it has ended. The provider pays.
func (b *bench) recover(t *testing.T, r *payouts.Request) {
	t.Helper()
	for range 6 {
		b.settle()
		o := b.ask(t, "the question that goes on", r)
		if b.suite.ByIDAlone != "" && r.ProviderRef == "" {
			if _, there := b.entry(t, r.Reference); !there {
				return // it never arrived, which cannot be known
			}
			o = b.learn(t, r)
		}
		if o.Kind == pay.PayoutMissing || o.Kind == pay.PayoutUnsent {
			o = b.send(t, "the call that goes on", r)
		}
		switch o.Kind {
		case pay.PayoutPaid:
			if e, _ := b.entry(t, r.Reference); e.Times != 1 || len(b.Books()) != 1 {
				t.Errorf("want one payout, paid once: %+v", b.Books())
			}
			return
		case pay.PayoutUnavailable:
			b.over(t, r)
			return
		case pay.PayoutRejected:
			t.Errorf("it is rejected: %s %s", o.Code, o.Message)
			return
		}
	}
	e, _ := b.entry(t, r.Reference)
	t.Errorf("it never ends: the books have %+v", e)
}

func (s Suite) nonsense(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZNONSENSE")
	b.Next(Nonsense)
	want(t, "the call", b.send(t, "the call", &r), pay.PayoutUnknown, pay.PayoutAccepted)
	before := len(b.line.Words())
	want(t, "the question", b.ask(t, "the question", &r), pay.PayoutUnknown, pay.PayoutAccepted)
	if n := len(b.line.Words()) - before; n != 1 {
		t.Errorf("%d statuses are reported to the operator, want one", n)
	}
	b.Next(Pays)
	b.Complete(r.Reference)
	want(t, "the question once it is paid", b.ask(t, "the question once it is paid", &r), pay.PayoutPaid)
	if n := len(b.line.Words()) - before; n != 1 {
		t.Errorf("known statuses are reported to the operator: %q", b.line.Words())
	}
}

// words lets the provider answer a query with each status that it documents: the adapter knows it, and takes only those that
// say so for paid.
func (s Suite) words(t *testing.T, sample payouts.Request) {
	p, ok := s.New(t).(published.Publisher)
	if !ok || s.Without[Slow] != "" {
		return
	}
	for _, w := range p.Published().Words() {
		t.Run(w.Call+": "+w.Word, func(t *testing.T) {
			b := s.connect(t)
			r := b.order(sample, "01M7ZWORDS")
			b.Next(Slow)
			b.send(t, "the call", &r)
			if w.Paid {
				b.Complete(r.Reference)
			}
			b.line.gate.SetStatus(w.Call, w.Word)
			o := b.Query(within(t), r)
			if unknown := b.line.Words(); len(unknown) > 0 {
				t.Errorf("the adapter does not know the documented word: %v", unknown)
			}
			if b.line.gate.Gave(w.Call) && o.Kind == pay.PayoutPaid && !w.Paid {
				t.Errorf("the query is %s", o.Kind)
			}
		})
	}
}

// refused makes the provider refuse a payout because of its beneficiary: at once, and
// later.
func (s Suite) refused(t *testing.T, sample payouts.Request, why Behaviour) {
	for _, later := range []bool{false, true} {
		b := s.connect(t)
		r := b.order(sample, "01M7ZREFUSED")
		b.Next(why)
		if later {
			b.Next(Slow)
		}
		o := b.send(t, "the call", &r)
		want(t, "the call", o, pay.PayoutRejected, pay.PayoutAccepted)
		if later {
			want(t, "the call", o, pay.PayoutAccepted)
			b.Fail(r.Reference, why)
		}
		code := string(why)
		if s.Wordless[why] != "" {
			code = string(Refused)
		}
		if o.Kind != pay.PayoutRejected {
			o = b.ask(t, "the question", &r)
		}
		if o.Kind != pay.PayoutRejected || o.Code != code {
			t.Errorf("later %t: it is %s %s %q, want it rejected as %s", later, o.Kind, o.Code, o.Message, code)
		}
		b.Next(Pays)
		b.send(t, "the call after the end", &r)
		b.over(t, &r)
	}
}

func (s Suite) returned(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZBACK")
	b.send(t, "the call", &r)
	want(t, "the question", b.ask(t, "the question", &r), pay.PayoutPaid)
	b.line.Pass(72 * time.Hour)
	b.Return(r.Reference, AccountClosed)
	o := b.ask(t, "the question after it came back", &r)
	if s.ReturnsUnasked == "" {
		want(t, "the question after it came back", o, pay.PayoutReturned)
	} else {
		want(t, "the question after it came back", o, pay.PayoutPaid)
	}
	if o.Local != (money.Amount{}) && o.Local != r.Local {
		t.Errorf("%s came back, want %s", o.Local, r.Local)
	}
}

// unsendable sends payouts that the adapter refuses by itself.
func (s Suite) unsendable(t *testing.T, sample payouts.Request) {
	b := s.connect(t)
	r := b.order(sample, "01M7ZWRONG")
	want(t, "the call", b.send(t, "the call", &r), pay.PayoutRejected, pay.PayoutUnavailable)
	if n := b.line.Count(); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}
