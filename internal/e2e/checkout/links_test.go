package checkout

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// link makes a payment link and returns its id.
func link(t *testing.T, o harness.Client, body string) string {
	t.Helper()
	return o.Post(t, "/payment-links", body).Want(t, http.StatusCreated).Text(t, "id")
}

// enter opens the checkout of a shopper of a link and returns its token.
func enter(t *testing.T, o harness.Client, id string, typed ...string) string {
	t.Helper()
	form := url.Values{"name": {"Ana Souza"}, "email": {"ana@b.example"}}
	for i := 0; i+1 < len(typed); i += 2 {
		form.Set(typed[i], typed[i+1])
	}
	status, body, h := o.Browse(t, http.MethodPost, "/l/"+id, form.Encode())
	_, token, found := strings.Cut(h.Get("Location"), "/checkout/")
	if status != http.StatusSeeOther || !found {
		t.Fatalf("the link %s gets %d %s: %s", id, status, h.Get("Location"), body)
	}
	token, _, _ = strings.Cut(token, "?")
	return token
}

// A payment link is made, visited, paid as often as it may be, and told of (CHK-25).
func TestPaymentLinkIsPaidAsOftenAsItMayBe(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"payment_link.paid","payment_link.closed"`)
		const body = `{"amount":25.50,"country":"br","merchantOrderId":"order 7","description":"Two tickets","metadata":{"cart":"c-1"},"uses":2,
			"lineItems":[{"name":"Ticket","quantity":2,"unitAmount":12.75}]}`
		made := o.Post(t, "/payment-links", body, "Idempotency-Key: one")
		id := made.Want(t, http.StatusCreated).Text(t, "id")
		made.Is(t, http.StatusCreated, fmt.Sprintf(`{"id":%q,"status":"open","url":%q,"qrCodeImageUrl":%q,"amount":25.5,"openAmount":null,"currency":"USD","country":"BRA",
			"merchantOrderId":"order 7","returnUrl":null,"uses":2,"paid":0,"expiresAt":"<time>","closedAt":null,"description":"Two tickets","metadata":{"cart":"c-1"},
			"lineItems":[{"name":"Ticket","quantity":2,"unitAmount":12.75}],"merchantId":%q,"shopId":%q,"createdAt":"<time>","updatedAt":"<time>"}`,
			id, s.URL+"/l/"+id, s.URL+"/l/"+id+"/qr.svg", o.Merchant.ID, o.Shop.ID))
		if again := o.Post(t, "/payment-links", body, "Idempotency-Key: one"); again.Text(t, "id") != id || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("a repeat makes another link: %s", again)
		}
		status, page, _ := o.Browse(t, http.MethodGet, "/l/"+id+"?lang=en", "")
		for _, want := range []string{"Two tickets", "Ticket", "25,50", "order 7"} {
			if status != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("the page gets %d and lacks %q: %s", status, want, page)
			}
		}
		if status, image, h := o.Browse(t, http.MethodGet, "/l/"+id+"/qr.svg", ""); status != http.StatusOK || h.Get("Content-Type") != "image/svg+xml" || !strings.Contains(image, "<path") {
			t.Errorf("the QR code gets %d %s", status, h.Get("Content-Type"))
		}

		var ids []string
		for n := range 2 {
			token := enter(t, o, id)
			if _, page, _ := o.Browse(t, http.MethodGet, "/checkout/"+token, ""); !strings.Contains(page, "Two tickets") {
				t.Errorf("the choice does not show what is bought: %s", page)
			}
			chosen := o.Shopper(token).Choose(t, `{"paymentMethodId":"sbx_pix","customer":{"documentId":"52998224725"}}`).Want(t, http.StatusCreated)
			payment := chosen.Text(t, "transactionId")
			p := o.Get(t, "/payments/"+payment).Want(t, http.StatusOK)
			if got := p.Text(t, "paymentLinkId") + " " + p.Text(t, "merchantOrderId") + " " + p.Text(t, "metadata.cart") + " " + p.Text(t, "userName"); got != id+" order 7 c-1 Ana Souza" {
				t.Errorf("the payment is of %s", got)
			}
			o.Simulate(t, payment, "paid").Want(t, http.StatusOK)
			ids = append(ids, payment)
			told := endpoint.About(t, id, []int{1, 3}[n]) // the last one ends the link
			for _, d := range told {
				s.Spec.CheckEvent(t, d.Text("type"), d.Body)
			}
			if last := told[n]; last.Text("type") != "payment_link.paid" || last.Text("data.object.transactionId") != payment || last.Text("data.object.paid") != fmt.Sprint(n+1) {
				t.Errorf("the %d. payment is told as %s of %s, paid %s", n+1, last.Text("type"), last.Text("data.object.transactionId"), last.Text("data.object.paid"))
			}
		}
		ended := endpoint.About(t, id, 3)[2]
		if ended.Text("type") != "payment_link.closed" || ended.Text("data.object.status") != "used" || ended.Text("data.previous.status") != "open" {
			t.Errorf("the end is told as %s, %s", ended.Text("type"), ended.Text("data.object.status"))
		}
		if got := o.Get(t, "/payment-links/"+id).Want(t, http.StatusOK); got.Text(t, "status")+got.Text(t, "paid") != "used2" {
			t.Errorf("the link is %s", got)
		}
		if status, page, _ := o.Browse(t, http.MethodGet, "/l/"+id+"?lang=en", ""); status != http.StatusGone || !strings.Contains(page, "nothing left to pay") {
			t.Errorf("the page of the used link gets %d: %s", status, page)
		}
		if status, _, h := o.Browse(t, http.MethodPost, "/l/"+id, "name=Ana&email=ana@b.example"); status != http.StatusSeeOther || strings.Contains(h.Get("Location"), "/checkout/") {
			t.Errorf("a used link begins a checkout: %d %s", status, h.Get("Location"))
		}
		o.Call(t, http.MethodPatch, "/payment-links/"+id, `{"status":"open"}`, "Content-Type: application/json").Refused(t, "409 conflict_state conflict_error reason=payment_link_ended from=used action=reopen")
		o.Call(t, http.MethodPatch, "/payment-links/"+id, `{"status":"closed"}`, "Content-Type: application/json").Refused(t, "409 conflict_state conflict_error reason=payment_link_ended from=used action=close")
		for query, want := range map[string]string{"": "1", "?status=used": "1", "?status=open": "0"} {
			if got := o.Get(t, "/payment-links"+query).Want(t, http.StatusOK).Text(t, "pagination.total"); got != want {
				t.Errorf("%q lists %s links, want %s", query, got, want)
			}
		}
		other := s.NewShop(t)
		other.Get(t, "/payment-links/"+id).Refused(t, "404 not_found invalid_request_error")
		other.Call(t, http.MethodPatch, "/payment-links/"+id, `{"status":"closed"}`, "Content-Type: application/json").Refused(t, "404 not_found invalid_request_error")
		res, err := http.Get(s.URL + "/pay/" + ids[0])
		harness.Must(t, err)
		defer res.Body.Close()
		if page, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || strings.Contains(string(page), "Two tickets") {
			t.Errorf("whoever has but the payment's id sees what was bought (%v)", err)
		}
	})
}

// Of many shoppers who choose at once with a link, as many get a payment as it has uses, on every node. One that fails frees its use.
func TestPaymentLinkIsNotUsedTooOften(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, uses := range []int{1, 3} {
			id := link(t, o, fmt.Sprintf(`{"amount":10,"uses":%d}`, uses))
			tokens := make([]string, 8)
			for i := range tokens {
				tokens[i] = enter(t, o, id)
			}
			var mu sync.Mutex
			var all sync.WaitGroup
			got := map[string]int{}
			var made []string
			for _, token := range tokens {
				all.Go(func() {
					r := o.Shopper(token).Choose(t, `{"paymentMethodId":"sbx_cash"}`)
					mu.Lock()
					defer mu.Unlock()
					if got[fmt.Sprint(r.Status)]++; r.Status == http.StatusCreated {
						made = append(made, r.Text(t, "transactionId"))
					}
				})
			}
			all.Wait()
			if got["201"] != uses || got["409"] != len(tokens)-uses {
				t.Fatalf("of %d shoppers at once of a link for %d: %v", len(tokens), uses, got)
			}
			status, page, h := o.Browse(t, http.MethodGet, "/l/"+id+"?lang=en", "")
			if uses == 1 && h.Get("Location") != "/pay/"+made[0]+"?lang=en" || uses > 1 && (status != http.StatusOK || !strings.Contains(page, "Come back in some minutes")) {
				t.Errorf("a link whose uses are held gets %d %s: %s", status, h.Get("Location"), page)
			}
			o.Simulate(t, made[0], "expired").Want(t, http.StatusOK)
			next := enter(t, o, id)
			o.Shopper(next).Choose(t, `{"paymentMethodId":"sbx_cash"}`).Want(t, http.StatusCreated)
		}
	})
}

// Money that came for a link's only payment after it had ended keeps others from paying, too.
func TestPaymentLinkWithMoneyIsNotPaidAgain(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := link(t, o, `{"amount":25.5}`)
		first, second := enter(t, o, id), enter(t, o, id)
		payment := o.Shopper(first).Choose(t, `{"paymentMethodId":"sbx_cash"}`).Want(t, http.StatusCreated).Text(t, "transactionId")
		s.AtBank(t, payment, "late")
		if got := o.Get(t, "/payments/"+payment).Text(t, "attention.code"); got != "late_payment" {
			t.Fatalf("the payment has the attention %q", got)
		}
		refused := o.Shopper(second).Choose(t, `{"paymentMethodId":"sbx_cash"}`)
		refused.Refused(t, "409 conflict_state conflict_error reason=payment_link_held from=open action=select")
		if got := refused.Text(t, "error.details.existingTxId"); got != payment {
			t.Errorf("the refusal names %s, want %s", got, payment)
		}
		if _, _, h := o.Browse(t, http.MethodGet, "/l/"+id, ""); h.Get("Location") != "/pay/"+payment {
			t.Errorf("the link leads to %q", h.Get("Location"))
		}
	})
}

// A link is closed, opened again, and ends by itself. A payment that is under way when it ends is completed and counted.
func TestPaymentLinkEnds(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"payment_link.paid","payment_link.closed"`)
		id := link(t, o, `{"openAmount":{"min":5,"max":500.5},"currency":"MXN","country":"MX","uses":10}`)
		for typed, want := range map[string]string{"": "Type an amount", "4.99": "From", "501": "From", "1.5.5": "Type an amount"} {
			if status, page, _ := o.Browse(t, http.MethodPost, "/l/"+id+"?lang=en", url.Values{"name": {"Ana"}, "email": {"ana@b.example"}, "amount": {typed}}.Encode()); status != http.StatusUnprocessableEntity || !strings.Contains(page, `aria-invalid="true"`) {
				t.Errorf("the amount %q gets %d, want %s: %s", typed, status, want, page)
			}
		}
		if status, page, _ := o.Browse(t, http.MethodPost, "/l/"+id, "amount=50"); status != http.StatusUnprocessableEntity || strings.Count(page, `aria-invalid="true"`) != 2 || !strings.Contains(page, `value="50"`) {
			t.Errorf("no name and no address get %d: %s", status, page)
		}
		open, pending := enter(t, o, id, "amount", "150.50"), enter(t, o, id, "amount", "20")
		if r := o.Shopper(open).Read(t); r.Text(t, "amount")+r.Text(t, "currency") != "150.5MXN" {
			t.Errorf("the session of a typed amount is %s", r)
		}
		payment := o.Shopper(pending).Choose(t, `{"paymentMethodId":"sbx_cash"}`).Want(t, http.StatusCreated).Text(t, "transactionId")
		for range 2 {
			if got := o.Call(t, http.MethodPatch, "/payment-links/"+id, `{"status":"closed"}`, "Content-Type: application/json").Want(t, http.StatusOK); got.Text(t, "status") != "closed" || got.Text(t, "closedAt") == "" {
				t.Errorf("the closed link is %s", got)
			}
		}
		o.Shopper(open).Choose(t, `{"paymentMethodId":"sbx_cash"}`).Refused(t, "409 conflict_state conflict_error reason=payment_link_ended from=closed action=select")
		if status, _, h := o.Browse(t, http.MethodPost, "/checkout/"+open, "method=sbx_cash"); status != http.StatusSeeOther || h.Get("Location") != "/l/"+id {
			t.Errorf("a choice with a closed link leads to %d %s, want the link's page", status, h.Get("Location"))
		}
		if status, page, _ := o.Browse(t, http.MethodGet, "/pay/"+payment, ""); status != http.StatusOK || strings.Contains(page, "/change") {
			t.Errorf("a payment of a closed link can be called off to choose again, which nobody may: %d", status)
		}
		o.Simulate(t, payment, "paid").Want(t, http.StatusOK)
		told := endpoint.About(t, id, 2)
		if told[0].Text("type")+told[1].Text("type") != "payment_link.closedpayment_link.paid" || told[1].Text("data.object.status") != "closed" {
			t.Errorf("the end is told as %s and %s", told[0].Text("type"), told[1].Text("type"))
		}
		patch := func(body string) harness.Reply {
			return o.Call(t, http.MethodPatch, "/payment-links/"+id, body, "Content-Type: application/json")
		}
		end := s.Clock.Now().Add(72 * time.Hour).UTC().Format(time.RFC3339)
		patch(`{"expiresAt":"`+end+`"}`).Refused(t, "409 conflict_state conflict_error from=closed action=update")
		patch(`{"status":"closed","expiresAt":"`+end+`"}`).Refused(t, "400 invalid_request invalid_request_error param=expiresAt issues=expiresAt")
		patch(`{"status":"open","expiresAt":"2020-01-01T00:00:00Z"}`).Refused(t, "400 invalid_request invalid_request_error param=expiresAt")
		patch(`{}`).Refused(t, "400 invalid_request invalid_request_error param=status issues=status")
		if got := patch(`{"status":"open","expiresAt":"`+end+`"}`).Want(t, http.StatusOK); got.Text(t, "status") != "open" || !strings.Contains(got.String(), `"closedAt":null`) {
			t.Errorf("the link that is open again is %s", got)
		}
		o.Shopper(open).Choose(t, `{"paymentMethodId":"sbx_cash"}`).Want(t, http.StatusCreated)
		harness.MoveTestClock(t, o, "73h")
		if last := endpoint.About(t, id, 3)[2]; last.Text("type") != "payment_link.closed" || last.Text("data.object.status") != "expired" {
			t.Errorf("the end of its time is told as %s, %s", last.Text("type"), last.Text("data.object.status"))
		}
		if status, page, _ := o.Browse(t, http.MethodGet, "/l/"+id+"?lang=en", ""); status != http.StatusGone {
			t.Errorf("the page of an expired link gets %d: %s", status, page)
		}
	})
}

// What a link cannot be is refused before anything is written, with the field.
func TestPaymentLinkRefusals(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for body, want := range map[string]string{
		`{}`:                     "400 missing_field invalid_request_error param=amount issues=amount missing=amount",
		`{"amount":0}`:           "400 amount_invalid invalid_request_error param=amount issues=amount",
		`{"amount":1000001}`:     "400 amount_above_maximum invalid_request_error param=amount issues=amount",
		`{"amount":5,"uses":0}`:  "400 invalid_request invalid_request_error param=uses issues=uses",
		`{"amount":5,"usess":2}`: "400 invalid_request invalid_request_error param=usess issues=usess",
		`{"amount":5,"lineItems":[{"name":"a","quantity":1,"unitAmount":5,"price":5}]}`: "400 invalid_request invalid_request_error param=lineItems[0].price issues=lineItems[0].price",
		`{"amount":5,"currency":"KWD"}`:                    "400 unsupported_currency invalid_request_error param=currency",
		`{"amount":5,"openAmount":{"min":1,"max":2}}`:      "400 invalid_request invalid_request_error param=openAmount issues=openAmount",
		`{"openAmount":{"min":3,"max":2}}`:                 "400 invalid_request invalid_request_error param=openAmount.max issues=openAmount.max",
		`{"amount":5,"expiresAt":"tomorrow"}`:              "400 invalid_request invalid_request_error param=expiresAt issues=expiresAt",
		`{"amount":5,"expiresAt":"2020-01-01T00:00:00Z"}`:  "400 invalid_request invalid_request_error param=expiresAt",
		`{"amount":5,"expiresAt":"2999-01-01T00:00:00Z"}`:  "400 invalid_request invalid_request_error param=expiresAt",
		`{"amount":5,"description":"4242 4242 4242 4242"}`: "400 invalid_request invalid_request_error param=description issues=description",
		`{"amount":5,"country":"XX"}`:                      "400 invalid_request invalid_request_error param=country issues=country",
	} {
		o.Post(t, "/payment-links", body).Refused(t, want)
	}
	if got := o.Get(t, "/payment-links").Want(t, http.StatusOK).Text(t, "pagination.total"); got != "0" {
		t.Errorf("refusals left %s links", got)
	}
	if status, page, _ := o.Browse(t, http.MethodGet, "/l/lnk_nobody?lang=en", ""); status != http.StatusNotFound || !strings.Contains(page, "payment link does not exist") {
		t.Errorf("an unknown link gets %d: %s", status, page)
	}
}
