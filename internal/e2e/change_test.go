package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
)

// chosen opens a session in production and chooses Pix in it, as a shopper's browser does.
func (d *drill) chosen(t *testing.T) (session, payment string) {
	t.Helper()
	token := d.live.session(t, `{"amount":10,"country":"BR","returnUrl":"https://shop.example/thanks",`+ana+`}`)
	_, _, h := d.browse(t, http.MethodPost, "/checkout/"+token, url.Values{"method": {d.live.method(t, "BRA", "pix")}}.Encode())
	payment, found := strings.CutPrefix(h.Get("Location"), "/c/")
	if !found {
		t.Fatalf("the choice leads to %q", h.Get("Location"))
	}
	d.ids = append(d.ids, payment)
	return "/checkout/" + token, payment
}

// changed presses the button that calls a payment off, and returns where that leads.
func (s *service) changed(t *testing.T, payment string) string {
	t.Helper()
	status, page, h := s.browse(t, http.MethodPost, "/pay/"+payment+"/change?lang=en", "")
	if status != http.StatusSeeOther {
		t.Fatalf("the button answers %d: %s", status, page)
	}
	return h.Get("Location")
}

// shows fails the test unless a page has some sentences and lacks others.
func (s *service) shows(t *testing.T, path string, has []string, not ...string) {
	t.Helper()
	_, page, _ := s.visit(t, path)
	for _, want := range has {
		if !strings.Contains(page, want) {
			t.Errorf("%s does not say %q:\n%s", path, want, page)
		}
	}
	for _, wrong := range not {
		if strings.Contains(page, wrong) {
			t.Errorf("%s says %q:\n%s", path, wrong, page)
		}
	}
}

const changeButton = "/change?lang=en"

// A shopper who changes their mind is led to the choice once the provider has ended the
// charge. Paid is paid, unknown is not ended, and money that comes all the same is told.
func TestChoiceIsChangedOnceTheChargeHasEnded(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.Next("open")

		// Nobody has paid.
		session, id := d.chosen(t)
		d.shows(t, "/pay/"+id+"?lang=en", []string{"Choose another way to pay", changeButton})
		again := d.changed(t, id)
		if !strings.HasPrefix(again, "/checkout/cs_") || !strings.HasSuffix(again, "?lang=en") {
			t.Fatalf("the button leads to %q", again)
		}
		r := d.live.get(t, "/payments/"+id)
		if r.text(t, "status") != "failed" || r.text(t, "failure.code") != "canceled" || r.text(t, "failure.declineCode") != "another_way" {
			t.Errorf("called off, the payment is %s", r)
		}
		if twice := d.changed(t, id); twice != again {
			t.Errorf("pressed twice, the button leads to %q and %q", again, twice)
		}
		d.shows(t, again, []string{"is canceled", "Choose how to pay"})
		d.shows(t, "/pay/"+id+"?lang=en", []string{"You chose another way to pay", "Choose how to pay"}, "not been charged", "/change")
		if _, _, h := d.visit(t, session+"?lang=en"); h.Get("Location") != again {
			t.Errorf("the first link leads to %q, want %q", h.Get("Location"), again)
		}
		_, _, h := d.browse(t, http.MethodPost, session, url.Values{"method": {d.live.method(t, "BRA", "pix")}, "document-" + d.live.method(t, "BRA", "pix"): {"52998224725"}}.Encode())
		second := strings.TrimPrefix(h.Get("Location"), "/c/")
		d.ids = append(d.ids, second)
		if second == id || d.live.status(t, second) != "pending" {
			t.Errorf("an old tab of the choice leads to %q", h.Get("Location"))
		}
		// The first one's code is paid all the same: that is told, and that the second is not to be paid.
		d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush").want(t, http.StatusOK)
		d.shows(t, "/pay/"+id+"?lang=en", []string{"Your payment came after the deadline", "do not pay again"}, "You chose another way", "/again", "/change")
		d.shows(t, "/pay/"+second+"?lang=en", []string{"Do not pay this one"}, "/change")
		if at := d.changed(t, second); at != "/pay/"+second+"?lang=en" {
			t.Errorf("while money of the order is with us the second choice is changed: %q", at)
		}

		// Nobody tells of such money: it is asked about.
		_, id = d.chosen(t)
		d.changed(t, id)
		first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
		d.pass(t, 2*time.Hour)
		if got := d.live.get(t, "/payments/"+id); got.text(t, "attention.code") != "late_payment" {
			t.Errorf("money of a payment that was called off is not found: %s", got)
		}

		// Paid at the last moment, and nobody has told us.
		_, id = d.chosen(t)
		first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
		if at := d.changed(t, id); at != "/pay/"+id+"?lang=en" || d.live.status(t, id) != "completed" {
			t.Errorf("what was paid meanwhile leads to %q and is %s", at, d.live.status(t, id))
		}
		d.shows(t, "/pay/"+id+"?lang=en", []string{"Payment received"}, "/change")

		// The provider answers nothing, or not the call that ends the charge.
		for name, fails := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
			"nothing": gateway,
			"not the end": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodDelete {
					gateway(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			},
		} {
			_, id = d.chosen(t)
			first.fails(fails)
			at := d.changed(t, id)
			if !strings.HasPrefix(at, "/pay/"+id+"?") || d.live.status(t, id) != "pending" {
				t.Errorf("%s: it leads to %q, and the payment is %s", name, at, d.live.status(t, id))
			}
			d.shows(t, at, []string{"We could not cancel this payment", "do not pay again", changeButton})
			first.fails(nil)
			if at := d.changed(t, id); !strings.HasPrefix(at, "/checkout/cs_") {
				t.Errorf("%s: later it leads to %q", name, at)
			}
		}
		d.clean(t)
	})
}

// What the shop chose itself has no choice to go back to; nor has what is over.
func TestOnlyAChoiceIsChanged(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, body := range []string{hostedVoucher, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`} {
			id := o.create(t, body)
			s.shows(t, "/pay/"+id+"?lang=en", nil, "/change")
			if at := s.changed(t, id); at != "/pay/"+id+"?lang=en" || o.status(t, id) != "pending" {
				t.Errorf("%s leads to %q and is %s", body, at, o.status(t, id))
			}
		}
		for _, ending := range []string{"paid", "failed", "expired", "wrong_amount"} {
			path := o.selector(t, "")
			_, _, h := s.browse(t, http.MethodPost, path, "method=sbx_cash")
			id := strings.TrimPrefix(h.Get("Location"), "/c/")
			s.atBank(t, id, map[string]string{"paid": "pay", "failed": "decline", "expired": "timeout", "wrong_amount": "wrong_amount"}[ending])
			before := o.status(t, id)
			if at := s.changed(t, id); at != "/pay/"+id+"?lang=en" || o.status(t, id) != before {
				t.Errorf("after %s it leads to %q, and the payment is %s", ending, at, o.status(t, id))
			}
		}
		if status, _, _ := s.browse(t, http.MethodPost, "/pay/TXN-NOBODY/change", ""); status != http.StatusNotFound {
			t.Errorf("nobody's payment: %d", status)
		}
		// Whoever loads again what was posted is led to the payment.
		for _, part := range []string{"/again", "/change"} {
			if status, _, h := s.visit(t, "/pay/TXN-1"+part+"?lang=es"); status != http.StatusSeeOther || h.Get("Location") != "/pay/TXN-1?lang=es" {
				t.Errorf("GET %s: %d to %q", part, status, h.Get("Location"))
			}
		}
		for _, path := range []string{"/checkout/", "/pay/", "/c/"} {
			if status, page, h := s.visit(t, path); status != http.StatusNotFound || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
				t.Errorf("%s answers %d %.200s", path, status, page)
			}
		}
	})
}

// The language that a shopper asked for stays, to the provider's page and back.
func TestLanguageFollowsTheShopper(t *testing.T) {
	s := start(t, dbtest.SQLite(t), &clock{})
	o := s.shop(t)
	german := "Accept-Language: de" // which we do not speak
	_, _, h := s.browse(t, http.MethodPost, o.selector(t, "")+"?lang=pt", "method=sbx_pse", german)
	link := h.Get("Location")
	id := strings.TrimSuffix(strings.TrimPrefix(link, "/c/"), "?lang=pt")
	if link != "/c/"+id+"?lang=pt" {
		t.Fatalf("the choice leads to %q", link)
	}
	if _, _, h := s.visit(t, link, german); h.Get("Location") != s.URL+"/pay/"+id+"?lang=pt" {
		t.Errorf("the link leads to %q", h.Get("Location"))
	}
	if _, page, _ := s.visit(t, "/pay/"+id, german); !strings.Contains(page, `<html lang="pt-BR"`) { // as who comes back from a provider
		t.Errorf("without the address the page forgets the language: %s", page)
	}
	if _, page, _ := s.visit(t, "/pay/"+id+"?lang=es", german); !strings.Contains(page, `<html lang="es-CO"`) {
		t.Error("another language cannot be chosen")
	}
	_, _, h = s.browse(t, http.MethodPost, "/sandbox/bank/"+id+"?lang=pt", "action=decline", german)
	if h.Get("Location") != "/pay/"+id+"?lang=pt" {
		t.Errorf("the bank leads to %q", h.Get("Location"))
	}
	if _, _, h := s.browse(t, http.MethodPost, "/pay/"+id+"/again?lang=pt", "", german); !strings.HasSuffix(h.Get("Location"), "?lang=pt") {
		t.Errorf("again leads to %q", h.Get("Location"))
	}
	// Who asked for none is not given one for good.
	_, _, h = s.browse(t, http.MethodPost, o.selector(t, ""), "method=sbx_cash", "Accept-Language: es-MX")
	if strings.Contains(h.Get("Location"), "lang") {
		t.Errorf("a language that nobody asked for: %q", h.Get("Location"))
	}
}

// A number from the shop that is no number of the method's kind is asked again, and one that the
// provider refuses is told as what it is.
func TestShopsDocumentIsCheckedAgainstTheMethod(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		session := func(number string) string {
			r := o.post(t, "/checkout/sessions", `{"amount":25.5,"country":"BR","customer":{"firstName":"Ana","lastName":"Souza","email":"ana@example.com","phone":"+5511999990000","documentId":"`+number+`"}}`)
			return strings.TrimPrefix(r.want(t, http.StatusCreated).text(t, "checkoutUrl"), s.URL)
		}
		s.shows(t, session("529.982.247-25"), nil, "document-sbx_pix")
		for _, wrong := range []string{"529.982.247-26", "PASSPORT-1234567"} {
			path := session(wrong)
			s.shows(t, path, []string{"document-sbx_pix"})
			_, _, h := s.browse(t, http.MethodPost, path, "method=sbx_pix")
			s.shows(t, h.Get("Location"), []string{"CPF", `id="problem"`})
			_, _, h = s.browse(t, http.MethodPost, path, "method=sbx_pix&document-sbx_pix=529.982.247-25")
			p, err := s.App.Sessions.Shown(ctx, strings.TrimPrefix(h.Get("Location"), "/c/"))
			must(t, err)
			if p.Buyer.Document != "52998224725" || p.Status != pay.Pending {
				t.Errorf("the payment is %s with the document %q", p.Status, p.Buyer.Document)
			}
		}
	})
}
