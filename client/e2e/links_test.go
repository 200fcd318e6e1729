package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/daemon"
)

// receivesLinks pays a payment link, which then ends.
func receivesLinks(t *testing.T, s *daemon.Service, api *client.Client, p *endpoint) {
	t.Helper()
	ctx := t.Context()
	made, err := api.CreatePaymentLink(ctx, client.NewPaymentLink{Amount: "25.50", IdempotencyKey: "link-1"})
	if err != nil || made.Status != "open" || made.Uses != 1 || made.URL != s.URL+"/l/"+made.ID {
		t.Fatalf("a payment link is %+v, %v", made, err)
	}
	if again, err := api.CreatePaymentLink(ctx, client.NewPaymentLink{Amount: "25.50", IdempotencyKey: "link-1"}); err != nil || again.ID != made.ID || !again.Replayed {
		t.Errorf("a repeat makes %+v, %v", again, err)
	}
	shopper := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := shopper.PostForm(made.URL, url.Values{"name": {"Ana Souza"}, "email": {"ana@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	_, token, _ := strings.Cut(answer.Header.Get("Location"), "/checkout/")
	chosen, err := api.SelectMethod(ctx, token, client.Choice{PaymentMethodID: "sbx_card"})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.first(t, client.EventPaymentLinkPaid); e.PaymentLink == nil || e.PaymentLink.TransactionID != chosen.TransactionID || e.PaymentLink.Paid != 1 {
		t.Errorf("payment_link.paid is about %+v", e.PaymentLink)
	}
	if e := p.first(t, client.EventPaymentLinkClosed); e.PaymentLink == nil || e.PaymentLink.ID != made.ID || e.PaymentLink.Status != "used" {
		t.Errorf("payment_link.closed is about %+v", e.PaymentLink)
	}
	if payment, err := api.Payment(ctx, chosen.TransactionID); err != nil || payment.PaymentLinkID != made.ID {
		t.Errorf("the payment is of the link %q, %v", payment.PaymentLinkID, err)
	}
	if page, err := api.PaymentLinks(ctx, "used", client.Page{}); err != nil || len(page.Data) != 1 || page.Data[0].ID != made.ID {
		t.Errorf("the used links are %+v, %v", page.Data, err)
	}
	open, err := api.CreatePaymentLink(ctx, client.NewPaymentLink{OpenAmount: &client.OpenAmount{Min: "5", Max: "500"}, Uses: 3})
	if err != nil {
		t.Fatal(err)
	}
	if closed, err := api.UpdatePaymentLink(ctx, open.ID, client.PaymentLinkChange{Status: "closed"}); err != nil || closed.Status != "closed" || closed.ClosedAt == nil {
		t.Errorf("the closed link is %+v, %v", closed, err)
	}
	if read, err := api.PaymentLink(ctx, open.ID); err != nil || read.OpenAmount == nil || read.OpenAmount.Max != "500" || read.Amount != "" {
		t.Errorf("the link is read as %+v, %v", read, err)
	}
}
