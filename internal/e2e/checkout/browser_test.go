package checkout

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// scan reads the codes in a picture, as a till or a phone does.
func scan(t *testing.T, picture string) string {
	t.Helper()
	out, err := exec.Command("zbarimg", "--quiet", "--raw", picture).Output()
	if err != nil {
		t.Fatalf("zbarimg reads no code in %s (make test installs zbarimg): %v", picture, err)
	}
	return strings.TrimSpace(string(out))
}

// A shopper can pay with every method, in every language, on a phone and a desktop. The code in the
// picture is the payment's code.
func TestShopperPaysInTheBrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for i, c := range []struct{ method, body, code string }{
		{"pix", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, "paymentData.qrCode"},
		{"cash", `{"amount":25.5,"paymentMethodId":"sbx_cash"}`, "paymentData.barcode"},
		{"spei", `{"amount":25.5,"paymentMethodId":"sbx_spei","documentId":"XAXX010101000"}`, ""},
		{"pse", `{"amount":25.5,"paymentMethodId":"sbx_pse"}`, ""},
		{"card", `{"amount":25.65,"paymentMethodId":"sbx_card"}`, ""},
	} {
		for j, in := range []struct{ lang, paid string }{{"en", "Payment received"}, {"es", "Pago recibido"}, {"pt", "Pagamento recebido"}} {
			for _, sc := range harness.Screens {
				if !sc.Phone && i%3 != j { // on desktops one language for each method is enough: long words fail on phones first
					continue
				}
				t.Run(fmt.Sprintf("%s-%s-%s", c.method, in.lang, sc.Name), func(t *testing.T) {
					t.Parallel()
					r := o.Post(t, "/payments", c.body)
					id := ""
					if r.Status == http.StatusCreated {
						id = r.Text(t, "transactionId")
					} else {
						id = r.Text(t, "error.details.transactionId") // the card's issuer asks for a challenge
					}
					tab := harness.Browser(t)
					harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(sc.Width, sc.Height, chromedp.EmulateScale(sc.Scale)),
						chromedp.Navigate(s.URL+"/pay/"+id+"?lang="+in.lang)))
					harness.Shoot(t, tab, t.Name()[strings.LastIndex(t.Name(), "/")+1:]+"-waiting")
					if c.code != "" {
						seen := filepath.Join(t.TempDir(), "page.png")
						harness.Picture(t, tab, seen)
						if got, want := scan(t, seen), o.Get(t, "/payments/"+id).Text(t, c.code); got != want {
							t.Errorf("the picture's code reads %q, want %q", got, want)
						}
					}
					noOverflow(t, tab)
					harness.Must(t, chromedp.Do(tab, chromedp.Click(`a[href*="/sandbox/bank/"]`), chromedp.WaitVisible(`button[value="pay"]`),
						chromedp.Click(`button[value="pay"]`), chromedp.WaitVisible(`.paid`)))
					if text, err := chromedp.Run(tab, chromedp.Text("h1")); err != nil || !strings.Contains(text, in.paid) {
						t.Errorf("after the payment the page says %q (%v), want %q", text, err, in.paid)
					}
					harness.Shoot(t, tab, t.Name()[strings.LastIndex(t.Name(), "/")+1:]+"-paid")
					if got := o.Status(t, id); got != "completed" {
						t.Errorf("the payment is %s, want completed", got)
					}
				})
			}
		}
	}
}

// noOverflow fails the test if the page scrolls sideways.
func noOverflow(t *testing.T, tab context.Context) {
	t.Helper()
	wider, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
	if harness.Must(t, err); wider {
		t.Error("the page is wider than the screen")
	}
}

// painted loads a page and returns its first contentful paint in milliseconds.
func painted(t *testing.T, s *harness.Instance, tab context.Context, path string) (ms int) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+path)))
	harness.Eventually(t, "the browser has painted the page", func() bool {
		at, err := chromedp.Run(tab, chromedp.Evaluate[float64](`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`))
		harness.Must(t, err)
		ms = int(at)
		return at > 0
	})
	return ms
}

// The waiting page shows the outcome without a reload. It also works without scripts.
func TestPageShowsTheEndByItself(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
	tab := harness.Browser(t)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=en"), chromedp.WaitVisible(".waiting")))
	o.Simulate(t, id, "paid").Want(t, 200)
	harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(".paid")))

	// This only logs how soon the shopper sees the choice, next to a page that is almost empty.
	tab = harness.Browser(t)
	for range 6 {
		t.Logf("first contentful paint: the choice after %d ms, a bare page after %d ms",
			painted(t, s, tab, selector(t, o, "")+"?lang=en"), painted(t, s, tab, "/healthz"))
	}

	id = o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)
	tab = harness.Browser(t)
	_, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	harness.Must(t, err)
	harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+"/pay/"+id+"?lang=en"),
		chromedp.Click(`a.primary`), chromedp.WaitVisible(`button[value="decline"]`), chromedp.Click(`button[value="decline"]`), chromedp.WaitVisible(".failed")))
}

// A shopper opens the shop's link, chooses a method, gives a document, pays, and goes back to the
// shop.
func TestShopperGoesFromTheLinkToTheThanks(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for _, sc := range harness.Screens {
		for _, lang := range []string{"en", "es", "pt"} {
			tab := harness.Browser(t)
			harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(sc.Width, sc.Height, chromedp.EmulateScale(sc.Scale)),
				chromedp.Navigate(s.URL+selector(t, o, "")+"?lang="+lang)))
			harness.Shoot(t, tab, "selector-"+lang+"-"+sc.Name)
			noOverflow(t, tab)
			harness.Must(t, chromedp.Do(tab, chromedp.Click(`label[for="m-sbx_pix"]`), chromedp.WaitVisible(`#d-sbx_pix`),
				chromedp.SendKeys(`#d-sbx_pix`, "529.982.247-26"), chromedp.Click(`.methods button.primary`), chromedp.WaitVisible(`#problem`)))
			harness.Shoot(t, tab, "selector-wrong-"+lang+"-"+sc.Name)
			harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`#d-sbx_pix`), chromedp.SetValue(`#d-sbx_pix`, "529.982.247-25"),
				chromedp.Click(`.methods button.primary`), chromedp.WaitVisible(`.qr`), chromedp.Click(`a[href*="/sandbox/bank/"]`),
				chromedp.Click(`button[value="pay"]`), chromedp.WaitVisible(`.paid`), chromedp.WaitVisible(`a[href^="https://shop.example/thanks?"]`)))
		}
	}
	if n := o.Total(t, nil); n != "6" {
		t.Errorf("six shoppers made %s payments, want 6", n)
	}
}

// A shopper whose card is refused on the page reads why, tries again, and pays at the next provider: on a phone in each language, and
// without scripts (PAY-39).
func TestShopperTriesAgainInTheBrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for _, in := range []struct {
		lang, refused, paid string
		bare                bool
	}{
		{"en", "The card was not accepted", "Payment received", false}, {"es", "La tarjeta no fue aceptada", "Pago recibido", false},
		{"pt", "O cartão não foi aceito", "Pagamento recebido", false}, {"en", "The card was not accepted", "Payment received", true},
	} {
		t.Run(fmt.Sprint(in.lang, " without scripts: ", in.bare), func(t *testing.T) {
			t.Parallel()
			id, sc, tab := cardPage(t, o), harness.Screens[0], harness.Browser(t)
			if in.bare {
				_, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
				harness.Must(t, err)
			}
			says := func(state, want string) {
				t.Helper()
				harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible("."+state)))
				if text, err := chromedp.Run(tab, chromedp.Text("h1")); err != nil || !strings.Contains(text, want) {
					t.Errorf("the page says %q (%v), want %q", text, err, want)
				}
				harness.Shoot(t, tab, "retry-"+state+"-"+in.lang)
				if !in.bare {
					noOverflow(t, tab)
				}
			}
			refuses := func(reason string) {
				t.Helper()
				harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`button[value="decline:`+reason+`"]`), chromedp.Click(`button[value="decline:`+reason+`"]`)))
				says("refused", in.refused)
			}
			again := chromedp.Click(`form[action*="/retry"] button`)
			harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(sc.Width, sc.Height, chromedp.EmulateScale(sc.Scale)),
				chromedp.Navigate(s.PageOf(id)+"&lang="+in.lang), chromedp.Click(`a.primary`)))
			refuses("insufficient_funds") // the next card is entered at the same provider
			harness.Must(t, chromedp.Do(tab, again))
			refuses("do_not_honor")
			harness.Must(t, chromedp.Do(tab, again, chromedp.WaitVisible(`button[value="pay"]`), chromedp.Click(`button[value="pay"]`)))
			says("paid", in.paid)
			if p, err := s.App.Store.Payments().Any(ctx, id); err != nil || len(p.Attempts) != 2 || p.End.Captured != 2 {
				t.Errorf("it is %s, %v", p, err)
			}
		})
	}
}
