package checkout

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// erring is a shopper at a link, in a browser.
type erring struct {
	*harness.Instance
	o    harness.Client
	link string // of the shop, with its host
	tab  context.Context
	bare bool // without scripts: then Back may show a page from the browser's memory
}

// opens opens the shopper's link in a tab.
func (e erring) opens(t *testing.T, tab context.Context) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(e.link)))
}

// chooses takes a method that asks for nothing, or Pix with a number.
func (e erring) chooses(t *testing.T, tab context.Context, method, number, then string) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`label[for="m-`+method+`"]`)))
	if number != "" {
		harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`#d-`+method), chromedp.SetValue(`#d-`+method, number)))
	}
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`.methods button.primary`), chromedp.WaitVisible(then)))
}

// changes presses the button that calls the payment off.
func changes(t *testing.T, tab context.Context) {
	t.Helper()
	soon, cancel := context.WithTimeout(tab, harness.Patience)
	defer cancel()
	if err := chromedp.Do(soon, chromedp.Click(`form[action*="/change"] button`), chromedp.WaitVisible(".methods")); err != nil {
		text, other := chromedp.Run(tab, chromedp.Text("body"))
		t.Fatalf("the button leads to no choice, but to %s (%v, %v):\n%s", path(t, tab), err, other, text)
	}
}

// back goes back as the button of the browser does, and waits for something.
func back(t *testing.T, tab context.Context, then string) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.NavigateBack(), chromedp.WaitVisible(then)))
}

// path is where a tab is.
func path(t *testing.T, tab context.Context) string {
	t.Helper()
	p, err := chromedp.Run(tab, chromedp.Evaluate[string](`location.pathname`))
	harness.Must(t, err)
	return p
}

// ends fails the test unless a page says something and does not say other things.
func ends(t *testing.T, tab context.Context, has string, not ...string) {
	t.Helper()
	text, err := chromedp.Run(tab, chromedp.Text("main"))
	harness.Must(t, err)
	if !strings.Contains(text, has) {
		t.Errorf("at the end the page does not say %q:\n%s", has, text)
	}
	for _, wrong := range not {
		if strings.Contains(text, wrong) {
			t.Errorf("at the end the page says %q:\n%s", wrong, text)
		}
	}
}

// paysAt plays the simulated bank for the payment that a tab shows.
func (e erring) paysAt(t *testing.T, tab context.Context, action string) {
	t.Helper()
	e.AtBank(t, strings.TrimPrefix(path(t, tab), "/pay/"), action)
}

const (
	goodCPF  = "529.982.247-25"
	wrongCPF = "529.982.247-26"
)

// Whatever a shopper does wrong, the page ends with the truth.
func TestShopperWhoErrs(t *testing.T) {
	cases := map[string]struct {
		bare     bool // also without scripts, where a page turns after some seconds only
		plays    func(t *testing.T, e erring)
		payments string            // how many there are at the end
		statuses map[string]string // how many of a status
	}{
		"a wrong document": {true, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", wrongCPF, "#problem")
			harness.Must(t, chromedp.Do(e.tab, chromedp.Reload(), chromedp.WaitVisible("#problem"))) // and nothing is asked
			typed, err := chromedp.Run(e.tab, chromedp.Value(`#d-sbx_pix`))
			if harness.Must(t, err); typed != wrongCPF {
				t.Errorf("what was typed is %q", typed)
			}
			ends(t, e.tab, "This is not a valid CPF")
			if !e.bare {
				back(t, e.tab, ".methods")
			}
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
		}, "1", map[string]string{"pending": "1"}},
		"back": {false, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			back(t, e.tab, ".qr") // the choice is made: no dead choice is shown
			ends(t, e.tab, "Choose another way to pay")
		}, "1", map[string]string{"pending": "1"}},
		"a reload": {false, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			harness.Must(t, chromedp.Do(e.tab, chromedp.Reload(), chromedp.WaitVisible(".qr")))
			e.paysAt(t, e.tab, "pay")
			harness.Must(t, chromedp.Do(e.tab, chromedp.WaitVisible(".paid"), chromedp.Reload(), chromedp.WaitVisible(".paid")))
		}, "1", map[string]string{"completed": "1"}},
		"a second tab": {false, func(t *testing.T, e erring) {
			second := browser(t)
			e.opens(t, e.tab)
			e.opens(t, second)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			e.chooses(t, second, "sbx_cash", "", ".qr")
			ends(t, second, "You had chosen this way to pay before")
			changes(t, second)
			e.chooses(t, second, "sbx_cash", "", ".bars")
			harness.Must(t, chromedp.Do(e.tab, chromedp.WaitVisible(".changed"))) // by itself
			ends(t, e.tab, "Do not use its code", "Scan the code")
		}, "2", map[string]string{"pending": "1", "failed": "1"}},
		"a closed tab": {true, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			e.paysAt(t, e.tab, "pay")
			harness.Must(t, chromedp.Do(e.tab, chromedp.Navigate("about:blank")))
			later := browser(t)
			e.opens(t, later)
			harness.Must(t, chromedp.Do(later, chromedp.WaitVisible(".paid")))
			ends(t, later, "Payment received", "Continue")
		}, "1", map[string]string{"completed": "1"}},
		"late": {false, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_cash", "", ".bars")
			e.paysAt(t, e.tab, "late")
			harness.Must(t, chromedp.Do(e.tab, chromedp.WaitVisible(".late")))
			ends(t, e.tab, "came after the deadline", "not been charged", "Start again", "Choose another way")
		}, "1", map[string]string{"expired": "1"}},
		"a wrong amount": {false, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_cash", "", ".bars")
			e.paysAt(t, e.tab, "wrong_amount")
			harness.Must(t, chromedp.Do(e.tab, chromedp.WaitVisible(".other_amount")))
			ends(t, e.tab, "do not pay again", "not been charged", "Choose another way")
		}, "1", map[string]string{"pending": "1"}},
		"another mind": {true, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			changes(t, e.tab)
			ends(t, e.tab, "is canceled")
			e.chooses(t, e.tab, "sbx_cash", "", ".bars")
			if !e.bare {
				back(t, e.tab, ".bars") // over the choice, which is made
			}
			harness.Must(t, chromedp.Do(e.tab, chromedp.Navigate(e.link), chromedp.WaitVisible(".bars")))
			e.paysAt(t, e.tab, "pay")
			harness.Must(t, chromedp.Do(e.tab, chromedp.WaitVisible(".paid")))
		}, "2", map[string]string{"completed": "1", "failed": "1"}},
		"another mind, and back": {false, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			changes(t, e.tab)
			back(t, e.tab, ".changed")
			ends(t, e.tab, "Do not use its code", "Scan the code", "not been charged")
			harness.Must(t, chromedp.Do(e.tab, chromedp.Click(`form[action*="/again"] button`), chromedp.WaitVisible(".methods")))
		}, "1", map[string]string{"failed": "1"}},
	}
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for name, c := range cases {
			for _, scripts := range []bool{true, false} {
				if !scripts && !c.bare {
					continue
				}
				t.Run(name+map[bool]string{true: "", false: ", without scripts"}[scripts], func(t *testing.T) {
					t.Parallel()
					o := s.NewShop(t)
					e := erring{s, o, s.URL + selector(t, o, "") + "?lang=en", browser(t), !scripts}
					if !scripts {
						unscripted(t, e.tab)
					}
					c.plays(t, e)
					if n := o.Total(t, nil); n != c.payments {
						t.Errorf("there are %s payments, want %s", n, c.payments)
					}
					for status, want := range c.statuses {
						if n := o.Total(t, url.Values{"status": {status}}); n != want {
							t.Errorf("%s are %s, want %s", n, status, want)
						}
					}
				})
			}
		}
	})
}

// unscripted turns scripts off in a tab.
func unscripted(t *testing.T, tab context.Context) {
	t.Helper()
	_, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	harness.Must(t, err)
}

// A page that waits is loaded again by a browser without scripts, and has no buttons that do
// nothing there.
func TestPageWithoutScriptsTurnsByItself(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
	tab := browser(t)
	unscripted(t, tab)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=en"), chromedp.WaitVisible(".waiting"), chromedp.WaitNotVisible(`[data-copy]`), chromedp.WaitNotVisible(`[data-print]`)))
	o.Simulate(t, id, "paid").Want(t, 200)
	harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(".paid")))
	if _, page, _ := s.Visit(t, "/pay/"+id); strings.Contains(page, `http-equiv="refresh"`) {
		t.Error("a page that nothing can change any more is loaded again and again")
	}
}

// Where the service has no place left for one that watches, the page asks, and turns all the same.
func TestPageThatCannotWatchAsks(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
	for range 10 { // as many as a payment may have
		res, err := http.Get(s.URL + "/pay/" + id + "/live?status=pending&state=waiting")
		harness.Must(t, err)
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("a stream answers %d", res.StatusCode)
		}
	}
	res, err := http.Get(s.URL + "/pay/" + id + "/live?status=pending&state=waiting")
	harness.Must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("one stream too many answers %d", res.StatusCode)
	}
	tab := browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=en"), chromedp.WaitVisible(".waiting")))
	o.Simulate(t, id, "paid").Want(t, 200)
	harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(".paid")))
	for query, want := range map[string]string{
		"status=pending&state=waiting": "moved", "status=completed&state=paid": "final",
	} {
		if _, word, _ := s.Visit(t, "/pay/"+id+"/state?"+query); word != want {
			t.Errorf("asked with %s it says %q, want %q", query, word, want)
		}
	}
}

// Long names, orders and amounts fit on the narrowest screen, a printed page has what to pay and
// nothing else, and in a frame no link stays in it.
func TestNarrowPagesAndPaper(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	s.Rate(t, "CLP 945000", "MXN 1835", "BRL 5400") // sums in the billions
	made, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Comercializadora" + strings.Repeat("Internacional", 8), Email: "ops@acme.example", Tier: tenant.Standard})
	harness.Must(t, err)
	o := harness.Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}
	order := strings.Repeat("ORDER7F3A", 12)
	customer := `"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@example.com","phone":"+5511999990000"}`
	link := func(body string) string {
		return strings.TrimPrefix(o.Post(t, "/checkout/sessions", body).Want(t, http.StatusCreated).Text(t, "checkoutUrl"), s.URL)
	}
	returns := `,"merchantOrderId":"` + order + `","returnUrl":"https://a-very-long-name-of-a-shop-that-does-not-end.shop.example/thanks"`
	paths := map[string]string{"choice": link(`{"amount":9999.5` + returns + `,` + customer + `}`)}
	for name, body := range map[string]string{
		"pse": `"amount":9999.5,"paymentMethodId":"sbx_pse","country":"CL"`, "spei": `"amount":5000.5,"paymentMethodId":"sbx_spei","documentId":"XAXX010101000"`,
		"pix": `"amount":180.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"`, "voucher": `"amount":5.4,"paymentMethodId":"sbx_cash"`,
		"boleto": `"amount":9,"paymentMethod":"boleto","country":"BR","documentId":"52998224725"`,
	} {
		id := o.Create(t, `{`+body+`,"hostedCheckout":true`+returns+`}`)
		paths[name] = "/pay/" + id
	}
	for name, path := range paths {
		for _, lang := range []string{"en", "es", "pt"} {
			t.Run(name+"-"+lang, func(t *testing.T) {
				t.Parallel()
				tab := browser(t)
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(320, 640, chromedp.EmulateScale(2)), chromedp.Navigate(s.URL+path+"?lang="+lang), chromedp.WaitVisible("main")))
				shoot(t, tab, "narrow-"+name+"-"+lang)
				noOverflow(t, tab)
				if lang != "es" {
					return
				}
				inside, err := chromedp.Run(tab, chromedp.Evaluate[bool](`[...document.querySelectorAll('a')].some((a) => a.host !== location.host && a.target !== '_top')`))
				if harness.Must(t, err); inside {
					t.Error("a link to somebody else stays in the frame")
				}
				if name == "choice" || name == "pse" {
					return
				}
				_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
				harness.Must(t, err)
				shoot(t, tab, "paper-"+name)
				seen, err := chromedp.Run(tab, chromedp.Evaluate[string](`[...document.querySelectorAll('h1, button, .left, footer, .back, a')].filter((e) => e.checkVisibility()).map((e) => e.outerHTML).join()`))
				if harness.Must(t, err); seen != "" {
					t.Errorf("on paper there is %s", seen)
				}
				text, err := chromedp.Run(tab, chromedp.Text("main"))
				if harness.Must(t, err); !strings.Contains(text, "Paga antes del") || !strings.Contains(text, order) {
					t.Errorf("on paper there is no deadline, or no order:\n%s", text)
				}
			})
		}
	}
}

// Times are in the shopper's own zone, where a script can tell it.
func TestTimesAreInTheShoppersZone(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
	shown, err := s.App.Sessions.Shown(ctx, id)
	harness.Must(t, err)
	for zone, hours := range map[string]time.Duration{"America/Manaus": -4, "America/Sao_Paulo": -3} {
		tab := browser(t)
		_, err := chromedp.Call(tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
		harness.Must(t, err)
		harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=pt"), chromedp.WaitVisible("time")))
		text, err := chromedp.Run(tab, chromedp.Text("time"))
		harness.Must(t, err)
		if want := shown.Times.Expires.Add(hours * time.Hour).Format("15:04"); !strings.Contains(text, want) {
			t.Errorf("in %s the deadline is %q, want %s", zone, text, want)
		}
	}
}
