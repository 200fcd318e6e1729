package checkout

import (
	"bufio"
	"bytes"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// A payment's link leads to its page on the service's own host, whatever host the request names
// (CHK-3, CHK-13).
func TestCheckoutLinkLeadsToTheForm(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725","hostedCheckout":true,"returnUrl":"https://shop.example/thanks?a=1"}`)
		status, _, h := s.Visit(t, "/c/"+id, "Host: evil.example", "X-Forwarded-Host: evil.example")
		if want := s.URL + "/pay/" + id; status != http.StatusTemporaryRedirect || h.Get("Location") != want {
			t.Errorf("/c/ returns %d to %q, want 307 to %q", status, h.Get("Location"), want)
		}
		for _, path := range []string{"/c/TXN-NONE", "/pay/TXN-NONE", "/pay/%00", "/pay/%ff", "/pay/TXN-NONE/qr.svg", "/pay/TXN-NONE/live", "/sandbox/bank/TXN-NONE"} {
			if status, page, _ := s.Visit(t, path, "Accept-Language: pt-BR"); status != http.StatusNotFound || !strings.Contains(page, "Não encontramos este pagamento") {
				t.Errorf("GET %s returns %d %.200s, want 404 and a page", path, status, page)
			}
		}
	})
}

// The page of each method has what the shopper needs to pay, in the shopper's language.
func TestPagesTellHowToPay(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for body, wants := range map[string]map[string][]string{
			`{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725","merchantOrderId":"A-<b>1"}`: {
				"pt": {"Pague com Pix (teste)", "Escaneie o QR Code", "Pix Copia e Cola", "R$\u00a0137,70", "br.gov.bcb.pix", "Copiar o código", "Pedido A-<b>1"},
				"es": {"Paga con Pix (prueba)", "R$\u00a0137,70"}, "en": {"Pay with Pix (test)"},
			},
			`{"amount":25.5,"paymentMethodId":"sbx_spei","documentId":"XAXX010101000"}`: {"es": {"CLABE", "646", "STP", "Cascada Sandbox", "MXN"}},
			`{"amount":25.5,"paymentMethodId":"sbx_cash"}`:                              {"es": {"barcode.svg", "Imprimir", "9000", "Lleva esta ficha a Tienda de prueba", "Paga en Tienda de prueba", "El aviso le llega a Acme"}},
			`{"amount":25.5,"paymentMethodId":"sbx_pse"}`:                               {"es": {"Ir a PSE (prueba)", "/sandbox/bank/"}},
		} {
			id := o.Create(t, body)
			for lang, sentences := range wants {
				status, page, _ := s.Visit(t, "/pay/"+id, "Accept-Language: "+lang)
				for _, want := range sentences {
					if status != http.StatusOK || !strings.Contains(page, want) {
						t.Errorf("%s in %s: the page returns %d, without %q: %s", body, lang, status, want, page)
					}
				}
			}
			// If the browser names no language, the payment's country decides.
			if _, page, _ := s.Visit(t, "/pay/"+id); !strings.Contains(page, `<html lang="`) || strings.Contains(page, `<html lang="en"`) {
				t.Errorf("%s: the page of a Latin American payment is in English by default", body)
			}
		}
	})
}

// Pages escape what a shop or a shopper sends.
func TestPagesEscapeWhatTheyShow(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","merchantOrderId":"<script>alert(1)</script>","hostedCheckout":true,"returnUrl":"https://shop.example/?q=\"><script>"}`)
		res, err := http.Get(s.URL + "/pay/" + id)
		harness.Must(t, err)
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		harness.Must(t, err)
		if strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), `"><script>`) {
			t.Errorf("the page has the shop's script without escapes: %s", page)
		}
	})
}

// A tester can end a payment in every way at the simulated bank, and the payment's page says how it
// ended.
func TestEveryEndingCanBePlayedAtTheBank(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for action, want := range map[string]struct{ status, sentence string }{
			"pay":          {"completed", "Payment received"},
			"decline":      {"failed", "Your bank declined the payment."},
			"timeout":      {"expired", "The time to pay has run out"},
			"late":         {"expired", "Your payment came after the deadline"},
			"wrong_amount": {"pending", "You paid a different amount"},
		} {
			id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true,"returnUrl":"https://shop.example/thanks?a=1"}`)
			if _, page, _ := s.Visit(t, "/sandbox/bank/"+id); !strings.Contains(page, `value="`+action+`"`) {
				t.Errorf("the bank's page does not offer %s", action)
			}
			status, _, h := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, url.Values{"action": {action}}.Encode())
			if status != http.StatusSeeOther || !strings.HasPrefix(h.Get("Location"), "/pay/"+id) {
				t.Errorf("%s returns %d to %q, want 303 to the payment", action, status, h.Get("Location"))
			}
			if got := o.Status(t, id); got != want.status {
				t.Errorf("after %s the payment is %s, want %s", action, got, want.status)
			}
			_, page, _ := s.Visit(t, "/pay/"+id+"?lang=en")
			if back := "https://shop.example/thanks?a=1&status=" + want.status + "&transactionId=" + id; !strings.Contains(page, want.sentence) || !strings.Contains(page, back) {
				t.Errorf("after %s the page lacks %q or the link back to %s: %s", action, want.sentence, back, page)
			}
		}
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)
		for _, c := range []struct {
			form, after string
			want        int
		}{{"action=rob", "pending", 400}, {"", "pending", 400}, {"action=pay", "completed", 303}} {
			if status, _, _ := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, c.form); status != c.want || o.Status(t, id) != c.after {
				t.Errorf("the form %q returns %d and the payment is %s, want %d and %s", c.form, status, o.Status(t, id), c.want, c.after)
			}
		}
		if status, page, _ := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=decline"); status != http.StatusSeeOther || o.Status(t, id) != "completed" {
			t.Errorf("to decline a paid payment returns %d and the payment is %s, want 303 and completed: %s", status, o.Status(t, id), page)
		}
	})
}

// A waiting page gets an event when the payment's status changes.
func TestWatchedPaymentTellsWhenItMoves(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)
		res, err := http.Get(s.URL + "/pay/" + id + "/live?status=pending")
		harness.Must(t, err)
		defer res.Body.Close()
		if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type is %q, want text/event-stream", got)
		}
		o.Simulate(t, id, "paid").Want(t, http.StatusOK)
		told := ""
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			told += lines.Text() + "\n"
		}
		if !strings.Contains(told, "event: status\ndata: completed\n") {
			t.Errorf("the page got %q, want the status completed", told)
		}
	})
}

// A shop's pages have its colour and logo, and only the shop's own site may embed them.
func TestPagesLookLikeTheShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		var picture bytes.Buffer
		harness.Must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 120, 40))))
		logo, err := appmerchants.ReadLogo(picture.Bytes())
		harness.Must(t, err)
		_, err = s.App.Onboarding.Rebrand(ctx, s.App.Self(), o.Shop.ID, func(merchants.Brand) merchants.Brand {
			return merchants.Brand{Color: "#FFD700", Frames: []string{"https://shop.example"}}
		}, &logo)
		harness.Must(t, err)
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)
		req, err := http.NewRequest(http.MethodGet, s.URL+"/pay/"+id, nil)
		harness.Must(t, err)
		res, err := http.DefaultTransport.RoundTrip(req)
		harness.Must(t, err)
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		harness.Must(t, err)
		if policy := res.Header.Get("Content-Security-Policy"); !strings.HasSuffix(policy, "frame-ancestors https://shop.example") || res.Header.Get("X-Frame-Options") != "" {
			t.Errorf("the shop's site cannot embed the page: %s", policy)
		}
		for _, want := range []string{"/checkout/brand/ffd700.css", "/checkout/logos/" + logo.ID} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page lacks %s: %s", want, page)
			}
		}
		for path, want := range map[string]string{
			"/checkout/brand/ffd700.css": "--on-brand: #000000; --edge: var(--ink)", "/checkout/brand/0a2540.css": "--on-brand: #ffffff; --edge: #0a2540",
			"/checkout/logos/" + logo.ID: picture.String(),
		} {
			res, err := http.Get(s.URL + path)
			harness.Must(t, err)
			body, err := io.ReadAll(res.Body)
			harness.Must(t, err)
			res.Body.Close()
			if res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
				t.Errorf("GET %s returns %d %q, want %q in it", path, res.StatusCode, body, want)
			}
		}
		for _, path := range []string{"/checkout/brand/red.css", "/checkout/brand/ffd700", "/checkout/brand/ffd7%3B0.css", "/checkout/logos/0", "/checkout/logos/%00"} {
			if status, _, _ := s.Visit(t, path); status != http.StatusNotFound {
				t.Errorf("GET %s returns %d, want 404", path, status)
			}
		}
		s.Visit(t, "/pay/"+other.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)) // Visit proves that no site may embed this page

		if _, err := appmerchants.ReadLogo([]byte("<svg onload=alert(1)>")); err == nil {
			t.Error("an SVG with a script is accepted as a logo")
		}
		if _, err := appmerchants.ReadLogo(append(picture.Bytes(), make([]byte, 25<<10)...)); err == nil {
			t.Error("a logo of more than 24 KB is accepted")
		}
	})
}

// A page has less than 60 KB with all its parts, and loads nothing from other hosts.
func TestPagesAreLight(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	asked := regexp.MustCompile(`(?:src|href|action)="([^"]+)"`)
	for _, method := range []string{`"sbx_pix","documentId":"52998224725"`, `"sbx_spei","documentId":"X"`, `"sbx_cash"`, `"sbx_pse"`} {
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":`+method+`}`)
		_, page, _ := s.Visit(t, "/pay/"+id)
		weight, requests := len(page), 1
		for _, found := range asked.FindAllStringSubmatch(page, -1) {
			if strings.HasPrefix(found[1], "http") {
				t.Errorf("the page of %s has the outside address %s", method, found[1])
			}
			if !strings.Contains(found[1], ".") || strings.Contains(found[1], "?") {
				continue // a link, not a part of the page
			}
			res, err := http.Get(s.URL + found[1])
			harness.Must(t, err)
			part, err := io.ReadAll(res.Body)
			harness.Must(t, err)
			res.Body.Close()
			weight, requests = weight+len(part), requests+1
		}
		t.Logf("%s: %d bytes in %d requests", method, weight, requests)
		if weight > 60<<10-24<<10 { // a logo may have 24 KB
			t.Errorf("the page of %s has %d bytes without a logo, want 36 KB at most", method, weight)
		}
	}
}

// selector opens a checkout session and returns the path of its page.
func selector(t *testing.T, o harness.Client, more string) string {
	t.Helper()
	return selectorOf(t, o, "25.5", more)
}

func selectorOf(t *testing.T, o harness.Client, amount, more string) string {
	t.Helper()
	r := o.Post(t, "/checkout/sessions", `{"amount":`+amount+`,"merchantOrderId":"A-1","returnUrl":"https://shop.example/thanks","customer":{"firstName":"Ana","lastName":"Souza","email":"ana@example.com","phone":"+5511999990000"}`+more+`}`)
	return strings.TrimPrefix(r.Want(t, http.StatusCreated).Text(t, "checkoutUrl"), o.URL)
}

// The shopper sees each method with its price, and why a method cannot be chosen (CHK-16).
func TestSelectorShowsTheMethods(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		_, page, _ := s.Visit(t, selector(t, o, ""), "Accept-Language: en-US")
		for _, want := range []string{"Card (test)", "Pix (test)", "SPEI (test)", "PSE (test)", "Cash (test)", "US$\u00a025.50", "R$\u00a0137.70", "$467.93\u00a0MXN", "Final price, no fee added", "Mexico"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q: %s", want, page)
			}
		}
		if card, pix := strings.Index(page, "Card (test)"), strings.Index(page, "Pix (test)"); card > pix {
			t.Error("the methods of the shopper's own country are not first")
		}
		_, page, _ = s.Visit(t, selector(t, o, ""), "Accept-Language: pt-BR")
		if card, pix := strings.Index(page, "Cartão (teste)"), strings.Index(page, "Pix (teste)"); pix > card || !strings.Contains(page, "≈ R$\u00a05,40") {
			t.Errorf("a Brazilian shopper does not see Pix first, or no prices in reais: %s", page)
		}
		_, page, _ = s.Visit(t, selector(t, o, "")+"?country=MEX", "Accept-Language: es")
		if strings.Contains(page, "Pix (prueba)") || !strings.Contains(page, "SPEI (prueba)") {
			t.Error("the page does not show only the methods of the country that the shopper picked")
		}
		_, page, _ = s.Visit(t, selectorOf(t, o, "10000", `,"country":"MX"`), "Accept-Language: es")
		if strings.Contains(page, "Pix (prueba)") || !strings.Contains(page, "No disponible para este monto. De $10\u00a0MXN a $10,000\u00a0MXN") {
			t.Errorf("the page does not say why a method does not accept the amount: %s", page)
		}
	})
}

// A shopper selects a method only once. The page says at the field what is wrong with a choice.
func TestSelectorTakesOneChoice(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		path := selector(t, o, `,"country":"BRA"`)
		for form, want := range map[string]string{
			"":                                  "Escolha uma das formas de pagamento.",
			"method=sbx_spei":                   "Escolha uma das formas de pagamento.",
			"method=sbx_pix":                    "Este CPF não é válido.",
			"method=sbx_pix&document-sbx_pix=1": "Este CPF não é válido.",
			"method=sbx_pix&document-sbx_pix=%3Cb%3E": "Este CPF não é válido.",
		} {
			status, _, h := s.Browse(t, http.MethodPost, path, form, "Accept-Language: pt")
			told := h.Get("Location")
			if status != http.StatusSeeOther || !strings.HasPrefix(told, path+"?") || strings.Contains(told, "52998") {
				t.Errorf("the form %q returns %d to %q, want 303 to the session, without the document", form, status, told)
			}
			if _, page, _ := s.Visit(t, told, "Accept-Language: pt"); !strings.Contains(page, want) {
				t.Errorf("the form %q leads to a page without %q: %s", form, want, page)
			}
		}
		if n := o.Total(t, nil); n != "0" {
			t.Errorf("wrong choices made %s payments, want none", n)
		}
		status, _, h := s.Browse(t, http.MethodPost, path, "method=sbx_pix&document-sbx_pix=529.982.247-25", "X-Forwarded-For: 200.1.2.3")
		link := h.Get("Location")
		if status != http.StatusSeeOther || !strings.HasPrefix(link, "/c/TXN-") {
			t.Fatalf("the choice returns %d to %q, want 303 to a payment", status, link)
		}
		id := strings.TrimPrefix(link, "/c/")
		p, err := s.App.Sessions.Shown(ctx, id)
		harness.Must(t, err)
		if p.Order.Buyer.Document != "52998224725" || p.Order.Buyer.IP != "200.1.2.3" || p.Order.ID != "A-1" {
			t.Errorf("the payment has the buyer %+v and the order %q", p.Order.Buyer, p.Order.ID)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, _, h := s.Browse(t, method, path, "method=sbx_pix&document-sbx_pix=529.982.247-25"); status != http.StatusSeeOther || h.Get("Location") != link {
				t.Errorf("a second %s returns %d to %q, want 303 to %q", method, status, h.Get("Location"), link)
			}
		}
		if n := o.Total(t, nil); n != "1" {
			t.Errorf("the same choice twice made %s payments, want 1", n)
		}
		o.Post(t, "/sandbox/clock", `{"advance":"25h"}`).Want(t, http.StatusOK)
		for _, path := range []string{path, "/checkout/cs_unknown", "/checkout/%00", "/checkout/x"} {
			if status, page, _ := s.Visit(t, path, "Accept-Language: es"); status != http.StatusNotFound || !strings.Contains(page, "Este enlace de pago ya no es válido") {
				t.Errorf("%s returns %d %.300s, want 404 and a page", path, status, page)
			}
		}
	})
}

// The selector's policy allows its form to lead to a provider's page. Visit proves that it allows no
// inline script.
func TestSelectorMayLeaveForTheProvider(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	_, _, h := s.Visit(t, selector(t, o, ""))
	if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' https:;") {
		t.Errorf("the selector's policy is %q, want form-action 'self' https:", policy)
	}
}

// A shopper whose payment failed or expired can choose another method, once. Both payments are of
// the same order.
func TestShopperTriesAnotherWay(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, c := range []struct{ ending, button string }{{"failed", "Probar otra forma"}, {"expired", "Empezar de nuevo"}} {
			chosen := o.Shopper(o.Session(t, `{"amount":460,"currency":"MXN","merchantOrderId":"A-2","returnUrl":"https://shop.example/thanks",`+
				`"customer":{"firstName":"Ana","lastName":"Secreta","email":"ana@secret.example","phone":"+5511999990000"}}`))
			first := chosen.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
			if _, _, h := s.Browse(t, http.MethodPost, "/pay/"+first+"/again", ""); h.Get("Location") != "/pay/"+first {
				t.Errorf("a pending payment can be tried again: %q", h.Get("Location"))
			}
			o.Simulate(t, first, c.ending).Want(t, http.StatusOK)
			_, page, _ := s.Visit(t, "/pay/"+first+"?lang=es")
			if !strings.Contains(page, c.button) || !strings.Contains(page, `action="/pay/`+first+`/again?lang=es"`) {
				t.Errorf("the page of a payment that %s has no button to try again:\n%s", c.ending, page)
			}
			status, _, h := s.Browse(t, http.MethodPost, "/pay/"+first+"/again?lang=es", "")
			link := h.Get("Location")
			if _, _, twice := s.Browse(t, http.MethodPost, "/pay/"+first+"/again?lang=es", ""); status != http.StatusSeeOther || twice.Get("Location") != link {
				t.Fatalf("the button returns %d, and two presses lead to %q and %q, want the same", status, link, twice.Get("Location"))
			}
			_, page, _ = s.Visit(t, link)
			token, _, _ := strings.Cut(strings.TrimPrefix(link, "/checkout/"), "?")
			for _, secret := range []string{"Secreta", "ana@secret", "99999"} {
				if strings.Contains(page, secret) || strings.Contains(string(o.Get(t, "/checkout/sessions/"+token).Body), secret) {
					t.Errorf("the new session shows %q to anybody who knows the payment's id", secret)
				}
			}
			if !strings.Contains(page, "460") || !strings.Contains(page, "A-2") {
				t.Errorf("the new session is not about the same order:\n%s", page)
			}
			_, _, h = s.Browse(t, http.MethodPost, link, "method=sbx_cash")
			second := strings.TrimSuffix(strings.TrimPrefix(h.Get("Location"), "/c/"), "?lang=es")
			r := o.Get(t, "/payments/"+second).Want(t, http.StatusOK)
			if second == first || r.Text(t, "merchantOrderId") != "A-2" || r.Text(t, "amountLocal") != "460" || r.Text(t, "currencyLocal") != "MXN" {
				t.Errorf("the second payment is %s, want the same order and amount", r)
			}
			made, err := s.App.Sessions.Shown(ctx, second)
			harness.Must(t, err)
			if made.Order.Buyer.Email != "ana@secret.example" || made.Order.Buyer.Name != "Ana Secreta" {
				t.Errorf("the second payment has the buyer %+v, want Ana", made.Order.Buyer)
			}
			if _, _, h := s.Browse(t, http.MethodPost, "/pay/"+first+"/again", ""); h.Get("Location") == "" {
				t.Error("after the choice the button leads nowhere")
			} else if _, _, h := s.Visit(t, h.Get("Location")); h.Get("Location") != "/c/"+second {
				t.Errorf("after the choice the button leads to %q, want the second payment", h.Get("Location"))
			}
		}
		// After a direct charge the shopper goes back to the shop to try again. The page names the shop
		// and does not link to it, because returnUrl is only for hosted payments (PAY-10).
		direct := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash","returnUrl":"https://shop.example/thanks"}`)
		shows(t, s, "/pay/"+direct+"?lang=es", []string{"Lleva esta ficha"}, "shop.example")
		o.Simulate(t, direct, "failed").Want(t, http.StatusOK)
		shows(t, s, "/pay/"+direct+"?lang=es", []string{"Vuelve a Acme para empezar de nuevo."}, "shop.example", "/again")
		if _, _, h := s.Browse(t, http.MethodPost, "/pay/"+direct+"/again", ""); h.Get("Location") != "/pay/"+direct {
			t.Errorf("a direct charge can be tried again: %q", h.Get("Location"))
		}
		if status, _, _ := s.Browse(t, http.MethodPost, "/pay/TXN-NOBODY/again", ""); status != http.StatusNotFound {
			t.Errorf("a payment that does not exist returns %d, want 404", status)
		}
	})
}

// When no provider answers, the page says so, that nothing was charged, and what to do. Later the
// shopper can pay.
func TestShopperIsToldThatAProviderIsDown(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		s.Upstream(t, sandbox.Down, sandbox.Down, sandbox.Down)
		path := selector(t, o, "")
		_, _, h := s.Browse(t, http.MethodPost, path, "method=sbx_cash")
		link := h.Get("Location")
		if status, _, h := s.Visit(t, link); status != http.StatusTemporaryRedirect || h.Get("Location") != s.URL+"/pay/"+strings.TrimPrefix(link, "/c/") {
			t.Fatalf("%s returns %d to %q, want 307 to the payment", link, status, h.Get("Location"))
		}
		for lang, want := range map[string][3]string{
			"en": {"This payment method is not available at the moment", "You have not been charged", "Try another way"},
			"es": {"Esta forma de pago no está disponible", "No se te cobró nada", "Probar otra forma"},
			"pt": {"Esta forma de pagamento não está disponível", "Nada foi cobrado", "Tentar outra forma"},
		} {
			_, page, _ := s.Visit(t, "/pay/"+strings.TrimPrefix(link, "/c/")+"?lang="+lang)
			for _, sentence := range want {
				if !strings.Contains(page, sentence) {
					t.Errorf("in %s the page does not say %q:\n%s", lang, sentence, page)
				}
			}
		}
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		_, _, h = s.Browse(t, http.MethodPost, "/pay/"+strings.TrimPrefix(link, "/c/")+"/again", "")
		if _, _, h := s.Browse(t, http.MethodPost, h.Get("Location"), "method=sbx_cash"); o.Status(t, strings.TrimPrefix(h.Get("Location"), "/c/")) != "pending" {
			t.Errorf("the second choice leads to %q, want a pending payment", h.Get("Location"))
		}
	})
}
