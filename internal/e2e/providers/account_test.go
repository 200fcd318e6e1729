package providers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// routable returns "routable routableCount" of the shop's catalog for pix in Brazil.
func routable(t *testing.T, o harness.Client) string {
	t.Helper()
	r := o.Get(t, "/payment-methods?country=BR&method=pix")
	if (r.Text(t, "methods.0.unroutableReason") == "<nil>") != (r.Text(t, "methods.0.routable") == "true") {
		t.Errorf("want a reason exactly where a method is not routable: %s", r)
	}
	return r.Text(t, "methods.0.routable") + " " + r.Text(t, "routableCount")
}

const noProvider = "422 cascade_exhausted routing_error reason=no_provider_for_method_region"

func TestAccountTakesPaymentsInProduction(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o, other := s.NewShop(t), s.NewShop(t)
		live := o.Production()
		if got := routable(t, live); got != "false 0" {
			t.Errorf("without an account, routable is %q, want %q", got, "false 0")
		}
		live.Post(t, "/payments", o.PixOrder(t)).Refused(t, noProvider)
		s.OpenAccount(t, "for-acme", u, func(n *appaccounts.NewAccount) { n.Merchant = o.Merchant.ID; n.Rails = []string{"pix.BRA"} })
		if got := routable(t, live); got != "true 1" {
			t.Errorf("with an account, routable is %q, want %q", got, "true 1")
		}
		if got := routable(t, other.Production()); got != "false 0" {
			t.Errorf("another merchant's account serves this merchant: routable is %q, want %q", got, "false 0")
		}
		if got := live.Get(t, "/payment-methods?country=MX&method=spei").Text(t, "methods.0.routable"); got != "false" {
			t.Error("spei is routable, but the account serves only pix")
		}
		other.Production().Post(t, "/payments", o.PixOrder(t)).Refused(t, noProvider)
		id := live.Create(t, o.PixOrder(t))
		if got := fmt.Sprint(u.Charges()); got != "map["+strings.TrimPrefix(id, "TXN-")+"-1:54 BRL open]" {
			t.Errorf("the provider has %s, want one open charge of 54 BRL", got)
		}
		s.TellUpstream(t, u, id, 1, "paid", "for-acme-hush").Is(t, http.StatusOK, `{"ok":true}`)
		s.TellUpstream(t, u, id, 1, "paid", "for-acme-hush").Is(t, http.StatusOK, `{"ok":true}`)
		if got := live.Status(t, id); got != "completed" {
			t.Errorf("the payment is %s, want completed", got)
		}
		live.Post(t, "/payments/"+id+"/refund", `{}`).Want(t, http.StatusOK)
		if got := fmt.Sprint(u.Charges()); strings.Count(got, "54 BRL paid") != 2 {
			t.Errorf("the provider has %s, want the charge and its refund", got)
		}
		story, err := s.App.Story(ctx, id)
		harness.Must(t, err)
		if !strings.Contains(story, "1 at for-acme: approved") {
			t.Errorf("the story does not name the account:\n%s", story)
		}
		// The sandbox does not use the production account.
		o.Post(t, "/payments", o.PixOrder(t)).Want(t, http.StatusCreated)
		if n := len(u.Charges()); n != 2 {
			t.Errorf("a sandbox payment went to the production account: %v", u.Charges())
		}
	})
}

// A charge that the shopper did not pay in time cannot be paid later. A charge that was paid at
// the last moment counts.
func TestChargeIsCanceledWhenItsWindowIsOver(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "acme-pix", u)
		o := s.NewShop(t)
		live := o.Production()
		for _, c := range []struct{ status, charged string }{{"expired", "canceled"}, {"completed", "paid"}} {
			status, charged := c.status, c.charged
			if status == "completed" {
				u.Swift()
			}
			id := live.Create(t, o.PixOrder(t))
			ref := strings.TrimPrefix(id, "TXN-") + "-1"
			s.Clock.Advance(24*time.Hour + time.Minute)
			s.Sweep(t, "the window is over", func() bool { return live.Status(t, id) == status })
			if got := u.Charges()[ref]; got != "54 BRL "+charged {
				t.Errorf("the payment is %s, and its charge at the provider is %q, want %s", status, got, charged)
			}
		}
	})
}

// A disabled account finishes the charges it has.
func TestDisabledAccountTakesNoNewCharges(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		live := o.Production()
		s.OpenAccount(t, "bank", u)
		first, second := live.Create(t, o.PixOrder(t)), live.Create(t, o.PixOrder(t))
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "bank", false)
		harness.Must(t, err)
		if got := routable(t, live); got != "false 0" {
			t.Errorf("with a disabled account, routable is %q, want %q", got, "false 0")
		}
		live.Post(t, "/payments", o.PixOrder(t)).Refused(t, noProvider)
		s.TellUpstream(t, u, first, 1, "paid", "bank-hush").Is(t, http.StatusOK, `{"ok":true}`)
		u.Notify(strings.TrimPrefix(second, "TXN-")+"-1", "paid", "") // the notification is lost
		s.Clock.Advance(6 * time.Minute)
		s.Sweep(t, "the second payment is completed", func() bool { return live.Status(t, second) == "completed" })
		if got := live.Status(t, first); got != "completed" {
			t.Errorf("the first payment is %s, want completed", got)
		}
		if _, err := s.App.Accounts.Remove(ctx, s.App.Self(), "bank", false); err != nil {
			t.Errorf("the account has no open payments, but it cannot be removed: %v", err)
		}
		_, err = s.App.Accounts.Enable(ctx, s.App.Self(), "bank", true)
		if err == nil || !strings.Contains(message.Sentence(err), "was removed") {
			t.Errorf("enabling a removed account: %v, want an error", err)
		}
		harness.KnockAt(t, s, harness.APIPath+"/providers/bank/notifications", "", []byte(`{}`)).Refused(t, "401 invalid_token authentication_error")
	})
}

func TestAccountWithOpenPaymentsIsNotRemoved(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		s.OpenAccount(t, "bank", u)
		s.OpenAccount(t, "bank-2", u)
		id := o.Production().Create(t, o.PixOrder(t))
		if _, err := s.App.Accounts.Remove(ctx, s.App.Self(), "bank", false); err == nil || !strings.Contains(message.Sentence(err), "1 open payments") {
			t.Errorf("removing an account with an open payment: %v, want an error that says so", err)
		}
		removes(t, s, "bank-2", false)
		removes(t, s, "bank", true)
		s.Clock.Advance(6 * time.Minute)
		_, err := s.App.Cascade.Sweep(ctx)
		harness.Must(t, err)
		if got := o.Production().Status(t, id); got != "pending" {
			t.Errorf("the payment is %s, want pending: its outcome is unknown", got)
		}
		_, err = s.App.Accounts.Add(ctx, s.App.Self(), appaccounts.NewAccount{ID: "bank", Adapter: "plain", BaseURL: u.URL, Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": "x"}})
		if err == nil || !strings.Contains(message.Sentence(err), "choose another id") {
			t.Errorf("adding a second account with the same id: %v, want an error", err)
		}
	})
}

// The command line changes accounts in another process; the server must notice.
func TestServerLearnsOfAccountsByItself(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1", "key-2")
		o := s.NewShop(t)
		live := o.Production()
		beside, err := daemon.Open(ctx, daemon.Config{
			Database: s.Database, MasterKey: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", Existing: true, Operator: "ana@desk",
			Adapters: []provider.Adapter{providertest.Plain()}, Now: s.Clock.Now,
		})
		harness.Must(t, err)
		defer beside.Close()
		account, err := beside.Accounts.Add(ctx, beside.Self(), appaccounts.NewAccount{
			Adapter: "plain", Live: true, BaseURL: u.URL, Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": "hush-hush"},
		})
		harness.Must(t, err)
		if !strings.HasPrefix(account.ID, "acc_") {
			t.Errorf("the account's id is %s, want the prefix acc_", account.ID)
		}
		harness.Eventually(t, "pix is routable", func() bool { return routable(t, live) == "true 1" })
		id := live.Create(t, o.PixOrder(t))
		_, err = beside.Accounts.Rotate(ctx, beside.Self(), account.ID, map[string]string{"apiKey": "key-2"})
		harness.Must(t, err)
		u.Revoke("key-1")
		harness.Eventually(t, "a charge is made with the new key", func() bool { return live.Post(t, "/payments", o.PixOrder(t)).Status == http.StatusCreated })
		if proof, problem, err := beside.Accounts.Prove(ctx, account.ID); proof != appaccounts.ProofWorks || problem != "" || err != nil {
			t.Errorf("the proof of the credentials is %s %q (%v), want %s", proof, problem, err, appaccounts.ProofWorks)
		}
		_, err = beside.Accounts.Enable(ctx, beside.Self(), account.ID, false)
		harness.Must(t, err)
		harness.Eventually(t, "pix is not routable", func() bool { return routable(t, live) == "false 0" })
		s.TellUpstream(t, u, id, 1, "paid", "hush-hush").Is(t, http.StatusOK, `{"ok":true}`)

		log, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
		harness.Must(t, err)
		var acts []string
		for _, e := range log {
			if e.Object != account.ID {
				continue
			}
			acts = append(acts, string(e.Act))
			if e.By.ID != "ana@desk" || !e.Live {
				t.Errorf("%s is logged as done by %+v in %s, want by ana@desk in production", e.Act, e.By, e.Environment())
			}
			if text := fmt.Sprint(e.Details); strings.Contains(text, "key-") || strings.Contains(text, "hush") {
				t.Errorf("the audit log holds a secret: %s", text)
			}
		}
		if want := []string{"provider.added", "provider.rotated", "provider.disabled"}; !slices.Equal(acts, want) {
			t.Errorf("the audit log has %v, want %v", acts, want)
		}
		query, done := s.Open(t)
		defer done()
		for _, row := range append(query("SELECT * FROM provider_accounts"), query("SELECT * FROM audit")...) {
			if strings.Contains(row, "key-1") || strings.Contains(row, "key-2") || strings.Contains(row, "hush-hush") {
				t.Errorf("the database holds a credential in plain text: %s", row)
			}
		}
	})
}

func TestLimitsOfAccountsNarrowTheRail(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		live := o.Production()
		bounded := func(low, high int64) func(*appaccounts.NewAccount) {
			return func(n *appaccounts.NewAccount) {
				n.Terms = []accounts.RailTerms{{Rail: "pix.BRA", Limits: []accounts.Limit{{Currency: money.BRL, Min: low, Max: high}}}}
			}
		}
		s.OpenAccount(t, "small", u, bounded(10_00, 60_00))
		s.OpenAccount(t, "large", u, bounded(60_00, 500_00), func(n *appaccounts.NewAccount) { n.Priority = 1 })
		r := live.Get(t, "/payment-methods?country=BR&method=pix")
		if got := r.Text(t, "methods.0.currencyLimits.0.min") + " " + r.Text(t, "methods.0.currencyLimits.0.max"); got != "10 500" {
			t.Errorf("the catalog's limits of pix are %s, want 10 500", got)
		}
		at := func(amount string) harness.Reply {
			return live.Post(t, "/payments", strings.Replace(o.PixOrder(t), `"amount":10`, `"amount":`+amount, 1))
		}
		const outside = "422 amount_out_of_limits invalid_request_error param=amount boundViolated="
		at("1.8").Refused(t, outside+"min") // 9.72 BRL
		at("100").Refused(t, outside+"max") // 540 BRL
		for amount, want := range map[string]string{"2": "small", "10": "small", "12": "large", "92": "large"} {
			story, err := s.App.Story(ctx, at(amount).Want(t, http.StatusCreated).Text(t, "transactionId"))
			harness.Must(t, err)
			if !strings.Contains(story, "1 at "+want+": pending") {
				t.Errorf("the payment of %s USD did not go to %s:\n%s", amount, want, story)
			}
		}
		session := live.Session(t, `{"amount":700,"currency":"BRL",`+harness.Ana+`}`)
		o.Shopper(session).Choose(t, harness.Choice(harness.Method(t, live, "BRA", "pix"))).Refused(t, outside+"max")
	})
}

// An account at a provider's own test environment replaces the simulators on its rails.
func TestSandboxAccountTakesThePlaceOfTheSimulators(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		s.OpenAccount(t, "test-bank", u, func(n *appaccounts.NewAccount) { n.Live = false })
		// The list and the checkout offer its rails beside the test methods (CAT-10).
		listed := o.Get(t, "/payment-methods?country=BRA").Want(t, http.StatusOK)
		own := harness.Method(t, o.Production(), "BRA", "pix")
		if listed.Text(t, "methods.0.paymentMethodId") != "sbx_pix" || listed.Text(t, "methods.1.paymentMethodId") != own || listed.Text(t, "methods.1.routable") != "true" ||
			listed.Text(t, "count") != "2" || listed.Text(t, "totalAvailable") != "7" {
			t.Errorf("the sandbox lists %s", listed)
		}
		if _, page, _ := s.Visit(t, "/checkout/"+o.Session(t, harness.CheckoutBody)); !strings.Contains(page, `value="`+own+`"`) || !strings.Contains(page, `value="sbx_pix"`) {
			t.Errorf("the checkout does not offer %s beside sbx_pix", own)
		}
		if _, page, _ := s.Visit(t, "/checkout/"+o.Session(t, strings.Replace(harness.CheckoutBody, "{", `{"country":"AR",`, 1))); strings.Contains(page, `value="`+own+`"`) {
			t.Errorf("in another country the checkout offers %s", own)
		}
		id := o.Create(t, o.PixOrder(t))
		if len(u.Charges()) != 1 {
			t.Fatalf("the payment did not go to the test account: %v", u.Charges())
		}
		o.Simulate(t, id, "paid").Refused(t, "409 conflict_state conflict_error from=pending")
		if status, page, _ := s.Visit(t, "/pay/"+id); status != http.StatusOK || strings.Contains(page, "/sandbox/bank/") {
			t.Errorf("the payment page answers %d, want 200 and no link to the simulated bank", status)
		}
		if status, _, _ := s.Visit(t, "/sandbox/bank/"+id); status != http.StatusNotFound {
			t.Errorf("the simulated bank's page answers %d, want 404", status)
		}
		s.TellUpstream(t, u, id, 1, "paid", "test-bank-hush").Is(t, http.StatusOK, `{"ok":true}`)
		if got := o.Status(t, id); got != "completed" {
			t.Errorf("the payment is %s, want completed", got)
		}
		// The simulators still serve simulated outcomes and the test rails.
		o.Post(t, "/payments", o.PixOrder(t), "Sandbox-Simulate: paid").Want(t, http.StatusCreated)
		o.Create(t, pix10)
		if len(u.Charges()) != 1 {
			t.Errorf("the test account has %v, want only the first charge", u.Charges())
		}
		if got := routable(t, o.Production()); got != "false 0" {
			t.Errorf("a sandbox account serves production: routable is %q, want %q", got, "false 0")
		}
	})
}

// One account's secret is not valid for another account's charges.
func TestNotificationIsOfItsOwnAccountAlone(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o, rival := s.NewShop(t), s.NewShop(t)
		s.OpenAccount(t, "bank", u)
		s.OpenAccount(t, "rivals", u, func(n *appaccounts.NewAccount) { n.Merchant = rival.Merchant.ID })
		id := o.Production().Create(t, o.PixOrder(t))
		_, signature, body := u.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "rivals-hush")
		harness.KnockAt(t, s, harness.APIPath+"/providers/rivals/notifications", signature, body).Is(t, http.StatusOK, `{"ok":true}`)
		harness.KnockAt(t, s, harness.APIPath+"/providers/bank/notifications", signature, body).Refused(t, "401 invalid_token authentication_error")
		if got := o.Production().Status(t, id); got != "pending" {
			t.Errorf("the payment is %s, want pending", got)
		}
	})
}

func TestAccountThatCannotBeIsRefused(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		for want, change := range map[string]func(*appaccounts.NewAccount){
			`no adapter "visa": use one of plain`:     func(n *appaccounts.NewAccount) { n.Adapter = "visa" },
			"apiKey: is required: Settings, API keys": func(n *appaccounts.NewAccount) { delete(n.Credentials, "apiKey") },
			"apiKey: begins with key-":                func(n *appaccounts.NewAccount) { n.Credentials["apiKey"] = "topsecret" },
			"password: is no credential of plain":     func(n *appaccounts.NewAccount) { n.Credentials["password"] = "topsecret" },
			`does not serve "boleto.BRA"`:             func(n *appaccounts.NewAccount) { n.Rails = []string{"boleto.BRA"} },
			"cannot be an account's id":               func(n *appaccounts.NewAccount) { n.ID = "a/b" },
			"sandbox-1 is a simulated provider":       func(n *appaccounts.NewAccount) { n.ID = "sandbox-1" },
			"merchant mer_nobody: not found":          func(n *appaccounts.NewAccount) { n.Merchant = "mer_nobody" },
			"a provider must be called over https":    func(n *appaccounts.NewAccount) { n.BaseURL = "http://api.example.com" },
			"an address such as":                      func(n *appaccounts.NewAccount) { n.BaseURL = "api.example.com" },
			"without credentials":                     func(n *appaccounts.NewAccount) { n.BaseURL = "https://u:p@api.example.com" },
			"pix.BRA has terms, but is not on": func(n *appaccounts.NewAccount) {
				n.Rails, n.Terms = []string{"spei.MEX"}, []accounts.RailTerms{{Rail: "pix.BRA"}}
			},
			"the limits of all rails are invalid: BRL:5-1": func(n *appaccounts.NewAccount) {
				n.Terms = []accounts.RailTerms{{Limits: []accounts.Limit{{Currency: "BRL", Min: 500, Max: 100}}}}
			},
			"the price of all rails is invalid: 101%": func(n *appaccounts.NewAccount) { n.Terms = []accounts.RailTerms{{Fee: &money.Fee{Bps: 101_00}}} },
			"priority -1: want 0 to 1000000":          func(n *appaccounts.NewAccount) { n.Priority = -1 },
			"all rails has terms twice":               func(n *appaccounts.NewAccount) { n.Terms = make([]accounts.RailTerms, 2) },
		} {
			n := appaccounts.NewAccount{ID: "bank", Adapter: "plain", Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": "hush"}}
			change(&n)
			_, err := s.App.Accounts.Add(ctx, s.App.Self(), n)
			if err == nil || !strings.Contains(message.Sentence(err), want) || strings.Contains(message.Sentence(err), "topsecret") {
				t.Errorf("the error is %v, want one that contains %q and no secret", err, want)
			}
		}
		if list, err := s.App.Providers.Accounts(ctx, true); err != nil || len(list) != 0 {
			t.Errorf("the accounts are %v (%v), want none", list, err)
		}
	})
}

// The service starts although an account cannot be used: here its adapter is gone.
func TestBrokenAccountHoldsUpNobody(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		configure := func(adapters ...provider.Adapter) func(*daemon.Config) {
			return func(c *daemon.Config) {
				c.Adapters, c.FX = adapters, daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			}
		}
		s := harness.StartWith(t, database, &harness.Clock{}, configure(providertest.Plain()))
		s.Rate(t, "BRL 5.4")
		s.OpenAccount(t, "bank", providertest.NewUpstream(t, "key-1"))
		o := s.NewShop(t)
		s.End(t)
		without := harness.StartWith(t, database, s.Clock, configure(provider.Adapter{Name: "another", Rails: []string{"pix.BRA"}}))
		o.Instance = without
		if got := routable(t, o.Production()); got != "false 0" {
			t.Errorf("without its adapter, routable is %q, want %q", got, "false 0")
		}
		list, err := without.App.Providers.Accounts(ctx, false)
		harness.Must(t, err)
		if len(list) != 1 || !strings.Contains(list[0].Broken, `no adapter "plain"`) {
			t.Errorf("the accounts are %+v, want one that is shown as broken", list)
		}
		without.Log.Extract(t, "bank")
	})
}
