package mercadopago

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
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
	"cc_rejected_insufficient_amount":      provider.Hard(problem.InsufficientFunds, "insufficient_funds", "the card has insufficient funds"),
	"insufficient_amount":                  provider.Hard(problem.InsufficientFunds, "insufficient_funds", "there are insufficient funds"),
	"insufficient_money":                   provider.Hard(problem.InsufficientFunds, "insufficient_funds", "there are insufficient funds"),
	"cc_rejected_bad_filled_date":          provider.Hard(problem.ExpiredCard, "expired_card", "the card has expired, or its date is wrong"),
	"cc_rejected_bad_filled_card_number":   provider.Hard(problem.CardDeclined, "incorrect_number", "the card's number is wrong"),
	"cc_rejected_bad_filled_security_code": provider.Hard(problem.CardDeclined, "incorrect_cvc", "the card's security code is wrong"),
	"cc_rejected_bad_filled_other":         provider.Hard(problem.CardDeclined, "incorrect_data", "the card's details are wrong"),
	"cc_rejected_blacklist":                provider.Hard(problem.FraudBlocked, "fraud_suspected", "the charge was blocked for suspected fraud"),
	"cc_rejected_high_risk":                provider.Hard(problem.FraudBlocked, "fraud_suspected", "the charge was blocked for suspected fraud"),
	"cc_rejected_fraud":                    provider.Hard(problem.FraudBlocked, "fraud_suspected", "the charge was blocked for suspected fraud"),
	"rejected_high_risk":                   provider.Hard(problem.FraudBlocked, "fraud_suspected", "the charge was blocked for suspected fraud"),
	"rejected_by_regulations":              provider.Hard(problem.CardDeclined, "not_permitted", "regulations do not allow the payment"),
	"payer_unavailable":                    provider.Hard(problem.CardDeclined, "shopper_account_closed", "the shopper's account cannot pay"),
	"cc_rejected_card_disabled":            provider.Hard(problem.CardDeclined, "card_disabled", "the card is not active"),
	"cc_rejected_card_type_not_allowed":    provider.Hard(problem.CardDeclined, "card_not_supported", "the card cannot be used for this"),
	"cc_rejected_duplicated_payment":       provider.Hard(problem.CardDeclined, "duplicate_transaction", "the card was charged the same amount just before"),
	"cc_rejected_max_attempts":             provider.Hard(problem.CardDeclined, "too_many_attempts", "the card was tried too often"),
	"cc_amount_rate_limit_exceeded":        provider.Hard(problem.CardDeclined, "limit_exceeded", "the amount is above the limit of the card or of the method"),
	"cc_rejected_3ds_challenge":            provider.Hard(problem.ThreeDSFailed, "three_ds_failed", "the shopper did not pass the issuer's challenge"),
	"cc_rejected_3ds_mandatory":            provider.Soft(problem.ThreeDSFailed, "three_ds_missing", "the issuer wants the shopper to be authenticated"),
	"cc_rejected_call_for_authorize":       provider.Soft(problem.CardDeclined, "call_issuer", "the card's issuer wants a call first"),
	"cc_rejected_card_error":               provider.Soft(problem.CardDeclined, "processing_error", "the card could not be charged"),
	"cc_rejected_time_out":                 provider.Soft(problem.CardDeclined, "issuer_timeout", "the card's issuer did not answer"),
	"cc_rejected_plugin_pm":                provider.Soft(problem.CardDeclined, "processing_error", "the card could not be charged"),
	"invalid_esc":                          provider.Soft(problem.CardDeclined, "processing_error", "the card could not be charged"),
	"cc_rejected_invalid_installments":     provider.Soft(problem.CardDeclined, "installments_not_supported", "the card does not allow these instalments"),
	"cc_rejected_other_reason":             provider.Soft(problem.CardDeclined, "do_not_honor", "the card's issuer declined the charge"),
	"rejected_by_bank":                     provider.Soft(problem.CardDeclined, "do_not_honor", "the bank declined the payment"),
	"bank_rejected":                        provider.Soft(problem.CardDeclined, "do_not_honor", "the bank declined the payment"),
	"bank_error":                           provider.Soft("", "bank_error", "the bank could not make the payment"),
	"rejected_insufficient_data":           provider.Soft("", "data_missing", "the payment lacks details of the shopper"),
	"rejected_by_biz_rule":                 provider.Soft("", "not_allowed_by_rules", "the provider's rules do not allow the payment"),
	"rejected_other_reason":                provider.Soft("", "processing_error", "the payment could not be made"),
	"collector_unavailable":                provider.Soft("", "account_restricted", "the account cannot take payments"),
}
