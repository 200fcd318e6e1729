package e2e

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The demo shop sells by every method in each mode, and money moves once whatever happens.
func TestDemoShop(t *testing.T) {
	s := start(t)
	browser := newBrowser(t)
	for name, test := range map[string]func(*testing.T, service){
		"deliveries": testDeliveriesInAnyOrder, "killed": testKilledShopPaysOnce, "once": testCartBuysOnce, "away": testServiceIsAway,
		"strangers": testStrangersChangeNothing, "demo": testDemoEnds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
	o := openShop(t, s, "")
	for i, p := range purchases {
		for _, mode := range []string{"redirect", []string{"own", "window"}[i%2]} {
			t.Run(p.method+" "+mode, func(t *testing.T) {
				t.Parallel()
				newShopper(t, o, browser).purchase(p, mode)
			})
		}
	}
	t.Run("staff", func(t *testing.T) {
		t.Parallel()
		testStaff(t, newShopper(t, o, browser))
	})
	t.Run("clicks", func(t *testing.T) {
		t.Parallel()
		testClicks(t, newShopper(t, o, browser))
	})
	t.Run("everybody", func(t *testing.T) {
		t.Parallel()
		testPagesAreForEverybody(t, newShopper(t, o, browser))
	})
}

// purchase is one way to pay in the sandbox.
type purchase struct {
	country, method, document string
	goods                     []string
	// bank are the buttons at the simulated bank, one after another.
	bank []string
}

var purchases = []purchase{
	{"BR", "sbx_pix", "52998224725", []string{"coffee"}, []string{"pay"}},
	{"MX", "sbx_spei", "GODE561231GR8", []string{"mug"}, []string{"pay"}},
	{"MX", "sbx_cash", "", []string{"bag"}, []string{"pay"}},
	{"CO", "sbx_pse", "", []string{"coffee", "bag"}, []string{"pay"}},
	{"US", "sbx_card", "", []string{"coffee", "pin"}, []string{"pay", "confirm"}}, // 3-D Secure
}

func newBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"), chromedp.WSURLReadTimeout(time.Minute))
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
		options = append(options, chromedp.ExecPath(path))
	}
	parent, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(parent)
	t.Cleanup(end)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("start Chromium (make test installs it): %v", err)
	}
	return ctx
}

// shopper is somebody with a browser.
type shopper struct {
	*testing.T
	shop *demoShop
	tab  context.Context
	quit context.CancelFunc
}

func newShopper(t *testing.T, o *demoShop, browser context.Context) *shopper {
	t.Helper()
	tab, quit := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(quit)
	tab, cancel := context.WithTimeout(tab, 2*patience)
	t.Cleanup(cancel)
	s := &shopper{t, o, tab, quit}
	t.Cleanup(func() {
		if t.Failed() {
			s.shoot("failed")
		}
	})
	return s
}

func (s *shopper) do(actions ...chromedp.Action[chromedp.Void]) {
	s.Helper()
	if err := chromedp.Do(s.tab, actions...); err != nil {
		s.Fatalf("%v at %s", err, s.at())
	}
}

// click clicks on what is visible, once it is there.
func (s *shopper) click(selector string) {
	s.Helper()
	script := fmt.Sprintf(`(() => { const e = document.querySelector(%q); if (!e?.checkVisibility() || e.disabled) return false; e.click(); return true; })()`, selector)
	eventually(s.T, "there is a "+selector, func() bool {
		clicked, err := chromedp.Run(s.tab, chromedp.Evaluate[bool](script))
		return err == nil && clicked // in the moment between two pages there is an error
	})
}

// sees waits until an element is visible.
func (s *shopper) sees(selector string) {
	s.Helper()
	script := fmt.Sprintf(`!!document.querySelector(%q)?.checkVisibility()`, selector)
	eventually(s.T, "the page shows "+selector, func() bool {
		visible, err := chromedp.Run(s.tab, chromedp.Evaluate[bool](script))
		return err == nil && visible
	})
}

func (s *shopper) at() string {
	at, err := chromedp.Run(s.tab, chromedp.Evaluate[string]("location.href"))
	if err != nil {
		return err.Error()
	}
	return at
}

func shopEval[T any](s *shopper, script string) T {
	s.Helper()
	v, err := chromedp.Run(s.tab, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		s.Fatalf("%s: %v", script, err)
	}
	return v
}

// fill puts products into the cart and fills in its form.
func (s *shopper) fill(country, mode string, goods ...string) {
	s.Helper()
	s.do(chromedp.Navigate(s.shop.url))
	shopEval[bool](s, fmt.Sprintf(`fetch("/choice", {method: "POST", body: new URLSearchParams({country: %q, language: "en"})}).then((r) => r.ok)`, country))
	for _, sku := range goods {
		s.do(chromedp.Navigate(s.shop.url))
		s.click(fmt.Sprintf(`.card:has(input[value=%s]) button`, sku))
		s.sees(".buy")
	}
	for name, value := range map[string]string{"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+55 11 98765-4321"} {
		s.do(chromedp.SetValue(chromedp.CSS("#"+name), value))
	}
	s.click("#mode-" + mode)
}

// in makes an action work in the checkout's frame, if there is one. A frame changes its document while it loads, so it is looked up again until
// the action's element is there.
func (s *shopper) in(framed bool, selector string, action func(...chromedp.QueryOption) chromedp.Action[chromedp.Void]) {
	s.Helper()
	if !framed {
		s.sees(selector)
		s.do(action(chromedp.NodeVisible))
		return
	}
	eventually(s.T, "the frame has "+selector, func() bool {
		brief, cancel := context.WithTimeout(s.tab, 5*time.Second)
		defer cancel()
		nodes, err := chromedp.Run(brief, chromedp.Nodes(chromedp.CSS("iframe")))
		if err != nil {
			return false
		}
		from := chromedp.FromNode(nodes[0])
		if chromedp.Do(brief, chromedp.WaitVisible(chromedp.CSS(selector), from)) != nil {
			return false
		}
		return chromedp.Do(brief, action(from, chromedp.NodeVisible)) == nil
	})
}

// purchase buys and pays, and sees the order become paid.
func (s *shopper) purchase(p purchase, mode string) (order string) {
	s.Helper()
	s.fill(p.country, mode, p.goods...)
	s.shoot("cart")
	s.click(".buy button")
	if mode == "own" {
		s.sees("#pay form")
		s.shoot("choice")
		s.click("#" + p.method)
		if p.document != "" {
			s.do(chromedp.SetValue(chromedp.CSS("#document"), p.document))
		}
		s.click("#pay form button")
	}
	framed := mode != "redirect"
	click := func(selector string) {
		s.Helper()
		s.in(framed, selector, func(o ...chromedp.QueryOption) chromedp.Action[chromedp.Void] {
			return chromedp.Click(chromedp.CSS(selector), o...)
		})
	}
	if mode != "own" {
		click("label[for=m-" + p.method + "]")
		if field := "#d-" + p.method; p.document != "" {
			s.in(framed, field, func(o ...chromedp.QueryOption) chromedp.Action[chromedp.Void] {
				return chromedp.SendKeys(chromedp.CSS(field), p.document, o...)
			})
		}
		s.shoot("methods")
		click("form.methods button.primary")
	}
	bank := `a[href*="/sandbox/bank/"]` // it leaves the frame
	s.in(framed, bank, func(o ...chromedp.QueryOption) chromedp.Action[chromedp.Void] {
		return chromedp.WaitVisible(chromedp.CSS(bank), o...)
	})
	s.shoot("payment")
	click(bank)
	for _, button := range p.bank {
		s.click(fmt.Sprintf("button[value=%s]", button))
	}
	s.click(".state.paid ~ .back a.primary")
	// The page of the order knows by itself.
	s.sees("#order .status.paid")
	s.shoot("paid")
	at, err := url.Parse(s.at())
	must(s.T, err)
	order = strings.TrimPrefix(at.Path, "/orders/")
	paid := s.shop.payments(s.T, order)
	if len(paid) != 1 || paid[0].Status != "completed" || paid[0].PaymentMethodID != p.method {
		s.Errorf("the order %s has the payments %v", order, paid)
	}
	return order
}

// Staff refund a part and the rest, and cannot refund more. A shopper cancels.
func testStaff(t *testing.T, s *shopper) {
	order := s.purchase(purchases[0], "redirect")
	staff := strings.Replace(s.shop.url, "http://", "http://ana:"+staffPassword+"@", 1)
	s.do(chromedp.Navigate(staff + "/admin"))
	s.shoot("admin")
	s.click(`a[href="/admin/orders/` + order + `"]`)
	refund := func(amount, then string) {
		t.Helper()
		s.sees("form.refund")
		// At once: the page draws itself again when a refund ends.
		shopEval[bool](s, fmt.Sprintf(`(() => { document.querySelector("form.refund input[name=amount]").value = %q; document.querySelector("form.refund button").click(); return true; })()`, amount))
		s.sees(then)
	}
	refund("64.91", `p[role=alert]`)
	refund("10,255", `p[role=alert]`)
	refund("10,25", ".status.partly_refunded")
	if left := shopEval[string](s, `document.querySelector("form.refund label").textContent`); !strings.Contains(left, "54.65") {
		t.Errorf("after a partial refund the form says %s", left)
	}
	refund("", ".status.refunded")
	if payment := s.shop.payments(t, order)[0]; payment.RefundedAmountLocal != "64.9" {
		t.Errorf("%s were refunded", payment.RefundedAmountLocal)
	}
	s.shoot("refunded")
	s.fill("CO", "redirect", "mug")
	s.click(".buy button")
	s.sees("form.methods")
	s.click("form.methods button.primary")
	s.sees(`a[href*="/sandbox/bank/"]`)
	s.click(`.back a[target=_top]`) // unpaid
	s.sees(".status.waiting")
	s.shoot("waiting")
	s.click("#order form button")
	s.sees(".status.canceled")
}

// A double click is one order, Back and Buy is the same one, a refused card is followed by another one, and a browser that is closed after paying changes nothing.
func testClicks(t *testing.T, s *shopper) {
	s.fill("US", "redirect", "coffee", "sticker")
	before := len(s.shop.facts(t, `"fact":"placed"`))
	s.do(chromedp.Evaluate[chromedp.Void](`(() => { const button = document.querySelector(".buy button"); button.click(); button.click(); })()`))
	s.sees("form.methods")
	first := s.at()
	s.do(chromedp.NavigateBack())
	s.sees(".buy")
	for name, value := range map[string]string{"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+55 11 98765-4321"} {
		s.do(chromedp.SetValue(chromedp.CSS("#"+name), value))
	}
	s.click(".buy button")
	s.sees("form.methods")
	if again := s.at(); again != first {
		t.Errorf("buying again leads to %s, and before to %s", again, first)
	}
	_, order := (&visitor{t: t, shop: s.shop}).checkout(first)
	if after := s.shop.facts(t, `"fact":"placed"`); len(after) < before+1 {
		t.Errorf("there are %d orders, before %d", len(after), before)
	}
	s.click("form.methods button.primary")
	s.click(`a[href*="/sandbox/bank/"]`)
	s.click("button[value=pay]") // the test card has no funds: the total ends in .51
	s.sees(".state.refused")
	s.shoot("no-funds")
	s.click(".state.refused .button.primary, .state.refused button.primary")
	s.click("button[value=pay]")
	s.sees(".state.paid")
	s.quit() // the shopper never comes back to the shop
	s.shop.becomes(t, order, "paid")
	if paid := s.shop.payments(t, order); len(paid) != 1 {
		t.Errorf("the order has %d payments", len(paid))
	}
}

// testPagesAreForEverybody looks at each page of the shop with axe, on a phone.
func testPagesAreForEverybody(t *testing.T, s *shopper) {
	axe, err := os.ReadFile("../../bin/spec/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("axe is not installed (make spec installs it): %v", err)
	}
	check := func(what string) {
		t.Helper()
		s.do(chromedp.EmulateViewport(360, 740))
		if width := shopEval[int64](s, "document.documentElement.scrollWidth"); width > 360 {
			t.Errorf("%s is %d wide on a phone", what, width)
		}
		s.do(chromedp.Evaluate[chromedp.Void](string(axe) + ";0"))
		for colours, rules := range map[string]string{"light": "'wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'", "dark": "'color-contrast'"} {
			_, err := chromedp.Call(s.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
			must(t, err)
			found := shopEval[string](s, fmt.Sprintf(`axe.run({exclude: "iframe"}, {resultTypes: ["violations"], runOnly: [%s]}).then((all) => all.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + ": " + n.failureSummary)).join("\n"))`, rules))
			if found != "" {
				t.Errorf("%s in %s colours: %s", what, colours, found)
			}
			s.shoot(what + "-" + colours)
		}
	}
	s.do(chromedp.Navigate(s.shop.url))
	check("catalogue")
	s.fill("BR", "own", "coffee", "mug")
	check("cart")
	s.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".buy").noValidate = true`), chromedp.SetValue(chromedp.CSS("#phone"), "12"))
	s.click(".buy button")
	s.sees("#phone-wrong")
	check("mistake")
	s.do(chromedp.SetValue(chromedp.CSS("#phone"), "+5511987654321"))
	s.click(".buy button")
	s.sees("#pay form")
	check("choice")
	order := strings.TrimSuffix(s.at(), "/pay")
	s.do(chromedp.Navigate(order))
	check("order")
	staff := strings.Replace(s.shop.url, "http://", "http://ana:"+staffPassword+"@", 1)
	s.do(chromedp.Navigate(staff + "/admin"))
	check("orders")
	s.do(chromedp.Navigate(staff + "/admin/orders/" + order[strings.LastIndex(order, "/")+1:]))
	check("staff")
	for _, language := range []string{"es", "pt"} {
		s.do(chromedp.Navigate(s.shop.url), chromedp.SetValue(chromedp.CSS("select[name=language]"), language))
		s.click(".choice button")
		s.sees("html[lang=" + language + "]")
	}
}

// shoot saves a picture, for people to look at, if ARTIFACTS names a directory.
func (s *shopper) shoot(name string) {
	s.Helper()
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		return
	}
	must(s.T, os.MkdirAll(dir, 0o755))
	png, err := chromedp.Run(s.tab, chromedp.FullScreenshot(100))
	must(s.T, err)
	name = strings.NewReplacer("/", "-", " ", "-").Replace(s.Name()+"-"+name) + ".png"
	must(s.T, os.WriteFile(filepath.Join(dir, name), png, 0o644))
}
