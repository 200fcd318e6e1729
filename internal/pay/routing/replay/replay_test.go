package replay

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	pix  = accounts.Rail{Key: "pix.BRA", Limits: []accounts.Limit{{Currency: money.USD, Min: 1, Max: 1_000_000}}, Window: time.Hour}
)

// bank is an account that asks so many percent; none where its price is not told.
func bank(id string, priority int, percent int64) accounts.Account {
	a := accounts.Account{ID: id, Priority: priority, Status: accounts.Enabled, Live: true, Rails: []string{pix.Key}}
	if percent >= 0 {
		a.Terms = []accounts.RailTerms{{Fee: &money.Fee{Bps: 100 * percent}}}
	}
	return a
}

// past makes payments of 10 USD, a minute apart, as they were written: each text is
// the tries, such as "a soft, b paid".
func past(tries ...string) (list []pay.Payment) {
	for i, text := range tries {
		at := noon.Add(time.Duration(i) * time.Minute)
		ten := money.New(10_00, money.USD)
		p := pay.Payment{
			ID: fmt.Sprintf("TXN-%04d", i), Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, Status: pay.Processing, Price: pay.Price{Amount: ten, Local: ten},
			Way: pay.Way{RailID: "1", Window: pix.Window}, Times: pay.Times{Created: at, Updated: at},
		}
		p.Price.Rate, _ = money.ParseRate("1")
		var cascade pay.Cascade
		steps := strings.Split(text, ", ")
		for _, s := range steps {
			if account, _, _ := strings.Cut(s, " "); account != "" {
				cascade.Routes = append(cascade.Routes, pay.Route{Provider: account})
			}
		}
		if len(cascade.Routes) == 0 {
			p, _ = p.Begin(pay.Cascade{}, at)
			list = append(list, p)
			continue
		}
		p, _ = p.Begin(cascade, at)
		for _, s := range steps {
			_, word, _ := strings.Cut(s, " ")
			at = at.Add(time.Second)
			p = ends(p, word, cascade, at)
		}
		list = append(list, p)
	}
	return list
}

func ends(p pay.Payment, word string, c pay.Cascade, at time.Time) pay.Payment {
	outcomes := map[string]pay.Outcome{
		"paid": {Kind: pay.Approved}, "soft": {Kind: pay.Declined, Soft: true}, "hard": {Kind: pay.Declined}, "down": {Kind: pay.Unavailable},
		"open": {Kind: pay.Awaiting}, "unknown": {Kind: pay.Unknown},
	}
	switch word {
	case "running":
	case "late": // a voucher that is paid an hour later
		p, _ = p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting}, c, at)
		p, _ = p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, c, at.Add(time.Hour))
	case "lapsed":
		p, _ = p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting}, c, at)
		p, _ = p.Expire(pay.Outcome{Kind: pay.Lapsed}, at.Add(2*time.Hour))
	case "misfit": // another amount was paid
		other := pay.Outcome{Kind: pay.Approved, Local: p.Price.Local.Add(p.Price.Local)}
		p, _ = p.ApplyAnswer(other, c, at)
		p, _ = p.ApplyAnswer(other, c, at.Add(2*time.Hour))
	case "slow": // and down in the end
		p, _ = p.ApplyAnswer(pay.Outcome{Kind: pay.Unavailable}, c, at.Add(12*time.Second))
	default:
		p, _ = p.ApplyAnswer(outcomes[word], c, at)
	}
	return p
}

// run replays payments, from the nth on.
func run(c Config, from int, payments []pay.Payment) Report {
	c.Since, c.Examples = noon.Add(time.Duration(from)*time.Minute), 100
	s := NewSurvey()
	for _, p := range payments[from:] {
		s.Add(p, pix)
	}
	r := New(c, s)
	for _, p := range payments {
		r.Add(p, pix)
	}
	return r.Report()
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %.6f, want %.6f", what, got, want)
	}
}

// Counted by hand: a is tried first and asks 3 %, b asks 1 % and took both that it
// was tried with.
func TestReplayCountsWhatIsKnownAndWhatIsNot(t *testing.T) {
	payments := past("a paid", "a paid", "a paid", "a paid", "a soft, b paid", "a soft, b paid", "a hard", "a lapsed")
	accounts := accounts.Accounts{bank("a", 1, 3), bank("b", 2, 1)}
	inForce := Plan{Accounts: accounts}
	cheap := Plan{Rules: routing.Rules{Order: routing.LeastCost}, Accounts: accounts}
	r := run(Config{InForce: inForce, Changed: cheap}, 0, payments)
	if r.Payments != 8 || r.Elsewhere != 8 || r.Unexplained != 0 || r.Open != 0 {
		t.Errorf("%d payments, %d elsewhere, %d unexplained, %d open", r.Payments, r.Elsewhere, r.Unexplained, r.Open)
	}
	// What b took second it takes first; a is not tried.
	if r.Known != (struct{ Payments, Accepted, Replayed int64 }{2, 2, 2}) || r.Estimated.Payments != 6 || r.Estimated.Accepted != 5 || r.Real() != 7 {
		t.Errorf("known %+v, estimated %+v", r.Known, r.Estimated)
	}
	// The rail took 7 of 10 tries and ended 1; b took 2 of 2, which 10 of the rail's
	// are added to.
	q := (2 + 10*8.0/12) / 12
	on := 1 - q - 10*(1.0/12)/12 // on to a, whose outcome is known
	near(t, "estimated", r.Estimated.Replayed, 5*(q+on)+q)
	near(t, "replayed", r.Replayed(), 2+5*(q+on)+q)
	near(t, "tries", r.Tries.Replayed, 2+6*(1+on))
	near(t, "failovers", r.Failovers.Replayed, 6*on)
	if low, high := r.Range(); low < 2 || low >= r.Replayed() || high <= r.Replayed() || high > 8 {
		t.Errorf("the range is %.2f to %.2f", low, high)
	}
	if r.Tries.Real != 10 || r.Failovers.Real != 2 || r.Cost.Real != 4*30+2*10 || r.Volume.Real != 60_00 {
		t.Errorf("really %d tries, %d failovers, cost %d of %d", r.Tries.Real, r.Failovers.Real, r.Cost.Real, r.Volume.Real)
	}
	// b's two cost 20 cents; four that a was paid cost what each may; of those that
	// nobody took as many are paid as of the others, 6 of 7. The voucher is not.
	if known, about := r.Cost.Known().Minor, r.Cost.Estimated().Minor; known != 20 || about != int64(math.Round(4*(q*10+on*30)+q*10*6/7)) {
		t.Errorf("the cost is known of %d cents and about %d more", known, about)
	}
	a, b := r.Accounts[0], r.Accounts[1]
	if a.First != (Pair{8, 0}) || b.First != (Pair{0, 8}) || a.Tries.Real != 8 || b.Tries != (Pair{2, 8}) || b.Guessed != 6 || a.Accepted.Real != 5 {
		t.Errorf("a %+v, b %+v", a, b)
	}
	if e := r.Examples[4]; fmt.Sprint(e.Really, e.Replayed) != "[a did not accept it b accepted it] [b accepted it]" {
		t.Errorf("the fifth is told as %v", e)
	}
	if e := r.Examples[6]; fmt.Sprint(e.Really) != "[a refused it for good]" || e.Replayed[0] != "b would accept 72% of such (estimated from 2 tries)" {
		t.Errorf("the seventh is told as %v", e)
	}
	if again := run(Config{InForce: inForce, Changed: cheap}, 0, payments); !reflect.DeepEqual(again, r) {
		t.Error("the second time it is another report")
	}
	none := run(Config{InForce: inForce, Changed: inForce}, 0, payments)
	if none.Elsewhere+none.Unexplained+none.Estimated.Payments != 0 || none.Replayed() != float64(none.Real()) || none.Cost.Total().Minor != none.Cost.Real ||
		none.Tries.Replayed != float64(none.Tries.Real) || len(none.Examples) != 0 || none.Rails[0].Sums != none.Sums {
		t.Errorf("the rules in force differ from what was: %+v", none)
	}
}

func TestAccountsMayBeOtherwise(t *testing.T) {
	payments := past("a paid", "a soft, b paid", "a late")
	is := Plan{Accounts: accounts.Accounts{bank("a", 1, 3), bank("b", 2, -1)}}
	would := func(accounts ...accounts.Account) Report {
		return run(Config{InForce: is, Changed: Plan{Accounts: accounts}}, 0, payments)
	}
	// Dearer: nothing moves, and all that a was paid costs more.
	r := would(bank("a", 1, 5), bank("b", 2, -1))
	if r.Elsewhere != 0 || r.Cost.Was().Minor != 60 || r.Cost.Total().Minor != 100 || r.Estimated.Payments != 0 {
		t.Errorf("at 5 %%: %d elsewhere, cost %s then %s", r.Elsewhere, r.Cost.Was(), r.Cost.Total())
	}
	if r.Unpriced.Real["b"] != 1 || r.Unpriced.Replayed["b"] != 1 || len(r.Unpriced.Real) != 1 {
		t.Errorf("without a price: %v", r.Unpriced)
	}
	off := bank("a", 1, 3)
	off.Status = accounts.Disabled
	r = would(off, bank("b", 2, 1))
	if r.Elsewhere != 3 || r.Known.Payments != 1 || r.Estimated.Payments != 2 || r.Tries.Replayed != 3 {
		t.Errorf("without a: %+v", r.Sums)
	}
	r = would(off)
	if r.Elsewhere != 3 || r.Known.Payments != 3 || r.Replayed() != 0 || r.Cost.Total().Minor != 0 || r.Tries.Replayed != 0 {
		t.Errorf("without anybody: %+v", r.Sums)
	}
	// Nobody served then; now somebody does.
	r = run(Config{InForce: Plan{}, Changed: is}, 0, past("", "a paid"))
	if r.Elsewhere != 2 || r.Unexplained != 1 || r.Real() != 1 {
		t.Errorf("nobody served the first: %+v", r)
	}
}

func TestBudgetBoundsTheReplay(t *testing.T) {
	accounts := accounts.Accounts{bank("a", 1, 1), bank("b", 2, 1), bank("c", 3, 1)}
	with := func(b pay.Budget, tries string) Report {
		return run(Config{InForce: Plan{Accounts: accounts}, Changed: Plan{Accounts: accounts, Rules: routing.Rules{Budget: b}}}, 0, past(tries))
	}
	for _, c := range []struct {
		name   string
		budget pay.Budget
		tries  string
		taken  float64
	}{
		{"one try", pay.Budget{Attempts: 1}, "a soft, b paid", 0},
		{"two tries", pay.Budget{Attempts: 2}, "a soft, b paid", 1},
		{"a slow refusal", pay.Budget{Time: 10 * time.Second}, "a slow, b paid", 0},
		{"a slow refusal with time left", pay.Budget{Time: 14 * time.Second}, "a slow, b paid", 1},
	} {
		if r := with(c.budget, c.tries); r.Replayed() != c.taken || r.Real() != 1 || r.Known.Payments != 1 {
			t.Errorf("%s: %.2f taken, want %.0f: %+v", c.name, r.Replayed(), c.taken, r.Sums)
		}
	}
}

// Circuits and scores are those that there were: also of the time before, and in
// order of time.
func TestReplayKnowsHowAccountsDid(t *testing.T) {
	down := []string{"a down, b paid", "a down, b paid", "a down, b paid", "a down, b paid", "a down, b paid"}
	payments := past(append(down, "b paid")...)
	for i := range payments { // at one moment, or the circuit forgets
		d := time.Duration(i)*time.Minute - time.Duration(i)*time.Second
		payments[i].Times.Created = payments[i].Times.Created.Add(-d)
		for j := range payments[i].Attempts {
			payments[i].Attempts[j].Started -= d.Microseconds()
			payments[i].Attempts[j].Ended -= d.Microseconds()
		}
	}
	accounts := accounts.Accounts{bank("a", 1, 1), bank("b", 2, 2)}
	plan := Plan{Accounts: accounts}
	s := NewSurvey()
	r := New(Config{InForce: plan, Changed: plan, Since: payments[5].Times.Created}, s)
	for _, p := range payments {
		r.Add(p, pix)
	}
	if got := r.Report(); got.Payments != 1 || got.Unexplained != 0 {
		t.Errorf("a was passed over, and the replay does not know: %+v", got.Sums)
	}
	blind := New(Config{InForce: plan, Changed: plan, Since: payments[5].Times.Created}, s)
	blind.Add(payments[5], pix)
	if got := blind.Report(); got.Unexplained != 1 {
		t.Error("without the time before, the sixth payment is explained all the same")
	}
}

// A voucher's call is judged by what it said, whatever became of it; a payment of
// which nobody knows is left out, though its call is learnt from.
func TestFactsOfATry(t *testing.T) {
	for text, want := range map[string]struct {
		result result
		said   pay.OutcomeKind
		ok     bool
	}{
		"a paid": {took, pay.Approved, true}, "a late": {took, pay.Awaiting, true}, "a lapsed": {took, pay.Awaiting, true}, "a open": {took, pay.Awaiting, true},
		"a soft": {refused, pay.Declined, true}, "a hard": {ended, pay.Declined, true}, "a unknown": {open, pay.Unknown, true}, "a running": {open, pay.Sending, false},
	} {
		p := past(text)[0]
		said, at, ok := p.Attempts[0].CallResult()
		if outcome(p, 0) != want.result || said != want.said || ok != want.ok || ok && !at.Equal(noon.Add(time.Second)) {
			t.Errorf("%s: %d, said %s at %s (%t)", text, outcome(p, 0), said, at, ok)
		}
	}
	// A card's page is a success if it was paid.
	for text, want := range map[string]result{"a open": open, "a late": took, "a lapsed": open, "a soft": refused, "a hard": ended, "a page soft": refused, "a page hard": ended} {
		p := page(text)
		if got := outcome(p, 0); got != want {
			t.Errorf("a card, %s: %d, want %d", text, got, want)
		}
	}
	if p := past("a misfit")[0]; p.Status != pay.Failed || outcome(p, 0) != ended {
		t.Errorf("after another amount was paid somebody else is tried: %s", p)
	}
	accounts := accounts.Accounts{bank("a", 1, 1)}
	if r := run(Config{InForce: Plan{Accounts: accounts}, Changed: Plan{Accounts: accounts}}, 0, past("a unknown", "a paid")); r.Open != 1 || r.Payments != 1 {
		t.Errorf("%d open, %d replayed", r.Open, r.Payments)
	}
}

// page is a card's payment that was entered on a provider's page.
func page(text string) pay.Payment {
	account, word, _ := strings.Cut(text, " ")
	word, refused := strings.CutPrefix(word, "page ")
	cascade := pay.Cascade{Routes: []pay.Route{{Provider: account}}}
	p := past("")[0]
	p.Status, p.End, p.Way.Sync = pay.Processing, pay.PaymentEnd{}, true
	p, _ = p.Begin(cascade, noon)
	if refused {
		p, _ = p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting}, cascade, noon)
		try := decline.Try{ID: "1", Reason: decline.DoNotHonor, Soft: word == "soft"}
		p, _ = p.Expire(pay.Outcome{Kind: pay.Lapsed, Tries: []decline.Try{try}}, noon.Add(2*time.Hour))
		return p
	}
	return ends(p, word, cascade, noon)
}

// An order by success learns from the ends of pages: the account at which shoppers pay comes first.
func TestReplayLearnsFromTheEndsOfPages(t *testing.T) {
	card := accounts.Rail{Key: "card.BRA", Limits: pix.Limits, Window: time.Hour}
	accounts := accounts.Accounts{bank("a", 1, 1), bank("b", 2, 1)}
	for i := range accounts {
		accounts[i].Rails = []string{card.Key}
	}
	plan := Plan{Rules: routing.Rules{Order: routing.SuccessRate, Explored: new(0)}, Accounts: accounts}
	s := NewSurvey()
	r := New(Config{InForce: plan, Changed: plan, Since: noon.Add(3 * time.Hour)}, s)
	refused, paid, later := page("a page hard"), page("b late"), page("b late")
	later.Times.Created = noon.Add(4 * time.Hour)
	for _, p := range []pay.Payment{refused, refused, paid, later} {
		s.Add(p, card)
		r.Add(p, card)
	}
	if got := r.Report(); got.Payments != 1 || got.Unexplained != 0 || got.Real() != 1 {
		t.Errorf("after two refusals at a and a payment at b the replay begins elsewhere: %+v", got.Sums)
	}
	if got := s.guess("a", card.Key, routing.Band(paid.Price.Amount)); got.tries != 2 || got.accepted > .5 {
		t.Errorf("a is estimated as %+v", got)
	}
}

func TestTimelineIsInOrderAndSmall(t *testing.T) {
	var line timeline
	for i := range 1000 {
		line.push(event{at: noon.Add(time.Duration(i*7919%1000) * time.Second), who: fmt.Sprint(i)})
		line.push(event{at: noon, who: fmt.Sprint(i)})
	}
	var last event
	for range 2000 {
		e := line.pop()
		if e.at.Before(last.at) || e.at.Equal(last.at) && e.seq < last.seq {
			t.Fatalf("%s number %d came after %s number %d", e.at, e.seq, last.at, last.seq)
		}
		last = e
	}
	// What is over is gone: a million payments are a few events at any time.
	accounts := accounts.Accounts{bank("a", 1, 1)}
	plan := Plan{Accounts: accounts}
	r := New(Config{InForce: plan, Changed: plan}, NewSurvey())
	for _, p := range past(strings.Split(strings.Repeat("a paid;", 500)+"a paid", ";")...) {
		r.Add(p, pix)
	}
	if n := len(r.timeline.events); n > 4 {
		t.Errorf("%d events are held", n)
	}
}

// Conditions are applied to what past payments had: their amount and when they were made. The report says what each rule decides.
func TestReplayAppliesConditions(t *testing.T) {
	payments := past("a paid", "a paid", "a paid", "a paid", "a soft, b paid", "a hard") // at noon, one a minute
	for i := range payments {
		payments[i].Price.Local = money.New(int64(100_00*(i+1)), money.BRL)
	}
	list := accounts.Accounts{bank("a", 1, 3), bank("b", 2, 1)}
	rules := routing.Rules{Conditional: []routing.Conditional{
		{Name: "large", When: routing.Conditions{Amounts: []routing.Span{{Currency: money.BRL, Min: 500_00}}}, Rule: routing.Rule{Accounts: []string{"b"}}},
		{Name: "early", When: routing.Conditions{Hours: []routing.Hours{{From: 12 * 60, To: 12*60 + 2}}}, Rule: routing.Rule{Accounts: []string{"b"}}},
		{Name: "never", When: routing.Conditions{Attempt: routing.LaterTry}, Rule: routing.Rule{Accounts: []string{"b"}}},
	}}
	r := run(Config{InForce: Plan{Accounts: list}, Changed: Plan{Rules: rules, Accounts: list}}, 0, payments)
	if r.Payments != 6 || r.Elsewhere != 4 || r.Unexplained != 0 {
		t.Errorf("%d payments, %d elsewhere, %d unexplained, want 6, 4 and 0", r.Payments, r.Elsewhere, r.Unexplained)
	}
	var got []string
	for _, of := range r.Rules {
		got = append(got, fmt.Sprintf("%s %d %d %d", of.Decider, of.Payments, of.Elsewhere, of.Real()))
	}
	if want := "[large 2 2 1 early 2 2 2 never 0 0 0  2 0 2]"; fmt.Sprint(got) != want {
		t.Errorf("by rule (payments, elsewhere, approved): %v, want %s", got, want)
	}
	if e := r.Examples[0]; fmt.Sprint(e.Really) != "[a accepted it]" || !strings.HasPrefix(e.Replayed[0], "b would accept ") {
		t.Errorf("the first is told as %+v", e)
	}
	// Where no rule has conditions, there is nothing to say of rules.
	if r := run(Config{InForce: Plan{Accounts: list}, Changed: Plan{Accounts: list}}, 0, payments); r.Rules != nil {
		t.Errorf("without conditions: %+v", r.Rules)
	}
}

// Weights draw for a past payment what they draw for it now: a replay by the rules under which it was made explains each.
func TestReplayDrawsAsPaymentsDid(t *testing.T) {
	list := accounts.Accounts{bank("a", 1, 3), bank("b", 2, 1)}
	rules := routing.Rules{Conditional: []routing.Conditional{{Name: "shares", Rule: routing.Rule{Weights: map[string]int{"a": 60, "b": 40}}}}}
	var words []string
	for i, p := range past(slices.Repeat([]string{"a paid"}, 200)...) {
		p.Attempts = nil
		words = append(words, routing.NewHealth().Plan(rules, list, p, pix, noon.Add(time.Duration(i)*time.Minute)).Routes[0].Provider+" paid")
	}
	r := run(Config{InForce: Plan{Rules: rules, Accounts: list}, Changed: Plan{Rules: rules, Accounts: list}}, 0, past(words...))
	if n := r.Accounts[1].First.Real; n < 50 || n > 110 || r.Unexplained != 0 || r.Elsewhere != 0 {
		t.Errorf("%d of 200 began at b, %d are unexplained, %d elsewhere", n, r.Unexplained, r.Elsewhere)
	}
}
