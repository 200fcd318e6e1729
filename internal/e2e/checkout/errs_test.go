package checkout

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// erring is a shopper who makes mistakes, with a link in a browser.
type erring struct {
	*harness.Instance
	o    harness.Client
	link string // to the session's page, with the host
	tab  context.Context
	bare bool // without scripts; then Back may show a page from the browser's cache
}

// opens opens the shopper's link in a tab.
func (e erring) opens(t *testing.T, tab context.Context) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(e.link)))
}

// chooses selects a method, with a document if number is not "", and waits for the element then.
func (e erring) chooses(t *testing.T, tab context.Context, method, number, then string) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`label[for="m-`+method+`"]`)))
	if number != "" {
		harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`#d-`+method), chromedp.SetValue(`#d-`+method, number)))
	}
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`.methods button.primary`), chromedp.WaitVisible(then)))
}

// changes presses the button that calls the payment off, and waits for the choice.
func changes(t *testing.T, tab context.Context) {
	t.Helper()
	soon, cancel := context.WithTimeout(tab, harness.Patience)
	defer cancel()
	if err := chromedp.Do(soon, chromedp.Click(`form[action*="/change"] button`), chromedp.WaitVisible(".methods")); err != nil {
		text, other := chromedp.Run(tab, chromedp.Text("body"))
		t.Fatalf("the button leads to %s, want the choice (%v, %v):\n%s", path(t, tab), err, other, text)
	}
}

// back presses the browser's Back button, and waits for the element then.
func back(t *testing.T, tab context.Context, then string) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.NavigateBack(), chromedp.WaitVisible(then)))
}

// path returns the path of a tab's address.
func path(t *testing.T, tab context.Context) string {
	t.Helper()
	p, err := chromedp.Run(tab, chromedp.Evaluate[string](`location.pathname`))
	harness.Must(t, err)
	return p
}

// ends fails the test unless a page has the text has, and none of not.
func ends(t *testing.T, tab context.Context, has string, not ...string) {
	t.Helper()
	text, err := chromedp.Run(tab, chromedp.Text("main"))
	harness.Must(t, err)
	if !strings.Contains(text, has) {
		t.Errorf("the page does not say %q:\n%s", has, text)
	}
	for _, wrong := range not {
		if strings.Contains(text, wrong) {
			t.Errorf("the page says %q, want it not to:\n%s", wrong, text)
		}
	}
}

// paysAt presses a button of the simulated bank for the payment that a tab shows.
func (e erring) paysAt(t *testing.T, tab context.Context, action string) {
	t.Helper()
	e.AtBank(t, strings.TrimPrefix(path(t, tab), "/pay/"), action)
}

const (
	goodCPF  = "529.982.247-25"
	wrongCPF = "529.982.247-26"
)

// Whatever mistake a shopper makes, the page shows the true state at the end.
func TestShopperWhoErrs(t *testing.T) {
	cases := map[string]struct {
		bare     bool // also runs without scripts, where a page changes only after some seconds
		plays    func(t *testing.T, e erring)
		payments string            // their number at the end
		statuses map[string]string // their number by status
	}{
		"a wrong document": {true, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", wrongCPF, "#problem")
			harness.Must(t, chromedp.Do(e.tab, chromedp.Reload(), chromedp.WaitVisible("#problem"))) // the browser does not ask whether to send the form again
			typed, err := chromedp.Run(e.tab, chromedp.Value(`#d-sbx_pix`))
			if harness.Must(t, err); typed != wrongCPF {
				t.Errorf("the field has %q, want what the shopper typed, %q", typed, wrongCPF)
			}
			ends(t, e.tab, "This does not look like a usual CPF")
			if !e.bare {
				back(t, e.tab, ".methods")
			}
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
		}, "1", map[string]string{"pending": "1"}},
		"back": {false, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			back(t, e.tab, ".qr") // the choice is made, so Back does not show it again
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
			second := harness.Browser(t)
			e.opens(t, e.tab)
			e.opens(t, second)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			e.chooses(t, second, "sbx_cash", "", ".qr")
			ends(t, second, "You had chosen this way to pay before")
			changes(t, second)
			e.chooses(t, second, "sbx_cash", "", ".bars")
			harness.Must(t, chromedp.Do(e.tab, chromedp.WaitVisible(".changed"))) // without a reload
			ends(t, e.tab, "Do not use its code", "Scan the code")
		}, "2", map[string]string{"pending": "1", "failed": "1"}},
		"a closed tab": {true, func(t *testing.T, e erring) {
			e.opens(t, e.tab)
			e.chooses(t, e.tab, "sbx_pix", goodCPF, ".qr")
			e.paysAt(t, e.tab, "pay")
			harness.Must(t, chromedp.Do(e.tab, chromedp.Navigate("about:blank")))
			later := harness.Browser(t)
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
				back(t, e.tab, ".bars") // Back skips the choice, which is made
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
					e := erring{s, o, s.URL + selector(t, o, "") + "?lang=en", harness.Browser(t), !scripts}
					if !scripts {
						unscripted(t, e.tab)
					}
					c.plays(t, e)
					if n := o.Total(t, nil); n != c.payments {
						t.Errorf("there are %s payments, want %s", n, c.payments)
					}
					for status, want := range c.statuses {
						if n := o.Total(t, url.Values{"status": {status}}); n != want {
							t.Errorf("%s payments are %s, want %s", n, status, want)
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

// A browser without scripts reloads a waiting page, and does not show buttons that need scripts.
func TestPageWithoutScriptsTurnsByItself(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
	tab := harness.Browser(t)
	unscripted(t, tab)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=en"), chromedp.WaitVisible(".waiting"), chromedp.WaitNotVisible(`[data-copy]`), chromedp.WaitNotVisible(`[data-print]`)))
	o.Simulate(t, id, "paid").Want(t, 200)
	harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(".paid")))
	if _, page, _ := s.Visit(t, "/pay/"+id); strings.Contains(page, `http-equiv="refresh"`) {
		t.Error("a page in its final state still reloads")
	}
}

// If the service has no free place for a page that watches a payment, the page polls and still
// shows the outcome.
func TestPageThatCannotWatchAsks(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
	for range 10 { // the limit for one payment
		res, err := http.Get(s.URL + "/pay/" + id + "/live?status=pending&state=waiting")
		harness.Must(t, err)
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("a stream returns %d, want 200", res.StatusCode)
		}
	}
	res, err := http.Get(s.URL + "/pay/" + id + "/live?status=pending&state=waiting")
	harness.Must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("the 11th stream returns %d, want 429", res.StatusCode)
	}
	tab := harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=en"), chromedp.WaitVisible(".waiting")))
	o.Simulate(t, id, "paid").Want(t, 200)
	harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(".paid")))
	for query, want := range map[string]string{
		"status=pending&state=waiting": "moved", "status=completed&state=paid": "final",
	} {
		if _, word, _ := s.Visit(t, "/pay/"+id+"/state?"+query); word != want {
			t.Errorf("/state?%s returns %q, want %q", query, word, want)
		}
	}
}

// Long names, orders and amounts fit on the narrowest screen. A printed page has only what one needs
// to pay. Links to other hosts leave a frame.
func TestNarrowPagesAndPaper(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	s.Rate(t, "CLP 945000", "MXN 1835", "BRL 5400") // so that amounts are in the billions
	made, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Comercializadora" + strings.Repeat("Internacional", 6), Email: "ops@acme.example", Tier: merchants.Standard})
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
				tab := harness.Browser(t)
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(320, 640, chromedp.EmulateScale(2)), chromedp.Navigate(s.URL+path+"?lang="+lang), chromedp.WaitVisible("main")))
				harness.Shoot(t, tab, "narrow-"+name+"-"+lang)
				noOverflow(t, tab)
				if lang != "es" {
					return
				}
				inside, err := chromedp.Run(tab, chromedp.Evaluate[bool](`[...document.querySelectorAll('a')].some((a) => a.host !== location.host && a.target !== '_top')`))
				if harness.Must(t, err); inside {
					t.Error("a link to another host opens in the frame")
				}
				if name == "choice" || name == "pse" {
					return
				}
				_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
				harness.Must(t, err)
				harness.Shoot(t, tab, "paper-"+name)
				seen, err := chromedp.Run(tab, chromedp.Evaluate[string](`[...document.querySelectorAll('h1, button, .left, footer, .back, a')].filter((e) => e.checkVisibility()).map((e) => e.outerHTML).join()`))
				if harness.Must(t, err); seen != "" {
					t.Errorf("the printed page has %s, want none of it", seen)
				}
				text, err := chromedp.Run(tab, chromedp.Text("main"))
				if harness.Must(t, err); !strings.Contains(text, "Paga antes del") || !strings.Contains(text, order) {
					t.Errorf("the printed page lacks the deadline or the order:\n%s", text)
				}
			})
		}
	}
}

// With scripts, times are in the shopper's own time zone.
func TestTimesAreInTheShoppersZone(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
	shown, err := s.App.Sessions.Shown(ctx, id)
	harness.Must(t, err)
	for zone, hours := range map[string]time.Duration{"America/Manaus": -4, "America/Sao_Paulo": -3} {
		tab := harness.Browser(t)
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
