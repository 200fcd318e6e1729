package checkout

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
)

// chosen opens a production session and selects Pix in it, as a shopper's browser does. It returns
// the path of the session's page and the payment's id.
func chosen(t *testing.T, d *harness.Drill) (session, payment string) {
	t.Helper()
	token := d.Live.Session(t, `{"amount":10,"country":"BR","returnUrl":"https://shop.example/thanks",`+harness.Ana+`}`)
	_, _, h := d.Browse(t, http.MethodPost, "/checkout/"+token, url.Values{"method": {harness.Method(t, d.Live, "BRA", "pix")}}.Encode())
	payment, found := strings.CutPrefix(h.Get("Location"), "/c/")
	if !found {
		t.Fatalf("the choice leads to %q, want a payment", h.Get("Location"))
	}
	d.IDs = append(d.IDs, payment)
	return "/checkout/" + token, payment
}

// callOff presses the button that calls a payment off. It returns where that leads.
func callOff(t *testing.T, s *harness.Instance, payment string) string {
	t.Helper()
	status, page, h := s.Browse(t, http.MethodPost, "/pay/"+payment+"/change?lang=en", "")
	if status != http.StatusSeeOther {
		t.Fatalf("the button returns %d, want 303: %s", status, page)
	}
	return h.Get("Location")
}

// shows fails the test unless a page has the sentences of has, and none of not.
func shows(t *testing.T, s *harness.Instance, path string, has []string, not ...string) {
	t.Helper()
	_, page, _ := s.Visit(t, path)
	for _, want := range has {
		if !strings.Contains(page, want) {
			t.Errorf("%s does not say %q:\n%s", path, want, page)
		}
	}
	for _, wrong := range not {
		if strings.Contains(page, wrong) {
			t.Errorf("%s says %q, want it not to:\n%s", path, wrong, page)
		}
	}
}

const changeButton = "/change?lang=en"

// A shopper who wants another method can choose again once the provider has ended the charge. If
// the charge is paid, or its state is unknown, it is not called off. Money that comes later is
// reported.
func TestChoiceIsChangedOnceTheChargeHasEnded(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Next("open")

		// Nobody has paid.
		session, id := chosen(t, d)
		shows(t, d.Instance, "/pay/"+id+"?lang=en", []string{"Choose another way to pay", changeButton})
		again := callOff(t, d.Instance, id)
		if !strings.HasPrefix(again, "/checkout/cs_") || !strings.HasSuffix(again, "?lang=en") {
			t.Fatalf("the button leads to %q, want a session", again)
		}
		r := d.Live.Get(t, "/payments/"+id)
		if r.Text(t, "status") != "failed" || r.Text(t, "failure.code") != "canceled" || r.Text(t, "failure.declineCode") != "another_way" {
			t.Errorf("a payment that was called off is %s", r)
		}
		if twice := callOff(t, d.Instance, id); twice != again {
			t.Errorf("two presses of the button lead to %q and %q, want the same session", again, twice)
		}
		shows(t, d.Instance, again, []string{"is canceled", "Choose how to pay"})
		shows(t, d.Instance, "/pay/"+id+"?lang=en", []string{"You chose another way to pay", "Choose how to pay"}, "not been charged", "/change")
		if _, _, h := d.Visit(t, session+"?lang=en"); h.Get("Location") != again {
			t.Errorf("the first link leads to %q, want %q", h.Get("Location"), again)
		}
		_, _, h := d.Browse(t, http.MethodPost, session, url.Values{"method": {harness.Method(t, d.Live, "BRA", "pix")}, "document-" + harness.Method(t, d.Live, "BRA", "pix"): {"52998224725"}}.Encode())
		second := strings.TrimPrefix(h.Get("Location"), "/c/")
		d.IDs = append(d.IDs, second)
		if second == id || d.Live.Status(t, second) != "pending" {
			t.Errorf("an old tab of the choice leads to %q, want a second payment that is pending", h.Get("Location"))
		}
		// The shopper still pays the first code. Both pages must say so, and warn not to pay again.
		d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush").Want(t, http.StatusOK)
		shows(t, d.Instance, "/pay/"+id+"?lang=en", []string{"Your payment came after the deadline", "do not pay again"}, "You chose another way", "/again", "/change")
		shows(t, d.Instance, "/pay/"+second+"?lang=en", []string{"Do not pay this one"}, "/change")
		if at := callOff(t, d.Instance, second); at != "/pay/"+second+"?lang=en" {
			t.Errorf("although money of the order has come, the second payment is called off: %q", at)
		}

		// The notification of such money is lost: a query must find the money.
		_, id = chosen(t, d)
		callOff(t, d.Instance, id)
		first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
		d.Pass(t, 2*time.Hour)
		if got := d.Live.Get(t, "/payments/"+id); got.Text(t, "attention.code") != "late_payment" {
			t.Errorf("no query found the money of a payment that was called off: %s", got)
		}

		// The charge is paid just before the button is pressed, and the notification is lost.
		_, id = chosen(t, d)
		first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
		if at := callOff(t, d.Instance, id); at != "/pay/"+id+"?lang=en" || d.Live.Status(t, id) != "completed" {
			t.Errorf("a payment that was just paid leads to %q and is %s, want completed", at, d.Live.Status(t, id))
		}
		shows(t, d.Instance, "/pay/"+id+"?lang=en", []string{"Payment received"}, "/change")

		// The provider answers no call, or not the one that ends the charge.
		for name, fails := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
			"nothing": harness.Gateway,
			"not the end": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodDelete {
					harness.Gateway(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			},
		} {
			_, id = chosen(t, d)
			first.Fails(fails)
			at := callOff(t, d.Instance, id)
			if !strings.HasPrefix(at, "/pay/"+id+"?") || d.Live.Status(t, id) != "pending" {
				t.Errorf("%s: the button leads to %q, and the payment is %s; want the payment's page, pending", name, at, d.Live.Status(t, id))
			}
			shows(t, d.Instance, at, []string{"We could not cancel this payment", "do not pay again", changeButton})
			first.Fails(nil)
			if at := callOff(t, d.Instance, id); !strings.HasPrefix(at, "/checkout/cs_") {
				t.Errorf("%s: later the button leads to %q, want a session", name, at)
			}
		}
		d.Clean(t)
	})
}

// Only a payment that the shopper chose can be called off, and only while it is open.
func TestOnlyAChoiceIsChanged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, body := range []string{harness.HostedVoucher, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`} {
			id := o.Create(t, body)
			shows(t, s, "/pay/"+id+"?lang=en", nil, "/change")
			if at := callOff(t, s, id); at != "/pay/"+id+"?lang=en" || o.Status(t, id) != "pending" {
				t.Errorf("%s: the button leads to %q and the payment is %s, want its own page, pending", body, at, o.Status(t, id))
			}
		}
		for _, ending := range []string{"paid", "failed", "expired", "wrong_amount"} {
			path := selector(t, o, "")
			_, _, h := s.Browse(t, http.MethodPost, path, "method=sbx_cash")
			id := strings.TrimPrefix(h.Get("Location"), "/c/")
			s.AtBank(t, id, map[string]string{"paid": "pay", "failed": "decline", "expired": "timeout", "wrong_amount": "wrong_amount"}[ending])
			before := o.Status(t, id)
			if at := callOff(t, s, id); at != "/pay/"+id+"?lang=en" || o.Status(t, id) != before {
				t.Errorf("after %s the button leads to %q, and the payment is %s, want %s", ending, at, o.Status(t, id), before)
			}
		}
		if status, _, _ := s.Browse(t, http.MethodPost, "/pay/TXN-NOBODY/change", ""); status != http.StatusNotFound {
			t.Errorf("a payment that does not exist returns %d, want 404", status)
		}
		// A GET of a form's address leads to the payment: browsers do that after a reload.
		for _, part := range []string{"/again", "/change"} {
			if status, _, h := s.Visit(t, "/pay/TXN-1"+part+"?lang=es"); status != http.StatusSeeOther || h.Get("Location") != "/pay/TXN-1?lang=es" {
				t.Errorf("GET %s returns %d to %q, want 303 to the payment", part, status, h.Get("Location"))
			}
		}
		for _, path := range []string{"/checkout/", "/pay/", "/c/"} {
			if status, page, h := s.Visit(t, path); status != http.StatusNotFound || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
				t.Errorf("%s returns %d %.200s, want 404 and a page", path, status, page)
			}
		}
	})
}

// The language that a shopper chose stays, also after a visit to the provider's page.
func TestLanguageFollowsTheShopper(t *testing.T) {
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	german := "Accept-Language: de" // no page is in German
	_, _, h := s.Browse(t, http.MethodPost, selector(t, o, "")+"?lang=pt", "method=sbx_pse", german)
	link := h.Get("Location")
	id := strings.TrimSuffix(strings.TrimPrefix(link, "/c/"), "?lang=pt")
	if link != "/c/"+id+"?lang=pt" {
		t.Fatalf("the choice leads to %q, want the language in the link", link)
	}
	if _, _, h := s.Visit(t, link, german); h.Get("Location") != s.URL+"/pay/"+id+"?lang=pt" {
		t.Errorf("the link leads to %q, want the payment with the language", h.Get("Location"))
	}
	if _, page, _ := s.Visit(t, "/pay/"+id, german); !strings.Contains(page, `<html lang="pt-BR"`) { // a provider sends shoppers back without the language
		t.Errorf("the page forgets the language if the address does not have it: %s", page)
	}
	if _, page, _ := s.Visit(t, "/pay/"+id+"?lang=es", german); !strings.Contains(page, `<html lang="es-CO"`) {
		t.Error("the shopper cannot choose another language")
	}
	_, _, h = s.Browse(t, http.MethodPost, "/sandbox/bank/"+id+"?lang=pt", "action=decline", german)
	if h.Get("Location") != "/pay/"+id+"?lang=pt" {
		t.Errorf("the simulated bank leads to %q, want the language in the address", h.Get("Location"))
	}
	if _, _, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/again?lang=pt", "", german); !strings.HasSuffix(h.Get("Location"), "?lang=pt") {
		t.Errorf("the button to try again leads to %q, want the language in the address", h.Get("Location"))
	}
	// If the shopper chose no language, the address has none.
	_, _, h = s.Browse(t, http.MethodPost, selector(t, o, ""), "method=sbx_cash", "Accept-Language: es-MX")
	if strings.Contains(h.Get("Location"), "lang") {
		t.Errorf("the address has a language that the shopper did not choose: %q", h.Get("Location"))
	}
}

// A number that only looks irregular is asked about once, without scripts too: the second press on the same number takes it. A number of
// no office is refused however often it is sent.
func TestIrregularDocumentIsConfirmedByASecondPress(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		path := selector(t, s.NewShop(t), `,"country":"MX"`)
		press := func(typed, sure string) string {
			form := url.Values{"method": {"sbx_spei"}, "document-sbx_spei": {typed}}
			if sure != "" {
				form.Set("sure-sbx_spei", sure)
			}
			_, _, h := s.Browse(t, http.MethodPost, path, form.Encode())
			return h.Get("Location")
		}
		shows(t, s, press("GODE561231", "GODE561231")+"&lang=en", []string{"This is not a valid RFC"})
		const odd = "GODE-561231-GR9"
		asked := press(odd, "")
		shows(t, s, asked+"&lang=en", []string{"This does not look like a usual RFC. Is it right", `name="sure-sbx_spei" value="` + odd + `"`})
		for language, words := range map[string]string{"pt-BR": "Está certo", "es-AR": "apretá", "es-MX": "pulsa", "es-CO": "pulsa", "es-CL": "pulsa", "es-PE": "pulsa"} {
			if _, page, _ := s.Visit(t, asked, "Accept-Language: "+language); !strings.Contains(page, words) {
				t.Errorf("in %s the page does not say %q:\n%s", language, words, page)
			}
		}
		shows(t, s, press("GODE561231GR7", odd)+"&lang=en", []string{"Is it right"}) // another number is asked about, too
		made := press(odd, odd)
		p, err := s.App.Sessions.Shown(ctx, strings.TrimPrefix(made, "/c/"))
		harness.Must(t, err)
		if p.Order.Buyer.Document != "GODE561231GR9" || p.Status != pay.Pending {
			t.Errorf("the payment is %s with the document %q", p.Status, p.Order.Buyer.Document)
		}
	})
}

// If the shop's document is not valid for the method, the page asks the shopper for one. What only looks irregular is the shop's word.
func TestShopsDocumentIsCheckedAgainstTheMethod(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		session := func(number string) string {
			r := o.Post(t, "/checkout/sessions", `{"amount":25.5,"country":"BR","customer":{"firstName":"Ana","lastName":"Souza","email":"ana@example.com","phone":"+5511999990000","documentId":"`+number+`"}}`)
			return strings.TrimPrefix(r.Want(t, http.StatusCreated).Text(t, "checkoutUrl"), s.URL)
		}
		for _, taken := range []string{"529.982.247-25", "529.982.247-26"} {
			shows(t, s, session(taken), nil, "document-sbx_pix")
		}
		for _, wrong := range []string{"529.982.247-2", "PASSPORT-1234567"} {
			path := session(wrong)
			shows(t, s, path, []string{"document-sbx_pix"})
			_, _, h := s.Browse(t, http.MethodPost, path, "method=sbx_pix")
			shows(t, s, h.Get("Location"), []string{"CPF", `id="problem"`})
			_, _, h = s.Browse(t, http.MethodPost, path, "method=sbx_pix&document-sbx_pix=529.982.247-25")
			p, err := s.App.Sessions.Shown(ctx, strings.TrimPrefix(h.Get("Location"), "/c/"))
			harness.Must(t, err)
			if p.Order.Buyer.Document != "52998224725" || p.Status != pay.Pending {
				t.Errorf("the payment is %s with the document %q, want pending with the shopper's", p.Status, p.Order.Buyer.Document)
			}
		}
	})
}
