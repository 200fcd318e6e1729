package stripe

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// declines are by decline_code, or code if there is none.
var declines = provider.Declines{
	// Pix, transfers, vouchers.
	"payment_intent_payment_attempt_failed": decline.BankDeclined, "payment_method_customer_decline": decline.BankDeclined, "payment_method_provider_decline": decline.BankDeclined,
	"payment_method_provider_timeout": decline.IssuerUnavailable, "payment_method_not_available": decline.IssuerUnavailable,

	"insufficient_funds": decline.InsufficientFunds, "card_velocity_exceeded": decline.LimitExceeded, "withdrawal_count_limit_exceeded": decline.LimitExceeded,
	"expired_card": decline.ExpiredCard, "invalid_expiry_month": decline.InvalidExpiry, "invalid_expiry_year": decline.InvalidExpiry,
	"fraudulent": decline.FraudSuspected, "merchant_blacklist": decline.FraudSuspected, "security_violation": decline.FraudSuspected,
	"highest_risk_level": decline.FraudSuspected, "elevated_risk_level": decline.FraudSuspected, "rule": decline.FraudSuspected,
	"lost_card": decline.LostCard, "stolen_card": decline.StolenCard, "pickup_card": decline.RestrictedCard, "restricted_card": decline.RestrictedCard,
	"authentication_required": decline.AuthenticationNeeded, "authentication_failure": decline.NotAuthenticated,
	"payment_intent_authentication_failure": decline.NotAuthenticated, "mobile_device_authentication_required": decline.NotAuthenticated,

	"do_not_honor": decline.DoNotHonor, "generic_decline": decline.DoNotHonor, "card_declined": decline.DoNotHonor, "no_action_taken": decline.DoNotHonor,
	"try_again_later": decline.DoNotHonor, "do_not_try_again": decline.NotPermitted, "approve_with_id": decline.DoNotHonor, "reenter_transaction": decline.DoNotHonor,
	"card_decline_rate_limit_exceeded": decline.TooManyTries, "call_issuer": decline.CallIssuer, "issuer_not_available": decline.IssuerUnavailable, "processing_error": decline.ProcessingError,
	"card_not_supported": decline.NotSupported, "currency_not_supported": decline.NotSupported, "not_permitted": decline.NotPermitted,
	"service_not_allowed": decline.NotSupported, "transaction_not_allowed": decline.NotSupported,

	"incorrect_number": decline.InvalidNumber, "invalid_number": decline.InvalidNumber, "invalid_account": decline.InvalidNumber, "new_account_information_available": decline.InvalidNumber,
	"incorrect_cvc": decline.InvalidCVC, "invalid_cvc": decline.InvalidCVC, "incorrect_zip": decline.InvalidData, "incorrect_address": decline.InvalidData,
	"incorrect_pin": decline.InvalidPIN, "invalid_pin": decline.InvalidPIN, "offline_pin_required": decline.InvalidPIN, "online_or_offline_pin_required": decline.InvalidPIN,
	"pin_try_exceeded": decline.TooManyTries, "invalid_amount": decline.NotPermitted, "duplicate_transaction": decline.Duplicate,
	"stop_payment_order": decline.NotPermitted, "revocation_of_authorization": decline.NotPermitted, "revocation_of_all_authorizations": decline.NotPermitted,
	"testmode_decline": decline.NotPermitted,
}

// refusal is a failed attempt in our terms. Stripe's own message is not passed on: it may name Stripe. Its advice comes from the
// card's network, and says more than the code.
func (p *Provider) refusal(e apiError) pay.Outcome {
	reason := e.reason()
	switch reason {
	case "payment_intent_payment_attempt_expired", "expired_payment_method":
		return pay.Outcome{Kind: pay.Lapsed}
	}
	o := p.Declined(declines, reason, "")
	switch e.Advice {
	case "do_not_try_again":
		o.Soft = false
	case "try_again_later":
		o.Soft = o.Soft || declines[reason] == ""
	}
	return o
}

// reason is Stripe's word for a failure.
func (e apiError) reason() string {
	if reason := word(e.Decline); reason != "" {
		return reason
	}
	return word(e.Code)
}

// tries is the failure of a PaymentIntent's last try on a hosted page. Each has an event of its own, so none is missed. at is when,
// in seconds of Unix, if an event says so; an intent does not.
func (p *Provider) tries(i intent, at int64) []decline.Try {
	if i.Error == nil {
		return nil
	}
	o := p.refusal(*i.Error)
	name := i.Error.Charge // none without a charge: the challenge failed
	if name == "" {
		name = i.Error.Method.ID
	}
	if o.Kind != pay.Declined || name == "" { // without a name it cannot be told apart
		return nil
	}
	try := provider.Try(i.ID+"/"+name, max(at, 0)*1_000_000, decline.Reason(o.Decline), i.Error.reason())
	try.Soft, try.Country = o.Soft, provider.Country(i.Error.Method.Card.Country)
	return []decline.Try{try}
}
