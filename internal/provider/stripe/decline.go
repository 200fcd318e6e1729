package stripe

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// refusal is a failed attempt in our terms. Stripe's own message is not passed on: it may
// name Stripe.
func (p *Provider) refusal(e apiError) pay.Outcome {
	reason := word(e.Decline)
	if reason == "" {
		reason = word(e.Code)
	}
	o := pay.Outcome{Kind: pay.Declined, Decline: reason}
	switch reason {
	case "payment_intent_payment_attempt_expired", "expired_payment_method":
		o.Kind, o.Decline = pay.Lapsed, ""
	case "payment_intent_payment_attempt_failed", "payment_method_customer_decline", "payment_method_provider_decline":
		o.Message = "the shopper's bank declined the payment" // Pix, transfers, vouchers
	case "payment_method_provider_timeout", "payment_method_not_available":
		o.Soft, o.Message = true, "the payment method does not answer now"
	case "insufficient_funds", "card_velocity_exceeded", "withdrawal_count_limit_exceeded":
		o.Code, o.Message = problem.InsufficientFunds, "the card has insufficient funds, or has reached its limit"
	case "expired_card", "invalid_expiry_month", "invalid_expiry_year":
		o.Code, o.Message = problem.ExpiredCard, "the card has expired"
	case "fraudulent", "lost_card", "stolen_card", "pickup_card", "restricted_card", "merchant_blacklist", "security_violation",
		"highest_risk_level", "elevated_risk_level", "rule":
		o.Code, o.Message = problem.FraudBlocked, "the charge was blocked as a risk"
	case "authentication_required", "authentication_failure", "payment_intent_authentication_failure", "mobile_device_authentication_required":
		o.Code, o.Message = problem.ThreeDSFailed, "the shopper did not pass the issuer's challenge"
	case "do_not_honor", "generic_decline", "card_declined", "no_action_taken", "call_issuer", "approve_with_id", "try_again_later",
		"reenter_transaction", "issuer_not_available", "processing_error",
		"card_not_supported", "currency_not_supported", "not_permitted", "service_not_allowed", "transaction_not_allowed",
		"card_decline_rate_limit_exceeded":
		o.Code, o.Soft, o.Message = problem.CardDeclined, true, "the card's issuer declined the charge"
	case "incorrect_number", "invalid_number", "incorrect_cvc", "invalid_cvc", "incorrect_zip", "incorrect_address", "incorrect_pin",
		"invalid_pin", "offline_pin_required", "online_or_offline_pin_required", "pin_try_exceeded", "invalid_account",
		"new_account_information_available", "invalid_amount", "duplicate_transaction", "stop_payment_order",
		"revocation_of_authorization", "revocation_of_all_authorizations", "testmode_decline":
		o.Code, o.Message = problem.CardDeclined, "the card's issuer declined the charge"
	default: // certainly declined; only the reason is unknown
		p.Strange("declined", reason)
		o.Code, o.Message, o.Soft = problem.CardDeclined, "the payment was declined", e.Advice == "try_again_later"
	}
	if e.Advice == "do_not_try_again" {
		o.Soft = false
	}
	return o
}
