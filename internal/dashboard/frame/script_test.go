//go:build gallery

package frame

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The script follows links without loading the page anew, moves the focus to the new heading, opens the palette and
// the dialogs, and draws charts; all under the policy.
func TestScriptInABrowser(t *testing.T) {
	server := httptest.NewServer(gallery(t))
	defer server.Close()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute))
	parent, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	tab, end := chromedp.NewContext(parent)
	defer end()
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	tab, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	is := func(what, script, want string) {
		t.Helper()
		var got string
		for range 60 {
			var err error
			if got, err = chromedp.Run(tab, chromedp.Evaluate[string]("String("+script+")")); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got == want {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s: %q, want %q", what, got, want)
	}
	do := func(tasks ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(tab, tasks...); err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(server.URL+"/dashboard/shp_1/sandbox"), chromedp.WaitVisible(".u-over"))
	is("charts", "document.querySelectorAll('canvas').length", "2")
	is("local times", "document.querySelector('time[datetime*=T]').title.startsWith('Your time')", "true")
	is("a mark", "window.same = 'yes'", "yes")
	do(chromedp.Click(`[data-nav="payments"]`))
	is("the title", "document.title", "Payments · Café São Paulo · Cascada")
	is("the heading's focus", "document.activeElement.tagName", "H1")
	is("the address", "location.pathname", "/dashboard/shp_1/sandbox/payments")
	is("no new page", "window.same", "yes")
	is("the chosen item", "document.querySelector('.side-group [aria-current]').textContent.trim()", "Payments")
	do(chromedp.Click(`.switch a:last-child`))
	is("the class of the body", "document.body.className", "full")
	do(chromedp.Click(`.button[href$="TXN-1/refund"], a.mono`))
	is("a payment", "document.querySelector('h1').textContent", "184.20 USD")
	is("a stream of events", "document.getElementById('live').textContent", "It is live")
	do(chromedp.Click(`[data-dialog="refund"]`))
	is("the dialog", "document.getElementById('refund').open", "true")
	do(chromedp.Click(`#refund [data-close]`))
	is("the dialog", "document.getElementById('refund').open", "false")
	do(chromedp.Click(`[data-dialog="refund"]`), chromedp.Click(`#refund .button.bad`))
	is("after a form", "document.querySelector('#notices').textContent.trim()", "The payment TXN-1 was refunded.")
	is("the address", "location.pathname", "/dashboard/shp_1/sandbox")
	is("charts", "document.querySelectorAll('canvas').length", "2")
	is("back", "(history.back(), 1)", "1")
	is("the page before", "document.querySelector('h1').textContent", "184.20 USD")
	do(chromedp.KeyEvent("?"))
	is("the list of shortcuts", "document.getElementById('shortcuts').open", "true")
	do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("g"), chromedp.KeyEvent("h"))
	is("g h", "document.querySelector('h1').textContent", "Home")
	is("the palette", "(document.querySelector('[data-dialog=palette]').click(), document.getElementById('palette').open)", "true")
	do(chromedp.KeyEvent("webh"))
	is("what it finds", "document.querySelector('#palette-list [aria-selected=true]').textContent", "WebhooksDevelopers")
	do(chromedp.KeyEvent(kb.Enter))
	is("where it leads", "document.querySelector('h1').textContent", "New webhook")
	is("what is loaded later", "document.getElementById('more').textContent", "There is more")
	do(chromedp.SendKeys(`[name="slug"]`, "x"))
	is("the theme", "(document.querySelector('[data-theme-toggle]').click(), document.documentElement.dataset.theme + document.cookie)", "darkcascada_theme=dark")
	if errs, err := chromedp.Run(tab, chromedp.Evaluate[string](`performance.getEntriesByType('resource').map((e) => e.name).join(' ')`)); err != nil || strings.Contains(errs, "cdn") {
		t.Errorf("%v %s", err, errs)
	}
}
