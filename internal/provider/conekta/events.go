package conekta

import (
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// meaning is what an event means for money.
type meaning int

const (
	ofOrder      meaning = iota + 1 // the order is read: what was paid, what went back, and its chargebacks
	ofChargeback                    // so is the order of the charge that it names
	ofReversal                      // a store took the cash of a charge back
	noMoney                         // it moves no money of ours
)

// events are those that a webhook can subscribe (conekta/openapi 82ce68e, mocks/conekta_api.json).
// Those of orders and charges are explained in developers.conekta.com/docs/order and docs/charge.
var events = map[text]meaning{
	"order.paid": ofOrder, "order.expired": ofOrder, "order.canceled": ofOrder, "order.declined": ofOrder, "order.voided": ofOrder, "order.fraudulent": ofOrder,
	"order.refunded": ofOrder, "order.partially_refunded": ofOrder, "order.charged_back": ofOrder, "order.updated": ofOrder,
	"charge.paid": ofOrder, "charge.expired": ofOrder, "charge.canceled": ofOrder, "charge.declined": ofOrder, "charge.fraudulent": ofOrder, "charge.refunded": ofOrder,
	"charge.reversed": ofReversal,
	// Of refunds that the shopper collects in a store. If they do not name the order, a query of the refund
	// has to find it.
	"cash_refund.canceled": ofOrder, "cash_refund.refunded": ofOrder, "cash_refund.expired": ofOrder,
	"charge.chargeback.created": ofChargeback, "charge.chargeback.updated": ofChargeback, "charge.chargeback.under_review": ofChargeback,
	"charge.chargeback.lost": ofChargeback, "charge.chargeback.won": ofChargeback,
	// The shopper has not paid yet, or nothing has come of it.
	"order.created": noMoney, "order.pending_payment": noMoney, "order.pre_authorized": noMoney, "order.under_fraud_review": noMoney,
	"charge.created": noMoney, "charge.preauthorized": noMoney, "charge.pending_confirmation": noMoney, "charge.under_fraud_review": noMoney,
	"charge.score_updated": noMoney, "cash_refund.created": noMoney,
	// The merchant's money goes from Conekta to its bank. No book of ours has Conekta's balance.
	"payout.created": noMoney, "payout.retrying": noMoney, "payout.paid_out": noMoney, "payout.failed": noMoney, "cashout.canceled": noMoney, "cashout.confirmed": noMoney,
	"payee.created": noMoney, "payee.updated": noMoney, "payee.deleted": noMoney,
	"payee.payout_method.created": noMoney, "payee.payout_method.updated": noMoney, "payee.payout_method.deleted": noMoney,
	// Of products that are not used, and of the account itself.
	"plan.created": noMoney, "plan.updated": noMoney, "plan.deleted": noMoney, "subscription.created": noMoney, "subscription.paused": noMoney, "subscription.resumed": noMoney,
	"subscription.canceled": noMoney, "subscription.expired": noMoney, "subscription.updated": noMoney, "subscription.paid": noMoney, "subscription.payment_failed": noMoney,
	"customer.created": noMoney, "customer.updated": noMoney, "customer.deleted": noMoney, "customer.payment_source.card.blocked": noMoney,
	"webhook.created": noMoney, "webhook.updated": noMoney, "webhook.deleted": noMoney, "receipt.created": noMoney, "webhook_ping": noMoney,
}

// means is what an event means. A new one is reported, and its order is read: it may mean money.
func (a *account) means(e news) meaning {
	m, known := events[e.Type]
	if !known && e.Type != "" {
		a.Strange("event", string(e.Type))
		return ofOrder
	}
	return m
}

// reversal is the outcome of an order of which a store took the cash of a charge back, by its event.
// If the order still has the charge as paid, the operator has to find out.
func (o order) reversal(out pay.Outcome, id string) pay.Outcome {
	at := slices.IndexFunc(o.charges(), func(c charge) bool { return string(c.ID) == id })
	if out.Kind == pay.Reversed || at < 0 && out.Kind != pay.Approved {
		return out
	}
	if at < 0 || slices.Contains(paidWords, o.charges()[at].Status) {
		out.Kind = pay.Reversed
		return out
	}
	c := o.charges()[at]
	local := money.New(c.Amount, money.Currency(c.Currency))
	if _, err := money.ParseCurrency(string(c.Currency)); err != nil || !local.IsPositive() {
		return out
	}
	return pay.Outcome{Kind: pay.Reversed, ProviderRef: string(o.ID), MoneyRef: id, Local: local, Back: &pay.Reversal{Total: local}}
}
