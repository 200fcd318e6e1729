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
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// Suite describes an adapter that pays out. The value of each limitation names the place
// where the provider's documents state it or leave it open.
type Suite struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	// New makes a fake of the provider that accepts the credentials.
	New func(t *testing.T) Fake
	// Payouts has one sample for every rail of the adapter: network, currency, type,
	// destination, amounts, and the data that the rail requires of the beneficiary. The suite
	// sets the reference and the times.
	Payouts map[string]payouts.Request
	// More are further samples, by what they show: other kinds of destination, amounts at a
	// limit. Each is paid.
	More map[string]payouts.Request
	// Unsendable are payouts that the adapter refuses by itself, by the reason.
	Unsendable map[string]payouts.Request
	// Without are the behaviours that the provider's documents do not have.
	Without map[Behaviour]string
	// Settles is how long the provider may fail to find a new payout: before that, nothing
	// proves absence.
	Settles time.Duration
	// Blind: the provider cannot be queried about a payout that never existed, so absence is
	// never proven.
	Blind string
	// ByIDAlone: the provider can be queried only by its own id. Until an answer has that id,
	// a query is Unknown, and so may be the answer to another call; the fake sends
	// notifications of every stage, and a notification has the id. The state of a payout that
	// never arrived stays unknown. Such a provider is Blind too.
	ByIDAlone string
	// Untold: the provider sends no notifications.
	Untold string
	// ReturnsUntold: no notification reports a payout that came back.
	ReturnsUntold string
	// ReturnsUnasked: a query never shows that a payout came back.
	ReturnsUnasked string
	// Wordless are the refusals whose reason a query does not show: they are Refused.
	Wordless map[Behaviour]string
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	if s.Adapter.OpenPayouts == nil || s.Adapter.Open != nil {
		t.Fatal("the adapter does more than pay out")
	}
	if s.ByIDAlone != "" && s.Blind == "" {
		t.Fatal("a provider that can be queried only by its id never proves absence")
	}
	if rails := slices.Sorted(maps.Keys(s.Payouts)); !slices.Equal(rails, slices.Sorted(slices.Values(s.Adapter.Rails))) {
		t.Fatalf("there are samples for %v, but the rails are %v", rails, s.Adapter.Rails)
	}
	t.Run("documents", func(t *testing.T) { providertest.Sources(t, s.Adapter.Name, s.New(t)) })
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
	t.Run("a query goes wrong", func(t *testing.T) { s.questionFaults(t, sample) })
	t.Run("a call that is too late is not sent", func(t *testing.T) { s.fenced(t, sample) })
	t.Run("absence is reported only with proof", func(t *testing.T) { s.absence(t, sample) })
	t.Run("notifications", func(t *testing.T) { s.notifications(t, sample) })
	t.Run("every documented status", func(t *testing.T) { s.words(t, sample) })
}

// rail tests payouts on one rail.
func (s Suite) rail(t *testing.T, sample payouts.Request) {
	cases := []struct {
		what string
		of   Behaviour
		do   func(*testing.T, payouts.Request)
	}{
		{"a payout is paid once, to the beneficiary, in full", Pays, s.paid},
		{"sent twice with one reference it pays once", Pays, s.twice},
		{"sent by many at once it pays once", Pays, s.parallel},
		{"a slow payout is accepted until it is paid", Slow, s.slow},
		{"another amount than ordered is reported", PaysLess, s.less},
		{"without a float it is paid later or never", NoFloat, func(t *testing.T, r payouts.Request) { s.account(t, r, NoFloat) }},
		{"while barred it is paid later or never", Barred, func(t *testing.T, r payouts.Request) { s.account(t, r, Barred) }},
		{"an unknown status proves nothing", Nonsense, s.nonsense},
		{"a payout comes back days after it was paid", ComesBack, s.returned},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
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
	payouts.Provider
	Fake
	line  *Line
	suite Suite
	t     testing.TB
}

// Notify implements Fake: it is held to the provider's table.
func (b *bench) Notify(reference string) provider.Notification {
	n := b.Fake.Notify(reference)
	if len(n.Body) > 0 || len(n.Query) > 0 { // there may be none
		published.Sent(b.t, b.Fake, n.Header, n.Query, n.Body)
	}
	return n
}

func (s Suite) connect(t *testing.T) *bench {
	t.Helper()
	fake := s.New(t)
	p, line := OpenAccount[payouts.Provider](t, s.Adapter, s.Credentials, fake)
	b := &bench{Provider: p, Fake: fake, line: line, suite: s, t: t}
	t.Cleanup(func() {
		if list := b.Complaints(); len(list) > 0 {
			t.Errorf("undocumented requests: %q", list)
		}
		b.line.mu.Lock()
		defer b.line.mu.Unlock()
		if b.line.strayed > 0 {
			t.Error("a redirect was followed to another host")
		}
		for _, word := range b.line.unmapped {
			b.discreet(t, "a word without a meaning", s.Credentials, payouts.Request{}, word)
		}
	})
	return b
}

// order returns a sample with a reference, sent now.
func (b *bench) order(sample payouts.Request, reference string) payouts.Request {
	sample.Reference, sample.ProviderRef = reference, ""
	sample.Sent, sample.Now = b.line.Time(), b.line.Time()
	return sample
}

// send sends a payout as the core does: it keeps the provider's id.
func (b *bench) send(t *testing.T, what string, r *payouts.Request) pay.PayoutOutcome {
	t.Helper()
	r.Sent, r.Now = b.line.Time(), b.line.Time()
	r.Calls++
	return b.checkAnswer(t, what, r, b.Send(within(t), *r))
}

// ask queries a payout as the core does. That moves no money, and learns nothing if the
// provider can be queried only by an id that is not known.
func (b *bench) ask(t *testing.T, what string, r *payouts.Request) pay.PayoutOutcome {
	t.Helper()
	r.Now = b.line.Time()
	before := b.Books()
	o := b.checkAnswer(t, what, r, b.Query(within(t), *r))
	if after := b.Books(); !slices.Equal(before, after) {
		t.Errorf("%s changes the books from %+v to %+v", what, before, after)
	}
	if b.suite.ByIDAlone != "" && r.ProviderRef == "" {
		want(t, what+" without their id", o, pay.PayoutUnknown)
	}
	return o
}

func (b *bench) checkAnswer(t *testing.T, what string, r *payouts.Request, o pay.PayoutOutcome) pay.PayoutOutcome {
	t.Helper()
	b.prove(t, what, *r, o)
	if o.ProviderRef != "" {
		r.ProviderRef = o.ProviderRef
	}
	return o
}

// settle moves the clock ahead until the provider finds every payout and no call is on its
// way any more.
func (b *bench) settle() { b.line.Pass(b.suite.Settles + time.Minute) }

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// want fails the test unless an outcome is of one of these kinds.
func want(t *testing.T, what string, o pay.PayoutOutcome, kinds ...pay.PayoutKind) {
	t.Helper()
	if !slices.Contains(kinds, o.Kind) {
		t.Errorf("%s: it is %s (%s %s %s), want %v", what, o.Kind, o.Code, o.Message, o.Local, kinds)
	}
}

// entry returns the one payout with a reference, false if there is none.
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

// credentials checks that invalid credentials are refused before use, and that the others
// can be tested for free.
func (s Suite) credentials(t *testing.T) {
	b := s.connect(t)
	for _, f := range s.Adapter.Fields {
		if f.Doc == "" {
			t.Errorf("no text says where to find %s", f.Name)
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
			continue // they take their time, and are like DropBefore
		}
		b.line.Fail(f, 0)
		err := check.Check(within(t))
		if err == nil {
			t.Errorf("%s: the check passes", f)
			continue
		}
		b.discreet(t, "the check", s.Credentials, payouts.Request{}, err.Error())
	}
}

// needs checks that an adapter's needs are for its own rails, and that the samples meet
// them.
func (s Suite) needs(t *testing.T) {
	for rail, fields := range s.Adapter.Needs {
		network, _, _ := strings.Cut(rail, ".")
		if !slices.ContainsFunc(s.Adapter.Rails, func(r string) bool { return strings.HasPrefix(r, network+".") }) {
			t.Errorf("it needs %v on %s, which is not one of its rails", fields, rail)
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
