package providertest

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// CardPage says what a provider documents of its page for cards. The value of each limitation names the place, as in Suite.
type CardPage struct {
	// Codes are two of the provider's codes of refusals, with what they mean.
	Codes [2]string
	Means [2]decline.Reason
	// Once: the first refusal ends the page.
	Once string
	// Unasked: a query does not report a refusal while the page is open.
	Unasked string
	// Untold: no notification reports a refusal while the page is open.
	Untold string
	// Untimed: nothing says when the shopper tried; it is when we learn of it.
	Untimed string
	// Unended: no call ends a page.
	Unended string
	// Unproved: nothing proves that a page that was ended takes no money any more.
	Unproved string
	// Installments is a rail, with an amount for at least six, on which shoppers pay in installments: the first card rail if it is "".
	Installments string
	Installed    money.Amount
}

// CardFake is a Fake with a page for cards.
type CardFake interface {
	Fake
	// Try lets the shopper try a card on a charge's page, which is refused with a code of the provider's, or paid if code is "". It
	// returns the notification of it, the zero value if the provider sends none. open is false if the page takes no card any more: then
	// nothing happens.
	Try(reference, code string) (n provider.Notification, open bool)
}

// cardRail is the first rail for cards; "" if there is none.
func (s Suite) cardRail() string {
	at := slices.IndexFunc(s.Adapter.Rails, func(rail string) bool { return strings.HasPrefix(rail, "card.") })
	if at < 0 {
		return ""
	}
	return s.Adapter.Rails[at]
}

// page lets shoppers try cards on the provider's page, and fails the test unless the document's table of pages says what happened.
func (s Suite) page(t *testing.T) {
	rail := s.cardRail()
	if rail == "" {
		return
	}
	if _, can := s.New(t).(CardFake); !can || s.Page == nil {
		t.Fatal("the suite has no page for cards")
	}
	row := map[string]string{}
	if in := cmp.Or(s.Page.Installments, rail); slices.Contains(s.Adapter.Rails, in) { // else this run is of other rails
		t.Run("in installments", func(t *testing.T) {
			row["instalments offered"], row["capped"], row["reported"] = s.inInstallments(t, in)
		})
	}
	t.Run("refused", func(t *testing.T) { row["a refusal is told by"] = s.refusedOnPage(t, rail) })
	t.Run("and paid", func(t *testing.T) { row["the page after it"] = s.paidAfterRefusal(t, rail) })
	t.Run("and ended", func(t *testing.T) { row["it can be ended"], row["with proof"] = s.endedAfterRefusal(t, rail) })
	told := Rows(t, "page")[s.Adapter.Name]
	for column, want := range row {
		if told[column] != want {
			t.Errorf("%s says %q of %s at %s, want %q", providers, told[column], column, s.Adapter.Name, want)
		}
	}
}

// opened is a charge on a rail whose page is open.
func (b *bench) opened(t *testing.T, rail, reference string) provider.Request {
	t.Helper()
	b.Next(Open)
	r := b.suite.request(rail, reference)
	o := b.Charge(within(t), r)
	want(t, "the page", o, pay.Awaiting)
	r.ProviderRef = o.ProviderRef
	return r
}

// try is a try on a page that is open, and what its notification reports; the zero value if it reports nothing.
func (b *bench) try(t *testing.T, reference, code string) pay.Notice {
	t.Helper()
	n, open := b.Fake.(CardFake).Try(reference, code)
	if !open {
		t.Fatalf("the page takes no card %q", code)
	}
	if len(n.Body) == 0 && len(n.Query) == 0 {
		return pay.Notice{}
	}
	published.Sent(t, b.Fake, n.Header, n.Query, n.Body)
	list, err := b.Notices(within(t), n)
	Sound(t, list, err)
	if err != nil || len(list) > 1 {
		t.Fatalf("the notification of a try reports %d charges: %v", len(list), err)
	}
	if len(list) == 0 {
		return pay.Notice{}
	}
	if again, err := b.Notices(within(t), n); err != nil || len(again) != 1 || again[0].ID != list[0].ID || !sameTries(again[0].Outcome, list[0].Outcome) {
		t.Errorf("the same notification again: %+v, %v; want %+v", again, err, list[0])
	}
	return list[0]
}

// triesOf are the tries that an outcome reports; a refusal that ended the page is one.
func triesOf(o pay.Outcome) decline.Tries {
	tries := decline.Tries(o.Tries)
	if o.Kind == pay.Declined && len(tries) == 0 {
		tries = append(tries, decline.Try{ID: pay.LastTry, Reason: decline.Of(o.Code, o.Decline), Raw: o.Raw, Soft: o.Soft})
	}
	return tries
}

func sameTries(a, b pay.Outcome) bool { return slices.Equal(triesOf(a), triesOf(b)) }

// reported fails the test unless an outcome reports these of the page's tries, in order, and says whether it reports any.
func (s Suite) reported(t *testing.T, what string, o pay.Outcome, which ...int) (ids []string) {
	t.Helper()
	tries := triesOf(o)
	if len(tries) == 0 {
		return nil
	}
	if len(tries) != len(which) {
		t.Fatalf("%s: %d tries are reported, want %d: %+v", what, len(tries), len(which), tries)
	}
	for i, try := range tries {
		code, means := s.Page.Codes[which[i]], s.Page.Means[which[i]]
		if try.ID == "" || try.Reason != means || !strings.Contains(try.Raw, code) || try.Soft != means.Meaning().Elsewhere {
			t.Errorf("%s: the try is %+v, want %s (%s)", what, try, means, code)
		}
		if at := time.UnixMicro(try.At).Sub(Noon).Abs(); try.At != 0 && at > time.Hour {
			t.Errorf("%s: the try was at %s", what, time.UnixMicro(try.At).UTC())
		}
		ids = append(ids, try.ID)
	}
	if open := o.Kind == pay.Awaiting; open != (s.Page.Once == "") {
		t.Errorf("%s: the charge is %s", what, o.Kind)
	}
	return ids
}

// refusedOnPage has a card refused on a page, and another one if the page is still open. It returns what reports it.
func (s Suite) refusedOnPage(t *testing.T, rail string) string {
	b := s.connect(t)
	r := b.opened(t, rail, "01M7ZPAGE-1")
	told := b.try(t, r.Reference, s.Page.Codes[0])
	byNotice := s.reported(t, "the notification", told.Outcome, 0)
	if told.ID != "" && (told.Reference != r.Reference || told.Account != "acc" || len(told.Body) == 0) {
		t.Errorf("the notice is %+v", told)
	}
	asked := b.Query(within(t), r)
	want(t, "the question", asked, pay.Awaiting, pay.Declined)
	byQuery := s.reported(t, "the question", asked, 0)
	if byNotice != nil && byQuery != nil && !slices.Equal(byNotice, byQuery) {
		t.Errorf("the notification calls the try %v, the query %v", byNotice, byQuery)
	}
	timed := slices.ContainsFunc(append(triesOf(told.Outcome), triesOf(asked)...), func(try decline.Try) bool { return try.At != 0 })
	if timed != (s.Page.Untimed == "") {
		t.Errorf("the provider says when the shopper tried: %t", timed)
	}
	if s.Page.Once == "" {
		second := b.try(t, r.Reference, s.Page.Codes[1])
		all := decline.Tries(nil).With(triesOf(told.Outcome), Noon).With(triesOf(asked), Noon).With(triesOf(second.Outcome), Noon).With(triesOf(b.Query(within(t), r)), Noon)
		if len(all) != 2 {
			t.Errorf("after two tries: %+v", all)
		}
	}
	if unknown := b.line.Unmapped(); len(unknown) > 0 {
		t.Errorf("the adapter does not know %v", unknown)
	}
	var by []string
	for name, ids := range map[string][]string{"query": byQuery, "notification": byNotice} {
		if limit := map[string]string{"query": s.Page.Unasked, "notification": s.Page.Untold}[name]; (ids != nil) != (limit == "") {
			t.Errorf("a refusal is reported by %s: %t, and the suite says %q", name, ids != nil, limit)
		}
		if ids != nil {
			by = append(by, name)
		}
	}
	slices.Sort(by)
	return strings.Join(by, ", ")
}

// paidAfterRefusal pays with another card after a refusal, unless that ended the page.
func (s Suite) paidAfterRefusal(t *testing.T, rail string) string {
	b := s.connect(t)
	r := b.opened(t, rail, "01M7ZPAGE-2")
	b.try(t, r.Reference, s.Page.Codes[0])
	if s.Page.Once != "" {
		if _, open := b.Fake.(CardFake).Try(r.Reference, ""); open {
			t.Error("the page takes a card after a refusal")
		}
		return "ends"
	}
	paid := b.try(t, r.Reference, "").Outcome
	if s.Blind == "" {
		paid = b.Query(within(t), r)
	}
	if paid.Kind != pay.Approved || paid.Local != r.Local {
		t.Errorf("another card paid: %+v", paid)
	}
	return "open"
}

// endedAfterRefusal ends a page on which a card was refused. A page that its refusal ended is queried, as the core does.
func (s Suite) endedAfterRefusal(t *testing.T, rail string) (ended, proof string) {
	b := s.connect(t)
	r := b.opened(t, rail, "01M7ZPAGE-3")
	b.try(t, r.Reference, s.Page.Codes[0])
	canceler, can := b.Provider.(provider.Canceler)
	end := func() pay.Outcome {
		if can {
			if o := canceler.Cancel(within(t), r); o.Kind != pay.Awaiting {
				return o
			}
		}
		return b.Query(within(t), r)
	}
	b.line.Fail(ServerError)
	want(t, "the end that nobody answers", end(), pay.Unknown)
	b.line.Fail(NoFault)
	o := end()
	want(t, "the end", o, pay.Lapsed, pay.Declined, pay.Awaiting, pay.Unknown)
	s.keptAtTheEnd(t, o)
	if again := end(); again.Kind != o.Kind {
		t.Errorf("the end again: %s after %s", again.Kind, o.Kind)
	}
	_, open := b.Fake.(CardFake).Try(r.Reference, "")
	d, doubted := b.Provider.(provider.Doubted)
	proved := (o.Kind == pay.Lapsed || o.Kind == pay.Declined) && !(doubted && d.Doubts(rail) != "")
	switch {
	case proved && open:
		t.Errorf("the page has ended (%s), and takes a card", o.Kind)
	case open != (s.Page.Unended != "" && s.Page.Once == ""):
		t.Errorf("the page is open: %t, and the suite says %q", open, s.Page.Unended)
	case proved != (s.Page.Unproved == "" && !open):
		t.Errorf("the end is proved: %t, and the suite says %q", proved, s.Page.Unproved)
	}
	if !open {
		want(t, "a question after it", b.Query(within(t), r), pay.Lapsed, pay.Declined, pay.Awaiting, pay.Unknown)
	}
	return yes(s.Page.Unended == ""), yes(proved)
}

// keptAtTheEnd fails the test if the answer to the end of a page has the refusal, and another one than there was.
func (s Suite) keptAtTheEnd(t *testing.T, o pay.Outcome) {
	t.Helper()
	tries := triesOf(o)
	if wanted := s.Page.Unasked == ""; len(tries) != 1 && wanted || len(tries) == 1 && (tries[0].Reason != s.Page.Means[0] || !strings.Contains(tries[0].Raw, s.Page.Codes[0])) {
		t.Errorf("the end reports %+v, want the refusal", tries)
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
