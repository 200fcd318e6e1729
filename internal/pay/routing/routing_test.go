package routing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	pix  = accounts.Rail{Key: "pix.BRA"}
	ten  = money.New(10_00, money.USD)
)

func candidate(id string, priority int, fee money.Fee) Candidate {
	return Candidate{Account: accounts.Account{ID: id, Priority: priority, Terms: []accounts.RailTerms{{Fee: &fee}}}}
}

// after is a candidate's score after payments of which some went well.
func (c Candidate) after(good, all int) Candidate {
	for i := range all {
		c.Score = c.Score.End(i < good, noon)
	}
	return c
}

func names(routes []pay.Route) string {
	var list []string
	for _, r := range routes {
		list = append(list, r.Provider)
	}
	return strings.Join(list, " ")
}

func TestAccountsAreOrderedAsTheOperatorWants(t *testing.T) {
	all := []Candidate{
		candidate("first", 1, money.Fee{Bps: 900}).after(6, 20),
		candidate("cheap", 5, money.Fee{Bps: 100}).after(10, 20),
		candidate("good", 9, money.Fee{Bps: 500}).after(19, 20),
		candidate("untried", 9, money.Fee{Bps: 600}),
	}
	for order, want := range map[Order]string{
		Priority: "first cheap good untried", LeastCost: "cheap good untried first", SuccessRate: "good cheap untried first",
	} {
		routes, passed := Decide(Rules{Order: order}.For(pix.Key), slices.Clone(all), "TXN-1", pix, ten, noon)
		if names(routes) != want || len(passed) != 0 {
			t.Errorf("%s: %s, want %s; passed over %v", order, names(routes), want, passed)
		}
		for _, r := range routes {
			if !strings.HasPrefix(r.Why, "by ") {
				t.Errorf("%s: %s stands where it does because %q", order, r.Provider, r.Why)
			}
		}
	}
	if _, err := ParseOrder("random"); err == nil {
		t.Error("an order that there is not was taken")
	}
}

// A share of payments tries another account first, or one that does better again
// would never be found; the same payment always the same.
func TestSuccessRateExplores(t *testing.T) {
	all := []Candidate{candidate("best", 1, money.Fee{}).after(50, 50), candidate("worse", 1, money.Fee{}).after(0, 50), candidate("worst", 1, money.Fee{}).after(0, 90)}
	first := map[string]int{}
	for i := range 10_000 {
		id := fmt.Sprintf("TXN-%d", i)
		routes, _ := Decide(Rules{Order: SuccessRate}.For(pix.Key), slices.Clone(all), id, pix, ten, noon)
		again, _ := Decide(Rules{Order: SuccessRate}.For(pix.Key), slices.Clone(all), id, pix, ten, noon)
		if names(routes) != names(again) || len(routes) != 3 {
			t.Fatalf("%s: %s, then %s", id, names(routes), names(again))
		}
		first[routes[0].Provider]++
		if explored := strings.HasPrefix(routes[0].Why, "explored"); explored != (routes[0].Provider != "best") {
			t.Fatalf("%s is first because %s", routes[0].Provider, routes[0].Why)
		}
	}
	if first["best"] < 9300 || first["best"] > 9700 || first["worse"] < 150 || first["worst"] < 150 {
		t.Errorf("first were %v, want about 5 of 100 explored among the others", first)
	}
}

func TestScoreForgets(t *testing.T) {
	bad := candidate("a", 1, money.Fee{}).after(0, 50).Score
	now := noon.Add(7 * memory)
	for range 5 {
		bad = bad.End(true, now)
	}
	if bad.Rate() < 0.8 {
		t.Errorf("a week later and after five good payments the rate is %.2f", bad.Rate())
	}
}

func TestCircuitOpensRestsAndCloses(t *testing.T) {
	var c Circuit
	now := noon
	end := func(ok bool) (turned bool) {
		c = c.Begin(now)
		c, turned = c.End(ok, now)
		return turned
	}
	isOpen := func() bool { _, open := c.Open(now); return open }
	stands := func(want State) {
		t.Helper()
		if got := c.State(now); got != want {
			t.Errorf("the circuit is %s, want %s", got, want)
		}
	}
	stands(StateClosed)
	for i := range 4 {
		if end(false) || isOpen() {
			t.Fatalf("the circuit opened after %d calls", i+1)
		}
	}
	if !end(false) || !isOpen() {
		t.Fatal("five failures in a row did not open the circuit")
	}
	stands(StateOpen)
	if failed, all := c.Late(now); failed != 5 || all != 5 || c.InARow() != 5 {
		t.Errorf("%f of %f calls of late failed, %d in a row, want 5 of 5", failed, all, c.InARow())
	}
	now = now.Add(shortest)
	stands(StateTrial)
	if failed, _ := c.Late(now); failed != 2.5 {
		t.Errorf("half a minute later %f of them count, want 2.5", failed)
	}
	if isOpen() {
		t.Error("nobody is let through for trial")
	}
	c = c.Begin(now)
	if !isOpen() {
		t.Error("others are let through during the trial")
	}
	if c, _ = c.End(false, now); !isOpen() {
		t.Error("the trial failed, and the circuit is closed")
	}
	now = now.Add(shortest)
	if !isOpen() {
		t.Error("the rest did not double")
	}
	now = now.Add(shortest)
	if isOpen() || !end(true) || isOpen() {
		t.Error("the trial went well, and the circuit is open")
	}
	for range 20 {
		end(false)
		now = now.Add(longest)
	}
	if until, _ := c.Open(now); until.Sub(now) > longest {
		t.Errorf("it rests for %s", until.Sub(now))
	}
}

// What a merchant sends wrong is no failure of the provider, and no success either.
func TestRefusedRequestsCountForNothing(t *testing.T) {
	h, now := NewHealth(), noon
	end := func(said pay.OutcomeKind, took time.Duration) (open, turned bool) {
		h.Began("bank", "pix.BRA", now)
		return h.Ended(Call{Account: "bank", Rail: "pix.BRA", Band: "small", Said: said, Took: took}, now.Add(took))
	}
	for range 100 {
		if open, turned := end(pay.Errored, time.Second); open || turned {
			t.Fatal("bad requests opened the circuit")
		}
	}
	if c := h.Candidate(accounts.Account{ID: "bank"}, "pix.BRA", "small"); c.Circuit != (Circuit{}) || c.Score.Payments() != 0 {
		t.Errorf("bad requests are counted: %+v", c)
	}
	for range 5 {
		end(pay.Unavailable, time.Second)
	}
	if h.Open(now) != 1 {
		t.Fatal("five calls that were turned away did not open the circuit")
	}
	now = now.Add(shortest)
	if open, _ := end(pay.Errored, time.Second); open {
		t.Error("a trial that says nothing keeps the circuit open")
	}
	if open, turned := end(pay.Approved, time.Second); open || !turned {
		t.Error("the next trial did not close it")
	}
	for range 5 {
		end(pay.Errored, Slow)
	}
	if h.Open(now) != 1 {
		t.Error("a provider that takes long to refuse does not fail")
	}
}

// A request that was under way when the circuit opened, and is refused as it stands, does not
// end the rest of the account: it is not the trial.
func TestRefusedRequestFromBeforeIsNoTrial(t *testing.T) {
	h, now := NewHealth(), noon
	const rail = "pix.BRA"
	late := func() {
		h.Ended(Call{Account: "bank", Rail: rail, Band: "small", Said: pay.Errored, Took: 9 * time.Second}, now)
	}
	fail := func() {
		h.Began("bank", rail, now)
		h.Ended(Call{Account: "bank", Rail: rail, Band: "small", Said: pay.Unavailable, Took: 0}, now)
	}
	for range inARow {
		fail()
	}
	if late(); h.Open(now) != 1 {
		t.Error("a request from before ended the first rest")
	}
	now = now.Add(shortest)
	h.Began("bank", rail, now) // the trial
	now = now.Add(time.Second)
	if late(); h.Open(now) != 1 {
		t.Error("a request from before ended the trial of another one")
	}
	h.Ended(Call{Account: "bank", Rail: rail, Band: "small", Said: pay.Unavailable, Took: time.Second}, now)
	if late(); h.Open(now) != 1 {
		t.Error("a request from before ended the rest after a trial that failed")
	}
}

func TestCircuitBearsSomeFailures(t *testing.T) {
	var c Circuit
	now := noon
	for i := range 200 {
		if c, _ = c.End(i%3 > 0, now); !c.until.IsZero() {
			t.Fatalf("a third failing opened the circuit at call %d", i)
		}
		now = now.Add(time.Second)
	}
	for i := range 50 { // rare ones are no trend while some go well
		now = now.Add(10 * time.Minute)
		if c, _ = c.End(i%5 == 0, now); !c.until.IsZero() {
			t.Fatal("failures that are far apart opened the circuit")
		}
	}
}

// Of many calls five fail in a row now and then, though most go well.
func TestCircuitIsNotOpenedByChance(t *testing.T) {
	var c Circuit
	now, chance := noon, rand.New(rand.NewPCG(1, 2))
	for i := range 50_000 {
		now = now.Add(10 * time.Millisecond)
		if c, _ = c.End(i < 1000 || chance.IntN(100) >= 40, now); !c.until.IsZero() {
			t.Fatalf("four of ten failing opened the circuit at call %d", i)
		}
	}
}

// Where payments are rare, a provider that only fails is found out all the same.
func TestCircuitOpensOnFailuresInARow(t *testing.T) {
	var c Circuit
	now := noon
	for i := range inARow {
		now = now.Add(10 * time.Minute)
		var turned bool
		if c, turned = c.Begin(now).End(false, now); turned != (i == inARow-1) {
			t.Fatalf("failure %d: turned %t", i+1, turned)
		}
	}
	now = now.Add(shortest)
	if c, turned := c.Begin(now).End(true, now); !turned || c != (Circuit{}) {
		t.Errorf("after a success it is %+v", c)
	}
}

func TestOpenCircuitIsPassedOverUnlessAllAre(t *testing.T) {
	failing := func(id string) Candidate {
		c := candidate(id, 1, money.Fee{})
		for range 5 {
			c.Circuit, _ = c.Circuit.End(false, noon)
		}
		return c
	}
	routes, passed := Decide(Rules{}.For(pix.Key), []Candidate{failing("down"), candidate("up", 9, money.Fee{})}, "TXN-1", pix, ten, noon)
	if names(routes) != "up" || len(passed) != 1 || !strings.HasPrefix(passed[0], "down: it failed too often recently; tried again from 12:00:30") {
		t.Errorf("routes %s, passed over %v", names(routes), passed)
	}
	routes, passed = Decide(Rules{}.For(pix.Key), []Candidate{failing("a"), failing("b")}, "TXN-1", pix, ten, noon)
	if names(routes) != "a b" || len(passed) != 0 || !strings.Contains(routes[0].Why, "all are tried") {
		t.Errorf("routes %+v, passed over %v; want both tried", routes, passed)
	}
	if routes, passed := Decide(Rules{}.For(pix.Key), nil, "TXN-1", pix, ten, noon); len(routes)+len(passed) != 0 {
		t.Errorf("routes of nobody: %v %v", routes, passed)
	}
}

// shopped is a payment that an account's call said something of, as its end is told: what its attempt became, and the tries on its page.
func shopped(sync bool, status pay.Status, became pay.OutcomeKind, tries ...decline.Reason) pay.Payment {
	a := pay.Attempt{Order: 1, Provider: "bank", Status: became, Said: pay.Awaiting, Started: noon.UnixMicro(), SaidAt: noon.UnixMicro() + 1, Ended: noon.UnixMicro() + 2}
	p := pay.Payment{Status: status, Way: pay.Way{Sync: sync}, Price: pay.Price{Amount: ten, Local: ten}}
	for i, r := range tries {
		a.Tries = append(a.Tries, decline.Try{ID: fmt.Sprint(i), Reason: r})
	}
	if p.Attempts = (pay.Attempts{a}); status == pay.Completed {
		p.End.Captured, p.Times.Completed = 1, noon
	}
	return p
}

// A page that was opened is no success: the score of cards is what their shoppers paid and were refused. A voucher that nobody paid
// says nothing, and neither does a page on which nobody tried. What people read is not smoothed.
func TestScoreIsOfShoppersWhoPaid(t *testing.T) {
	score := func(sync bool, ends ...pay.Payment) (Score, string) {
		h := NewHealth()
		for _, p := range ends {
			h.Ended(Call{Account: "bank", Rail: "card.BRA", Band: Band(ten), Page: sync, Said: pay.Awaiting}, noon)
			h.Finished(p, "card.BRA", noon)
		}
		s := h.Candidate(accounts.Account{ID: "bank"}, "card.BRA", Band(ten)).Score
		return s, fmt.Sprintf("%v of %v, %v opened; %s", s.Succeeded(), s.Payments(), s.Pages(), s)
	}
	refused := shopped(true, pay.Failed, pay.Lapsed, decline.InsufficientFunds)
	for name, c := range map[string]struct {
		sync bool
		ends []pay.Payment
		want string
	}{
		"a page that waits":                      {true, []pay.Payment{shopped(true, pay.Pending, pay.Awaiting, decline.DoNotHonor)}, "0 of 0, 1 opened; 0 of 0"},
		"a page that was paid":                   {true, []pay.Payment{shopped(true, pay.Completed, pay.Approved)}, "1 of 1, 1 opened; 1 of about 1"},
		"a page that was paid at the second try": {true, []pay.Payment{shopped(true, pay.Completed, pay.Approved, decline.InvalidCVC)}, "1 of 1, 1 opened; 1 of about 1"},
		"three of which none was paid":           {true, []pay.Payment{refused, refused, refused}, "0 of 3, 3 opened; 0 of about 3"},
		"a page that nobody used":                {true, []pay.Payment{shopped(true, pay.Failed, pay.Awaiting)}, "0 of 0, 1 opened; 0 of 0"},
		"a challenge that the shopper left":      {true, []pay.Payment{shopped(true, pay.Failed, pay.Lapsed, decline.Abandoned)}, "0 of 0, 1 opened; 0 of 0"},
		"a page that ended with the refusal":     {true, []pay.Payment{shopped(true, pay.Failed, pay.Declined)}, "0 of 1, 1 opened; 0 of about 1"},
		"a voucher that was paid":                {false, []pay.Payment{shopped(false, pay.Completed, pay.Approved)}, "1 of 1, 1 opened; 1 of about 1"},
		"a voucher that nobody paid":             {false, []pay.Payment{shopped(false, pay.Expired, pay.Lapsed)}, "1 of 1, 1 opened; 1 of about 1"},
		"a transfer that the bank refused":       {false, []pay.Payment{shopped(false, pay.Failed, pay.Declined)}, "0 of 1, 1 opened; 0 of about 1"},
	} {
		if _, got := score(c.sync, c.ends...); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	h := NewHealth() // another node opened the page, or this one did before it restarted
	h.Finished(refused, "card.BRA", noon)
	if s := h.Candidate(accounts.Account{ID: "bank"}, "card.BRA", Band(ten)).Score; s.Payments() != 1 || s.Succeeded() != 0 {
		t.Errorf("an end whose page this node did not open: %s", s)
	}
}

func TestAmountsAreRatedInBands(t *testing.T) {
	if got := strings.Join(Bands(), ", "); got != "0-10 USD, 10-50 USD, 50-200 USD, 200-1000 USD, 1000 USD and above" {
		t.Errorf("the bands are %s", got)
	}
	for cents, want := range map[int64]string{
		1: "0-10 USD", 9_99: "0-10 USD", 10_00: "10-50 USD", 199_99: "50-200 USD", 1000_00: "1000 USD and above", 100_000_00: "1000 USD and above",
	} {
		if got := Band(money.New(cents, money.USD)); got != want {
			t.Errorf("%d cents are in %s, want %s", cents, got, want)
		}
	}
}
