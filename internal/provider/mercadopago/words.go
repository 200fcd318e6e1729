package mercadopago

import (
	"github.com/cascadapay/cascada/internal/pay"
)

// topic is what a notification's topic means for us.
type topic int

// The meanings of topics.
const (
	none         topic = iota // nothing about our money
	ofMoney                   // of a payment: its state is queried
	ofChargeback              // of a chargeback, which is queried
	ofClaim                   // of a claim about a payment: the state of the payment is queried
	alert                     // of a payment that is suspected of fraud: its state is queried
)

// topics are all that Mercado Pago documents (additional information about notifications, and webhooks; devsite-docs and the pages of
// 2024 to 2026), by the word in a notification's body. Those without a line here are none.
var topics = map[text]topic{
	"payment":              ofMoney,
	"topic_chargebacks_wh": ofChargeback,
	"chargebacks":          ofChargeback,
	// Money has not moved yet. What the alert asks for, to cancel the order and not to deliver it, is the seller's; the cancellation, the
	// refund or the chargeback that follows is notified of as a payment. It is not sent twice.
	"stop_delivery_op_wh":   alert,
	"delivery_cancellation": alert,
	// A claim has no amount. The mediation that it leads to is a state of its payment, and so is the result. Tokens may not be allowed to
	// read claims (403 in October 2026): then the notification of the payment tells.
	"topic_claims_integration_wh": ofClaim,
	"claim":                       ofClaim,
	// An order is the sum of its payments, which are notified of one by one.
	"topic_merchant_order_wh": none,
	"merchant_order":          none,
	// Of products that this adapter does not use: the Orders API, subscriptions, terminals, the wallet's agreements, stored cards.
	"order": none, "orders": none,
	"subscription_authorized_payment": none, "subscription_preapproval": none, "subscription_preapproval_plan": none,
	"point_integration_wh": none, "point_integration_ipn": none, "wallet_connect": none, "delivery": none,
	"topic_card_id_wh": none, "automatic-payments": none,
	// The seller withdrew the application's access: every later call is refused with 401, which is an unavailable account.
	"mp-connect": none,
}

// covered are the details of a payment whose mediation Mercado Pago paid for, in whole or in part. Its reference says of bpp_refunded
// that Mercado Pago covers the refund; sellers' statements say that it is taken from them, and that bpp_covered is not. So what the
// seller lost is the operator's to find out.
var covered = map[text]bool{"bpp_refunded": true, "bpp_covered": true, "partially_bpp_refunded": true, "partially_bpp_covered": true}

// refundKinds are the meanings of a refund's status.
var refundKinds = map[text]pay.OutcomeKind{
	"approved": pay.Approved, "in_process": pay.Awaiting, "pending": pay.Awaiting, "authorized": pay.Awaiting,
	"rejected": pay.Declined, "cancelled": pay.Declined,
}
