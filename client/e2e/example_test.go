package e2e

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/client"
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
