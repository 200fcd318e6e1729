package console

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/chromedp/chromedp"
)

// screen is the browser of an operator who works with the mouse.
type screen struct {
	t   *testing.T
	tab context.Context
	op  harness.Staff
}

func (c screen) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if err := chromedp.Do(c.tab, steps...); err != nil {
		page, _ := chromedp.Run(c.tab, chromedp.Evaluate[string](`location.pathname + ": " + document.getElementById('main').innerText`))
		c.t.Fatalf("%v: %s", err, page)
	}
}

// opens goes to a page of the console, and waits until it has something.
func (c screen) opens(path, has string) {
	c.t.Helper()
	c.do(chromedp.Navigate(c.op.URL+consolePath+path), chromedp.WaitVisible(has))
}

// fills writes into fields of the page, by name. A radio button is chosen by its value.
func (c screen) fills(pairs ...string) {
	c.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		script := fmt.Sprintf(`(() => {
  const all = [...document.querySelectorAll('main [name=%q]')], f = all.find((x) => x.type === 'radio' ? x.value === %[2]q : true);
  if (f.type === 'radio') f.checked = true; else f.value = %[2]q;
  f.dispatchEvent(new Event('input', {bubbles: true}));
  return true;
})()`, pairs[i], pairs[i+1])
		if _, err := chromedp.Run(c.tab, chromedp.Evaluate[bool](script)); err != nil {
			c.t.Fatalf("fill in %s: %v", pairs[i], err)
		}
	}
}

// clicks clicks something, and waits for what appears then.
func (c screen) clicks(what, then string) {
	c.t.Helper()
	c.do(chromedp.WaitVisible(what), chromedp.Click(what), chromedp.WaitVisible(then))
}

// says reads a part of the page.
func (c screen) says(what string) string {
	c.t.Helper()
	text, err := chromedp.Run(c.tab, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q).innerText`, what)))
	harness.Must(c.t, err)
	return text
}

// does clicks what sends a form, and waits for the page that it leads to, with its message.
func (c screen) does(what, path string) {
	c.t.Helper()
	c.do(chromedp.WaitVisible(what), chromedp.Click(what))
	harness.Eventually(c.t, "the form leads to "+path, func() bool {
		there, err := chromedp.Run(c.tab, chromedp.Evaluate[bool](fmt.Sprintf(
			`location.pathname === %q && document.readyState === 'complete' && !!document.querySelector('#notices .notice.good')`, consolePath+path)))
		return err == nil && there // between two pages there is no document
	})
}

// operated is a production shop with money, a wallet and a payment that bank-1 took, and an operator at a screen.
type operated struct {
	screen
	live, box    harness.Client
	first, other *providertest.Upstream
	paid         string // at bank-1
}

func beginOperatorsDay(t *testing.T, database string) operated {
	t.Helper()
	b := harness.NewPayer()
	s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
		c.Adapters, c.WalletCoolDown = []provider.Adapter{providertest.Plain(), b.Adapter()}, time.Millisecond
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
	})
	s.PayOutBy(t, "bank", accounts.NewAccount{ID: "payer-1"})
	s.Rate(t, "MXN 18.35", "BRL 5.4")
	d := operated{first: providertest.NewUpstream(t, "key-1"), other: providertest.NewUpstream(t, "key-1")}
	s.OpenAccount(t, "bank-1", d.first, func(n *accounts.NewAccount) { n.Priority = 1 })
	d.box = s.NewShop(t)
	d.live = d.box.Production()
	v := d.live.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	d.live.Fund(t, true, 1_000_00)
	d.live.Wallet(t)
	s.Clock.Advance(time.Second)
	d.paid = d.live.Create(t, d.live.PixOrder(t))
	s.TellUpstream(t, d.first, d.paid, 1, "paid", "bank-1-hush").Want(t, http.StatusOK)
	s.Clock.Advance(time.Minute)
	op := harness.OperatorUser(t, d.box)
	d.screen = screen{t, op.Tab(t, "/dashboard/console"), op}
	d.do(chromedp.EmulateViewport(1280, 900), chromedp.WaitVisible(`[data-nav="overview"]`))
	return d
}

// connects opens an account, proves its credentials and replaces one of them.
func (d operated) connects() {
	d.t.Helper()
	d.clicks(`[data-nav="providers"]`, `main a[href$="/accounts/new"]`)
	d.clicks(`main a[href$="/accounts/new"]`, `main a[href$="adapter=plain"]`)
	d.clicks(`main a[href$="adapter=plain"]`, `#f-id`)
	d.fills("id", "bank-2", "credentials.apiKey", "key-1", "credentials.webhookSecret", "bank-2-hush", "baseUrl", d.other.URL)
	d.clicks(`main form[action$="/accounts"] button.primary`, `form[action$="/accounts/bank-2/check"] button`)
	d.clicks(`form[action$="/accounts/bank-2/check"] button`, `main > .notice.good[role=alert]`)
	d.clicks(`main a[href$="/accounts/bank-2/credentials"]`, `[name="credentials.webhookSecret"]`)
	d.fills("credentials.webhookSecret", "another-hush")
	d.does(`form[action$="/credentials"] button.primary`, "accounts/bank-2")
	d.op.Did(d.t, audit.ProviderAdded, "bank-2")
	d.op.Did(d.t, audit.ProviderRotated, "bank-2")
}

// routes replays past payments with other rules, and applies these.
func (d operated) routes() {
	d.t.Helper()
	d.opens("routing/edit", `#f-file`)
	d.fills("file", "rails:\n  pix.BRA:\n    accounts: [bank-2]\n")
	d.clicks(`button[value="replay"]`, `#replay button[value="apply"]`)
	if said := d.says(`#replay`); !strings.Contains(said, "1 payments were replayed; 1 begin at another account") || !strings.Contains(said, d.paid) {
		d.t.Errorf("the replay says %s", said)
	}
	d.does(`#replay button[value="apply"]`, "routing")
	d.op.Did(d.t, audit.RoutingApplied, "routing")
}

// explains finds a payment, and reads why it went where it went.
func (d operated) explains() {
	d.t.Helper()
	id := d.live.Create(d.t, d.live.PixOrder(d.t))
	d.opens("", `#search`)
	d.do(chromedp.SendKeys(`#search`, id+"\n"), chromedp.WaitVisible(`main .timeline`))
	if said := d.says(`main .timeline`); !strings.Contains(said, "1. bank-2") || !strings.Contains(said, "bank-1: the rules do not list it") {
		d.t.Errorf("the payment after the new rules is explained as %s", said)
	}
	d.live.TellUpstream(d.t, d.other, id, 1, "paid", "another-hush").Want(d.t, http.StatusOK) // as the rotated secret signs
	if got := d.live.Status(d.t, id); got != "completed" {
		d.t.Errorf("it is %s", got)
	}
}

// compares uploads a report with another amount than the books have.
func (d operated) compares() {
	d.t.Helper()
	report := filepath.Join(d.t.TempDir(), "report.csv")
	wrong := strings.Replace(d.first.Report(), ",54,", ",53,", 1)
	harness.Must(d.t, os.WriteFile(report, []byte(wrong), 0o600))
	now := d.live.Clock.Now()
	d.clicks(`[data-nav="reconciliation"]`, `#f-report`)
	d.fills("account", "bank-1", "from", now.AddDate(0, 0, -1).Format(time.DateOnly), "to", now.AddDate(0, 0, 1).Format(time.DateOnly))
	d.do(chromedp.SetUploadFiles(`#f-report`, []string{report}))
	d.clicks(`main form[action$="/reconciliation"] button.primary`, `main .notice.bad`)
	if said := d.says(`main`); !strings.Contains(said, "1 differences") || !strings.Contains(said, d.paid) {
		d.t.Errorf("the comparison says %s", said)
	}
	d.op.Did(d.t, audit.ProviderReconciled, "bank-1")
	if said := harness.Warnings(d.t, d.live); !strings.Contains(said, "drift") {
		d.t.Errorf("the merchant's balance warns of %s", said)
	}
}

// decides closes a notification that does not fit, rules a dispute and approves a withdrawal.
func (d operated) decides() {
	d.t.Helper()
	odd := d.box.Create(d.t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
	d.box.Notify(d.t, "sandbox-1", harness.NoticeBody(odd, `"status":"paid","amount":"183","currency":"USD"`)).Want(d.t, http.StatusOK)
	open, err := d.box.App.Notices.Notifications(ctx, "", 10)
	harness.Must(d.t, err)
	_, claim := d.box.Dispute(d.t, true)
	d.box.Post(d.t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(d.t, http.StatusCreated)

	d.clicks(`[data-nav="overview"]`, `main a[href$="kind=notices"]`)
	d.clicks(`main a[href$="kind=notices"]`, `main td a[href*="/notices?id="]`)
	d.clicks(`main td a[href*="/notices?id="]`, `form[action$="/notices/close"] #f-note`)
	d.fills("note", "given back at the provider")
	d.does(`form[action$="/notices/close"] button.primary`, "decisions")
	d.op.Did(d.t, audit.NotificationClosed, open[0].ID)

	d.opens("decisions?kind=claims", `main td a[href$="/claims/`+claim+`"]`)
	d.clicks(`main td a[href$="/claims/`+claim+`"]`, `form[action$="/resolve"] #f-note`)
	d.fills("outcome", "rejected", "note", "the letter of the bank")
	d.does(`form[action$="/resolve"] button.primary`, "claims/"+claim)
	if got := harness.ClaimStatus(d.t, d.box, claim); got != "rejected" {
		d.t.Errorf("the dispute is %s", got)
	}

	_, err = d.box.App.Payouts.LimitPayouts(ctx, d.box.App.Self(), d.box.Merchant.ID, true, func(l *pay.PayoutLimits) { l.ApprovalAbove = 100_00 })
	harness.Must(d.t, err)
	withdrawal := d.live.Withdraw(d.t, "250")
	d.live.Clock.Advance(pay.WithdrawalHold(true))
	harness.Eventually(d.t, "the withdrawal waits for an approval", func() bool {
		_, err := d.live.App.Payouts.PayOut(ctx)
		harness.Must(d.t, err)
		w, err := d.live.App.Payouts.WaitingWithdrawals(ctx, 1)
		harness.Must(d.t, err)
		return len(w) == 1 && w[0].Waiting == string(pay.WaitsApproval)
	})
	d.opens("decisions?kind=withdrawals", `main td a[href$="/withdrawals/`+withdrawal+`"]`)
	d.clicks(`main td a[href$="/withdrawals/`+withdrawal+`"]`, `form[action$="/approve"] #f-note`)
	d.fills("note", "the merchant called")
	d.does(`form[action$="/approve"] button.primary`, "withdrawals/"+withdrawal)
	d.live.PayOut(d.t, withdrawal, "completed")
}

// pauses stops a merchant, and lets it go on.
func (d operated) pauses() {
	d.t.Helper()
	order := d.live.PixOrder(d.t)
	d.clicks(`[data-nav="merchants"]`, `main td a[href$="/merchants/`+d.live.Merchant.ID+`"]`)
	d.clicks(`main td a[href$="/merchants/`+d.live.Merchant.ID+`"]`, `[data-dialog="pause"]`)
	d.clicks(`[data-dialog="pause"]`, `#f-reason`)
	d.fills("reason", "We wait for your papers")
	d.clicks(`form[action$="/pause"] button.bad`, `#resume`)
	d.live.Post(d.t, "/payments", order).Refused(d.t, "403 forbidden permission_error reason=merchant_paused")
	team := d.box.Staff(d.t, people.Owner).Tab(d.t, "/")
	harness.Must(d.t, chromedp.Do(team, chromedp.WaitVisible(`.strip.paused`)))
	harness.CheckPage(d.t, team, "paused")
	d.clicks(`#resume`, `[data-dialog="pause"].bad`)
	d.live.Create(d.t, order)
}

// The day of an operator, in a browser: each step is clicked, and each is seen in what it changed.
func TestOperatorsDayInABrowser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		d := beginOperatorsDay(t, database)
		d.connects()
		d.routes()
		d.explains()
		d.compares()
		d.decides()
		d.pauses()
	})
}
