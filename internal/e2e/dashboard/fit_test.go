package dashboard

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/chromedp/chromedp"
)

// unfit names what does not fit a page: tables that scroll sideways, and filters of which only the button is in the next row.
const unfit = `[...[...document.querySelectorAll('main .scroll')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => 'a table of ' + e.scrollWidth + ' in ' + e.clientWidth),
  ...[...document.querySelectorAll('main .filter-go')].filter((e) => e.previousElementSibling && e.getBoundingClientRect().top > e.previousElementSibling.getBoundingClientRect().bottom).map(() => 'the button of the filters stands alone')].join(', ')`

// On a desktop the lists of a shop and their filters fit the page, in every language.
func TestListsFitADesktop(t *testing.T) {
	t.Parallel()
	o := harness.Start(t, dbtest.SQLite(t), &harness.Clock{}).NewShop(t)
	busy(t, o)
	owner := o.Staff(t, people.Owner)
	tab := owner.Tab(t, "/")
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(1280, 900)))
	for _, language := range tenant.Languages() {
		owner.Do(t, "/dashboard/profile", "name", "Owner", "language", string(language))
		for _, page := range []string{"/", "/payments", "/payments/links", "/refunds", "/disputes", "/balance", "/settlements", "/withdrawals", "/wallets", "/keys", "/webhooks", "/events", "/requests", "/team", "/audit"} {
			harness.Must(t, chromedp.Do(tab, chromedp.Navigate(owner.URL+owner.At(page)), chromedp.WaitVisible("main h1")))
			found, err := chromedp.Run(tab, chromedp.Evaluate[string](unfit))
			if harness.Must(t, err); found != "" {
				t.Errorf("%s in %s: %s", page, language, found)
			}
			harness.Shoot(t, tab, "fit-"+string(language)+strings.ReplaceAll(page, "/", "-"))
		}
	}
}
