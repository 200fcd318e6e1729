package providers

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// routed runs a test on each engine, against a service that sorts accounts by the given order.
func routed(t *testing.T, order string, test func(t *testing.T, s *harness.Instance)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Adapters, c.Routing = []provider.Adapter{providertest.Plain()}, order
		})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		test(t, s)
	})
}

// triedAt makes a payment and returns the accounts it was tried at, separated by spaces, and the
// explanation.
func triedAt(t *testing.T, o harness.Client, order string) (accounts string, e approuting.Explanation) {
	t.Helper()
	r := o.Post(t, "/payments", order)
	at := "transactionId"
	if r.Status != http.StatusCreated {
		at = "error.details.transactionId"
	}
	e, err := o.App.Rules.Explain(ctx, r.Text(t, at))
	harness.Must(t, err)
	var list []string
	for _, a := range e.Payment.Attempts {
		list = append(list, a.Provider)
	}
	if strings.Contains(string(r.Body), "bank") || strings.Contains(string(r.Body), "priority") {
		t.Errorf("the answer shows the accounts to the merchant: %s", r)
	}
	return strings.Join(list, " "), e
}

func TestFailingAccountIsPassedOverUntilItWorksAgain(t *testing.T) {
	routed(t, "", func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		live := s.NewShop(t).Production()
		s.OpenAccount(t, "bank-1", one, func(n *appaccounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "bank-2", two, func(n *appaccounts.NewAccount) { n.Priority = 2 })
		order := live.PixOrder(t)
		one.Next("down")
		for i := range 5 {
			if got, _ := triedAt(t, live, order); got != "bank-1 bank-2" {
				t.Errorf("payment %d was tried at %s, want bank-1 bank-2", i+1, got)
			}
		}
		got, e := triedAt(t, live, order)
		if got != "bank-2" || s.App.Providers.OpenCircuits() != 1 {
			t.Errorf("after five failures the payment was tried at %s with %d circuits open, want bank-2 and 1", got, s.App.Providers.OpenCircuits())
		}
		a := e.Payment.Attempts[0]
		if a.Why != "by priority: 2; its price is not known" || len(a.Passed) != 1 || !strings.HasPrefix(a.Passed[0], "bank-1: it failed too often recently") {
			t.Errorf("the decision is explained by %q, with %q passed over", a.Why, a.Passed)
		}
		if got := routable(t, live); got != "true 1" {
			t.Errorf("while another account serves the rail, routable is %q, want %q", got, "true 1")
		}
		// The account's other rail has its own circuit.
		if got, _ := triedAt(t, live, `{"amount":10,"documentId":"XAXX010101000","paymentMethodId":"`+harness.Method(t, live, "MEX", "spei")+`"}`); got != "bank-1 bank-2" {
			t.Errorf("spei was tried at %s, want bank-1 bank-2", got)
		}
		two.Next("down") // now no account works, so all are tried
		for range 12 {   // more failures than the successes of bank-2 before
			triedAt(t, live, order)
		}
		if got, e := triedAt(t, live, order); got != "bank-1 bank-2" || !strings.Contains(e.Payment.Attempts[0].Why, "all are tried") {
			t.Errorf("with all accounts failing the payment was tried at %s (%s), want all", got, e.Payment.Attempts[0].Why)
		}
		one.Next("open")
		two.Next("open")
		s.Clock.Advance(6 * time.Minute)
		for range 2 {
			if got, _ := triedAt(t, live, order); got != "bank-1" {
				t.Errorf("bank-1 works again, but the payment was tried at %s", got)
			}
		}
	})
}

// A shop sends documents that a provider refuses. That does not open the provider's circuit for
// other shops.
func TestBadInputOpensNoCircuit(t *testing.T) {
	routed(t, "", func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		careless, other := s.NewShop(t).Production(), s.NewShop(t).Production()
		s.OpenAccount(t, "bank-1", one, func(n *appaccounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "bank-2", two, func(n *appaccounts.NewAccount) { n.Priority = 2 })
		one.Next("refused")
		for range 20 {
			if got, _ := triedAt(t, careless, careless.PixOrder(t)); got != "bank-1 bank-2" {
				t.Fatalf("a payment with a refused document was tried at %s, want bank-1 bank-2", got)
			}
		}
		one.Next("open")
		if got, _ := triedAt(t, other, other.PixOrder(t)); got != "bank-1" || s.App.Providers.OpenCircuits() != 0 {
			t.Errorf("another shop's payment was tried at %s with %d circuits open, want bank-1 and 0", got, s.App.Providers.OpenCircuits())
		}
		// A provider that does not accept the account's key any more fails every payment.
		one.Revoke("key-1")
		for range 5 {
			triedAt(t, careless, careless.PixOrder(t))
		}
		if got, _ := triedAt(t, other, other.PixOrder(t)); got != "bank-2" {
			t.Errorf("with a revoked key the payment was tried at %s, want bank-2", got)
		}
	})
}

func TestCheapestAccountIsTriedFirst(t *testing.T) {
	routed(t, "least_cost", func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		live := s.NewShop(t).Production()
		for id, text := range map[string]string{"bank-1": "3%", "bank-2": "0.20"} {
			fee, err := money.ParseFee(text)
			harness.Must(t, err)
			s.OpenAccount(t, id, u, func(n *appaccounts.NewAccount) { n.Terms = []accounts.RailTerms{{Fee: &fee}} })
		}
		_, err := s.App.Accounts.Edit(ctx, s.App.Self(), "bank-1", func(a accounts.Account) (accounts.Account, error) { a.Priority = 1; return a, nil })
		harness.Must(t, err)
		for amount, want := range map[string]string{"5": "bank-1", "10": "bank-2"} {
			got, e := triedAt(t, live, strings.Replace(live.PixOrder(t), `"amount":10`, `"amount":`+amount, 1))
			if why := e.Payment.Attempts[0].Why; got != want || !strings.HasPrefix(why, "by cost: it costs 0.") {
				t.Errorf("%s USD were tried at %s (%s), want %s by cost", amount, got, why, want)
			}
		}
	})
}

func TestAccountThatDoesBetterIsTriedFirst(t *testing.T) {
	routed(t, "success_rate", func(t *testing.T, s *harness.Instance) {
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		live := s.NewShop(t).Production()
		s.OpenAccount(t, "bank-1", one, func(n *appaccounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "bank-2", two, func(n *appaccounts.NewAccount) { n.Priority = 2 })
		one.Next("soft")
		order := live.PixOrder(t)
		better := 0
		for range 10 {
			got, e := triedAt(t, live, order)
			if strings.HasPrefix(got, "bank-2") {
				better++
				if why := e.Payment.Attempts[0].Why; !strings.Contains(why, "succeeded; priority 2") {
					t.Errorf("the payment was tried at %s because %s, want the success rate as the reason", got, why)
				}
			}
		}
		if better < 5 { // the first payment learns, and one in twenty explores
			t.Errorf("%d of 10 payments were tried first at the account that does better, want 5 at least", better)
		}
	})
}

// A card's page that was opened is no success: the account whose shoppers pay is tried first, and a page that nobody used says
// nothing. The admin API and the console show what was opened, decided and paid, as it is.
func TestCardsAreSentWhereShoppersPay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		cards := providertest.Plain()
		cards.Rails = []string{"card.BRA"}
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX, c.Adapters, c.Routing = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}, []provider.Adapter{cards}, "success_rate"
		})
		s.Rate(t, "BRL 5.4")
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		live := s.NewShop(t).Production()
		s.OpenAccount(t, "bank-1", one, func(n *appaccounts.NewAccount) { n.Priority = 1 })
		_, _, err := s.App.Rules.Apply(ctx, s.App.Self(), routing.Rules{Order: routing.SuccessRate, Explored: new(0), Retry: routing.Retry{Times: new(0)}})
		harness.Must(t, err)
		order := `{"amount":10,"documentId":"52998224725","paymentMethodId":"` + harness.Method(t, live, "BRA", "card") + `"}`
		for i, end := range []string{"declined", "declined", "canceled"} { // the last shopper does not try
			id := live.Create(t, order)
			if live.Status(t, id) != "pending" {
				t.Fatalf("card %d is %s", i, live.Status(t, id))
			}
			s.TellUpstream(t, one, id, 1, end, "bank-1-hush").Want(t, http.StatusOK)
		}
		health := func() string {
			for _, r := range s.App.Providers.Health() {
				if r.Account == "bank-1" && len(r.Bands) == 1 {
					return fmt.Sprintf("%v opened, %s", math.Round(r.Bands[0].Score.Pages()), r.Bands[0].Score)
				}
			}
			return ""
		}
		if got := health(); got != "3 opened, 0 of about 2" {
			t.Errorf("after two refusals and a page that nobody used the health is %q", got)
		}
		s.OpenAccount(t, "bank-2", two, func(n *appaccounts.NewAccount) { n.Priority = 2 })
		got, e := triedAt(t, live, order)
		if why := e.Payment.Attempts[0].Why; got != "bank-2" || why != "by success: 0 of 0 between 10-50 USD succeeded; priority 2" {
			t.Errorf("the next card goes to %s, %s", got, why)
		}
		s.TellUpstream(t, two, e.Payment.ID, 1, "paid", "bank-2-hush").Want(t, http.StatusOK)
		if _, e = triedAt(t, live, order); e.Payment.Attempts[0].Why != "by success: 1 of about 1 between 10-50 USD succeeded; priority 2" {
			t.Errorf("after a paid page: %s", e.Payment.Attempts[0].Why)
		}
		record, err := s.App.Accounts.Record(ctx, "bank-1", true)
		harness.Must(t, err)
		if want := (appaccounts.Record{Rails: []appaccounts.RailRecord{{Rail: "card.BRA", Declined: 2, Untried: 1}}, Refusals: []appaccounts.Refusals{{Reason: "declined", N: 2}}}); !reflect.DeepEqual(record, want) {
			t.Errorf("the record is %+v, want %+v", record, want)
		}
	})
}

// The metrics count charges by account, outcome and rail. They also count provider statuses that
// the adapter does not know.
func TestChargesAreCounted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	address := l.Addr().String()
	harness.Must(t, l.Close())
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX, c.Adapters, c.Metrics = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}, []provider.Adapter{providertest.Plain()}, address
	})
	s.Rate(t, "BRL 5.4", "MXN 18.35")
	one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
	live := s.NewShop(t).Production()
	s.OpenAccount(t, "bank-1", one, func(n *appaccounts.NewAccount) { n.Priority = 1 })
	s.OpenAccount(t, "bank-2", two, func(n *appaccounts.NewAccount) { n.Priority = 2 })
	one.Next("down")
	triedAt(t, live, live.PixOrder(t))
	one.Next("mañana")
	triedAt(t, live, live.PixOrder(t))
	r, err := http.Get("http://" + address + "/metrics")
	harness.Must(t, err)
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	harness.Must(t, err)
	for _, want := range []string{
		`cascada_provider_charges_total{account="bank-1",outcome="unavailable",rail="pix.BRA"} 1`,
		`cascada_provider_charges_total{account="bank-1",outcome="unknown",rail="pix.BRA"} 1`,
		`cascada_provider_charges_total{account="bank-2",outcome="pending",rail="pix.BRA"} 1`,
		`cascada_provider_charge_seconds_total{account="bank-2",outcome="pending",rail="pix.BRA"} `,
		`cascada_provider_unmapped_statuses_total{account="bank-1"} 1`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

func TestExplanationNamesEveryAccount(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o, other := s.NewShop(t), s.NewShop(t)
		small := []accounts.RailTerms{{Limits: []accounts.Limit{{Currency: "BRL", Min: 1_00, Max: 20_00}}}}
		s.OpenAccount(t, "bank", u)
		s.OpenAccount(t, "small", u, func(n *appaccounts.NewAccount) { n.Terms = small })
		s.OpenAccount(t, "off", u, func(n *appaccounts.NewAccount) { n.Disabled = true })
		s.OpenAccount(t, "others", u, func(n *appaccounts.NewAccount) { n.Merchant = other.Merchant.ID })
		s.OpenAccount(t, "test", u, func(n *appaccounts.NewAccount) { n.Live = false })
		s.OpenAccount(t, "spei", u, func(n *appaccounts.NewAccount) { n.Rails = []string{"spei.MEX"} })
		_, e := triedAt(t, o.Production(), o.PixOrder(t))
		got := map[string]string{}
		for _, v := range e.Accounts {
			got[v.Account] = v.Verdict
		}
		for account, want := range map[string]string{
			"bank": "", "small": "does not take 54.00 BRL", "off": "is disabled", "others": "is another merchant's", "test": "is for the sandbox",
			"spei": "does not serve pix.BRA",
		} {
			if verdict, told := got[account]; !told || verdict != want {
				t.Errorf("the explanation says of %s %q, want %q", account, verdict, want)
			}
		}
		if a := e.Payment.Attempts[0]; a.Provider != "bank" || strings.Join(a.Passed, "") != "small: takes BRL:1-20" {
			t.Errorf("the payment went to %s with %q passed over, want bank with small passed over", a.Provider, a.Passed)
		}
	})
}

// removes removes an account, even with open payments if force is set.
func removes(t *testing.T, s *harness.Instance, id string, force bool) {
	t.Helper()
	_, err := s.App.Accounts.Remove(ctx, s.App.Self(), id, force)
	harness.Must(t, err)
}

func TestAccountsAreTriedByPriorityThenCost(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		live := o.Production()
		terms := func(text string) []accounts.RailTerms {
			fee, err := money.ParseFee(text)
			harness.Must(t, err)
			return []accounts.RailTerms{{Fee: &fee}}
		}
		for id, more := range map[string]func(*appaccounts.NewAccount){
			"dear":    func(n *appaccounts.NewAccount) { n.Terms = terms("5%") },
			"unknown": func(*appaccounts.NewAccount) {},
			"cheap":   func(n *appaccounts.NewAccount) { n.Terms = terms("0.50") }, // 5% of 10
			"last":    func(n *appaccounts.NewAccount) { n.Priority, n.Terms = 200, terms("0.01") },
			"first":   func(n *appaccounts.NewAccount) { n.Priority, n.Terms = 1, terms("9%+1") },
			"off":     func(n *appaccounts.NewAccount) { n.Priority, n.Disabled = 0, true },
		} {
			s.OpenAccount(t, id, u, more)
		}
		limitTries(t, s, 5)
		u.Next("soft")
		tried := func(amount string) string {
			t.Helper()
			r := live.Post(t, "/payments", strings.Replace(o.PixOrder(t), `"amount":10`, `"amount":`+amount, 1))
			r.Refused(t, "422 cascade_exhausted routing_error reason=all_providers_failed")
			story, err := s.App.Story(ctx, r.Text(t, "error.details.transactionId"))
			harness.Must(t, err)
			var list []string
			for _, line := range strings.Split(story, "\n") {
				if _, at, ok := strings.Cut(line, " at "); ok && strings.Contains(line, ": declined") {
					id, _, _ := strings.Cut(at, ":")
					list = append(list, id)
				}
			}
			return strings.Join(list, " ")
		}
		if got := tried("9.99"); got != "first dear cheap unknown last" {
			t.Errorf("9.99 USD were tried at %s, want first dear cheap unknown last", got)
		}
		if got := tried("10.01"); got != "first cheap dear unknown last" {
			t.Errorf("10.01 USD were tried at %s, want first cheap dear unknown last", got)
		}
		_, err := s.App.Accounts.Edit(ctx, s.App.Self(), "last", func(a accounts.Account) (accounts.Account, error) { a.Priority = 0; return a, nil })
		harness.Must(t, err)
		if got := tried("10.01"); got != "last first cheap dear unknown" {
			t.Errorf("with another priority 10.01 USD were tried at %s, want last first cheap dear unknown", got)
		}
	})
}
