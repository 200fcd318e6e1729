package checkout

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/chromedp/chromedp"
)

// pageSays fails the test unless the payment's page has a sentence in each language. wants is
// language to sentence. The page must neither deny the money nor invite the shopper to pay.
func pageSays(t *testing.T, s *harness.Instance, id string, wants map[string]string) {
	t.Helper()
	for lang, want := range wants {
		status, page, _ := s.Visit(t, "/pay/"+id+"?lang="+lang)
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("in %s the page returns %d, without %q: %s", lang, status, want, page)
		}
		for _, lie := range []string{"not been charged", "No payment has reached", "No se te cobró", "No nos llegó", "Nada foi cobrado", "Nenhum pagamento", "/again", "qr.svg", "barcode.svg"} {
			if strings.Contains(page, lie) {
				t.Errorf("in %s the page has %q, which contradicts %q", lang, lie, want)
			}
		}
	}
}

// When a shopper's money comes late, the page says so. Neither the page nor a session that was
// opened before asks the shopper to pay again.
func TestLateShopperIsNotAskedToPayAgain(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, harness.HostedVoucher)
		s.AtBank(t, id, "timeout")
		if _, page, _ := s.Visit(t, "/pay/"+id+"?lang=en"); !strings.Contains(page, "No payment has reached us") || !strings.Contains(page, "/pay/"+id+"/again") {
			t.Errorf("before money comes the page is %s", page)
		}
		status, _, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/again?lang=en", "")
		session := h.Get("Location")
		if status != http.StatusSeeOther || !strings.HasPrefix(session, "/checkout/cs_") {
			t.Fatalf("the button to try again returns %d to %q, want 303 to a session", status, session)
		}
		session, _, _ = strings.Cut(session, "?")
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK)
		pageSays(t, s, id, map[string]string{
			"en": "We have received $183.50\u00a0MXN for this order. Please do not pay again.", "es": "Recibimos $183.50\u00a0MXN por este pedido. Por favor, no pagues otra vez.",
			"pt": "Recebemos $183.50\u00a0MXN por este pedido. Por favor, não pague de novo.",
		})
		for name, c := range map[string]struct{ method, path, form string }{
			"the button":           {http.MethodPost, "/pay/" + id + "/again", ""},
			"the session's page":   {http.MethodGet, session, ""},
			"the session's choice": {http.MethodPost, session, "method=sbx_cash"},
		} {
			if status, _, h := s.Browse(t, c.method, c.path, c.form); status != http.StatusSeeOther || h.Get("Location") != "/c/"+id {
				t.Errorf("%s returns %d to %q, want 303 to the payment that was paid", name, status, h.Get("Location"))
			}
		}
		r := s.Send(t, harness.Request{Method: http.MethodPost, Path: harness.APIPath + "/checkout/sessions/" + strings.TrimPrefix(session, "/checkout/") + "/select",
			Body: `{"paymentMethodId":"sbx_cash"}`, Header: http.Header{"Content-Type": {"application/json"}}})
		r.Refused(t, "409 conflict_state conflict_error reason=payment_received")
		if got := r.Text(t, "error.details.existingTxId"); got != id {
			t.Errorf("the refusal names the payment %s, want %s", got, id)
		}
		if status, _, h := s.Visit(t, "/c/"+id); status != http.StatusTemporaryRedirect || h.Get("Location") != s.URL+"/pay/"+id {
			t.Errorf("/c/ returns %d to %q, want 307 to the payment", status, h.Get("Location"))
		}
		if n := o.Total(t, nil); n != "1" {
			t.Errorf("there are %s payments, want 1", n)
		}
	})
}

// When the money of an order's first payment comes, the page of the second payment, which is
// pending, asks the shopper not to pay.
func TestSecondPaymentIsNotPaidOnceTheFirstOneCame(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, harness.HostedVoucher)
		s.AtBank(t, id, "timeout")
		_, _, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/again", "")
		session, _, _ := strings.Cut(h.Get("Location"), "?")
		status, _, h := s.Browse(t, http.MethodPost, session, "method=sbx_cash")
		second := strings.TrimPrefix(h.Get("Location"), "/c/")
		if status != http.StatusSeeOther || second == id || o.Status(t, second) != "pending" {
			t.Fatalf("the choice returns %d to %q, want 303 to a second payment", status, h.Get("Location"))
		}
		if _, page, _ := s.Visit(t, "/pay/"+second+"?lang=en"); !strings.Contains(page, "barcode.svg") {
			t.Errorf("before money comes, the page does not show how to pay the second payment: %s", page)
		}
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK)
		pageSays(t, s, second, map[string]string{"en": "Please do not pay again.", "es": "no pagues otra vez", "pt": "não pague de novo"})
		if _, page, _ := s.Visit(t, "/pay/"+second+"?lang=en"); !strings.Contains(page, `href="/pay/`+id) {
			t.Errorf("the page does not link to the payment that was paid: %s", page)
		}
		claim := o.Get(t, "/payments/"+id).Text(t, "attention.claimId")
		_, err := harness.DecideClaim(s.App, claim, pay.Approve, "given back")
		harness.Must(t, err)
		if _, page, _ := s.Visit(t, "/pay/"+second+"?lang=en"); !strings.Contains(page, "barcode.svg") {
			t.Errorf("after the money was given back, the page does not show how to pay: %s", page)
		}
	})
}

// The page of an expired or failed payment watches for an hour whether money comes.
func TestPageOfExpiredPaymentIsToldOfLateMoney(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for action, status := range map[string]string{"timeout": "expired", "decline": "failed"} {
			id := o.Create(t, harness.HostedVoucher)
			s.AtBank(t, id, action)
			live := "/live?status=" + status + "&state=" + status
			if _, html, _ := s.Visit(t, "/pay/"+id); !strings.Contains(html, "data-live=") {
				t.Errorf("%s: the page does not watch the payment: %s", status, html)
			}
			res, err := http.Get(s.URL + "/pay/" + id + live)
			harness.Must(t, err)
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Fatalf("%s: the stream returns %d, want 200", status, res.StatusCode)
			}
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK)
			told := false
			for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				told = told || lines.Text() == "event: status"
			}
			if !told {
				t.Errorf("%s: the page gets no event when money comes", status)
			}
			silent := o.Create(t, harness.HostedVoucher)
			s.AtBank(t, silent, action)
			s.Clock.Advance(time.Hour)
			res, err = http.Get(s.URL + "/pay/" + silent + live)
			harness.Must(t, err)
			res.Body.Close()
			if _, html, _ := s.Visit(t, "/pay/"+silent+"?lang=en"); res.StatusCode != http.StatusNoContent || strings.Contains(html, "data-live=") {
				t.Errorf("%s for an hour: the stream returns %d or the page still watches, want 204 and no watching", status, res.StatusCode)
			} else if status == "expired" && (strings.Contains(html, "this page will tell you") || !strings.Contains(html, "Check back here later")) {
				t.Errorf("the page promises news, but does not watch the payment: %s", html)
			}
		}
	})
}

// The page says what happened to late money and to another amount.
func TestPageTellsWhatBecameOfTheMoney(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for word, want := range map[pay.ClaimVerb]string{pay.Reject: "the shop has accepted it", pay.Approve: "is being refunded"} {
			id := o.Create(t, harness.HostedVoucher)
			s.AtBank(t, id, "late")
			_, err := harness.DecideClaim(s.App, o.Get(t, "/payments/"+id).Text(t, "attention.claimId"), word, "as the shop wishes")
			harness.Must(t, err)
			_, page, _ := s.Visit(t, "/pay/"+id+"?lang=en")
			if again := strings.Contains(page, "/again"); !strings.Contains(page, want) || again != (word == pay.Approve) {
				t.Errorf("after %s the page lacks %q, or offers to pay again: %v: %s", word, want, again, page)
			}
		}
		id := o.Create(t, harness.HostedVoucher)
		res, err := http.Get(s.URL + "/pay/" + id + "/live?status=pending&state=waiting")
		harness.Must(t, err)
		defer res.Body.Close()
		s.AtBank(t, id, "wrong_amount")
		told := false
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			told = told || lines.Text() == "event: status"
		}
		if !told {
			t.Error("a waiting page gets no event when another amount comes")
		}
		pageSays(t, s, id, map[string]string{
			"en": "We have received $183.49\u00a0MXN, and the amount due was $183.50\u00a0MXN. Please do not pay again.",
			"es": "Recibimos $183.49\u00a0MXN y el monto era $183.50\u00a0MXN.", "pt": "Recebemos $183.49\u00a0MXN, e o valor pedido era $183.50\u00a0MXN.",
		})
		_, err = harness.DecideClaim(s.App, o.Get(t, "/payments/"+id).Text(t, "attention.claimId"), pay.Reject, "the shop keeps it")
		harness.Must(t, err)
		pageSays(t, s, id, map[string]string{"en": "ask the shop before you pay again"})
		o.Simulate(t, id, "paid").Want(t, http.StatusOK)
		if _, page, _ := s.Visit(t, "/pay/"+id+"?lang=en"); !strings.Contains(page, "Payment received") || !strings.Contains(page, "We also received another payment for this order") {
			t.Errorf("after the payment is paid the page is %s", page)
		}
	})
}

// While it is unknown whether a shopper paid, the page does not say that he did not.
func TestUnknownShopperIsNotToldThatHeDidNotPay(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(harness.CutsAfter)
		d.Pay(t, 1, 1)
		pageSays(t, d.Instance, d.IDs[0], map[string]string{"en": "Please do not pay twice."})
		first.Fails(nil)
		first.Next("open")
		d.Pay(t, 1, 1)
		id := d.IDs[1]
		first.Fails(harness.Gateway)
		d.Clock.Advance(d.Expires(t, id).Sub(d.Clock.Now()))
		d.Pass(t, time.Minute)
		unsure := map[string]string{"en": "We do not know yet whether you have paid", "es": "Todavía no sabemos si pagaste", "pt": "Ainda não sabemos se você pagou"}
		pageSays(t, d.Instance, id, unsure)
		for range 10 {
			d.Pass(t, 24*time.Hour)
		}
		if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "status") != "expired" || r.Text(t, "failure.code") != "outcome_unknown" {
			t.Errorf("after ten days the payment is %s, want expired with outcome_unknown", r)
		}
		pageSays(t, d.Instance, id, unsure)
		first.Fails(nil)
		for range 10 {
			d.Pass(t, 24*time.Hour)
		}
		if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "failure.code") != "expired" {
			t.Errorf("once the provider answers, the payment is %s, want the failure expired", r)
		}
		if _, page, _ := d.Visit(t, "/pay/"+id+"?lang=en"); !strings.Contains(page, "No payment has reached us") {
			t.Errorf("once the provider answers, the page is %s", page)
		}
	})
}

// A waiting page changes without a reload when stray money comes, on a phone and a desktop, in every
// language.
func TestShopperSeesStrayMoneyInTheBrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for _, sc := range harness.Screens {
		for _, lang := range []string{"en", "es", "pt"} {
			if !sc.Phone && lang != "pt" {
				continue
			}
			for action, state := range map[string]string{"late": ".late", "wrong_amount": ".other_amount"} {
				t.Run(fmt.Sprintf("%s-%s-%s", action, lang, sc.Name), func(t *testing.T) {
					t.Parallel()
					id := o.Create(t, harness.HostedVoucher)
					tab := harness.Browser(t)
					harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(sc.Width, sc.Height, chromedp.EmulateScale(sc.Scale)),
						chromedp.Navigate(s.URL+"/pay/"+id+"?lang="+lang), chromedp.WaitVisible(".waiting")))
					s.AtBank(t, id, action)
					harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(state)))
					noOverflow(t, tab)
					harness.Shoot(t, tab, "stray-"+action+"-"+lang+"-"+sc.Name)
				})
			}
		}
	}
}
