package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

func TestACheckoutGoesFromCreationToTheChoice(t *testing.T) {
	api, ctx := shop(t), t.Context()
	n := client.NewCheckout{
		Amount: "100", Currency: "BRL", Country: "BR", MerchantOrderID: "order-1", ReturnURL: "https://shop.example/thanks", IdempotencyKey: "once",
		Customer: client.Customer{FirstName: "Ana", LastName: "Souza", Email: "ana@b.example", Phone: "+5511987654321"},
	}
	opened, err := api.CreateCheckout(ctx, n)
	if err != nil || !strings.HasPrefix(opened.SessionID, "cs_") || !strings.HasSuffix(opened.CheckoutURL, "/checkout/"+opened.SessionID) ||
		opened.Status != "awaiting_method" || opened.Amount != "100" || opened.Currency != "BRL" || opened.Country != "BRA" ||
		!opened.ExpiresAt.After(time.Now()) || opened.Replayed {
		t.Fatalf("the new checkout is %+v, %v", opened, err)
	}
	if again, err := api.CreateCheckout(ctx, n); err != nil || again.SessionID != opened.SessionID || !again.Replayed {
		t.Errorf("the repeat is %+v, %v, want a replay of %s", again, err, opened.SessionID)
	}
	seen, err := api.CheckoutSession(ctx, opened.SessionID)
	if err != nil || seen.Token != opened.SessionID || seen.Customer != n.Customer || seen.CustomerIP == "" || seen.CompletedTxID != "" || seen.ReturnURL != n.ReturnURL {
		t.Errorf("the session is %+v, %v", seen, err)
	}
	choice := client.Choice{PaymentMethodID: "sbx_pix"}
	_, err = api.SelectMethod(ctx, opened.SessionID, choice)
	if e := refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest); e.Param != "customer.documentId" || e.Details.HelpURL == "" {
		t.Errorf("the error is %+v, want it about the document", e)
	}
	choice.Customer.DocumentID = "52998224725"
	made, err := api.SelectMethod(ctx, opened.SessionID, choice)
	if err != nil || made.SessionID != opened.SessionID || made.TransactionStatus != client.Pending || made.CheckoutURL == "" {
		t.Fatalf("the choice made %+v, %v", made, err)
	}
	if p, err := api.Payment(ctx, made.TransactionID); err != nil || p.AmountLocal != "100" || p.MerchantOrderID != "order-1" {
		t.Errorf("the payment is %+v, %v", p, err)
	}
	_, err = api.SelectMethod(ctx, opened.SessionID, choice)
	if e := refused(t, err, client.CodeCheckoutSessionAlreadyCompleted, http.StatusConflict); e.Details.ExistingTxID != made.TransactionID {
		t.Errorf("the error is %+v, want the transaction that exists", e)
	}
	_, err = api.CheckoutSession(ctx, "cs_no/such?one")
	refused(t, err, client.CodeCheckoutSessionNotFound, http.StatusNotFound)
}
