package docs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/chromedp/chromedp"
)

// A developer finds a guide by a word of its text, reads the snippets in one language on every page, and everybody can read the pages.
func TestGuidesAreFoundAndRead(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	_, reference := fetchPage(t, s, "/docs")
	_, text := fetchPage(t, s, "/docs/search.json")
	var index []web.Section
	harness.Must(t, json.Unmarshal([]byte(text), &index))
	for _, of := range index {
		if anchor, ok := strings.CutPrefix(of.URL, "/docs#"); ok && !strings.Contains(reference, ` id="`+anchor+`"`) {
			t.Errorf("a search finds %s, and the reference has no such part", of.URL)
		}
	}
	if _, all := fetchPage(t, s, "/llms-full.txt"); !strings.Contains(all, "`POST /payments/{id}/refund`") || !strings.Contains(all, "# Webhooks") {
		t.Error("llms-full.txt lacks a guide or the reference")
	}

	tab := harness.Browser(t)
	open := func(path string) {
		harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+path)))
		harness.CheckPage(t, tab, strings.ReplaceAll(path[1:], "/", "-"))
	}
	shown := func() string {
		code, err := chromedp.Run(tab, chromedp.Evaluate[string](`[...document.querySelectorAll(".tabs figure:not([hidden])")].map((f) => f.dataset.language).join()`))
		harness.Must(t, err)
		return code
	}
	open("/docs/guides")
	harness.Must(t, chromedp.Do(tab, chromedp.SendKeys("#search", "dead_letter replay"), chromedp.WaitVisible("#results a")))
	found, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("#results a").pathname`))
	if harness.Must(t, err); found != "/docs/guides/webhooks" {
		t.Errorf("dead_letter replay leads to %s first", found)
	}
	open("/docs/guides/webhooks")
	if got := shown(); got != "sh,sh,sh,sh" {
		t.Errorf("the snippets begin in %s", got)
	}
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`.tabs [role=tab][data-language=php]`)))
	if got := shown(); got != "php,php,php,php" {
		t.Errorf("after choosing PHP the snippets are in %s", got)
	}
	open("/docs/guides/errors")
	if got := shown(); got != "php" {
		t.Errorf("the next guide's snippet is in %s", got)
	}
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/docs"), chromedp.SendKeys("#find", "issuer")))
	harness.Eventually(t, "the reference is filtered by words of its text", func() bool {
		n, err := chromedp.Run(tab, chromedp.Evaluate[int](`document.querySelectorAll(".menu li:not([hidden]) a").length`))
		harness.Must(t, err)
		return n > 0 && n < 10
	})
}
