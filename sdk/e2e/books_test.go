package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/cascadapay/cascada/client"
)

// rat is a decimal for arithmetic.
func rat(d client.Decimal) *big.Rat {
	r, _ := new(big.Rat).SetString(string(d))
	return r
}

func (w *writer) books(ctx context.Context, card client.Payment) error {
	refund, err := w.api.Refund(ctx, card.ID, client.NewRefund{Amount: "5.25", Reason: "one item"})
	if err != nil {
		return err
	}
	w.line("refund", refund.Amount, refund.Currency, refund.AmountUSD, refund.Reason)
	p, err := w.api.Payment(ctx, card.ID)
	if err != nil {
		return err
	}
	w.line("refunded", p.Status, p.RefundedAmountLocal, p.RefundableAmountLocal)
	_, err = w.api.Refund(ctx, card.ID, client.NewRefund{Amount: "20.26"})
	w.failure("too much", err)
	var orders []string
	for p, err := range w.api.AllPayments(ctx, client.PaymentFilter{Limit: 3}) {
		if err != nil {
			return err
		}
		orders = append(orders, p.MerchantOrderID)
	}
	w.line("payments", strings.Join(orders, " "))
	page, err := w.api.Payments(ctx, client.PaymentFilter{Status: client.Completed, Amount: "12.34", Limit: 1})
	if err != nil {
		return err
	}
	w.line("page", len(page.Data), page.Pagination.Total, page.Data[0].Amount)
	if err := w.balance(ctx); err != nil {
		return err
	}
	var file bytes.Buffer
	if err := w.api.ExportPayments(ctx, client.PaymentFilter{Status: client.Completed}, &file); err != nil {
		return err
	}
	rows := strings.Split(strings.TrimSpace(file.String()), "\n")
	w.line("csv", len(rows), strings.Join(strings.Split(rows[0], ",")[:3], ","))
	return nil
}

// balance compares the balance with the sum of the movements.
func (w *writer) balance(ctx context.Context) error {
	b, err := w.api.Balance(ctx)
	if err != nil {
		return err
	}
	w.line("balance", b.Balance.Available, b.Balance.Pending, b.Balance.Frozen, b.Balance.Reserve, "gross", b.FeeSummary.GrossVolume, "fees", b.FeeSummary.TotalFees)
	sums := map[string]*big.Rat{"pending": new(big.Rat), "reserve": new(big.Rat), "available": new(big.Rat), "frozen": new(big.Rat)}
	for at := (client.Page{Limit: 7}); ; {
		page, err := w.api.Movements(ctx, at)
		if err != nil {
			return err
		}
		for _, m := range page.Data {
			sums[m.Bucket].Add(sums[m.Bucket], rat(m.Amount))
		}
		if at.StartingAfter = page.Pagination.NextCursor; at.StartingAfter == "" {
			break
		}
	}
	all := new(big.Rat)
	for _, d := range []client.Decimal{b.Balance.Available, b.Balance.Pending, b.Balance.Frozen, b.Balance.Reserve} {
		all.Add(all, rat(d))
	}
	w.line("exact", sums["pending"].Cmp(rat(b.Balance.Pending)) == 0, sums["reserve"].Cmp(rat(b.Balance.Reserve)) == 0, all.FloatString(2))
	return nil
}

// again repeats a call as a shop's program with the Go client does, which repeats nothing by itself: after a network error,
// 429 and 5xx, with the same key.
func again[T any](call func() (T, error)) (T, error) {
	for range 9 {
		value, err := call()
		var refused *client.Error
		if err == nil || errors.As(err, &refused) && refused.Status != 429 && refused.Status < 500 {
			return value, err
		}
	}
	return call()
}

func (w *writer) flaky(ctx context.Context) error {
	var made []string
	var first client.Payment
	for i := 1; i <= 3; i++ {
		p, err := again(func() (client.Payment, error) {
			order := fmt.Sprintf("flaky-%d", i)
			return w.api.CreatePayment(ctx, client.NewPayment{
				Amount: client.Decimal(fmt.Sprintf("1%d.10", i)), PaymentMethodID: "sbx_card", MerchantOrderID: order, IdempotencyKey: order,
			})
		})
		if err != nil {
			return err
		}
		if i == 1 {
			first = p
		}
		made = append(made, fmt.Sprintf("%s:%s", p.Status, p.Amount))
	}
	w.line("paid", strings.Join(made, " "))
	refund, err := again(func() (client.Refund, error) {
		return w.api.Refund(ctx, first.ID, client.NewRefund{Amount: "1.10", IdempotencyKey: "refund"})
	})
	if err != nil {
		return err
	}
	w.line("refund", refund.Amount)
	webhook, err := again(func() (client.Webhook, error) {
		return w.api.CreateWebhook(ctx, client.NewWebhook{Events: []client.EventType{client.EventPaymentCompleted}, IdempotencyKey: "webhook"})
	})
	if err != nil {
		return err
	}
	w.line("webhook", webhook.Status)
	webhooks, err := again(func() (client.WebhookPage, error) { return w.api.Webhooks(ctx, client.Page{}) })
	if err != nil {
		return err
	}
	w.line("webhooks", webhooks.Pagination.Total)
	_, err = w.api.CreateWallet(ctx, client.NewWallet{Type: "bank_account", Currency: "MXN", Destination: "032180000118359719"})
	w.failure("wallet", err)
	wallets, err := again(func() (client.WalletPage, error) { return w.api.Wallets(ctx, "", client.Page{}) })
	if err != nil {
		return err
	}
	w.line("wallets", wallets.Pagination.Total)
	page, err := again(func() (client.PaymentPage, error) { return w.api.Payments(ctx, client.PaymentFilter{}) })
	if err != nil {
		return err
	}
	balance, err := again(func() (client.Balance, error) { return w.api.Balance(ctx) })
	w.line("payments", page.Pagination.Total, "gross", balance.FeeSummary.GrossVolume)
	return err
}
