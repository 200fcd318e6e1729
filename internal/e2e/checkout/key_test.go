package checkout

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Ids are seen by the shop's staff and by keys that may only read. Whoever opens a page by the id alone sees it and can pay;
// only the shopper's own links can cancel, choose another way, or try again.
func TestOnlyTheShoppersLinkChangesAPayment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		made := o.Shopper(o.Session(t, harness.CheckoutBody)).Choose(t, harness.Choice("sbx_pix")).Want(t, http.StatusCreated)
		id := made.Text(t, "transactionId")
		other := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash","hostedCheckout":true}`)
		stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		ask := func(method, address string) (int, string, string) {
			t.Helper()
			r, err := http.NewRequest(method, address, nil)
			harness.Must(t, err)
			reply, err := stay.Do(r)
			harness.Must(t, err)
			defer reply.Body.Close()
			body, err := io.ReadAll(reply.Body)
			harness.Must(t, err)
			return reply.StatusCode, string(body), reply.Header.Get("Location")
		}
		bare := s.URL + "/pay/" + id
		if got := o.Get(t, "/payments/"+id); strings.Contains(string(got.Body), "key=") {
			t.Errorf("a key that may only read gets the key of the page: %s", got)
		}
		if _, page, _ := ask(http.MethodGet, bare+"?lang=en"); !strings.Contains(page, "data-live") || strings.Contains(page, "<form") || strings.Contains(page, "key=") {
			t.Errorf("the page that is opened by the id alone is not one that only shows:\n%s", page)
		}
		card := cardPage(t, o)
		s.AtBank(t, card, "decline:insufficient_funds")
		if _, page, _ := ask(http.MethodGet, s.URL+"/pay/"+card+"?lang=en"); strings.Contains(page, "<form") || !strings.Contains(page, `href="/sandbox/bank/`+card) {
			t.Errorf("after a refusal the page by its id alone does not lead to the provider's page, which is open:\n%s", page)
		}
		for _, act := range []string{"change", "again", "retry"} {
			for name, key := range map[string]string{
				"no key": "", "another payment's key": strings.TrimPrefix(s.PageOf(other), s.URL+"/pay/"+other), "a made-up key": "?key=AAAAAAAAAAAAAAAAAAAAAA",
			} {
				if status, page, _ := ask(http.MethodPost, bare+"/"+act+key); status != http.StatusForbidden || !strings.Contains(page, "open the link that the shop gave you") {
					t.Errorf("%s with %s is answered %d, want 403 and how to go on:\n%s", act, name, status, page)
				}
			}
		}
		if got := o.Get(t, "/payments/"+id).Text(t, "status"); got != "pending" {
			t.Fatalf("the payment is %s, want pending", got)
		}
		// The link of the create reply leads to the page, with its key in each address of the page.
		_, _, to := ask(http.MethodGet, made.Text(t, "checkoutUrl")+"&lang=es")
		_, page, _ := ask(http.MethodGet, to)
		for _, want := range []string{`action="/pay/` + id + `/change?key=`, `lang=pt`} {
			if !strings.Contains(page, want) {
				t.Errorf("the shopper's page has no %s:\n%s", want, page)
			}
		}
		_, _, to = ask(http.MethodPost, strings.Replace(s.PageOf(id), "?", "/change?", 1))
		if got := o.Get(t, "/payments/"+id).Text(t, "status"); got != "failed" || !strings.HasPrefix(to, "/checkout/") {
			t.Errorf("the shopper calls the payment off: it is %s, and leads to %s", got, to)
		}
	})
}
