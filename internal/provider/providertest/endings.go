package providertest

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// ending is our view of an ending: when the call returns, and later; nil if it cannot be
// seen then.
type ending struct {
	at         Ending
	now, later []pay.OutcomeKind
	soft       bool
}

func endings() []ending {
	kinds := func(k ...pay.OutcomeKind) []pay.OutcomeKind { return k }
	return []ending{
		{at: Paid, now: kinds(pay.Approved), later: kinds(pay.Approved)},
		{at: Declined, now: kinds(pay.Declined), later: kinds(pay.Declined)},
		{at: SoftDeclined, now: kinds(pay.Declined), soft: true},
		{at: Challenged, now: kinds(pay.Awaiting)},
		{at: Expired, later: kinds(pay.Lapsed)},
		{at: WrongAmount, later: kinds(pay.Approved)},
		{at: WrongCurrency, later: kinds(pay.Approved)},
		{at: Nonsense, now: kinds(pay.Unknown), later: kinds(pay.Unknown)},
	}
}

// endings moves charges to every ending, and looks at each by query and by notification.
func (s Suite) endings(t *testing.T, rail string) {
	card, hosted := strings.HasPrefix(rail, "card"), s.Hosted[rail] != ""
	atOnce := card && !hosted && s.OnPage[rail] == ""
	for _, e := range endings() {
		if s.Without[e.at] != "" {
			continue
		}
		if e.now != nil && (atOnce || e.at == Nonsense && s.Quiet[rail] == "") {
			t.Run(string(e.at)+" at once", func(t *testing.T) { s.endingNow(t, rail, e) })
		}
		if e.later != nil && !(card && !hosted && e.at == Expired) && !(hosted && e.at == Declined) {
			t.Run(string(e.at)+" later", func(t *testing.T) { s.endingLater(t, rail, e) })
		}
	}
	if s.Without[Disputed] == "" {
		t.Run("disputed", func(t *testing.T) {
			b := s.connect(t)
			r := b.paid(t, rail, "01M7ZDISPUTE-1")
			paid := b.notice(t, r.Reference)
			b.Move(r.Reference, Disputed)
			n := b.notice(t, r.Reference)
			if !n.Dispute || n.ID == paid.ID || n.Stage == "" {
				t.Errorf("want a dispute, and where it stands: %+v", n)
			}
			if told := n.DisputeID != "" && n.Outcome.Local == r.Local; told != (s.Bare == "") {
				t.Errorf("the dispute is %q of %v, want its id and %v", n.DisputeID, n.Outcome.Local, r.Local)
			}
			if paid.Outcome.ProviderRef != "" {
				r.ProviderRef = paid.Outcome.ProviderRef
			}
			s.askedDispute(t, b, r, n, rail == s.Adapter.Rails[0])
		})
	}
}

// words lets the provider answer a query with each status that it documents: the adapter knows it, and takes only those that
// say so for paid.
func (s Suite) words(t *testing.T, rail string) {
	p, ok := s.New(t).(published.Publisher)
	if !ok || s.Blind != "" {
		return
	}
	for _, w := range p.Published().Words() {
		t.Run(w.Call+": "+w.Word, func(t *testing.T) {
			b := s.connect(t)
			b.Next(Open)
			r := s.request(rail, "01M7ZWORDS-1")
			r.ProviderRef = b.Charge(within(t), r).ProviderRef
			if w.Paid {
				b.Move(r.Reference, Paid) // with the amount that was paid
			}
			b.line.gate.SetStatus(w.Call, w.Word)
			o := b.Query(within(t), r)
			if unknown := b.line.Unmapped(); len(unknown) > 0 {
				t.Errorf("the adapter does not know the documented word: %v", unknown)
			}
			if paid := o.Kind == pay.Approved || o.Kind == pay.Reversed; b.line.gate.Gave(w.Call) && paid && !w.Paid {
				t.Errorf("the query is %s", o.Kind)
			}
		})
	}
}

// askedDispute queries a dispute, if the provider allows that: the answer agrees with the
// notification, and there is none while the provider is silent.
func (s Suite) askedDispute(t *testing.T, b *bench, r provider.Request, told pay.Notice, broken bool) {
	querier, can := b.Provider.(provider.DisputeQuerier)
	if !can {
		return
	}
	q := provider.DisputeRequest{ID: told.DisputeID, Charge: r}
	n, known := querier.QueryDispute(within(t), q)
	if !known || !n.Dispute || n.Reference != r.Reference || n.DisputeID != told.DisputeID || n.Outcome.Local != told.Outcome.Local || n.Stage != told.Stage {
		t.Errorf("the query returns %+v, %v; the notification %+v", n, known, told)
	}
	for _, f := range faults() {
		if !broken {
			break // one rail is enough
		}
		b.line.Fail(f)
		if n, known := querier.QueryDispute(brief(t), q); known {
			t.Errorf("%s: the query returns %+v", f, n)
		}
	}
	b.line.Fail(NoFault)
	if n, known := querier.QueryDispute(within(t), provider.DisputeRequest{ID: "never", Charge: r}); known {
		t.Errorf("a dispute that never existed: %+v", n)
	}
}

func (s Suite) endingNow(t *testing.T, rail string, e ending) {
	b := s.connect(t)
	b.Next(e.at)
	r := s.request(rail, "01M7ZNOW-1")
	var o pay.Outcome
	b.strange(t, "the charge", e.at, func() { o = b.Charge(within(t), r) })
	want(t, "the charge", o, e.now...)
	if o.Kind == pay.Declined && (o.Soft != e.soft || o.Decline == "") {
		t.Errorf("want soft %t and a reason: %+v", e.soft, o)
	}
	if e.at == Challenged && (o.Code != problem.ThreeDSRequired || o.FormURL == "" || o.FormURL == Page) {
		t.Errorf("want the issuer's challenge: %+v", o)
	}
	if e.at == Paid && o.Local != r.Local {
		t.Errorf("%v was paid, want %v", o.Local, r.Local)
	}
}

func (s Suite) endingLater(t *testing.T, rail string, e ending) {
	b := s.connect(t)
	b.Next(Open)
	r := s.request(rail, "01M7ZLATER-1")
	r.ProviderRef = b.Charge(within(t), r).ProviderRef
	b.Move(r.Reference, e.at)
	var asked pay.Outcome
	switch {
	case s.Blind == "":
		b.strange(t, "the question", e.at, func() { asked = b.Query(within(t), r) })
		want(t, "the question", asked, e.later...)
	case e.at != Nonsense:
		want(t, "the question", b.Query(within(t), r), pay.Awaiting)
	}
	if e.at == Expired && s.Quiet[rail] != "" {
		return
	}
	var n pay.Notice
	b.strange(t, "the notification", e.at, func() { n = b.notice(t, r.Reference) })
	want(t, "the notification", n.Outcome, e.later...)
	for _, o := range []pay.Outcome{asked, n.Outcome} {
		if o.Kind == pay.Approved && (o.Local == r.Local) != (e.at == Paid) {
			t.Errorf("%v was paid of %v", o.Local, r.Local)
		}
	}
	if twin := b.notice(t, r.Reference); twin.ID != n.ID {
		t.Errorf("the same news has the ids %q and %q", n.ID, twin.ID)
	}
}

// strange fails the test unless an unknown status is reported exactly once while do runs,
// and a known one never.
func (b *bench) strange(t *testing.T, what string, e Ending, do func()) {
	t.Helper()
	before := len(b.line.Unmapped())
	do()
	words, want := b.line.Unmapped()[before:], 0
	if e == Nonsense {
		want = 1
	}
	if len(words) != want {
		t.Errorf("%s, %s: reported %q, want %d unknown statuses", what, e, words, want)
	}
}
