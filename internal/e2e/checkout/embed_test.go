package checkout

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/chromedp/chromedp"
)

// storefront is a page of a shop, at an origin of its own, with cascada.js.
func storefront(t *testing.T, s *harness.Instance) (origin string, tab context.Context) {
	t.Helper()
	html, err := os.ReadFile("testdata/shop.html") // that of docs/CHECKOUT.md
	harness.Must(t, err)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!doctype html><title>A shop</title>", strings.ReplaceAll(string(html), "https://pay.example", s.URL))
	}))
	t.Cleanup(page.Close)
	tab = harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(page.URL)))
	return page.URL, tab
}

// eval runs a script in a shop's page, and waits for its promise.
func eval[T any](t *testing.T, tab context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// A page of any origin may do what a publishable key, or a session's token, is for; and nothing else.
func TestPagesOfOtherOriginsMayReadWhatIsForThem(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	_, tab := storefront(t, s)
	token := strings.TrimPrefix(selector(t, o, `,"country":"BR"`), "/checkout/")
	token, _, _ = strings.Cut(token, "?")
	// call returns the status and the body of a request from the page, or "refused" if the browser did not show them.
	call := func(method, path, key, body string) string {
		headers := map[string]string{}
		if key != "" {
			headers["Authorization"] = "Bearer " + key
		}
		if body != "" {
			headers["Content-Type"] = "application/json"
		}
		sent, err := json.Marshal(map[string]any{"method": method, "headers": headers, "body": body})
		harness.Must(t, err)
		return eval[string](t, tab, fmt.Sprintf(`(() => { const sent = %s; if (!sent.body) delete sent.body;
			return fetch(%q, sent).then(async (r) => r.status + (r.headers.get("Service-Version") ? " " : " no version ") + await r.text(), () => "refused"); })()`, sent, s.URL+"/api/v1"+path))
	}
	public := o.Sandbox.Publishable
	for _, c := range []struct{ method, path, key, body, want string }{
		{"GET", "/ping", public, "", `200 {"ok":true,"environment":"sandbox","keyKind":"publishable"`},
		{"GET", "/payment-methods?country=BR", public, "", `200 {"shop":`},
		{"GET", "/payment-methods", "pk_test_wrong", "", `401 {"error":{"code":"invalid_api_key"`},
		{"GET", "/payment-methods", "", "", `401 {"error":{"code":"missing_credentials"`},
		{"GET", "/checkout/sessions/" + token, "", "", `"methods":[{"paymentMethodId":"`},
		{"GET", "/checkout/sessions/cs_none", "", "", `404 {"error":{"code":"checkout_session_not_found"`},
		{"POST", "/checkout/sessions/" + token + "/select", "", `{"paymentMethodId":"sbx_pix","customer":{"documentId":"52998224725"}}`, `201 {"sessionId":"cs_`},
		{"POST", "/checkout/sessions/" + token + "/select", "", `{"paymentMethodId":"sbx_pix"}`, `409 {"error":{"code":"checkout_session_already_completed"`},
		// A secret key does not belong in a page.
		{"GET", "/ping", o.Sandbox.Secret, "", "refused"},
		{"GET", "/payments", public, "", "refused"},
		{"GET", "/me/balance", o.Sandbox.Secret, "", "refused"},
		{"POST", "/payments", public, `{"amount":10}`, "refused"},
		{"POST", "/auth/token", "", `{"apiKey":"pk_test_x","secretKey":"sk_test_x"}`, "refused"},
		{"DELETE", "/ping", public, "", "refused"},
	} {
		if got := call(c.method, c.path, c.key, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s from a page is answered %.300s, want %s", c.method, c.path, got, c.want)
		}
	}
	after := call("GET", "/checkout/sessions/"+token, "", "")
	if strings.Contains(after, `"methods"`) || !strings.Contains(after, `"completedTxId":"TXN-`) {
		t.Errorf("a session with a payment shows %s", after)
	}
}

// The methods of a session are those of its page, with what the customer would pay.
func TestSessionListsItsMethods(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		path := strings.TrimPrefix(selectorOf(t, o, "25.5", `,"country":"BR","currency":"BRL"`), "/checkout/")
		token, _, _ := strings.Cut(path, "?")
		session := o.As("").Get(t, "/checkout/sessions/"+token).Want(t, http.StatusOK)
		_, page, _ := s.Visit(t, "/checkout/"+path)
		of, _ := session.At(t, "methods")
		list, _ := of.([]any)
		if len(list) == 0 {
			t.Fatalf("the session has no methods: %s", session)
		}
		for _, item := range list {
			m := item.(map[string]any)
			id := m["paymentMethodId"].(string)
			if !strings.Contains(page, `value="`+id+`"`) || strings.Contains(page, `id="d-`+id+`"`) != m["needsDocument"].(bool) {
				t.Errorf("the page shows %v otherwise", m)
			}
			if m["currencyLocal"] != "BRL" || fmt.Sprint(m["amountLocal"]) != "25.5" || m["payable"] != true || m["countryIso3"] != "BRA" {
				t.Errorf("a session over 25.50 BRL lists %v", m)
			}
		}
		if shown := strings.Count(page, `name="method"`); shown != len(list) {
			t.Errorf("the session lists %d methods, and its page %d", len(list), shown)
		}
	})
}

// A shop shows the checkout in its own page, as a frame of the height that it needs or as a window, and hears of the payment's end.
func TestShopsShowTheCheckoutInTheirPages(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	origin, tab := storefront(t, s)
	allow := func(frames ...string) {
		_, err := s.App.Onboarding.Rebrand(t.Context(), s.App.Self(), o.Shop.ID, func(b merchants.Brand) merchants.Brand { b.Frames = frames; return b }, nil)
		harness.Must(t, err)
	}
	open := func(call string) (id string) {
		r := o.Post(t, "/checkout/sessions", `{"amount":25.5,"paymentMethodId":"sbx_pse"}`).Want(t, http.StatusCreated)
		eval[bool](t, tab, fmt.Sprintf(`(() => { globalThis.heard = []; show = (s) => heard.push(s.transactionId + " " + s.status); closed = () => heard.push("closed"); globalThis.shown = %s(%q); globalThis.loaded = new Promise((load) => shown.element.addEventListener("load", load)); return true; })()`, call, r.Text(t, "checkoutUrl")))
		return r.Text(t, "sessionId")
	}
	heard := func(want string) {
		t.Helper()
		harness.Eventually(t, "the shop hears "+want, func() bool { return eval[string](t, tab, `heard.join()`) == want })
	}
	// The simulated bank plays a page of another company: no frame shows it, so the way there leaves the frame.
	for _, body := range []string{`{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`} {
		_, page, _ := s.Visit(t, "/pay/"+o.Post(t, "/checkout/sessions", body).Want(t, http.StatusCreated).Text(t, "sessionId"))
		if link := regexp.MustCompile(`<a [^>]*/sandbox/bank/[^>]*>`).FindString(page); !strings.Contains(link, `target="_top"`) {
			t.Errorf("the link to the simulated bank stays in the frame: %q", link)
		}
	}
	allow(origin)
	id := open("inPage")
	heard(id + " pending")
	height := func() int {
		return eval[int](t, tab, `Math.round(shown.element.getBoundingClientRect().height)`)
	}
	harness.Eventually(t, "the frame has the height of its page", func() bool { h := height(); return h > 100 && h != 640 })
	o.Simulate(t, id, "paid").Want(t, http.StatusOK)
	heard(id + " pending," + id + " completed")
	if n := eval[int](t, tab, `(shown.close(), document.querySelectorAll("iframe").length)`); n != 0 {
		t.Errorf("a closed checkout leaves %d frames", n)
	}

	for _, ending := range []string{`document.querySelector("dialog button").click()`, `shown.close()`, `document.querySelector("dialog").dispatchEvent(new Event("cancel", {cancelable: true}))`} {
		id = open("inWindow")
		heard(id + " pending")
		eval[bool](t, tab, `(`+ending+`, true)`)
		heard(id + " pending,closed")
		if n := eval[int](t, tab, `document.querySelectorAll("dialog, iframe").length`); n != 0 {
			t.Errorf("after %s there are %d windows", ending, n)
		}
	}

	// Another origin sees nothing, and another window of the page cannot speak for the frame.
	allow("https://shop.example")
	open("inPage")
	eval[bool](t, tab, `loaded.then(() => { postMessage({cascada: 1, type: "page", transactionId: "TXN-1", status: "completed"}, "*"); return new Promise((waited) => setTimeout(() => waited(true), 300)); })`)
	heard("")

	res, err := http.Get(s.URL + "/cascada.js")
	harness.Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	harness.Must(t, err)
	if res.StatusCode != http.StatusOK || len(body) > 5<<10 || res.Header.Get("ETag") == "" || res.Header.Get("Set-Cookie") != "" {
		t.Errorf("cascada.js has %d bytes (%d, %v), want 5 KB at most", len(body), res.StatusCode, res.Header)
	}
}

// The script of the guide for a choice of one's own works in a shop's page.
func TestShopsDrawTheChoiceThemselves(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	_, tab := storefront(t, s)
	res, err := http.Get(s.URL + "/docs/guides/hosted-checkout.md")
	harness.Must(t, err)
	defer res.Body.Close()
	guide, err := io.ReadAll(res.Body)
	harness.Must(t, err)
	_, code, _ := strings.Cut(string(guide), "```js\n")
	code, _, found := strings.Cut(code, "\n```")
	if !found || !strings.Contains(code, "location.href = ") {
		t.Fatalf("the guide has no script: %s", code)
	}
	token := o.Post(t, "/checkout/sessions", `{"amount":250,"currency":"BRL","country":"BR",`+harness.Ana+`}`).Want(t, http.StatusCreated).Text(t, "sessionId")
	next := eval[string](t, tab, fmt.Sprintf(`(async () => { const sessionId = %q; let next; %s; return next; })()`, token, strings.Replace(code, "location.href = ", "next = ", 1)))
	if !strings.HasPrefix(next, s.URL+"/c/TXN-") {
		t.Errorf("the script leads to %q, want the payment's page", next)
	}
}
