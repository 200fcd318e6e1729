package payouttest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
)

// Suite is what there is to know of an adapter that pays out. What the provider cannot do
// is said with where its documents say so, or leave it out.
type Suite struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	// New makes a fake of the provider that takes the credentials.
	New func(t *testing.T) Fake
	// Payouts has one sample for every rail of the adapter: network, currency, type,
	// destination, amounts, and the beneficiary as far as the rail needs one. The reference
	// and the times are the suite's.
	Payouts map[string]payout.Request
	// More are further samples, by what they show: other kinds of destination, the edges
	// of amounts. Each is paid.
	More map[string]payout.Request
	// Unsendable are payouts that the adapter refuses by itself, by why.
	Unsendable map[string]payout.Request
	// Without are the behaviours that the provider's documents do not have.
	Without map[Behaviour]string
	// Settles is for how long the provider may not find a new payout: before that, nothing
	// proves that there is none.
	Settles time.Duration
	// Blind: the provider cannot be asked about what never was there, so absence is never
	// proved.
	Blind string
	// ByIDAlone: the provider is asked by its own id, and by nothing else. While no answer has
	// told that id, a question is Unknown and so may be the answer to another call; the fake
	// notifies of every stage, and a notification tells the id. Of a payout that never arrived
	// nobody ever learns more. It is to be Blind too.
	ByIDAlone string
	// Untold: the provider sends no notifications.
	Untold string
	// ReturnsUntold: none tells of a payout that came back.
	ReturnsUntold string
	// ReturnsUnasked: a question never tells that a payout came back.
	ReturnsUnasked string
	// Wordless are the refusals whose reason a question does not tell: they are Refused.
	Wordless map[Behaviour]string
}

// Run plays the suite.
func (s Suite) Run(t *testing.T) {
	if s.Adapter.OpenPayouts == nil || s.Adapter.Open != nil {
		t.Fatal("the adapter does not pay out alone")
	}
	if s.ByIDAlone != "" && s.Blind == "" {
		t.Fatal("who can be asked by an id alone never proves that there is nothing")
	}
	if rails := slices.Sorted(maps.Keys(s.Payouts)); !slices.Equal(rails, slices.Sorted(slices.Values(s.Adapter.Rails))) {
		t.Fatalf("there are samples for %v, and the rails are %v", rails, s.Adapter.Rails)
	}
	t.Run("credentials", s.credentials)
	t.Run("needs", s.needs)
	for _, rail := range s.Adapter.Rails {
		t.Run(rail, func(t *testing.T) { s.rail(t, s.Payouts[rail]) })
	}
	for name, sample := range s.More {
		t.Run("is paid: "+name, func(t *testing.T) { s.paid(t, sample) })
	}
	for name, sample := range s.Unsendable {
		t.Run("is not sent: "+name, func(t *testing.T) { s.unsendable(t, sample) })
	}
	sample := s.Payouts[s.Adapter.Rails[0]]
	t.Run("a call goes wrong", func(t *testing.T) { s.callFaults(t, sample) })
	t.Run("a question goes wrong", func(t *testing.T) { s.questionFaults(t, sample) })
	t.Run("a call that is too late does not leave", func(t *testing.T) { s.fenced(t, sample) })
	t.Run("absence is told as proof alone", func(t *testing.T) { s.absence(t, sample) })
	t.Run("notifications", func(t *testing.T) { s.notifications(t, sample) })
}

// rail plays what becomes of payouts over one rail.
func (s Suite) rail(t *testing.T, sample payout.Request) {
	cases := []struct {
		rule string
		of   Behaviour
		do   func(*testing.T, payout.Request)
	}{
		{"a payout is paid once, to the beneficiary, in full", Pays, s.paid},
		{"sent twice with one reference it pays once", Pays, s.twice},
		{"sent by many at a time it pays once", Pays, s.parallel},
		{"a slow payout is accepted until it is paid", Slow, s.slow},
		{"another amount than was asked for is told", PaysLess, s.less},
		{"without float it is paid later or never", NoFloat, func(t *testing.T, r payout.Request) { s.account(t, r, NoFloat) }},
		{"barred it is paid later or never", Barred, func(t *testing.T, r payout.Request) { s.account(t, r, Barred) }},
		{"a status that nobody knows proves nothing", Nonsense, s.nonsense},
		{"a payout comes back days after it was paid", ComesBack, s.returned},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if why := s.Without[c.of]; why != "" {
				t.Skip(why)
			}
			c.do(t, sample)
		})
	}
	for _, why := range Refusals() {
		t.Run("refused for the beneficiary: "+string(why), func(t *testing.T) {
			if without := s.Without[why]; without != "" {
				t.Skip(without)
			}
			s.refused(t, sample, why)
		})
	}
}

// bench is an adapter that is connected to a fake.
type bench struct {
	payout.Provider
	Fake
	line  *Line
	suite Suite
}

func (s Suite) connect(t *testing.T) *bench {
	t.Helper()
	fake := s.New(t)
	p, line := OpenAccount[payout.Provider](t, s.Adapter, s.Credentials, fake)
	b := &bench{Provider: p, Fake: fake, line: line, suite: s}
	t.Cleanup(func() {
		if list := b.Complaints(); len(list) > 0 {
			t.Errorf("what is not documented was asked: %q", list)
		}
		b.line.mu.Lock()
		defer b.line.mu.Unlock()
		if b.line.strayed > 0 {
			t.Error("a redirect was followed to another host")
		}
		for _, word := range b.line.unmapped {
			b.discreet(t, "a word without a meaning", s.Credentials, payout.Request{}, word)
		}
	})
	return b
}

// order is a sample under a reference, sent now.
func (b *bench) order(sample payout.Request, reference string) payout.Request {
	sample.Reference, sample.ProviderRef = reference, ""
	sample.Sent, sample.Now = b.line.Time(), b.line.Time()
	return sample
}

// send sends a payout as the core does: it keeps what it learns of theirs.
func (b *bench) send(t *testing.T, what string, r *payout.Request) pay.PayoutOutcome {
	t.Helper()
	r.Sent, r.Now = b.line.Time(), b.line.Time()
	r.Calls++
	return b.heard(t, what, r, b.Send(within(t), *r))
}

// ask asks about a payout as the core does. That moves no money, and tells nothing where the
// provider has to be asked by an id that nobody knows.
func (b *bench) ask(t *testing.T, what string, r *payout.Request) pay.PayoutOutcome {
	t.Helper()
	r.Now = b.line.Time()
	before := b.Books()
	o := b.heard(t, what, r, b.Query(within(t), *r))
	if after := b.Books(); !slices.Equal(before, after) {
		t.Errorf("%s changes the books from %+v to %+v", what, before, after)
	}
	if b.suite.ByIDAlone != "" && r.ProviderRef == "" {
		want(t, what+" without their id", o, pay.PayoutUnknown)
	}
	return o
}

func (b *bench) heard(t *testing.T, what string, r *payout.Request, o pay.PayoutOutcome) pay.PayoutOutcome {
	t.Helper()
	b.prove(t, what, *r, o)
	if o.ProviderRef != "" {
		r.ProviderRef = o.ProviderRef
	}
	return o
}

// settle lets so much time go by that the provider finds every payout, and no call is on
// its way any more.
func (b *bench) settle() { b.line.Pass(b.suite.Settles + time.Minute) }

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// want fails the test unless an outcome is one of these.
func want(t *testing.T, what string, o pay.PayoutOutcome, kinds ...pay.PayoutKind) {
	t.Helper()
	if !slices.Contains(kinds, o.Kind) {
		t.Errorf("%s: it is %s (%s %s %s), want %v", what, o.Kind, o.Code, o.Message, o.Local, kinds)
	}
}

// entry is the one payout under a reference, false where there is none.
func (b *bench) entry(t *testing.T, reference string) (found Entry, ok bool) {
	t.Helper()
	for _, e := range b.Books() {
		if e.Reference == reference {
			if ok {
				t.Fatalf("there are two payouts %s: %+v", reference, b.Books())
			}
			found, ok = e, true
		}
	}
	return found, ok
}

// credentials checks that what cannot work is refused before it is used, and that the rest
// can be tried for nothing.
func (s Suite) credentials(t *testing.T) {
	b := s.connect(t)
	for _, f := range s.Adapter.Fields {
		if f.Doc == "" {
			t.Errorf("nobody says where to find %s", f.Name)
		}
		if f.Optional {
			continue
		}
		without := maps.Clone(s.Credentials)
		delete(without, f.Name)
		_, err := s.Adapter.OpenPayouts(b.line.account(without))
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != f.Name {
			t.Errorf("without %s: %v, want an error that names it", f.Name, err)
		}
	}
	check, ok := b.Provider.(provider.Checker)
	if !ok {
		return
	}
	if err := check.Check(within(t)); err != nil {
		t.Errorf("good credentials: %v", err)
	}
	if len(b.Books()) != 0 {
		t.Error("the check of the credentials ordered a payout")
	}
	for _, f := range Faults() {
		if f == LateBefore || f == LateAfter {
			continue // they take their time, and are as DropBefore
		}
		b.line.Fail(f, 0)
		err := check.Check(within(t))
		if err == nil {
			t.Errorf("%s: the check says that all is well", f)
			continue
		}
		b.discreet(t, "the check", s.Credentials, payout.Request{}, err.Error())
	}
}

// needs checks that what an adapter says it needs of beneficiaries is of its rails, and
// that the samples have it.
func (s Suite) needs(t *testing.T) {
	for rail, fields := range s.Adapter.Needs {
		network, _, _ := strings.Cut(rail, ".")
		if !slices.ContainsFunc(s.Adapter.Rails, func(r string) bool { return strings.HasPrefix(r, network+".") }) {
			t.Errorf("it needs %v on %s, which is no rail of its own", fields, rail)
		}
		for own, sample := range s.Payouts {
			if rail != network+".*" && rail != sample.Network+"."+sample.Currency || sample.Network != network {
				continue
			}
			for _, f := range fields {
				if !slices.Contains(sample.Has(), f) {
					t.Errorf("the sample of %s has no %s, which the adapter needs", own, f)
				}
			}
		}
	}
}
