package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/chromedp"
)

// busy makes a shop in which something of everything has happened.
func busy(t *testing.T, o harness.Client) {
	t.Helper()
	o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"]}`, "https://shop.example/hook")).Want(t, http.StatusCreated)
	for i, ending := range []string{"paid", "failed", "expired", "", "chargeback", "refunded"} {
		id := o.Create(t, fmt.Sprintf(`{"amount":2%d.5,"paymentMethodId":"sbx_cash","userEmail":"maria@example.com","userName":"María López","merchantOrderId":"order-%d"}`, i, i))
		switch ending {
		case "":
		case "chargeback", "refunded":
			o.Simulate(t, id, "paid").Want(t, http.StatusOK)
			o.Simulate(t, id, ending).Want(t, http.StatusOK)
		default:
			o.Simulate(t, id, ending).Want(t, http.StatusOK)
		}
		o.Create(t, fmt.Sprintf(`{"amount":1%d.25,"paymentMethodId":"sbx_card","userEmail":"ana%d@example.com"}`, i, i))
	}
	for range 2 {
		newLink(t, o.Staff(t, people.Support), "30", "Two tickets")
	}
	card := o.Create(t, harness.Card)
	o.Refund(t, card, `{"reason":"requested_by_customer"}`)
}

var (
	anchors = regexp.MustCompile(`<a [^>]*href="([^"#]*)"`)
	ids     = regexp.MustCompile(`/(?:(?:[A-Z]{3}|[a-z]{2,4})[-_][A-Za-z0-9]{10,}[-0-9A-Za-z]*|[A-Z]{3}\b)`) // of an object, or a currency
)

// kindOf is an address without what belongs to one object.
func kindOf(path string) string {
	return ids.ReplaceAllString(path, "/{id}")
}

// crawl opens a page, and every page of the dashboard that links lead to, one of each kind. It returns their
// addresses. It fails the test for a link that leads nowhere.
func crawl(t *testing.T, u harness.Staff, start string) (found []string) {
	t.Helper()
	seen, from := map[string]bool{}, map[string]string{}
	queue := []string{start}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		bare, _, _ := strings.Cut(path, "?")
		if kind := kindOf(strings.TrimPrefix(bare, u.Home())); seen[kind] {
			continue
		} else {
			seen[kind] = true
		}
		a := u.Ask(t, http.MethodGet, path, nil)
		if a.Status != http.StatusOK && a.Status != http.StatusSeeOther {
			t.Errorf("the link %s of the page %s gets %d: %s", path, from[path], a.Status, a.Text())
			continue
		}
		if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") { // a file
			continue
		}
		found = append(found, path)
		for _, m := range anchors.FindAllStringSubmatch(a.Body, -1) {
			to, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s links to %q: %v", path, m[1], err)
				continue
			}
			next := (&url.URL{Path: bare}).ResolveReference(to)
			if to.IsAbs() || !strings.HasPrefix(next.Path, "/dashboard") || strings.HasSuffix(next.Path, "/production") || strings.Contains(next.Path, "/production/") {
				continue
			}
			if _, known := from[next.RequestURI()]; !known {
				from[next.RequestURI()] = path
				queue = append(queue, next.RequestURI())
			}
		}
	}
	slices.Sort(found)
	return found
}

// Every link on a page of the dashboard leads to a page, in every language.
func TestEveryLinkLeadsToAPage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	busy(t, o)
	owner := o.Staff(t, people.Owner)
	for _, lang := range []string{"en", "es", "pt"} {
		harness.Must(t, s.App.People.Introduce(ctx, owner.User.ID, "Ana", merchants.Language(lang)))
		if found := crawl(t, owner, owner.Home()); len(found) < 30 {
			t.Errorf("in %s an owner comes to %d pages: %v", lang, len(found), found)
		}
	}
	operator := harness.OperatorUser(t, o)
	operator.Do(t, "/dashboard/console/adjustments/new", "merchant", o.Merchant.ID, "environment", "sandbox", "amount", "5", "reason", "goodwill", "note", "the delay", "reference", "ticket 1", "about", o.Create(t, harness.Card))
	if found := crawl(t, operator, "/dashboard/console"); len(found) < 15 || !slices.ContainsFunc(found, func(path string) bool { return strings.Contains(path, "/adjustments/adj_") }) {
		t.Errorf("an operator comes to %d pages: %v", len(found), found)
	}
}

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
	for _, language := range merchants.Languages() {
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

// The story of a payment says in the reader's language why a webhook was not delivered.
func TestStoryNamesWhyADeliveryFailed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Post(t, "/webhooks", `{"url":"http://127.0.0.1:1/","events":["payment.completed"]}`).Want(t, http.StatusCreated)
		u, id := o.Staff(t, people.Support), o.Create(t, harness.Card)
		for language, want := range map[string]string{"en": "Connection refused", "es": "Conexión rechazada", "pt": "Conexão recusada"} {
			u.Do(t, "/dashboard/profile", "name", "Ana", "language", language)
			harness.Eventually(t, "the story says "+want, func() bool { return strings.Contains(u.Page(t, "/payments/"+id), want) })
		}
	})
}

// What is wrong with a form is said in the visitor's language, at the field or above the form, and on the page about an error.
func TestErrorsAreInTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Owner)
	harness.Must(t, s.App.People.Introduce(ctx, u.User.ID, "Ana", merchants.Spanish))
	private := url.Values{"where": {"own"}, "url": {"http://10.0.0.7/hook"}, "which": {"all"}}
	if a := u.Ask(t, http.MethodPost, "/webhooks", private); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "La dirección no puede ser privada") || !strings.Contains(a.Body, `id="f-url-error"`) {
		t.Errorf("a private address gets %d: %s", a.Status, a.Text())
	}
	if a := u.Ask(t, http.MethodPost, "/sandbox/clock", url.Values{"advance": {"9999d"}}); !strings.Contains(a.Text(), "cinco años como máximo") {
		t.Errorf("a jump of the clock gets %d: %s", a.Status, a.Text())
	}
	if a := u.Ask(t, http.MethodGet, "/payments/TXN-none", nil); a.Status != http.StatusNotFound || !strings.Contains(a.Text(), "No existe este pago en esta tienda") {
		t.Errorf("a payment that does not exist gets %d: %s", a.Status, a.Text())
	}
}
