package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code is the stable name of an error.
type Code string

// The codes of the service. There may be new ones: have a default case.
const (
	CodeMissingCredentials   Code = "missing_credentials"
	CodeInvalidAPIKey        Code = "invalid_api_key"
	CodeInvalidToken         Code = "invalid_token"
	CodeTokenExpired         Code = "token_expired"
	CodeProductionKeyRefused Code = "production_key_refused"
	CodeShopRequired         Code = "shop_required"
	CodeKeyKindNotAllowed    Code = "key_kind_not_allowed"
	CodeForbidden            Code = "forbidden"

	CodeContentTypeRequired Code = "content_type_required"
	CodeInvalidJSON         Code = "invalid_json"
	CodeInvalidRequest      Code = "invalid_request"
	CodeMissingField        Code = "missing_field"
	CodeNotFound            Code = "not_found"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodePayloadTooLarge     Code = "payload_too_large"

	CodeUnsupportedMethod   Code = "unsupported_method"
	CodeUnsupportedCountry  Code = "unsupported_country"
	CodeUnsupportedCurrency Code = "unsupported_currency"
	CodeAmountInvalid       Code = "amount_invalid"
	CodeAmountBelowMinimum  Code = "amount_below_minimum"
	CodeAmountAboveMaximum  Code = "amount_above_maximum"
	CodeAmountOutOfLimits   Code = "amount_out_of_limits"

	CodeIdempotencyConflict Code = "idempotency_conflict"
	CodeConflictState       Code = "conflict_state"

	CodeCardDeclined      Code = "card_declined"
	CodeInsufficientFunds Code = "insufficient_funds"
	CodeExpiredCard       Code = "expired_card"
	CodeFraudBlocked      Code = "fraud_blocked"
	CodeKYCRequired       Code = "kyc_required"
	CodeThreeDSRequired   Code = "three_ds_required"
	CodeThreeDSFailed     Code = "three_ds_failed"

	CodeBalanceInsufficient   Code = "balance_insufficient"
	CodeSettlementAlreadyPaid Code = "settlement_already_paid"
	CodeClaimAlreadyResolved  Code = "claim_already_resolved"
	CodeRateLimited           Code = "rate_limited"

	CodeShopNotFound                    Code = "shop_not_found"
	CodeMerchantNotFound                Code = "merchant_not_found"
	CodeTransactionNotFound             Code = "transaction_not_found"
	CodeCheckoutSessionNotFound         Code = "checkout_session_not_found"
	CodeCheckoutSessionAlreadyCompleted Code = "checkout_session_already_completed"
	CodeSettlementNotFound              Code = "settlement_not_found"
	CodeClaimNotFound                   Code = "claim_not_found"
	CodeWalletNotFound                  Code = "wallet_not_found"
	CodeWithdrawalNotFound              Code = "withdrawal_not_found"
	CodeWebhookNotFound                 Code = "webhook_not_found"
	CodeWebhookDeliveryNotFound         Code = "webhook_delivery_not_found"
	CodeEventNotFound                   Code = "event_not_found"

	CodeCascadeExhausted   Code = "cascade_exhausted"
	CodeServiceUnavailable Code = "service_unavailable"
	CodeInternal           Code = "internal_error"
)

// Error is a reply that refuses a call.
type Error struct {
	Status      int    `json:"-"`    // HTTP status
	Code        Code   `json:"code"` // "" if the reply is not the service's, but, for example, a proxy's
	Type        string `json:"type"`
	Message     string `json:"message"`      // for people
	Param       string `json:"param"`        // the offending field
	DeclineCode string `json:"decline_code"` // why the card's issuer declined
	RequestID   string `json:"requestId"`    // for support
	// Details is data for programs. A declined payment exists all the same:
	// Details.TransactionID names it.
	Details Details `json:"details"`
	// RetryAfter is how long to wait, according to the reply; 0 if it does not say.
	RetryAfter time.Duration `json:"-"`
	// Replayed means that this is the stored reply to an earlier request with the same
	// IdempotencyKey.
	Replayed bool `json:"-"`
}

// Details is data for programs. Fields that do not apply are zero.
type Details struct {
	Issues        []Issue    `json:"issues"`
	MissingFields []string   `json:"missingFields"`
	HelpURL       string     `json:"helpUrl"`
	Limit         *Limit     `json:"limit"`
	BoundViolated string     `json:"boundViolated"` // min or max
	Reason        string     `json:"reason"`
	ExistingTxID  string     `json:"existingTxId"`
	TransactionID string     `json:"transactionId"`
	RedirectURL   string     `json:"redirectUrl"` // where the shopper must go, with three_ds_required
	Attempts      []Attempt  `json:"attempts"`
	From          Status     `json:"from"` // with conflict_state
	Action        string     `json:"action"`
	Right         string     `json:"right"`    // the missing right, with forbidden
	Balance       *Shortfall `json:"balance"`  // with balance_insufficient
	ReplayID      string     `json:"replayId"` // the running replay to the webhook, with conflict_state
}

// Shortfall is the available balance, and the requested amount.
type Shortfall struct {
	Available Decimal `json:"available"`
	Requested Decimal `json:"requested"`
	Currency  string  `json:"currency"`
}

// Issue is one thing wrong with a request.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Limit bounds an amount in one currency.
type Limit struct {
	Min      Decimal `json:"min"`
	Max      Decimal `json:"max"`
	Currency string  `json:"currency"`
}

// Attempt is one try of the cascade.
type Attempt struct {
	Order      int    `json:"order"`
	Outcome    string `json:"outcome"` // declined, error, timeout, unavailable, limit or skipped
	ReasonCode string `json:"reasonCode"`
	Retryable  bool   `json:"retryable"`
	DurationMs int64  `json:"durationMs"`
}

// Error returns the error as one line for a log.
func (e *Error) Error() string {
	text := fmt.Sprintf("cascada: %d", e.Status)
	if e.Code != "" {
		text += " " + string(e.Code)
	}
	text += ": " + e.Message
	if e.RequestID != "" {
		text += " (" + e.RequestID + ")"
	}
	return text
}

// maxForeign is how many bytes are kept of a reply that is not the service's.
const maxForeign = 200

// newError reads a reply that is not 2xx.
func newError(response *http.Response, body []byte) *Error {
	var envelope struct {
		Error *Error `json:"error"`
	}
	e := &Error{Message: string(body[:min(len(body), maxForeign)])}
	if json.Unmarshal(body, &envelope) == nil && envelope.Error != nil && envelope.Error.Code != "" {
		e = envelope.Error
	}
	if e.Message == "" {
		e.Message = http.StatusText(response.StatusCode)
	}
	e.Status = response.StatusCode
	e.Replayed = response.Header.Get(replayedHeader) == "true"
	if e.RequestID == "" {
		e.RequestID = response.Header.Get("X-Request-Id")
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(max(seconds, 0)) * time.Second
	}
	return e
}
