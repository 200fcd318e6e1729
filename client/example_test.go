package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/webhook"
)

func Example() {
	url, publishable, secret, stop := demo() // your service's URL and the shop's keys
	defer stop()
	ctx := context.Background()

	shop, err := client.New(client.Config{URL: url, PublishableKey: publishable, SecretKey: secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	paid, err := shop.CreatePayment(ctx, client.NewPayment{
		Amount: "25.50", PaymentMethodID: "sbx_card", MerchantOrderID: "order-1", IdempotencyKey: "order-1",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(paid.Status, paid.Amount, paid.Currency)

	// In the sandbox the cents decide how the card's issuer answers.
	_, err = shop.CreatePayment(ctx, client.NewPayment{Amount: "25.51", PaymentMethodID: "sbx_card", MerchantOrderID: "order-2"})
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code)
	}

	for p, err := range shop.AllPayments(ctx, client.PaymentFilter{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Status, p.Amount, p.MerchantOrderID)
	}
	// Output:
	// completed 25.5 USD
	// 402 insufficient_funds
	// failed 25.51 order-2
	// completed 25.5 order-1
}

func ExampleReceiver() {
	const secret = "whsec_of-the-webhook" // Webhook.Secret, from CreateWebhook
	mux := http.NewServeMux()

	receiver := client.Receiver{Secrets: []string{secret}}
	mux.Handle("POST /cascada", receiver.Handle(func(ctx context.Context, e client.Event) error {
		switch e.Type { // after checking that e.ID is new
		case client.EventPaymentCompleted:
			fmt.Println("ship", e.Payment.MerchantOrderID)
		case client.EventClaimOpened, client.EventClaimResolved:
			fmt.Println("claim", e.Claim.ID, e.Claim.Status)
		}
		return nil // after an error the event is delivered again
	}))

	deliver(mux, secret, `{"id":"evt_1","type":"payment.completed","data":{"object":{"id":"TXN-1","merchantOrderId":"order-1"}}}`)
	deliver(mux, secret, `{"id":"evt_2","type":"of.a.later.version","data":{"object":{}}}`)
	deliver(mux, "whsec_of-nobody", `{"id":"evt_3","type":"claim.opened","data":{"object":{"id":"CLM-1"}}}`)
	// Output:
	// ship order-1
	// 204
	// 204
	// 401
}

// deliver sends a body to /cascada as the service does.
func deliver(to http.Handler, secret, body string) {
	request := httptest.NewRequest(http.MethodPost, "/cascada", strings.NewReader(body))
	request.Header.Set("X-Service-Signature", webhook.Sign(time.Now(), []byte(body), secret, ""))
	reply := httptest.NewRecorder()
	to.ServeHTTP(reply, request)
	fmt.Println(reply.Code)
}
