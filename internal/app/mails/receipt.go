package mails

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/receipt"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// receiptsADay is the most receipts of one payment in a day, so that nobody floods a shopper.
	receiptsADay = 3
	// merchantReceiptsADay is the most receipts of a merchant in a day: other e-mails must not wait behind
	// them.
	merchantReceiptsADay = 200
	// secondClick is for how long the same receipt is not sent again.
	secondClick = time.Minute
)

// SendReceipt sends the receipt of a payment to its shopper and returns the address. In the sandbox it goes to tester,
// who asks for it: addresses of test payments may be anybody's.
//
// Errors: transaction_not_found; those of receipt.Check; service_unavailable if the service sends no e-mails;
// rate_limited.
func (ms *Mails) SendReceipt(ctx context.Context, scope merchants.Scope, payment, tester string, by audit.Actor) (to string, err error) {
	missing := problem.New(problem.TransactionNotFound, base.NoPayment)
	if !base.Storable(payment) {
		return "", missing
	}
	p, err := ms.Store.Payments().Get(ctx, scope, payment)
	if err != nil {
		return "", base.OrRefuse(err, missing)
	}
	if err := receipt.Check(p); err != nil {
		return "", err
	}
	if ms.mailer == nil {
		return "", problem.New(problem.ServiceUnavailable, noMailServer)
	}
	now := ms.Now()
	if to = p.Order.Buyer.Email; !p.Live {
		to = tester
	}
	// Counted before anything else: a receipt that another click sends meanwhile is found below, or has the same number.
	nth, err := ms.Store.Mails().Count(ctx, p.Merchant, p.ID, time.Time{})
	if err != nil {
		return "", err
	}
	if before, err := ms.Store.Mails().Count(ctx, p.Merchant, p.ID, now.Add(-secondClick)); err != nil || before > 0 {
		return to, err
	}
	for of, most := range map[string]int64{p.ID: receiptsADay, pay.PaymentPrefix: merchantReceiptsADay} {
		sent, err := ms.Store.Mails().Count(ctx, p.Merchant, of, now.Add(-countedFor))
		if err != nil {
			return "", err
		}
		if sent >= most {
			return "", problem.New(problem.RateLimited, manyReceipts)
		}
	}
	shop, err := ms.Store.Merchants().Shop(ctx, p.Shop)
	if err != nil {
		return "", err
	}
	merchant, err := ms.Store.Merchants().Get(ctx, p.Merchant)
	if err != nil {
		return "", err
	}
	claims, err := ms.Store.Claims().Of(ctx, []string{p.ID})
	if err != nil {
		return "", err
	}
	id := ms.NewID(mails.Prefix, now)
	// Clicks at once, on any nodes, count the same receipts: one of them sends the next one.
	next := base.Idempotency{Route: "receipt", Key: fmt.Sprintf("%s/%d", p.ID, nth), Hash: p.ID}
	err = ms.Store.Commit(ctx, pay.Change{
		Mails: []mails.Message{receipt.Mail(p, claims, id, to, shop, merchant.Language, now)},
		Audit: ms.Audited(by, p.Scope, audit.ReceiptSent, p.ID, nil),
		Once:  next.Guard(p.Scope, id, now),
	})
	if errors.Is(err, store.ErrDuplicate) {
		return to, nil
	}
	return to, err
}
