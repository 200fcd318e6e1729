package checkout

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Every page that a shopper may see is accessible (WCAG 2.2 AA).
func TestPagesAreForEverybody(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	paths := map[string]string{
		"an unknown session": "/checkout/cs_" + "0123456789012345678901234567890123456789012",
		"an unknown payment": "/pay/TXN-UNKNOWN",
	}
	for method, body := range map[string]string{
		"pix": `"sbx_pix","documentId":"52998224725"`, "cash": `"sbx_cash"`, "spei": `"sbx_spei","documentId":"XAXX010101000"`, "pse": `"sbx_pse"`,
	} {
		id := o.Create(t, `{"amount":25.5,"returnUrl":"https://shop.example/thanks","hostedCheckout":true,"paymentMethodId":`+body+`}`)
		paths["waiting for "+method] = "/pay/" + id
		paths["the bank for "+method] = "/sandbox/bank/" + id
	}
	for _, ending := range []string{"paid", "failed", "expired"} {
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash","returnUrl":"https://shop.example/thanks"}`)
		o.Simulate(t, id, ending).Want(t, http.StatusOK)
		paths[ending] = "/pay/" + id
	}
	for _, ending := range []string{"late", "wrong_amount"} {
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash","returnUrl":"https://shop.example/thanks","hostedCheckout":true}`)
		s.AtBank(t, id, ending)
		paths[ending] = "/pay/" + id
	}
	chosen := func() string {
		_, _, h := s.Browse(t, http.MethodPost, selector(t, o, ""), "method=sbx_cash")
		return strings.TrimPrefix(h.Get("Location"), "/c/")
	}
	paths["a choice made before"] = "/pay/" + chosen() + "?note=taken"
	changed := chosen()
	paths["the choice after another"], _, _ = strings.Cut(callOff(t, s, changed), "?")
	paths["changed"] = "/pay/" + changed
	paths["a boleto"] = "/pay/" + o.Create(t, `{"amount":9,"paymentMethod":"boleto","country":"BR","documentId":"52998224725"}`)
	part := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
	o.Simulate(t, part, "paid").Want(t, http.StatusOK)
	o.Post(t, "/payments/"+part+"/refund", `{"amount":5}`).Want(t, http.StatusOK)
	paths["refunded in part"] = "/pay/" + part
	o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual","returnUrl":"https://shop.example/kyc"}`).Want(t, http.StatusCreated)
	paths["a verification"] = o.Get(t, "/kyc/"+o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Text(t, "verificationId")).Text(t, "url")[len(s.URL):]
	for what, path := range paths {
		for i, sc := range harness.Screens {
			lang := []string{"es", "pt"}[i]
			t.Run(what+" on a "+sc.Name, func(t *testing.T) {
				t.Parallel()
				tab := harness.Browser(t)
				query := "?lang=" + lang
				if strings.Contains(path, "?") {
					query = "&lang=" + lang
				}
				if what == "a verification" {
					query = ""
				}
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(sc.Width, sc.Height, chromedp.EmulateScale(sc.Scale)), chromedp.Navigate(s.URL+path+query)))
				harness.Accessible(t, tab, what+" on a "+sc.Name)
			})
		}
	}
	tab := harness.Browser(t)
	// Operations, their fields, events and errors are lists made by one template: the first of each say what hundreds would. For
	// all of them, axe needs minutes on a busy machine.
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/docs")))
	left, err := chromedp.Run(tab, chromedp.Evaluate[int64](`
		document.querySelectorAll('.group article:nth-of-type(n+2), tbody tr:nth-of-type(n+5), li:nth-of-type(n+3)').forEach((e) => e.remove());
		document.querySelectorAll('article').length`))
	if err != nil || left < 10 {
		t.Fatalf("the reference has %d operations left to check (%v)", left, err)
	}
	harness.Accessible(t, tab, "the reference")
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(360, 740), chromedp.Navigate(s.URL+selector(t, o, "")+"?lang=en")))
	harness.Accessible(t, tab, "the choice")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`label[for="m-sbx_pix"]`), chromedp.WaitVisible(`#d-sbx_pix`),
		chromedp.SendKeys(`#d-sbx_pix`, "529.982.247-26"), chromedp.Click(`.methods button.primary`), chromedp.WaitVisible(`#problem`)))
	harness.Accessible(t, tab, "a wrong document")
}

// focus presses a key until an element that matches the selector has the focus.
func focus(t *testing.T, tab context.Context, key, selector string) {
	t.Helper()
	for range 40 {
		there, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.activeElement.matches(`+strconv.Quote(selector)+`)`))
		harness.Must(t, err)
		if there {
			return
		}
		harness.Must(t, chromedp.Do(tab, chromedp.KeyEvent(key)))
	}
	t.Fatalf("after 40 presses of the key, %q does not have the focus", selector)
}

// A shopper can pay with only a keyboard.
func TestShopperPaysByKeyboard(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	tab := harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+selector(t, o, "")+"?lang=en")))
	focus(t, tab, kb.Tab, `input[name="method"]`)
	focus(t, tab, kb.ArrowDown, `#m-sbx_pix:checked`)
	focus(t, tab, kb.Tab, `#d-sbx_pix`)
	harness.Must(t, chromedp.Do(tab, chromedp.KeyEvent("52998224725"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`.qr`)))
	focus(t, tab, kb.Tab, `a[href*="/sandbox/bank/"]`)
	harness.Must(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`button[value="pay"]`)))
	focus(t, tab, kb.Tab, `button[value="pay"]`)
	harness.Must(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`.paid`)))
	focus(t, tab, kb.Tab, `a[href^="https://shop.example/thanks?"]`)
	if n := o.Total(t, map[string][]string{"status": {"completed"}}); n != "1" {
		t.Errorf("%s payments are completed, want one", n)
	}
}
