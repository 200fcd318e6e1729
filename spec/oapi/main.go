// Package oapi is a program that makes a payment and refunds a part of it, with the
// client that oapi-codegen makes. A float32 cannot hold the amounts. It is a module
// of its own, because the product does not depend on it.
package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"

	"spec/oapi/shop"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx := context.Background()
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	api, err := shop.NewClientWithResponses(os.Getenv("SERVICE"), shop.WithRequestEditorFn(bearer))
	if err != nil {
		return err
	}
	usd, part := 45033.37, 131072.01
	method, document, paid := "sbx_spei", "GODE561231GR8", shop.CreatePaymentParamsSandboxSimulate("paid")
	made, err := api.CreatePaymentWithResponse(ctx, &shop.CreatePaymentParams{SandboxSimulate: &paid},
		shop.PaymentRequest{Amount: usd, PaymentMethodId: &method, DocumentId: &document})
	if err != nil {
		return err
	}
	if made.JSON201 == nil {
		return fmt.Errorf("create: %s %s", made.Status(), made.Body)
	}
	refund, err := api.RefundPaymentWithResponse(ctx, made.JSON201.TransactionId, nil, shop.RefundRequest{Amount: &part})
	if err != nil {
		return err
	}
	if refund.JSON200 == nil {
		return fmt.Errorf("refund: %s %s", refund.Status(), refund.Body)
	}
	read, err := api.GetPaymentWithResponse(ctx, made.JSON201.TransactionId, nil)
	if err != nil {
		return err
	}
	if read.JSON200 == nil {
		return fmt.Errorf("get: %s %s", read.Status(), read.Body)
	}
	left := (math.Round(made.JSON201.AmountLocal*100) - math.Round(part*100)) / 100
	if refund.JSON200.Amount != part || read.JSON200.Amount != usd || read.JSON200.RefundableAmountLocal != left {
		return fmt.Errorf("refunded %v of %v, want %v; %v remains, want %v",
			refund.JSON200.Amount, read.JSON200.Amount, part, read.JSON200.RefundableAmountLocal, left)
	}
	return nil
}
