package checkout

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/chromedp/chromedp"
)

// leadsBack reports whether a page has a link back to an address, named by the shop.
func leadsBack(t *testing.T, s *harness.Instance, path, address string) bool {
	t.Helper()
	_, page, _ := s.Visit(t, path, "Accept-Language: en")
	return strings.Contains(page, `<a class="button`) && strings.Contains(page, `href="`+address) && strings.Contains(page, ">Back to Acme<")
}

// A shopper goes back to an app whose scheme the shop registered, and to no other app (CHK-28).
func TestShopperGoesBackToTheApp(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		const app = `"returnUrl":"MyApp://paid?order=7;8"`
		session := strings.Replace(harness.CheckoutBody, "{", "{"+app+",", 1)
		hosted := `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true,` + app + `}`
		direct := `{"amount":10,"paymentMethodId":"sbx_cash",` + app + `}`
		refused := func(when string, o harness.Client) {
			t.Helper()
			for path, bodies := range map[string][]string{"/checkout/sessions": {session, hosted}, "/payments": {hosted, direct}} {
				for _, body := range bodies {
					r := o.Post(t, path, body)
					r.Refused(t, "400 invalid_request invalid_request_error param=returnUrl")
					if says := r.Text(t, "error.message"); !strings.Contains(says, o.Shop.ID+" has no app scheme myapp") || !strings.Contains(says, "cascada shop schemes") {
						t.Errorf("%s: %s says %q", when, path, says)
					}
				}
			}
		}
		refused("before", o)
		register := func(list ...string) {
			t.Helper()
			_, err := s.App.Onboarding.SetSchemes(ctx, s.App.Self(), o.Shop.ID, list)
			harness.Must(t, err)
		}
		register("myapp")
		refused("another merchant", stranger)

		opened := o.Post(t, "/checkout/sessions", session, "Idempotency-Key: app").Want(t, http.StatusCreated)
		choice := "/checkout/" + opened.Text(t, "sessionId")
		if !leadsBack(t, s, choice, "myapp://paid?order=7;8&status=&transactionId=") {
			t.Error("the choice of a method does not lead back to the app")
		}
		id := o.Create(t, hosted)
		if !leadsBack(t, s, "/pay/"+id, "myapp://paid?order=7;8&status=pending&transactionId="+id) {
			t.Error("the payment does not lead back to the app")
		}
		if got := o.Post(t, "/checkout/sessions", hosted).Want(t, http.StatusCreated).Text(t, "checkoutUrl"); !strings.Contains(got, "returnUrl="+url.QueryEscape("MyApp://paid?order=7;8")) {
			t.Errorf("the address of the one-shot checkout is %s", got)
		}
		harness.OpenPixAndSPEI(t, s)
		o.Production().Post(t, "/checkout/sessions", session).Want(t, http.StatusCreated)
		o.Whole(t, false).Post(t, "/payments", strings.Replace(hosted, "{", `{"shopId":"`+o.Shop.ID+`",`, 1)).Want(t, http.StatusCreated)

		// Without the scheme a repeat has its answer, and old pages lead nowhere.
		register()
		refused("after", o)
		if again := o.Post(t, "/checkout/sessions", session, "Idempotency-Key: app").Want(t, http.StatusCreated); again.Text(t, "sessionId") != opened.Text(t, "sessionId") {
			t.Error("a repeat opens another session")
		}
		if leadsBack(t, s, choice, "myapp:") || leadsBack(t, s, "/pay/"+id, "myapp:") {
			t.Error("pages lead to an app whose scheme the shop does not have any more")
		}
		changes := 0
		for _, e := range harness.AuditActs(t, o) {
			if e.Act == audit.ShopSchemes && e.Details["before"] != e.Details["schemes"] && e.Details["before"]+e.Details["schemes"] == "myapp" {
				changes++
			}
		}
		if changes != 2 {
			t.Errorf("the audit log has %d changes of the schemes, want 2", changes)
		}
	})
}

// What a browser takes from the page is the app's address.
func TestBrowserReadsTheAppsAddress(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	_, err := s.App.Onboarding.SetSchemes(ctx, s.App.Self(), o.Shop.ID, []string{"com.acme.pay"})
	harness.Must(t, err)
	id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true,"returnUrl":"com.acme.pay://paid/a?q='1'&lt=(2)#end"}`)
	tab := harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id)))
	href, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector(".back a").href`))
	harness.Must(t, err)
	if want := "com.acme.pay://paid/a?q=%271%27&lt=%282%29&status=pending&transactionId=" + id + "#end"; href != want {
		t.Errorf("the link leads to %s, want %s", href, want)
	}
}
