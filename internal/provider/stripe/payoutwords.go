package stripe

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

const (
	unreadable = "the provider's answer cannot be read"
	// slowest is how long after posting a payment arrives at the latest, if Stripe names no
	// day: the documents say one to seven days.
	slowest = 7 * day
)

// refusals are by the error's type in the answer, or by its code.
var refusals = payouts.Reasons(map[payouts.Reason]string{
	payouts.NotHere("insufficient_funds", "the account has too little money"):              "insufficient_funds",
	payouts.NotHere("not_permitted", "the account is not allowed to make this payout"):     "feature_not_enabled financial_account_not_open outbound_payment_not_allowed",
	payouts.NotHere("limit_exceeded", "the account has reached a limit of its own"):        "quota_exceeded recipient_amount_limit_exceeded recipient_count_limit_exceeded",
	payouts.NotHere("beneficiary_incomplete", "the account wants more of the beneficiary"): "restricted account_not_configured_as_recipient recipient_feature_not_active recipient_feature_not_active_for_suitable_delivery_option",
	payouts.NotHere("refused", "the account does not pay to this bank account"):            "invalid_payout_method",
	payouts.Rejected("invalid_account", "the bank account's numbers are wrong"):            "invalid_payment_method",
	payouts.Rejected("compliance_rejected", "the bank account may not be paid"):            "blocked_by_stripe",
})

// endings are by the reason of a payment that failed or was returned
// (docs.stripe.com/api/v2/money-management/outbound-payments/object).
var endings = payouts.Reasons(map[payouts.Reason]string{
	payouts.Rejected("invalid_account", "the bank knows no such account"):                                      "payout_method_does_not_exist payout_method_invalid_account_number",
	payouts.Rejected("invalid_account", "the account belongs to somebody else"):                                "payout_method_holder_name_incorrect payout_method_holder_details_incorrect payout_method_holder_address_incorrect",
	payouts.Rejected("account_closed", "the account is closed"):                                                "payout_method_closed",
	payouts.Rejected("compliance_rejected", "the payout was rejected for compliance"):                          "review_rejected payout_method_restricted",
	payouts.Rejected("limit_exceeded", "the beneficiary's account may not receive that much, or not so often"): "payout_method_amount_limit_exceeded payout_method_usage_frequency_limit_exceeded",
	payouts.Rejected("rejected", "the beneficiary's bank rejected the payout"):                                 "payout_method_declined payout_method_expired payout_method_canceled_by_customer recalled",
	payouts.NotHere("unsupported", "the account cannot pay to this bank account"):                              "payout_method_unsupported payout_method_currency_unsupported",
	payouts.NotHere("provider_error", "the payout failed on its way"):                                          "fx_rate_drift_exceeded_after_review unknown_failure",
})

// reason is why there is no usable answer, for the operator.
func (u *unanswered) reason() string {
	switch {
	case u.status == http.StatusUnauthorized, u.status == http.StatusForbidden:
		return fmt.Sprintf("the account's key is refused, or may not do this (status %d)", u.status)
	case u.status == http.StatusTooManyRequests:
		return "the account sent too many requests"
	case u.why != "":
		return u.why
	}
	return fmt.Sprintf("the provider answers with status %d", u.status)
}

// keyUsed reports whether Stripe says that our key was used before, or is in use.
func (u *unanswered) keyUsed() bool {
	return u.status == http.StatusConflict || strings.HasPrefix(u.kind, "idempotency")
}

// refused is what a call proves that moved no money.
func (u *unanswered) refused() pay.PayoutOutcome {
	why, known := refusals[u.kind]
	switch {
	case known:
	case u.status == 0 || u.status >= 500:
		why = payouts.NotHere("unreachable", "the account does not answer: "+u.reason())
	default:
		why = payouts.NotHere("refused", "the account does not accept the payout: "+u.reason())
	}
	return why.Outcome()
}

// unbegun is the outcome of a call that failed before the payment call. No money moved,
// unless an earlier call moved it. A key that was used before also means that there was an
// earlier call.
func unbegun(r payouts.Request, f *unanswered) pay.PayoutOutcome {
	if r.Calls != 1 || f.keyUsed() {
		return payouts.Unknown("the payout is not started again: " + f.reason())
	}
	return f.refused()
}

// unpaid is the outcome of a payment call that returned no payment. A refusal proves
// something only for the first call: Stripe may refuse before it looks at our key.
// Insufficient funds is the exception: Stripe checks the balance while it pays, and if an
// earlier call had paid, it would return that payment.
func unpaid(r payouts.Request, f *unanswered) pay.PayoutOutcome {
	var proof bool
	switch f.status {
	case 0:
		proof = f.never
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		proof = true
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusNotFound, http.StatusUnprocessableEntity:
		proof = f.kind != "" && f.kind != "api_error"
	}
	if f.keyUsed() || !proof || r.Calls != 1 && f.kind != "insufficient_funds" {
		return payouts.Unknown("the payment was not confirmed: " + f.reason())
	}
	return f.refused()
}

// outcome is the outcome of a payment.
func (pa *payer) outcome(found payment, r payouts.Request) pay.PayoutOutcome {
	o := pay.PayoutOutcome{Kind: pay.PayoutUnknown, ProviderRef: found.ID, Local: found.credited()}
	switch found.Status {
	case "processing":
		o.Kind = pay.PayoutAccepted
	case "posted": // it has left, but has not arrived
		at, told := found.arrives()
		wait := at.Sub(pa.Now())
		switch {
		case told && wait <= 0 && o.Local != (money.Amount{}):
			o.Kind = pay.PayoutPaid
		case told && wait <= 0:
			o.Message = unreadable
		default:
			o.Kind, o.Message = pay.PayoutAccepted, "the payout has left and will arrive"
			if told && !r.Now.IsZero() {
				o.CheckAt = r.Now.Add(wait) // by the merchant's clock
			}
		}
	case "failed":
		o = pa.ended("failure", found.Details.Failed.Reason)
	case "canceled":
		o = payouts.Rejected("rejected", "a person canceled the payout before it was paid").Outcome()
	case "returned":
		back := o.Local
		o = pa.ended("return", found.Details.Returned.Reason)
		o.Kind, o.Local = pay.PayoutReturned, back
	default:
		pa.Strange("payout", found.Status)
		o.Message = "the payout's status is unknown to us"
	}
	o.ProviderRef = found.ID
	return o
}

// ended is the outcome of a payment that did not arrive, which is final. An unknown reason
// is reported; the payment has ended all the same.
func (pa *payer) ended(of, text string) pay.PayoutOutcome {
	why, known := endings[text]
	if !known {
		why = payouts.Rejected("rejected", "the payout did not arrive")
		if text != "" {
			pa.Strange(of, cmp.Or(word(text), "a text that is not a code")) // the reason may hold anything
		}
	}
	return why.Outcome()
}

// arrives is when a posted payment counts as arrived: at the time that Stripe expects, or
// at the end of the day if it names only a day.
func (p payment) arrives() (at time.Time, told bool) {
	if at, err := time.Parse(time.RFC3339, p.Arrival); err == nil {
		if at.UTC().Truncate(day).Equal(at) {
			at = at.Add(day)
		}
		return at, true
	}
	if at, err := time.Parse(time.RFC3339, p.Moved.Posted); err == nil {
		return at.Add(slowest), true
	}
	return time.Time{}, false
}
