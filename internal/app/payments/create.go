// Package payments creates payments: for merchants' servers, and for shoppers who choose in a
// checkout session. The cascade then calls the providers.
package payments

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/cascade"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/work"
)

// Payments creates the payments that merchants ask for, and ends them for the merchant or the
// operator.
type Payments struct {
	*base.Base
	offer
	lists work.Turns // by merchant: long lists
}

// offer is the input from which a payment is made.
type offer struct {
	rates     *rates.Rates
	providers *accounts.Providers
	methods   *methods.Methods
	plans     *plans.Plans
	cascade   *cascade.Cascade
}

// New returns the Payments of a service.
func New(b *base.Base, rates *rates.Rates, providers *accounts.Providers, methods *methods.Methods, plans *plans.Plans, c *cascade.Cascade) *Payments {
	return &Payments{Base: b, offer: offer{rates, providers, methods, plans, c}, lists: work.Turns{Each: int64(runtime.NumCPU() / 2)}}
}

// NewPayment is a request to create a payment (PAY-1). Its strings were checked for form.
type NewPayment struct {
	Amount          money.Amount // in the shop's currency
	PaymentMethodID string
	PaymentMethod   string
	Country         string
	Buyer           pay.Buyer
	OrderID         string
	Purchase        pay.Purchase
	Hosted          bool
	ReturnURL       string
	Installments    installment.Request
	MerchantID      string
	ShopID          string
	Simulate        string // header Sandbox-Simulate
	Strict          *bool  // header Sandbox-Strict; nil: the setting of the merchant's sandbox
	Idempotency     base.Idempotency
	RequestID       string
}

// Create makes a payment and takes it through the cascade. replayed: an earlier request with the
// same key had made it.
//
// The error says why the shopper cannot go on. The payment may exist all the same
// (details.transactionId).
func (pa *Payments) Create(ctx context.Context, by base.Principal, n NewPayment) (p pay.Payment, replayed bool, err error) {
	scope, err := pa.Narrow(ctx, by, n.MerchantID, n.ShopID)
	if err != nil {
		return pay.Payment{}, false, err
	}
	now, mark := pa.TimeOf(scope), n.Idempotency.Mark(pa.Vault, scope)
	if err = pa.MayMoveMoney(); err == nil {
		p, err = pa.order(ctx, scope, n, mark, now)
	}
	if err != nil {
		// A repeated request gets its earlier payment, even if a rate or a limit has changed.
		if _, found, other := pa.Earlier(ctx, scope, n.Idempotency); other != nil || !found {
			return pay.Payment{}, false, cmp.Or(other, err)
		}
		p, err = pa.cascade.Repeat(ctx, scope, n.Idempotency)
		return p, err == nil, err
	}
	cause := view.Cause{RequestID: n.RequestID, IdempotencyKey: n.Idempotency.Key}
	routes := pa.providers.Routes(p)
	if routes.By, err = pa.Store.Hold(ctx); err != nil {
		return pay.Payment{}, false, err
	}
	p, change, replayed, err := pa.cascade.Begin(ctx, p, mark, routes, now)
	if err != nil {
		return pay.Payment{}, false, err
	}
	change.Once = n.Idempotency.Guard(scope, p.ID, now)
	if by.User != "" && !replayed { // a program's payments are not noted: they are its daily work
		change.Audit = pa.Audited(by.Actor(), scope, audit.PaymentCreated, p.ID, map[string]string{"amount": p.Price.Requested().String()})
	}
	err = pa.Commit(ctx, change, cause)
	if errors.Is(err, store.ErrDuplicate) || replayed && errors.Is(err, store.ErrStale) { // the same request at the same time
		p, err = pa.cascade.Repeat(ctx, scope, n.Idempotency)
		return p, err == nil, err
	}
	if errors.Is(err, store.ErrUnknown) {
		pa.cascade.Adopt(p, routes, cause)
	}
	if err != nil {
		return pay.Payment{}, false, err
	}
	// From here we must finish the payment, even if the caller no longer waits.
	p, err = pa.cascade.DriveAndAnswer(context.WithoutCancel(ctx), p, routes, cause)
	return p, replayed && err == nil, err
}

// order makes a payment from a request, with the mark of the request in its id. It is not written
// yet.
func (pa *Payments) order(ctx context.Context, scope merchants.Scope, n NewPayment, mark base.Mark, now time.Time) (pay.Payment, error) {
	merchant, shop, err := pa.Tenant(ctx, base.Principal{Scope: scope})
	if err = cmp.Or(err, n.Buyer.Fit(n.OrderID, n.ReturnURL, n.Purchase), merchant.MayBegin(scope.Live), shop.CheckReturn(n.ReturnURL)); err != nil {
		return pay.Payment{}, err
	}
	if !n.Hosted { // our page leads back, and no other (PAY-10)
		n.ReturnURL = ""
	}
	strict := merchant.StrictFor(scope.Live, n.Strict)
	q, err := pa.methods.Quote(scope, methods.Wanted{
		Amount: n.Amount, MethodID: n.PaymentMethodID, Method: n.PaymentMethod, Country: n.Country, Strict: strict, Played: n.Simulate != "",
	})
	if err != nil {
		return pay.Payment{}, err
	}
	if strict {
		if err := sandbox.Rehearse(n.Buyer, q.Rail, "userEmail", "documentId", "userPhone"); err != nil {
			return pay.Payment{}, err
		}
	}
	offered, err := pa.methods.AskedInstallments(scope, merchant.Installments, n.Installments, q)
	if err != nil {
		return pay.Payment{}, err
	}
	if noPage(scope.Live, strict, n.Installments) {
		offered = installment.Terms{}
	}
	terms, reserved, err := pa.plans.Agreed(ctx, scope, merchant, q.Rail)
	if err != nil {
		return pay.Payment{}, err
	}
	return pay.Create(pay.Order{
		ID: pa.MarkedID(pay.PaymentPrefix, now, mark), Scope: scope, Amount: q.USD, Asked: n.Amount, Local: q.Local, Rate: q.Rate.Rate, RateSource: q.Rate.Source, RateAt: q.Rate.At, Rail: q.Rail,
		Country: q.Country, OrderID: n.OrderID, Buyer: n.Buyer, Purchase: n.Purchase, Hosted: n.Hosted, ReturnURL: n.ReturnURL,
		Terms: terms, Reserved: reserved, Installments: offered, Script: pay.Script{Action: n.Simulate, Strict: strict},
	}, now)
}
