package console

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// upload sends a form with a file as a browser does.
func uploadFile(t *testing.T, op harness.Staff, path, field, content string, pairs ...string) (status int, body string) {
	t.Helper()
	var text bytes.Buffer
	form := multipart.NewWriter(&text)
	for i := 0; i+1 < len(pairs); i += 2 {
		harness.Must(t, form.WriteField(pairs[i], pairs[i+1]))
	}
	file, err := form.CreateFormFile(field, "report.csv")
	harness.Must(t, err)
	_, err = file.Write([]byte(content))
	harness.Must(t, err)
	harness.Must(t, form.Close())
	req, err := http.NewRequest(http.MethodPost, op.URL+"/dashboard/console/"+path, &text)
	harness.Must(t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.AddCookie(&http.Cookie{Name: "cascada", Value: op.Cookie})
	res, err := http.DefaultTransport.RoundTrip(req)
	harness.Must(t, err)
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	harness.Must(t, err)
	return res.StatusCode, string(read)
}

// An operator sets a rate and imports a file. A rate that jumps is set only if the operator insists.
func TestOperatorSetsRates(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		op := harness.OperatorUser(t, s.NewShop(t))
		op.Page(t, "/dashboard/console/rates")
		path := "/dashboard/console/rates/BRL"
		if a := op.Ask(t, http.MethodPost, path, url.Values{"rate": {"five"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `value="five"`) {
			t.Errorf("a wrong rate gets %d: %s", a.Status, a.Text())
		}
		op.Do(t, path, "rate", "5.42", "source", "desk")
		if got := harness.RateInUse(t, s, money.BRL); got.Rate.Decimal() != "5.42" {
			t.Errorf("the rate is %s", got.Rate.Decimal())
		}
		op.Did(t, audit.RateSet, "BRL")
		if page := op.Page(t, path); !strings.Contains(page, "data-chart") || !strings.Contains(page, "desk") {
			t.Error("the page has no history")
		}
		if a := op.Ask(t, http.MethodPost, path, url.Values{"rate": {"54.2"}}); a.Status != http.StatusConflict || !strings.Contains(a.Body, `name="force"`) {
			t.Errorf("a rate that jumps gets %d: %s", a.Status, a.Text())
		}
		op.Do(t, path, "rate", "54.2", "force", "true")
		if status, body := uploadFile(t, op, "rates/import", "file", "currency,rate\nMXN,nothing\n"); status != http.StatusBadRequest {
			t.Errorf("a wrong file gets %d: %s", status, body)
		}
		if status, body := uploadFile(t, op, "rates/import", "file", "currency,rate\nMXN,18.4\n"); status != http.StatusSeeOther {
			t.Errorf("a file gets %d: %s", status, body)
		}
		if got := harness.RateInUse(t, s, money.MXN); got.Rate.Decimal() != "18.4" {
			t.Errorf("the rate of the file is not in use: %s", got.Rate.Decimal())
		}
		op.Page(t, "/dashboard/console/health")
	})
}

// An operator compares a report with the books, and sees each difference.
func TestOperatorComparesAReport(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		op, live := harness.OperatorUser(t, o), o.Production()
		s.OpenAccount(t, "bank-1", u)
		id := live.Create(t, o.PixOrder(t))
		s.TellUpstream(t, u, id, 1, "paid", "bank-1-hush").Want(t, http.StatusOK)
		now := s.Clock.Now()
		days := []string{"account", "bank-1", "from", now.AddDate(0, 0, -1).Format("2006-01-02"), "to", now.AddDate(0, 0, 1).Format("2006-01-02")}
		if status, body := uploadFile(t, op, "reconciliation", "report", "nothing\n", days...); status != http.StatusBadRequest {
			t.Errorf("a wrong report gets %d: %s", status, body)
		}
		if status, body := uploadFile(t, op, "reconciliation", "report", u.Report(), days...); status != http.StatusOK || !strings.Contains(body, "The report and the books agree") {
			t.Errorf("the right report gets %d: %s", status, harness.Answer{Body: body}.Text())
		}
		op.Did(t, audit.ProviderReconciled, "bank-1")
		wrong := strings.Replace(u.Report(), ",54,", ",53,", 1)
		if status, body := uploadFile(t, op, "reconciliation", "report", wrong, append(days, "dry", "true")...); status != http.StatusOK || !strings.Contains(body, "1 differences") || !strings.Contains(body, id) {
			t.Errorf("another amount gets %d: %s", status, harness.Answer{Body: body}.Text())
		}
		if page := op.Page(t, "/dashboard/console/reconciliation"); strings.Count(page, "<tr><td>") != 1 {
			t.Error("not exactly the comparison that counts is kept")
		}
	})
}

// pictured saves pictures of a page on a phone and a desktop, in light and dark colours, for people to look at.
func pictured(t *testing.T, op harness.Staff, name, path string) {
	t.Helper()
	if os.Getenv("ARTIFACTS") == "" {
		return
	}
	tab := op.Tab(t, path)
	for _, width := range []int64{390, 1280} {
		for _, colours := range []string{"light", "dark"} {
			_, err := chromedp.Call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
			harness.Must(t, err)
			_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
			harness.Must(t, err)
			harness.Shoot(t, tab, fmt.Sprintf("%s-%d-%s", name, width, colours))
		}
	}
}

// In a browser an operator opens a provider account and checks it. Every kind of page is accessible.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Adapters = []provider.Adapter{providertest.Plain()}
	})
	s.Rate(t, "BRL 5.4", "MXN 18.35")
	u := providertest.NewUpstream(t, "key-1")
	o := s.NewShop(t)
	o.Staff(t, people.Owner)
	op, live := harness.OperatorUser(t, o), o.Production()
	tab := op.Tab(t, "/dashboard/console/accounts/new")
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		harness.Must(t, chromedp.Do(tab, steps...))
	}
	do(chromedp.Click(`a[href$="adapter=plain"]`), chromedp.WaitVisible(`#f-id`))
	do(chromedp.SendKeys(`#f-id`, "bank-1"), chromedp.SendKeys(`[name="credentials.apiKey"]`, "key-1"), chromedp.SendKeys(`[name="credentials.webhookSecret"]`, "bank-1-hush"), chromedp.SendKeys(`#f-baseUrl`, u.URL))
	do(chromedp.Click(`main form button.primary`), chromedp.WaitVisible(`#notices .notice.good`))
	do(chromedp.Click(`form[action$="/check"] button`), chromedp.WaitVisible(`main > .notice[role=alert]`))
	s.OpenAccount(t, "bank-2", u, func(n *accounts.NewAccount) { n.Priority = 200 })
	id := live.Create(t, o.PixOrder(t))
	s.TellUpstream(t, u, id, 1, "paid", "bank-1-hush").Want(t, http.StatusOK)
	odd := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
	s.Notify(t, "sandbox-1", harness.NoticeBody(odd, `"status":"paid","amount":"183","currency":"USD"`)).Want(t, http.StatusOK)
	open, err := s.App.Notices.Notifications(ctx, "", 10)
	harness.Must(t, err)
	s.Rate(t, "BRL 5.41")
	_, err = s.App.Payouts.LimitPayouts(ctx, s.App.Self(), o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.ApprovalAbove = 100_00 })
	harness.Must(t, err)
	for name, path := range map[string]string{
		"overview": "", "merchants": "/merchants", "merchant": "/merchants/" + o.Merchant.ID, "new-merchant": "/merchants/new", "search": "/search?q=nobody",
		"accounts": "/accounts", "account": "/accounts/bank-1", "choose": "/accounts/new", "new-account": "/accounts/new?adapter=plain", "edit-account": "/accounts/bank-1/edit",
		"credentials": "/accounts/bank-1/credentials", "rules": "/routing", "edit-rules": "/routing/edit", "decisions": "/decisions", "notices": "/decisions?kind=notices",
		"notice": "/notices?id=" + url.QueryEscape(open[0].ID), "payment": "/payments/" + id, "rates": "/rates", "rate": "/rates/BRL",
		"reconciliation": "/reconciliation", "claims": "/decisions?kind=claims", "verifications": "/decisions?kind=verifications", "health": "/health", "audit": "/audit", "operators": "/operators",
	} {
		do(chromedp.Navigate(op.URL + "/dashboard/console" + path))
		harness.Accessible(t, tab, name)
		pictured(t, op, name, "/dashboard/console"+path)
	}
}
