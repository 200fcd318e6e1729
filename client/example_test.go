package client_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/cascadapay/cascada/client"
)

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
	now := time.Now().Unix()
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", now, body)
	request.Header.Set("X-Service-Signature", fmt.Sprintf("t=%d,v1=%x", now, mac.Sum(nil)))
	reply := httptest.NewRecorder()
	to.ServeHTTP(reply, request)
	fmt.Println(reply.Code)
}
