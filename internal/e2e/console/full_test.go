package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/chromedp/chromedp"
)

// waiting is how many things of each kind wait in fill.
const waiting = 12

// fill gives a service what one that has worked for a year shows: merchants, provider accounts, and decisions of each kind
// that wait. It returns the last shop.
func fill(t *testing.T, s *harness.Instance) (last harness.Client) {
	t.Helper()
	for i := range 24 {
		_, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Self(), appmerchants.NewMerchant{
			Name: fmt.Sprintf("Distribuidora y Comercializadora del Pacífico Número %d S.A. de C.V.", i), Email: fmt.Sprintf("cuentas.por.cobrar.%d@distribuidora-del-pacifico.example", i), Tier: merchants.Starter,
		})
		harness.Must(t, err)
	}
	for range waiting {
		o := s.NewShop(t)
		_, err := s.App.Payouts.LimitPayouts(ctx, s.App.Self(), o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.ApprovalAbove = 100_00 })
		harness.Must(t, err)
		o.Fund(t, false, 1_234_567_89)
		o.Wallet(t)
		o.Withdraw(t, "1200000")
		_, claim := o.Dispute(t, true)
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		s.Notify(t, "sandbox-1", harness.NoticeBody(o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`), `"status":"paid","amount":"183","currency":"USD"`)).Want(t, http.StatusOK)
		id := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		address, err := url.Parse(s.App.Verifications.VerificationURL(id))
		harness.Must(t, err)
		_, err = s.App.Verifications.HandIn(ctx, id, address.Query().Get("token"))
		harness.Must(t, err)
		_, err = s.App.Adjustments.Make(ctx, s.App.Self(), settlements.NewAdjustment{
			Merchant: o.Merchant.ID, Amount: money.New(-1_000_000_00, money.USD), Reason: pay.ForProviderRefund, Note: "in its panel", Reference: "ticket 1", Negative: true,
		})
		harness.Must(t, err)
		last = o
	}
	u := providertest.NewUpstream(t, "key-1")
	for i := range 20 {
		s.OpenAccount(t, fmt.Sprintf("mercadopago-mexico-secundaria-%d", i), u, func(n *accounts.NewAccount) {
			n.Priority = i + 1
			if i%3 == 0 {
				n.Merchant = last.Merchant.ID
			}
		})
		if i%5 == 0 {
			_, err := s.App.Accounts.Enable(ctx, s.App.Self(), fmt.Sprintf("mercadopago-mexico-secundaria-%d", i), false)
			harness.Must(t, err)
		}
	}
	return last
}

// hasKinds fails the test if the overview has no words for a kind of work.
func hasKinds(t *testing.T, s *harness.Instance) {
	t.Helper()
	text, err := os.ReadFile("../../dashboard/console/text/en.json")
	harness.Must(t, err)
	var words map[string]string
	harness.Must(t, json.Unmarshal(text, &words))
	due, err := s.App.OldestDue(ctx)
	harness.Must(t, err)
	open, err := s.App.OldestOpen(ctx)
	harness.Must(t, err)
	for _, kind := range append(slices.Collect(maps.Keys(due)), slices.Collect(maps.Keys(open))...) {
		if words["kind_"+kind] == "" {
			t.Errorf("the overview has no words for %q", kind)
		}
	}
	if len(due) < 10 || len(open) < 5 {
		t.Errorf("only these kinds of work are known: %v, %v", due, open)
	}
}

// tooWide are the tables of a page that scroll sideways.
const tooWide = `[...document.querySelectorAll('main .scroll')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => (e.getAttribute('aria-label') || e.textContent.slice(0, 40)) + ' ' + e.scrollWidth + ' in ' + e.clientWidth).join(', ')`

// With much in it the console stays readable: on a desktop no list is wider than its place, in any language, and the
// pages are accessible and no wider than a phone.
func TestConsoleWithMuchInIt(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Adapters = []provider.Adapter{providertest.Plain()}
	})
	s.Rate(t, "BRL 5.4", "MXN 18.35")
	o := fill(t, s)
	op := harness.OperatorUser(t, o)
	payment := o.Create(t, harness.Card)
	pages := []string{
		"", "merchants", "merchants/" + o.Merchant.ID, "accounts", "accounts/mercadopago-mexico-secundaria-3", "audit", "decisions?kind=withdrawals", "decisions?kind=claims",
		"decisions?kind=notices", "decisions?kind=verifications", "decisions?kind=adjustments", "adjustments", "adjustments/new", "payments/" + payment, "rates", "seals", "payouts", "machine", "search?q=Distribuidora",
	}
	harness.Eventually(t, "all withdrawals wait, with the names of their merchants", func() bool { // the loop that pays out finds that they do
		page := op.Page(t, consolePath+"decisions?kind=withdrawals")
		return strings.Count(page, "An operator’s approval") == waiting && strings.Count(page, ">"+o.Merchant.Name+"</a>") == waiting
	})
	hasKinds(t, s)
	for _, language := range merchants.Languages() {
		op.Do(t, "/dashboard/profile", "name", "Operator", "language", string(language))
		tab := op.Tab(t, consolePath+"merchants") // one for each language: a tab has a time limit
		for _, path := range pages {
			name := "full-" + string(language) + "-" + strings.Trim(strings.NewReplacer("/", "-", "?", "-", "=", "-", o.Merchant.ID, "id", payment, "id").Replace(path), "-")
			harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(op.URL+strings.TrimSuffix(consolePath+path, "/")), chromedp.WaitVisible("main h1")))
			wide, err := chromedp.Run(tab, chromedp.Evaluate[string](tooWide))
			if harness.Must(t, err); wide != "" {
				t.Errorf("%s scrolls sideways: %s", name, wide)
			}
			if language == merchants.English {
				harness.CheckPage(t, tab, name)
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(360, 740)))
				wide, err := chromedp.Run(tab, chromedp.Evaluate[string](tooWide))
				if harness.Must(t, err); wide != "" && path != "machine" { // its jobs stay a table, to be compared
					t.Errorf("%s scrolls sideways on a phone: %s", name, wide)
				}
			} else {
				harness.Shoot(t, tab, name)
			}
		}
	}
}
