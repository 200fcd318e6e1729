package checkout

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// taps records the requests of a tab while its button is pressed twice.
type taps struct {
	mu     sync.Mutex
	posted int // number of forms sent
	paused chan *fetch.EventRequestPaused
}

// pressedTwice presses the button of a tab, and again while the first form is being sent. It returns
// what the button says then. The page reports that with a request, because a browser runs no
// commands on a page that it leaves.
func (p *taps) pressedTwice(t *testing.T, tab context.Context) (says string) {
	t.Helper()
	_, err := chromedp.Call(tab, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/checkout/cs_*"}, {URLPattern: "*/healthz*"}}})
	harness.Must(t, err)
	_, err = chromedp.Call(tab, runtime.Evaluate, runtime.EvaluateParams{Expression: `(async () => {
		const button = document.querySelector(".go button");
		button.click();
		await fetch("/healthz?begun");
		button.click();
		button.form.requestSubmit();
		fetch("/healthz?" + encodeURIComponent(button.textContent + ", busy: " + button.getAttribute("aria-busy")));
	})()`})
	harness.Must(t, err)
	lets := func(held *fetch.EventRequestPaused) {
		_, err := chromedp.Call(tab, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: held.RequestID})
		harness.Must(t, err)
	}
	var form, begun *fetch.EventRequestPaused
	for says == "" {
		asked := harness.Soon(t, "the page to make a request", p.paused)
		_, query, told := strings.Cut(asked.Request.URL, "/healthz?")
		switch {
		case asked.Request.Method == http.MethodPost:
			if form == nil {
				form = asked
			}
		case query == "begun":
			begun = asked
		case told:
			says, err = url.QueryUnescape(query)
			harness.Must(t, err)
		}
		if form != nil && begun != nil { // the form is being sent
			lets(begun)
			begun = nil
		}
	}
	lets(form)
	_, err = chromedp.Call(tab, fetch.Disable, cdp.Empty{})
	harness.Must(t, err)
	return says
}

// Two presses of the button send the form once. Meanwhile the button says that it is busy. After
// Back it can be pressed again.
func TestContinueIsPressedOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	tab := harness.Browser(t)
	p := &taps{paused: make(chan *fetch.EventRequestPaused, 64)}
	harness.Must(t, chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *fetch.EventRequestPaused:
			p.paused <- e
		case *network.EventRequestWillBeSent:
			if e.Request.Method == http.MethodPost {
				p.mu.Lock()
				p.posted++
				p.mu.Unlock()
			}
		}
	}))
	_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
	harness.Must(t, err)
	ready := func() {
		t.Helper()
		got, err := chromedp.Run(tab, chromedp.Evaluate[string](`((b) => b.textContent + ", busy: " + b.getAttribute("aria-busy"))(document.querySelector(".go button"))`))
		if harness.Must(t, err); got != "Continuar, busy: null" {
			t.Errorf("before it is pressed the button says %s", got)
		}
	}
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(360, 740), chromedp.Navigate(s.URL+selector(t, o, "")+"?lang=pt&country=BRA"), chromedp.WaitVisible(`#d-sbx_pix`)))
	for i, c := range []struct{ number, then string }{{wrongCPF, `#problem`}, {goodCPF, `.qr`}} {
		ready()
		harness.Must(t, chromedp.Do(tab, chromedp.SetValue(`#d-sbx_pix`, c.number)))
		if says := p.pressedTwice(t, tab); says != "Um momento…, busy: true" {
			t.Errorf("while the form is sent the button says %s", says)
		}
		harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(c.then)))
		p.mu.Lock()
		if p.posted != i+1 {
			t.Errorf("%d forms were sent, want %d: one for each two presses", p.posted, i+1)
		}
		p.mu.Unlock()
		if i == 0 {
			ready()
			back(t, tab, ".methods")
			harness.Must(t, chromedp.Do(tab, chromedp.WaitNotPresent(`#problem`), chromedp.WaitVisible(`#d-sbx_pix`)))
		}
	}
	if n := o.Total(t, nil); n != "1" {
		t.Errorf("there are %s payments, want one", n)
	}
}

// If the browser's language names no country, or the United States, the time zone decides the
// shopper's country. All of a country's time zones work. The shopper can pick another country.
func TestCountryIsGuessedByTheTimeZone(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for zone, want := range map[string]struct{ language, country, shown, hidden string }{
		"America/Recife":    {"pt", "BRA", "m-sbx_pix", "m-sbx_spei"},
		"America/Monterrey": {"es-419", "MEX", "m-sbx_spei", "m-sbx_pix"},
		"America/Bogota":    {"en", "COL", "m-sbx_pse", "m-sbx_pix"},
		"America/Cancun":    {"en-US", "MEX", "m-sbx_cash", "m-sbx_pix"}, // many browsers send en-US in every country
		"Europe/Madrid":     {"es-419", "", "m-sbx_pix", ""},
		"America/New_York":  {"en-US", "", "m-sbx_pix", ""},
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			tab := harness.Browser(t)
			_, err := chromedp.Call(tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
			harness.Must(t, err)
			_, err = chromedp.Call(tab, network.Enable, network.EnableParams{})
			harness.Must(t, err)
			_, err = chromedp.Call(tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": want.language}})
			harness.Must(t, err)
			harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+selector(t, o, "")), chromedp.WaitVisible(`#country`)))
			if want.country != "" {
				harness.Must(t, chromedp.Do(tab, chromedp.WaitNotPresent("#"+want.hidden)))
			}
			found := func() string {
				t.Helper()
				got, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("#country").value`))
				harness.Must(t, err)
				return got
			}
			if got := found(); got != want.country {
				t.Errorf("the page guesses the country %q, want %q", got, want.country)
			}
			harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`label[for="`+want.shown+`"]`)))
			if want.country == "" {
				return
			}
			// A choice in the list has no effect until the button is pressed.
			_, err = chromedp.Run(tab, chromedp.Evaluate[bool](`((list) => { list.value = ""; return list.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector("#country"))`))
			harness.Must(t, err)
			harness.Must(t, chromedp.Do(tab, chromedp.WaitNotPresent("#"+want.hidden), chromedp.Click(`.country button`)))
			harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`label[for="`+want.hidden+`"]`)))
			if got := found(); got != "" {
				t.Errorf("the shopper picked all countries, but the page shows %q", got)
			}
		})
	}
}

// A time zone's old and new name lead to its country, because browsers send either.
func TestZonesAreKnownByBothNames(t *testing.T) {
	t.Parallel()
	offered(t, func(t *testing.T, s *harness.Instance, live harness.Client) {
		for _, zone := range []string{"America/Buenos_Aires", "America/Argentina/Cordoba", "America/Montevideo"} {
			tab := harness.Browser(t)
			_, err := chromedp.Call(tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
			harness.Must(t, err)
			_, err = chromedp.Call(tab, network.Enable, network.EnableParams{})
			harness.Must(t, err)
			_, err = chromedp.Call(tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": "es-419"}})
			harness.Must(t, err)
			want := "ARG"
			if zone == "America/Montevideo" {
				want = "URY"
			}
			harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+selector(t, live, "")), chromedp.WaitReady(`#country option[value="`+want+`"][selected]`)))
		}
	})
}

// offered runs a test against a service with one account that accepts every method of the catalog.
func offered(t *testing.T, test func(t *testing.T, s *harness.Instance, live harness.Client)) {
	t.Helper()
	adapter := providertest.Plain()
	adapter.Rails = nil
	for _, r := range catalog.Rails() {
		adapter.Rails = append(adapter.Rails, r.Key)
	}
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Adapters = []provider.Adapter{adapter}
	})
	s.Rate(t, "ARS 1435", "BOB 6.9", "BRL 5.4", "CLP 945", "COP 4120.5", "CRC 510", "DOP 60", "GTQ 7.7", "HNL 26", "MXN 18.35", "PEN 3.38", "PYG 7300", "UYU 40")
	u := providertest.NewUpstream(t, "key-1")
	s.OpenAccount(t, "acme", u)
	made, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted, RefundFees: merchants.FeesReturned})
	harness.Must(t, err)
	test(t, s, harness.Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}.Production())
}

// The choice of every country fits on the narrowest screen and is accessible.
func TestEveryCountrysChoiceFits(t *testing.T) {
	t.Parallel()
	offered(t, func(t *testing.T, s *harness.Instance, live harness.Client) {
		countries := map[string]bool{}
		for _, r := range catalog.Rails() {
			countries[r.Country] = true
		}
		tab := harness.Browser(t)
		const tall = 4000 // on a screen that is not, the button at its end covers a part of the list until one scrolls
		for country := range countries {
			harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(320, tall), chromedp.Navigate(s.URL+selector(t, live, `,"country":"`+country+`"`)+"?lang=es"), chromedp.WaitVisible(".methods")))
			noOverflow(t, tab)
			harness.Accessible(t, tab, "the choice of "+country)
			beside, err := chromedp.Run(tab, chromedp.Evaluate[bool](`[...document.querySelectorAll(".line")].every((l) => l.querySelector(".mark").getBoundingClientRect().top < l.querySelector("strong").getBoundingClientRect().bottom && l.querySelector("strong").getBoundingClientRect().top < l.querySelector(".mark").getBoundingClientRect().bottom)`))
			if harness.Must(t, err); !beside {
				t.Errorf("%s: a method's name is not beside its mark", country)
			}
		}
	})
}

// While a shopper types a document, the page formats it as is usual in the country, and asks for the
// right keyboard. The service gets it without the format.
func TestNumbersAreWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	offered(t, func(t *testing.T, s *harness.Instance, live harness.Client) {
		methods, _ := s.App.Methods.RailList(merchants.Scope{Merchant: live.Merchant.ID, Shop: live.Shop.ID, Live: true}, methods.Filter{})
		ids := map[string]string{}
		for _, m := range methods {
			ids[m.Key] = m.ID
		}
		for name, c := range map[string]struct{ rail, label, keys, typed, written, taken string }{
			"RUT":             {"cash.servipag.CHL", "Tu RUT", "text", "123456785", "12.345.678-5", "123456785"},
			"RUT with K":      {"cash.servipag.CHL", "Tu RUT", "text", "10000013k", "10.000.013-K", "10000013K"},
			"short RUT":       {"cash.servipag.CHL", "Tu RUT", "text", "51266633", "5.126.663-3", "51266633"},
			"DNI":             {"cash.rapipago.ARG", "Tu DNI", "numeric", "12345678", "12.345.678", "12345678"},
			"short DNI":       {"cash.rapipago.ARG", "Tu DNI", "numeric", "1234567", "1.234.567", "1234567"},
			"CUIT for DNI":    {"cash.rapipago.ARG", "Tu DNI", "numeric", "20123456786", "20-12345678-6", "20123456786"},
			"CUIT":            {"bank.debin.ARG", "Tu CUIT", "numeric", "20123456786", "20-12345678-6", "20123456786"},
			"Peru's DNI":      {"cash.kasnet.PER", "Tu DNI", "text", "12345678", "12345678", "12345678"},
			"CI":              {"cash.abitab.URY", "Tu número de cédula (CI)", "numeric", "12345672", "1.234.567-2", "12345672"},
			"CC":              {"bank.pse.COL", "Tu número de cédula (CC)", "text", "1020304050", "1020304050", "1020304050"},
			"CPF":             {"pix.BRA", "Tu CPF", "text", "52998224725", "529.982.247-25", "52998224725"},
			"CNPJ":            {"pix.BRA", "Tu CPF", "text", "11222333000181", "11.222.333/0001-81", "11222333000181"},
			"CNPJ of letters": {"pix.BRA", "Tu CPF", "text", "12abc34501de35", "12.ABC.345/01DE-35", "12ABC34501DE35"},
			"late letters":    {"pix.BRA", "Tu CPF", "text", "1234567ab00181", "12.345.67A/B001-81", "1234567AB00181"},
		} {
			t.Run(name, func(t *testing.T) {
				tab := harness.Browser(t)
				id := ids[c.rail]
				field := "#d-" + id
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(360, 740), chromedp.Navigate(s.URL+selector(t, live, `,"country":"`+c.rail[len(c.rail)-3:]+`"`)+"?lang=es"),
					chromedp.Click(`label[for="m-`+id+`"]`), chromedp.WaitVisible(field), chromedp.SendKeys(field, c.typed)))
				seen, err := chromedp.Run(tab, chromedp.Evaluate[string](`((f) => [f.labels[0].textContent, f.inputMode, f.value].join("|"))(document.getElementById("d-`+id+`"))`))
				if harness.Must(t, err); seen != c.label+"|"+c.keys+"|"+c.written {
					t.Errorf("the field is %q, want %s|%s|%s", seen, c.label, c.keys, c.written)
				}
				harness.Must(t, chromedp.Do(tab, chromedp.Click(`.go button`), chromedp.WaitVisible(`.waiting`)))
				shown, err := s.App.Sessions.Shown(ctx, strings.TrimPrefix(path(t, tab), "/pay/"))
				harness.Must(t, err)
				if shown.Order.Buyer.Document != c.taken || shown.Way.RailID != id {
					t.Errorf("the payment has the document %q and the method %s, want %q and %s", shown.Order.Buyer.Document, shown.Way.RailID, c.taken, id)
				}
			})
		}
		// An error calls the document by its usual name.
		link := selector(t, live, `,"country":"UY"`)
		_, _, h := s.Browse(t, http.MethodPost, link, "method="+ids["cash.abitab.URY"]+"&document-"+ids["cash.abitab.URY"]+"=12345673")
		shows(t, s, h.Get("Location")+"&lang=es", []string{"Este número de cédula (CI) no parece habitual."})
	})
}

// A copy button says what it has copied, also to screen readers.
func TestCopyButtonSaysWhatItCopied(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_spei","documentId":"XAXX010101000"}`)
	tab := harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(320, 640), chromedp.Navigate(s.URL+"/pay/"+id+"?lang=es"), chromedp.WaitVisible(`[data-copy="clabe"]`)))
	name := func() string {
		t.Helper()
		got, err := chromedp.Run(tab, chromedp.Evaluate[string](`((b) => [b.getAttribute("aria-label") ?? b.textContent, b.closest("[aria-live]")?.ariaLive].join(", "))(document.querySelector('[data-copy="clabe"]'))`))
		harness.Must(t, err)
		return got
	}
	if got := name(); got != "Copiar CLABE, polite" {
		t.Errorf("the button's name and aria-live are %q", got)
	}
	// The button says so only for a moment. So the page records its texts.
	_, err := chromedp.Run(tab, chromedp.Evaluate[bool](`((b) => {
		window.said = [];
		new MutationObserver(() => window.said.push(b.textContent)).observe(b, {subtree: true, childList: true, characterData: true});
		b.click();
		return true;
	})(document.querySelector('[data-copy="clabe"]'))`))
	harness.Must(t, err)
	harness.Eventually(t, "the button says that it has copied, and then its name again", func() bool {
		said, err := chromedp.Run(tab, chromedp.Evaluate[string](`window.said.join()`))
		harness.Must(t, err)
		return said == "Copiado CLABE,Copiar CLABE"
	})
	beside, err := chromedp.Run(tab, chromedp.Evaluate[bool](`[...document.querySelectorAll("[data-copy]")].every((b) => b.getBoundingClientRect().left === document.querySelector("[data-copy]").getBoundingClientRect().left)`))
	if harness.Must(t, err); !beside {
		t.Error("the copy buttons are not in one column")
	}
}
