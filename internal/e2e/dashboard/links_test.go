package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// newLink makes a payment link of an amount in US dollars and returns its id.
func newLink(t *testing.T, u harness.Staff, amount, about string) string {
	t.Helper()
	a := u.Ask(t, http.MethodPost, "/payments/link", url.Values{
		"amount": {amount}, "amount_currency": {"USD"}, "description": {about}, "uses": {"1"}, "key": {keyOf(t, u.Page(t, "/payments/link"))},
	})
	_, rest, found := strings.Cut(a.Body, "<code>"+u.URL+"/l/")
	if !found {
		t.Fatalf("the link gets %d: %s", a.Status, a.Text())
	}
	id, _, _ := strings.Cut(rest, "<")
	return id
}

// visit opens the checkout of a customer of a link, and returns its token.
func visit(t *testing.T, u harness.Staff, link string) string {
	t.Helper()
	_, _, h := u.Browse(t, http.MethodPost, "/l/"+link, "name=Ana+Souza&email=ana@example.com")
	_, token, found := strings.Cut(h.Get("Location"), "/checkout/")
	if !found {
		t.Fatalf("the link leads to %q", h.Get("Location"))
	}
	return token
}

// choose chooses a method of a checkout, as its customer does.
func choose(t *testing.T, o harness.Client, token, method string) harness.Reply {
	t.Helper()
	return o.Shopper(token).Choose(t, fmt.Sprintf(`{"paymentMethodId":%q,"customer":{"email":"ana@example.com","fullName":"Ana Souza"}}`, method))
}

var closing = regexp.MustCompile(`action="[^"]*(/payments/links/lnk_\w+/close)"`)

// The links of a shop are in a list, with what became of them. An open one can be copied and closed: then nobody can begin to pay with
// it, until it is opened again.
func TestPaymentLinksAreListedAndClosed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u, viewer := o.Staff(t, people.Support), o.Staff(t, people.Viewer)
		says(t, "an empty list", text(u.Page(t, "/payments/links")), "No payment links yet")
		paid, open := newLink(t, u, "30", "Two tickets"), newLink(t, u, "45.50", "A table")
		payment := choose(t, o, visit(t, u, paid), "sbx_card").Want(t, http.StatusCreated).Text(t, "transactionId")
		harness.Eventually(t, "the payment is counted", func() bool { return o.Get(t, "/payment-links/"+paid).Text(t, "status") == "used" })
		list := u.Page(t, "/payments/links")
		says(t, "the list", text(list), "30.00 USD Used Two tickets 1 of 1", "45.50 USD Open A table 0 of 1")
		if !strings.Contains(list, "/payments/"+payment) || !strings.Contains(list, `data-copy="`+s.URL+"/l/"+open+`"`) || strings.Contains(list, "/l/"+paid) {
			t.Errorf("the list lacks a payment or an address: %s", text(list))
		}
		if page := viewer.Page(t, "/payments/links"); strings.Contains(page, "/l/"+open) || closing.MatchString(page) || !strings.Contains(page, "45.50") {
			t.Error("a viewer, who may not take payments, gets the address of a link, or may close it")
		}
		found := closing.FindAllStringSubmatch(list, -1)
		if len(found) != 1 {
			t.Fatalf("%d links can be closed, want the open one", len(found))
		}
		says(t, "the question", text(u.Page(t, found[0][1])), "Close this payment link?", "45.50 USD")
		for range 2 { // a second click changes nothing
			u.Do(t, found[0][1])
		}
		says(t, "the list", text(u.Page(t, "/payments/links")), "45.50 USD Closed A table")
		says(t, "the question", text(u.Page(t, found[0][1])), "Only a link that is open can be closed")
		if n := strings.Count(text(o.Staff(t, people.Owner).Page(t, "/audit")), "Closed a payment link"); n != 1 || !audited(t, u, audit.LinkEnded) {
			t.Errorf("the audit log has %d closed links", n)
		}
		u.Do(t, strings.TrimSuffix(found[0][1], "close")+"open")
		says(t, "the list", text(u.Page(t, "/payments/links")), "45.50 USD Open A table")
		if a := u.Ask(t, http.MethodPost, "/payments/links/"+paid+"/close", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("a link that was used is closed: %d %s", a.Status, a.Text())
		}
		if a := u.Ask(t, http.MethodGet, "/payments/links?cursor=lnk_none", nil); a.Status != http.StatusNotFound {
			t.Errorf("an unknown cursor gets %d", a.Status)
		}
	})
}

// An admin opens another shop. It has no keys, which the page then makes; the team of the merchant is its team.
func TestAnotherShopIsOpened(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		shop := s.NewShop(t)
		admin, developer := shop.Staff(t, people.Admin), shop.Staff(t, people.Developer)
		a := admin.Ask(t, http.MethodPost, "/shop/new", url.Values{"name": {"Acme  Norte"}})
		to := regexp.MustCompile(`^/dashboard/(shp_[A-Z0-9a-z]+)/sandbox/keys$`).FindStringSubmatch(a.Header.Get("Location"))
		if a.Status != http.StatusSeeOther || to == nil {
			t.Fatalf("opening a shop gets %d %s: %s", a.Status, a.Header.Get("Location"), a.Text())
		}
		if keys := admin.Ask(t, http.MethodGet, to[0], nil); keys.Status != http.StatusOK || !strings.Contains(keys.Text(), "No keys yet") || !strings.Contains(keys.Body, "Acme Norte") {
			t.Errorf("the keys of the new shop: %d %s", keys.Status, keys.Text())
		}
		developer.Shop.ID = to[1]
		if made := developer.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"secret"}}); !strings.HasPrefix(shown(t, made), "sk_test_") {
			t.Errorf("a developer of the team makes no key: %s", made.Text())
		}
		if log := admin.Ask(t, http.MethodGet, "/audit", nil); !strings.Contains(log.Text(), "Acme Norte") {
			t.Errorf("the audit log does not have the shop: %s", log.Text())
		}
		if a := admin.Ask(t, http.MethodPost, "/shop/new", url.Values{"name": {"  "}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `id="f-name-error"`) {
			t.Errorf("a shop without a name gets %d: %s", a.Status, a.Text())
		}
	})
}

// An address that somebody typed with a slash at its end leads to its page, for those who are signed in; also where there is
// no such page, so that nobody learns which ones there are.
func TestASlashAtTheEndLeadsToThePage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	shop := s.NewShop(t)
	owner, operator := shop.Staff(t, people.Owner), harness.OperatorUser(t, shop)
	home := "/dashboard/" + shop.Shop.ID + "/sandbox"
	for path, want := range map[string]string{
		home + "/payments/?status=failed": home + "/payments?status=failed", home + "/": home, "/dashboard/profile/": "/dashboard/profile",
		home + "/nothing/": home + "/nothing", "/dashboard/sign-out/": "/dashboard/sign-out", "/dashboard/console/": "/dashboard/console",
		home + "/nothing": "404", "/dashboard/console/nothing": "404", "/dashboard//evil.example/": "404", "/dashboard/%0d%0a/": "/dashboard/%0D%0A",
	} {
		u := owner
		if strings.HasPrefix(path, "/dashboard/console") {
			u = operator
		}
		got := u.Ask(t, http.MethodGet, path, nil)
		if to := got.Header.Get("Location"); to != want && fmt.Sprint(got.Status) != want {
			t.Errorf("%s leads to %d %q, want %s", path, got.Status, to, want)
		}
	}
	for _, path := range []string{"/dashboard/console/", "/dashboard/console/merchants/"} {
		if a := owner.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("%s tells somebody who is no operator by %d that there is a console", path, a.Status)
		}
	}
	if a := owner.Ask(t, http.MethodPost, home+"/keys/", url.Values{"kind": {"secret"}}); a.Status < http.StatusBadRequest {
		t.Errorf("a form that is sent to an address with a slash gets %d", a.Status)
	}
	if a := stranger(owner).Ask(t, http.MethodGet, home+"/payments/", nil); !strings.Contains(a.Header.Get("Location"), "/dashboard/sign-in") {
		t.Errorf("somebody who is not signed in is led to %q", a.Header.Get("Location"))
	}
}

// Clicks at once, and a second one later, open one shop: nobody can remove a shop again.
func TestClicksAtOnceOpenOneShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		admin := s.NewShop(t).Staff(t, people.Admin)
		by := audit.Actor{Kind: audit.ByUser, ID: admin.User.ID}
		var clicks sync.WaitGroup
		for range 4 {
			clicks.Go(func() { _, _ = s.App.Onboarding.OpenShop(ctx, by, admin.Merchant.ID, "Acme Norte") }) // all but one are refused
		}
		clicks.Wait()
		if a := admin.Ask(t, http.MethodPost, "/shop/new", url.Values{"name": {"acme norte"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `id="f-name-error"`) {
			t.Errorf("a second click gets %d: %s", a.Status, a.Text())
		}
		list, err := s.App.Onboarding.Shops(ctx, admin.Merchant.ID)
		if harness.Must(t, err); len(list) != 2 {
			t.Errorf("the merchant has %d shops, want its first one and one more", len(list))
		}
	})
}

// The pages of a paused merchant begin nothing in production. The form comes back with what was typed and says why, in the
// reader's language. A form that was sent before the pause and is sent again gets what it made.
func TestPagesOfAPausedMerchantBeginNothing(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.OpenAccount(t, "bank-1", providertest.NewUpstream(t, "key-1"))
		o := s.NewShop(t)
		u := o.Staff(t, people.Owner)
		u.Live = true
		form := func(key, amount string) url.Values {
			return url.Values{"key": {key}, "amount": {amount}, "amount_currency": {"USD"}, "description": {"A bicycle"}, "order": {"A-17"}, "uses": {"1"}}
		}
		made := u.Ask(t, http.MethodPost, "/payments/link", form("before", "12"))
		link := between(made.Body, "<code>", "<")
		if made.Status != http.StatusOK || link == "" {
			t.Fatalf("the link gets %d: %s", made.Status, made.Text())
		}
		_, err := s.App.Onboarding.Pause(ctx, s.App.Self(), o.Merchant.ID, "We wait for your papers")
		harness.Must(t, err)
		for language, want := range map[string]string{"en": "is paused", "es": "en pausa", "pt": "em pausa"} {
			u.Do(t, "/dashboard/profile", "name", "Ana", "language", language)
			a := u.Ask(t, http.MethodPost, "/payments/link", form("during", "13"))
			if a.Status != http.StatusForbidden || !strings.Contains(a.Body, `value="A-17"`) || !strings.Contains(a.Body, "We wait for your papers") || !strings.Contains(a.Text(), want) {
				t.Errorf("a link during the pause, in %s, gets %d: %s", language, a.Status, a.Text())
			}
		}
		if again := u.Ask(t, http.MethodPost, "/payments/link", form("before", "12")); again.Status != http.StatusOK || between(again.Body, "<code>", "<") != link {
			t.Errorf("the form from before the pause gets %d: %s", again.Status, again.Text())
		}
		if list := u.Page(t, "/payments/links"); strings.Count(list, "A bicycle") != 1 {
			t.Errorf("the links are %s", harness.Answer{Body: list}.Text())
		}
	})
}

// A newcomer makes a test payment of each outcome, and a link that a customer can pay.
func TestTestPaymentsAndLinks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Developer)
		for outcome, want := range map[string]string{"paid": "Completed", "failed": "Failed", "expired": "Expired", "chargeback": "Dispute of", "page": "Pending"} {
			to := u.Do(t, "/payments/test", "amount", "12,30", "amount_currency", "USD", "method", "sbx_pix", "outcome", outcome, "email", "ana@example.com", "key", keyOf(t, u.Page(t, "/payments/test")))
			says(t, outcome, text(u.Page(t, to)), want, "12.30 USD")
			if page, _, _ := strings.Cut(text(u.Page(t, to)), "For developers"); strings.Contains(strings.ToLower(page), "the shopper did not pay") ||
				(outcome == "expired") != strings.Contains(page, "The customer did not pay in time and no money was taken. What happened") {
				t.Errorf("the page of %s tells why it ended: %s", outcome, page)
			}
		}
		// What the form begins with leads the way of production: page, redirect, 3-D Secure.
		page := u.Page(t, "/payments/test")
		for _, begins := range []string{`value="25.65"`, `<option value="sbx_card" selected`, `value="page" checked`} {
			if !strings.Contains(page, begins) {
				t.Errorf("the form of a test payment does not begin with %s: %s", begins, page)
			}
		}
		to := u.Do(t, "/payments/test", "amount", "25.65", "amount_currency", "USD", "method", "sbx_card", "outcome", "page", "email", "ana@example.com", "key", keyOf(t, page))
		id := to[strings.LastIndex(to, "/")+1:]
		says(t, "a card's page", text(u.Page(t, to)), "Pending", "Open")
		if _, _, h := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=pay"); !strings.HasSuffix(h.Get("Location"), "?challenge=yes") {
			t.Errorf("the card's page leads to %q, not to 3-D Secure", h.Get("Location"))
		}
		s.AtBank(t, id, "confirm")
		if got := o.Status(t, id); got != "completed" {
			t.Errorf("the test payment of a card is %s", got)
		}
		k := keyOf(t, u.Page(t, "/payments/test"))
		for field, values := range map[string][]string{"amount": {"amount", "zero"}, "method": {"method", "nothing"}, "email": {"email", "ana"}} {
			form := url.Values{"amount": {"10"}, "amount_currency": {"USD"}, "method": {"sbx_card"}, "outcome": {"paid"}, "email": {""}, "key": {k}}
			form.Set(values[0], values[1])
			if a := u.Ask(t, http.MethodPost, "/payments/test", form); a.Status < 400 || a.Status >= 500 || !strings.Contains(a.Body, `id="f-`+field+`-error"`) {
				t.Errorf("a wrong %s gets %d: %s", field, a.Status, a.Text())
			}
		}
		form := url.Values{"amount": {"10"}, "amount_currency": {"USD"}, "description": {"Two tickets"}, "order": {"T-1"}, "uses": {"3"}, "until": {""}, "key": {keyOf(t, u.Page(t, "/payments/link"))}}
		a := u.Ask(t, http.MethodPost, "/payments/link", form)
		_, rest, found := strings.Cut(a.Body, "<code>"+s.URL)
		if a.Status != http.StatusOK || !found {
			t.Fatalf("the link gets %d: %s", a.Status, a.Text())
		}
		link, _, _ := strings.Cut(rest, "<")
		if again := u.Ask(t, http.MethodPost, "/payments/link", form); !strings.Contains(again.Body, link) {
			t.Error("a second click makes another link")
		}
		res, err := http.Get(s.URL + link)
		if harness.Must(t, err); res.StatusCode != http.StatusOK {
			t.Errorf("the link gets %d", res.StatusCode)
		}
		res.Body.Close()
		form.Set("amount", "")
		form.Set("key", "another")
		if a := u.Ask(t, http.MethodPost, "/payments/link", form); !strings.Contains(a.Body, `id="f-amount-error"`) || !strings.Contains(a.Body, "Two tickets") {
			t.Errorf("a link without an amount gets %d: %s", a.Status, a.Text())
		}
		form.Set("amount", "10")
		form.Set("installments", "18") // the form has a label, not the API's names
		if a := u.Ask(t, http.MethodPost, "/payments/link", form); !strings.Contains(a.Text(), "The installments can be at most 12:") || strings.Contains(strings.ToLower(a.Text()), "installments.max") {
			t.Errorf("a link with too many installments gets %d: %s", a.Status, a.Text())
		}
		form.Set("installments", "")
		u.Live = true
		if a := u.Ask(t, http.MethodPost, "/payments/link", form); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Text(), "No payment method can charge in any country now.") || !strings.Contains(a.Body, "Two tickets") {
			t.Errorf("a link that nobody could pay gets %d: %s", a.Status, a.Text())
		}
		if a := u.Ask(t, http.MethodGet, "/payments/test", nil); a.Header.Get("Location") != u.At("/payments/link") {
			t.Errorf("in production a test payment leads to %d %s", a.Status, a.Header.Get("Location"))
		}
		if !audited(t, u, audit.LinkOpened) || !audited(t, u, audit.PaymentCreated) {
			t.Error("the audit log lacks a link or a payment")
		}
		if a := u.Ask(t, http.MethodPost, "/payments/test", url.Values{"amount": {"1"}}); a.Status < 400 || a.Status >= 500 {
			t.Errorf("a test payment in production gets %d", a.Status)
		}
	})
}
