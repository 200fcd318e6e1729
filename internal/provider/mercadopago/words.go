package mercadopago

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
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
// 2024 to 2026), by the word in a notification's body. Any other is reported as unknown, and tells nothing.
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

// declines are by the status_detail of a rejected payment: those of the pages "payment creation results", of the OpenAPI document, and
// the few that only the wallet's pages and Mercado Pago's own SDK for iOS have. Where the bank, Mercado Pago's rules or what it lacks is
// the reason, another provider may succeed.
var declines = provider.Declines{
	"cc_rejected_insufficient_amount":      decline.InsufficientFunds,
	"insufficient_amount":                  decline.InsufficientFunds,
	"insufficient_money":                   decline.InsufficientFunds,
	"cc_rejected_bad_filled_date":          decline.ExpiredCard,
	"cc_rejected_bad_filled_card_number":   decline.InvalidNumber,
	"cc_rejected_bad_filled_security_code": decline.InvalidCVC,
	"cc_rejected_bad_filled_other":         decline.InvalidData,
	"cc_rejected_blacklist":                decline.FraudSuspected,
	"cc_rejected_high_risk":                decline.FraudSuspected,
	"cc_rejected_fraud":                    decline.FraudSuspected,
	"rejected_high_risk":                   decline.FraudSuspected,
	"rejected_by_regulations":              decline.NotPermitted,
	"payer_unavailable":                    decline.AccountUnavailable,
	"cc_rejected_card_disabled":            decline.InactiveCard,
	"cc_rejected_card_type_not_allowed":    decline.NotSupported,
	"cc_rejected_duplicated_payment":       decline.Duplicate,
	"cc_rejected_max_attempts":             decline.TooManyTries,
	"cc_amount_rate_limit_exceeded":        decline.LimitExceeded,
	"cc_rejected_3ds_challenge":            decline.NotAuthenticated,
	"cc_rejected_3ds_mandatory":            decline.AuthenticationNeeded,
	"cc_rejected_call_for_authorize":       decline.CallIssuer,
	"cc_rejected_card_error":               decline.ProcessingError,
	"cc_rejected_time_out":                 decline.IssuerUnavailable,
	"cc_rejected_plugin_pm":                decline.ProcessingError,
	"invalid_esc":                          decline.ProcessingError,
	"cc_rejected_invalid_installments":     decline.NoInstallments,
	"cc_rejected_other_reason":             decline.DoNotHonor,
	"rejected_by_bank":                     decline.DoNotHonor,
	"bank_rejected":                        decline.DoNotHonor,
	"bank_error":                           decline.IssuerUnavailable,
	"rejected_insufficient_data":           decline.ProcessingError,
	"rejected_by_biz_rule":                 decline.ProcessingError,
	"rejected_other_reason":                decline.ProcessingError,
	"collector_unavailable":                decline.ProcessingError,
}
