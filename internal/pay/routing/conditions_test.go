package routing

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

func zone(t testing.TB, name string) Zone {
	t.Helper()
	z, err := ParseZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func span(t testing.TB, text string) Span {
	t.Helper()
	s, err := ParseSpan(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hours(t testing.TB, text string) Hours {
	t.Helper()
	h, err := ParseHours(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// paying is a payment of 300 BRL worth 60 USD by card in Brazil.
func paying(change ...func(*pay.Payment)) pay.Payment {
	p := pay.Payment{
		ID: "TXN-1", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}, Way: pay.Way{Country: "BRA"}, Times: pay.Times{Created: noon},
		Price: pay.Price{Local: money.New(300_00, money.BRL), Amount: money.New(60_00, money.USD)},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

// Each condition by itself: what meets it, what does not, and what people are told of both.
func TestConditionsHoldForWhatTheySay(t *testing.T) {
	local := func(a money.Amount) func(*pay.Payment) { return func(p *pay.Payment) { p.Price.Local = a } }
	tries := func(list ...pay.Attempt) func(*pay.Payment) { return func(p *pay.Payment) { p.Attempts = list } }
	page := func(country string) pay.Attempt {
		return pay.Attempt{Order: 1, Tries: decline.Tries{{ID: "1", Country: country}}}
	}
	upTo := func(n int) func(*pay.Payment) {
		return func(p *pay.Payment) { p.Terms.Installments = installment.Terms{Max: n} }
	}
	none := func(*pay.Payment) {}
	for _, c := range []struct {
		of       Conditions
		meets    func(*pay.Payment)
		tells    string
		not      func(*pay.Payment)
		failsFor string
	}{
		{Conditions{Rails: []string{"oxxo.MEX", "pix.BRA"}}, none, "rail pix.BRA", nil, ""},
		{Conditions{Rails: []string{"oxxo.MEX"}}, nil, "", none, "rail: it is pix.BRA"},
		{Conditions{Amounts: []Span{span(t, "BRL:300-500")}}, none, "amount BRL:300-500 (it is 300.00 BRL)", local(money.New(299_99, money.BRL)), "amount: it is 299.99 BRL"},
		{Conditions{Amounts: []Span{span(t, "BRL:100-300")}}, none, "amount BRL:100-300 (it is 300.00 BRL)", local(money.New(300_01, money.BRL)), "amount: it is 300.01 BRL"},
		{Conditions{Amounts: []Span{span(t, "BRL:300-")}}, none, "amount BRL:300- (it is 300.00 BRL)", local(money.New(300_00, "MXN")), "amount: it is 300.00 MXN"},
		{Conditions{Amounts: []Span{span(t, "CLP:-5000")}}, local(money.New(5000, "CLP")), "amount CLP:-5000 (it is 5000 CLP)", local(money.New(5001, "CLP")), "amount: it is 5001 CLP"},
		{Conditions{Amounts: []Span{span(t, "MXN:1-"), span(t, "USD:60-")}}, none, "amount USD:60- (it is 60.00 USD)",
			func(p *pay.Payment) { p.Price.Amount = money.New(59_99, money.USD) }, "amount: it is 300.00 BRL, worth 59.99 USD"},
		{Conditions{Currencies: []money.Currency{"MXN", "BRL"}}, none, "currency BRL", local(money.New(300_00, "USD")), "currency: it is USD"},
		{Conditions{Merchants: []string{"mer_1"}}, none, "merchant mer_1", func(p *pay.Payment) { p.Merchant = "mer_2" }, "merchant: it is mer_2"},
		{Conditions{Shops: []string{"shp_1"}}, none, "shop shp_1", func(p *pay.Payment) { p.Shop = "shp_2" }, "shop: it is shp_2"},
		{Conditions{Countries: []string{"MEX", "BRA"}}, none, "country BRA", func(p *pay.Payment) { p.Way.Country = "ARG" }, "country: it is ARG"},
		{Conditions{CardCountries: []string{"USA"}}, tries(page("USA")), "card_country USA", none, "card_country: it is not known"},
		{Conditions{CardCountries: []string{"USA"}}, tries(page("BRA"), page("USA")), "card_country USA", tries(page("USA"), page("BRA")), "card_country: it is BRA"},
		{Conditions{Weekdays: []string{"sat", "sun"}}, none, "weekdays sat", func(p *pay.Payment) { p.Times.Created = noon.AddDate(0, 0, 2) }, "weekdays: it is mon in UTC"},
		{Conditions{Hours: []Hours{hours(t, "22-6"), hours(t, "12-13")}}, none, "hours 12:00-13:00 (it was 12:00 in UTC)", func(p *pay.Payment) { p.Times.Created = noon.Add(time.Hour) }, "hours: it is 13:00 in UTC"},
		{Conditions{Installments: &Counts{2, installment.Most}}, upTo(12), "installments 2- (up to 12)", none, "installments: it is up to 1"},
		{Conditions{Installments: &Counts{1, 1}}, none, "installments 1 (up to 1)", upTo(3), "installments: it is up to 3"},
		{Conditions{Attempt: FirstTry}, none, "attempt first", tries(pay.Attempt{Order: 1}), "attempt: it is number 2"},
		{Conditions{Attempt: LaterTry}, tries(pay.Attempt{Order: 1}), "attempt later", none, "attempt: it is number 1"},
		{Conditions{}, none, "it is for every payment", nil, ""},
		{Conditions{Countries: []string{"BRA"}, Amounts: []Span{span(t, "BRL:1-")}}, none, "amount BRL:1- (it is 300.00 BRL), country BRA", func(p *pay.Payment) { p.Way.Country = "MEX" }, "country: it is MEX"},
	} {
		if c.meets != nil {
			p := paying(c.meets)
			traits := TraitsOf(&p, pix.Key)
			if of := c.of.fails(&traits, Zone{}); of != "" || c.of.describe(&traits, Zone{}) != c.tells {
				t.Errorf("%+v: fails %q and tells %q, want %q", c.of, of, c.of.describe(&traits, Zone{}), c.tells)
			}
		}
		if c.not != nil {
			p := paying(c.not)
			traits := TraitsOf(&p, pix.Key)
			if of := c.of.fails(&traits, Zone{}); of == "" || c.of.failsFor(of, &traits, Zone{}) != c.failsFor {
				t.Errorf("%+v: fails %q, told as %q, want %q", c.of, of, c.of.failsFor(of, &traits, Zone{}), c.failsFor)
			}
		}
	}
}

// Hours and days are those on the clocks of the zone, whatever the offset is on that day.
func TestHoursAreThoseOfTheZone(t *testing.T) {
	saoPaulo, newYork, auckland := zone(t, "America/Sao_Paulo"), zone(t, "America/New_York"), zone(t, "Pacific/Auckland")
	utc := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	night := []Hours{hours(t, "22-6")}
	for _, c := range []struct {
		of   Conditions
		at   string // UTC
		want bool
	}{
		{Conditions{Hours: night, Zone: saoPaulo}, "2026-11-21 00:59:59", false}, // 21:59:59
		{Conditions{Hours: night, Zone: saoPaulo}, "2026-11-21 01:00:00", true},  // 22:00
		{Conditions{Hours: night, Zone: saoPaulo}, "2026-11-21 03:00:00", true},  // midnight
		{Conditions{Hours: night, Zone: saoPaulo}, "2026-11-21 08:59:59", true},  // 05:59:59
		{Conditions{Hours: night, Zone: saoPaulo}, "2026-11-21 09:00:00", false}, // 06:00
		{Conditions{Hours: night}, "2026-11-21 06:00:00", false},
		{Conditions{Hours: night}, "2026-11-21 05:59:59", true},
		{Conditions{Hours: []Hours{hours(t, "0-24")}}, "2026-11-21 23:59:59", true},
		{Conditions{Hours: []Hours{hours(t, "23:30-24:00")}}, "2026-11-22 00:00:00", false},
		// The day is that of the zone too: Saturday begins at 03:00 UTC in Brazil, and on Friday at 11:00 UTC in New Zealand.
		{Conditions{Weekdays: []string{"sat"}, Zone: saoPaulo}, "2026-11-21 02:59:59", false},
		{Conditions{Weekdays: []string{"sat"}, Zone: saoPaulo}, "2026-11-21 03:00:00", true},
		{Conditions{Weekdays: []string{"sat"}, Zone: auckland}, "2026-11-20 11:00:00", true},
		{Conditions{Weekdays: []string{"fri"}, Hours: night, Zone: saoPaulo}, "2026-11-21 02:00:00", true},  // Friday, 23:00
		{Conditions{Weekdays: []string{"fri"}, Hours: night, Zone: saoPaulo}, "2026-11-21 04:00:00", false}, // Saturday, 01:00
		// In New York 01:30 comes twice on 2026-11-01, and 02:30 does not come on 2026-03-08.
		{Conditions{Hours: []Hours{hours(t, "1-2")}, Zone: newYork}, "2026-11-01 05:30:00", true},
		{Conditions{Hours: []Hours{hours(t, "1-2")}, Zone: newYork}, "2026-11-01 06:30:00", true},
		{Conditions{Hours: []Hours{hours(t, "1-2")}, Zone: newYork}, "2026-11-01 07:00:00", false},
		{Conditions{Hours: []Hours{hours(t, "2-3")}, Zone: newYork}, "2026-03-08 06:59:59", false}, // 01:59:59
		{Conditions{Hours: []Hours{hours(t, "2-3")}, Zone: newYork}, "2026-03-08 07:00:00", false}, // 03:00
		{Conditions{Hours: []Hours{hours(t, "9-10")}, Zone: newYork}, "2026-03-07 14:00:00", true}, // winter
		{Conditions{Hours: []Hours{hours(t, "9-10")}, Zone: newYork}, "2026-03-09 13:00:00", true}, // summer
	} {
		p := paying(func(p *pay.Payment) { p.Times.Created = utc(c.at) })
		traits := TraitsOf(&p, pix.Key)
		if got := c.of.fails(&traits, Zone{}) == ""; got != c.want {
			t.Errorf("%v %v in %q at %s UTC: %t, want %t", c.of.Weekdays, c.of.Hours, c.of.Zone, c.at, got, c.want)
		}
		if c.of.Zone.IsZero() {
			continue
		}
		usual := c.of.Zone // of all rules
		c.of.Zone = Zone{}
		if got := c.of.fails(&traits, usual) == ""; got != c.want {
			t.Errorf("%v %v in the rules' zone %q at %s UTC: %t, want %t", c.of.Weekdays, c.of.Hours, usual, c.at, got, c.want)
		}
	}
}

func TestFirstRuleThatMeetsAPaymentDecides(t *testing.T) {
	of := func(name string, when Conditions, listed ...string) Conditional {
		return Conditional{Name: name, When: when, Rule: Rule{Accounts: listed}}
	}
	brazil, large := Conditions{Countries: []string{"BRA"}}, Conditions{Amounts: []Span{span(t, "BRL:300-")}}
	small := serving("a", "b", "c")
	small[0].Terms = append(small[0].Terms, accounts.RailTerms{Rail: pix.Key, Limits: []accounts.Limit{{Currency: money.BRL, Min: 1, Max: 50_00}}})
	for name, c := range map[string]struct {
		rules         Rules
		serving       accounts.Accounts
		decides, want string
		why           string
		passed        string
	}{
		"none": {Rules{}, serving("a", "b", "c"), "", "c b a", "by priority", ""},
		"first": {Rules{Conditional: []Conditional{of("large", large, "b"), of("brazil", brazil, "a")}}, serving("a", "b", "c"), "large", "b",
			"rule large (amount BRL:300- (it is 300.00 BRL)): as the rules list them: 1 of 1", "a: rule large does not list it|c: rule large does not list it"},
		"second": {Rules{Conditional: []Conditional{of("mexico", Conditions{Countries: []string{"MEX"}}, "b"), of("brazil", brazil, "a")}}, serving("a", "b", "c"),
			"brazil", "a", "rule brazil (country BRA): as the rules", "b: rule brazil does not list it|c: rule brazil does not list it"},
		"its accounts do not serve": {Rules{Conditional: []Conditional{of("large", large, "x"), of("brazil", brazil, "b")}}, serving("a", "b", "c"),
			"brazil", "b", "rule brazil", "rule large: none of its accounts takes this payment|a: rule brazil does not list it|c: rule brazil does not list it"},
		"its accounts do not accept the amount": {Rules{Conditional: []Conditional{of("large", large, "a"), of("brazil", brazil, "b")}}, small,
			"brazil", "b", "rule brazil", "rule large: none of its accounts takes this payment|a: rule brazil does not list it|c: rule brazil does not list it"},
		"no rule can": {Rules{Conditional: []Conditional{of("large", large, "x")}, Rails: map[string]Rule{pix.Key: {Accounts: []string{"b"}}}}, serving("a", "b", "c"),
			"", "b", "as the rules list them", "rule large: none of its accounts takes this payment|a: the rules do not list it|c: the rules do not list it"},
		"without a list": {Rules{Conditional: []Conditional{{Name: "cheap", Rule: Rule{Order: LeastCost}}}, Rails: map[string]Rule{pix.Key: {Accounts: []string{"b"}}}},
			serving("a", "b", "c"), "cheap", "c b a", "rule cheap (it is for every payment): by cost", ""},
	} {
		c.rules.Order = Priority
		if err := c.rules.Check(); err != nil {
			t.Fatal(err)
		}
		p := paying()
		cascade := NewHealth().Plan(c.rules, c.serving, p, pix, noon)
		if cascade.Decider != c.decides || names(cascade.Routes) != c.want {
			t.Errorf("%s: rule %q sends it to %s, want %q and %s", name, cascade.Decider, names(cascade.Routes), c.decides, c.want)
			continue
		}
		if r := cascade.Routes[0]; !strings.HasPrefix(r.Why, c.why) || strings.Join(r.Passed, "|") != c.passed {
			t.Errorf("%s: because %q, passed over %q", name, r.Why, strings.Join(r.Passed, "|"))
		}
		for _, v := range c.rules.Verdicts(&p, pix, c.serving) {
			if v.Decides != (v.Rule == c.decides) || v.Why == "" {
				t.Errorf("%s: the verdict is %+v", name, v)
			}
		}
	}
}

// Whatever rules there are, some account is tried, and the decision is the same again.
func TestRulesTakeNoPaymentAway(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids := []string{"a", "b", "c", "d", "x"}
	rule := func() (of Rule) {
		for _, id := range ids {
			switch r.IntN(6) {
			case 0:
				of.Accounts = append(of.Accounts, id)
			case 1:
				if of.Weights == nil {
					of.Weights = map[string]int{}
				}
				of.Weights[id] = 1 + r.IntN(100)
			}
		}
		of.Order = []Order{"", Priority, LeastCost, SuccessRate}[r.IntN(4)]
		return of
	}
	for i := range 3000 {
		var rules Rules
		for n := range r.IntN(5) {
			when := Conditions{}
			if r.IntN(2) == 0 {
				when.Amounts = []Span{{money.BRL, r.Int64N(400_00), 0}}
			}
			if r.IntN(3) == 0 {
				when.Attempt = []Try{FirstTry, LaterTry}[r.IntN(2)]
			}
			if r.IntN(3) == 0 {
				when.Hours = []Hours{{r.IntN(dayMinutes), r.IntN(dayMinutes + 1)}}
			}
			rules.Conditional = append(rules.Conditional, Conditional{Name: fmt.Sprint("r", n), When: when, Rule: rule()})
		}
		if r.IntN(2) == 0 {
			rules.Rails = map[string]Rule{pix.Key: rule()}
		}
		serve := serving("a", "b", "c", "d")
		serve[r.IntN(4)].Terms = append([]accounts.RailTerms{{Rail: pix.Key, Limits: []accounts.Limit{{Currency: money.BRL, Min: 1, Max: 200_00}}}}, serve[0].Terms...)
		p := paying(func(p *pay.Payment) {
			p.ID, p.Times.Created = fmt.Sprint("TXN-", i), noon.Add(time.Duration(r.IntN(100_000))*time.Second)
			p.Price.Local.Minor = 1 + r.Int64N(400_00)
		})
		c := NewHealth().Plan(rules, serve, p, pix, noon)
		if again := NewHealth().Plan(rules, serve, p, pix, noon.Add(time.Hour)); !reflect.DeepEqual(c, again) {
			t.Fatalf("%+v: decided as %+v, then as %+v", rules, c, again)
		}
		possible := rules.Possible(p.Merchant, p.Shop, pix.Key, serve)
		if offered, _ := possible.Accepting(pix, p.Price.Local); len(offered) > 0 && len(c.Routes) == 0 { // the catalog offers no amount that none of these accepts
			t.Fatalf("%+v: no account is tried", rules)
		}
		seen := map[string]bool{}
		for _, route := range c.Routes {
			if seen[route.Provider] {
				t.Fatalf("%+v: %s is tried twice", rules, route.Provider)
			}
			seen[route.Provider] = true
			if !slices.ContainsFunc(possible, func(a accounts.Account) bool { return a.ID == route.Provider }) {
				t.Fatalf("%+v: %s is tried, and is not among the possible %v", rules, route.Provider, possible)
			}
		}
	}
}

// Accounts are first in the shares of their weights, the same payment always alike; without one of them, its payments alone move.
func TestWeightsAreShares(t *testing.T) {
	const n = 10_000
	weights := map[string]int{"a": 70, "b": 20, "c": 10}
	rules := Rules{Conditional: []Conditional{{Name: "shares", Rule: Rule{Weights: weights, Accounts: []string{"d"}}}}}
	first, moved := map[string]int{}, map[string]int{}
	for i := range n {
		p := paying(func(p *pay.Payment) { p.ID = fmt.Sprintf("TXN-%026d", i) })
		c := NewHealth().Plan(rules, serving("a", "b", "c", "d", "e"), p, pix, noon)
		if len(c.Routes) != 4 || c.Routes[3].Provider != "d" {
			t.Fatalf("tried at %s", names(c.Routes))
		}
		begins := c.Routes[0].Provider
		first[begins]++
		want := fmt.Sprintf("rule shares (it is for every payment): by weight: %d of 100, drawn by the payment's id; its price is not known", weights[begins])
		if !strings.HasPrefix(c.Routes[0].Why, want) {
			t.Fatalf("because %q, want %q", c.Routes[0].Why, want)
		}
		// Another node, another time, other accounts in another order; a later attempt goes on where the cascade would.
		if again := NewHealth().Plan(rules, serving("e", "d", "c", "b", "a"), p, pix, noon.AddDate(1, 0, 0)); names(again.Routes) != names(c.Routes) {
			t.Fatalf("%s, then %s", names(c.Routes), names(again.Routes))
		}
		p.Attempts = pay.Attempts{{Order: 1, Provider: begins}}
		if later := NewHealth().Plan(rules, serving("a", "b", "c", "d"), p, pix, noon); names(later.Routes) != names(c.Routes[1:]) {
			t.Fatalf("after %s: %s, want %s", begins, names(later.Routes), names(c.Routes[1:]))
		}
		p.Attempts = nil
		without := NewHealth().Plan(rules, serving("b", "c", "d"), p, pix, noon).Routes[0].Provider
		if begins != "a" && without != begins {
			t.Fatalf("without a, a payment moves from %s to %s", begins, without)
		}
		if begins == "a" {
			moved[without]++
		}
	}
	share := func(what string, got, of int, p float64) {
		if want, wide := p*float64(of), 5*math.Sqrt(p*(1-p)*float64(of)); math.Abs(float64(got)-want) > wide {
			t.Errorf("%s: %d of %d, want %.0f ± %.0f", what, got, of, want, wide)
		}
	}
	share("first at a", first["a"], n, .7)
	share("first at b", first["b"], n, .2)
	share("first at c", first["c"], n, .1)
	share("moved from a to b", moved["b"], first["a"], 2.0/3)
}

// The draw is as exact as it must be, and never changes: an operator's replay of last year would differ.
func TestDrawsAreKnown(t *testing.T) {
	for n, want := range map[uint64]float64{1: 64, 3: 64 - math.Log2(3), 1 << 62: 2, 1<<63 + 1: 1, math.MaxUint64: 0, 12345678901234567: 64 - math.Log2(12345678901234567)} {
		if got := float64(negativeLog2(n)) / (1 << 32); math.Abs(got-want) > 1e-8 {
			t.Errorf("the logarithm of %d is %.9f, want %.9f", n, got, want)
		}
	}
	if got := []uint64{draw("TXN-1", "a", 70), draw("TXN-1", "b", 30)}; got[0] == got[1] || got[0] != draw("TXN-1", "a", 70) {
		t.Errorf("the draws are %v", got)
	}
}

// An account that fails now is passed over, and the next draw is first; with its recovery its payments come back.
func TestWeightsPassFailingAccountsOver(t *testing.T) {
	rules := Rules{Rails: map[string]Rule{pix.Key: {Weights: map[string]int{"a": 50, "b": 50}}}}
	h := NewHealth()
	for range 10 {
		h.Began("a", pix.Key, noon)
		h.Ended(Call{Account: "a", Rail: pix.Key, Said: pay.Unavailable}, noon)
	}
	for i := range 50 {
		p := paying(func(p *pay.Payment) { p.ID = fmt.Sprint("TXN-", i) })
		if c := h.Plan(rules, serving("a", "b"), p, pix, noon.Add(time.Second)); names(c.Routes) != "b" {
			t.Fatalf("tried at %s", names(c.Routes))
		}
	}
	if c := NewHealth().Plan(rules, serving("c", "d"), paying(), pix, noon); names(c.Routes) != "d c" || !strings.HasPrefix(c.Routes[0].Why, "by priority") {
		t.Errorf("where no account with a weight serves: %+v", c.Routes)
	}
}

// A cascade goes on after its first attempt as the rules say of later ones.
func TestLaterAttemptsHaveTheirRule(t *testing.T) {
	rules := Rules{Conditional: []Conditional{
		{Name: "begin", When: Conditions{Attempt: FirstTry}, Rule: Rule{Accounts: []string{"a"}}},
		{Name: "again", When: Conditions{Attempt: LaterTry}, Rule: Rule{Accounts: []string{"c", "a", "b"}}},
	}}
	p := paying()
	c := NewHealth().Plan(rules, serving("a", "b", "c"), p, pix, noon)
	if names(c.Routes) != "a c b" || c.Decider != "begin" || !strings.HasPrefix(c.Routes[1].Why, "rule again (attempt later): ") {
		t.Errorf("tried at %s: %+v", names(c.Routes), c.Routes)
	}
	p.Attempts = pay.Attempts{{Order: 1, Provider: "a"}, {Order: 2, Provider: "c"}}
	if c := NewHealth().Plan(rules, serving("a", "b", "c"), p, pix, noon); names(c.Routes) != "b" {
		t.Errorf("after a and c: %s", names(c.Routes))
	}
	// Once a page has shown the card's country, the next account is chosen by it.
	rules.Conditional[1] = Conditional{Name: "abroad", When: Conditions{CardCountries: []string{"USA"}}, Rule: Rule{Accounts: []string{"c"}}}
	p.Attempts = pay.Attempts{{Order: 1, Provider: "a", Tries: decline.Tries{{ID: "1", Country: "USA"}}}}
	if c := NewHealth().Plan(rules, serving("a", "b", "c"), p, pix, noon); names(c.Routes) != "c" || c.Decider != "abroad" {
		t.Errorf("a card from abroad goes on at %s by %q", names(c.Routes), c.Decider)
	}
	p.Attempts[0].Tries = nil
	if c := NewHealth().Plan(rules, serving("a", "b", "c"), p, pix, noon); names(c.Routes) != "c b" || c.Decider != "" {
		t.Errorf("a card of an unknown country goes on at %s by %q", names(c.Routes), c.Decider)
	}
}

// Rules are stored as JSON, and are read again as they were.
func TestConditionsAreStored(t *testing.T) {
	rules := Rules{Zone: zone(t, "America/Sao_Paulo"), Conditional: []Conditional{{Name: "all", When: Conditions{
		Rails: []string{"pix.BRA"}, Amounts: []Span{span(t, "BRL:0.01-"), span(t, "CLP:-500")}, Currencies: []money.Currency{"BRL"}, Merchants: []string{"m"}, Shops: []string{"s"},
		Countries: []string{"BRA"}, CardCountries: []string{"USA"}, Hours: []Hours{hours(t, "22:30-6")}, Weekdays: []string{"mon"}, Zone: zone(t, "UTC"),
		Installments: &Counts{2, installment.Most}, Attempt: LaterTry,
	}, Rule: Rule{Weights: map[string]int{"a": 1}, Accounts: []string{"b"}, Order: Listed}}}}
	if err := rules.Check(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	var again Rules
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, rules) {
		t.Errorf("%s is read as %+v (%v)", text, again, err)
	}
	if text, err := json.Marshal(Rules{Order: Priority}); err != nil || string(text) != `{"order":"priority","budget":{"attempts":0,"time":0}}` {
		t.Errorf("rules without conditions are stored as %s (%v), not as before", text, err)
	}
}

func TestConditionsThatCannotBeAreRefused(t *testing.T) {
	one := func(of Conditional) Rules { return Rules{Conditional: []Conditional{of}} }
	when := func(c Conditions) Rules { return one(Conditional{Name: "x", When: c}) }
	many := Rules{}
	for i := range MaxConditional + 1 {
		many.Conditional = append(many.Conditional, Conditional{Name: fmt.Sprint("r", i)})
	}
	for want, rules := range map[string]Rules{
		"rule number 1 has no name":                         one(Conditional{}),
		`"Big One" is no name of a rule`:                    one(Conditional{Name: "Big One"}),
		"there are two rules x":                             {Conditional: []Conditional{{Name: "x"}, {Name: "x"}}},
		"201 rules: want at most 200":                       many,
		"rule x: order listed wants a list":                 one(Conditional{Name: "x", Rule: Rule{Order: Listed}}),
		"rule x: a weight of 0 for a: want 1 to 10000":      one(Conditional{Name: "x", Rule: Rule{Weights: map[string]int{"a": 0}}}),
		"pix.BRA: a weight of -1 for a":                     {Rails: map[string]Rule{"pix.BRA": {Weights: map[string]int{"a": -1}}}},
		"rule x lists a twice: an account with a weight":    one(Conditional{Name: "x", Rule: Rule{Weights: map[string]int{"a": 1}, Accounts: []string{"a"}}}),
		"rule x: explored is for the order success_rate, b": {Order: SuccessRate, Conditional: []Conditional{{Name: "x", Rule: Rule{Weights: map[string]int{"a": 1}, Explored: new(1)}}}},
		`rule x: country: there is no country "BR"`:         when(Conditions{Countries: []string{"BR"}}),
		`rule x: card_country: there is no country "XXX"`:   when(Conditions{CardCountries: []string{"XXX"}}),
		`rule x: currency: there is no currency "EURO"`:     when(Conditions{Currencies: []money.Currency{"EURO"}}),
		`rule x: weekdays: there is no day "Mon"`:           when(Conditions{Weekdays: []string{"Mon"}}),
		`rule x: attempt: "third"`:                          when(Conditions{Attempt: "third"}),
		"rule x: zone is for hours and weekdays":            when(Conditions{Zone: zone(t, "UTC")}),
		"rule x: merchant: it is empty":                     when(Conditions{Merchants: []string{""}}),
	} {
		if err := rules.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", rules, err, want)
		}
	}
	for _, text := range []string{"", "BRL", "BRL:", "BRL:-", "BRL:a-b", "BRL:5-1", "BRL:0-5", "BRL:-0", "XXQ:1-2", "BRL:1.001-", "CLP:1.5-", "BRL:-5-", "brl:1-"} {
		if s, err := ParseSpan(text); err == nil {
			t.Errorf("the amount %q is read as %v", text, s)
		}
	}
	for _, text := range []string{"", "9", "9-9", "9-25", "24-6", "9:5-10", "9:60-10", "-9-10", "9-", "123-4", "9:00:00-10", "24:01-3", "a-b"} {
		if h, err := ParseHours(text); err == nil {
			t.Errorf("the hours %q are read as %v", text, h)
		}
	}
	for _, text := range []string{"", "0", "-1", "2-1", "2-49", "a", "2-x", "-"} {
		if c, err := ParseCounts(text); err == nil {
			t.Errorf("the installments %q are read as %v", text, c)
		}
	}
	for _, text := range []string{"", "Local", "localtime", "right/UTC", "Mars/Base", "../etc/passwd", "\x00"} {
		if z, err := ParseZone(text); err == nil {
			t.Errorf("the zone %q is read as %v", text, z)
		}
	}
}

// Where rules have no conditions that a payment meets, a decision costs no more memory than without rules.
func TestConditionsAllocateNothing(t *testing.T) {
	cost := func(rules Rules) float64 {
		p, list := paying(), serving("a", "b")
		return testing.AllocsPerRun(100, func() { rules.Choose(&p, pix, list) })
	}
	rules := Rules{Conditional: []Conditional{
		{Name: "a", When: Conditions{Rails: []string{"x"}}}, {Name: "b", When: Conditions{Hours: []Hours{hours(t, "3-4")}, Zone: zone(t, "America/Sao_Paulo")}},
		{Name: "c", When: Conditions{Amounts: []Span{span(t, "BRL:1000-")}}}, {Name: "d", When: Conditions{CardCountries: []string{"USA"}}},
	}}
	if with, without := cost(rules), cost(Rules{}); with > without {
		t.Errorf("choosing among rules that do not decide makes %g allocations, and %g without rules", with, without)
	}
}
