package pay

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
)

// Code is the stable, machine-readable name of an error (ERR-2).
type Code string

// The codes.
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

// Error is an error that is shown to the caller as it is. Everything else is
// a fault: logged, and shown as internal_error.
type Error struct {
	Code    Code
	Message string
	Param   string // the offending field, as the caller wrote it
	Decline string // the card's decline reason
	Details Details
	Cause   error // logged, never shown
}

// Details holds what a client may act on (ERR-1). Empty fields
// are not sent.
type Details struct {
	Issues        []Issue
	MissingFields []string
	HelpURL       string
	Limit         *LimitDetail
	BoundViolated string // "min" or "max"
	Reason        string
	ExistingTxID  string
	TransactionID string
	RedirectURL   string
	Attempts      []AttemptTrace
	From          string // the status that forbids it
	Action        string
	Right         string // that a key lacks
	Balance       *Shortfall
	ReplayID      string // that runs
}

// Shortfall is what there is for something, and what was asked for.
type Shortfall struct{ Available, Requested money.Amount }

// beyond returns an error about more USD than there is. message has a place for each of the two.
func beyond(param, message string, requested, available int64) *Error {
	d := Shortfall{money.New(max(0, available), money.USD), money.New(requested, money.USD)}
	return &Error{Code: CodeBalanceInsufficient, Param: param, Message: fmt.Sprintf(message, d.Requested, d.Available), Details: Details{Balance: &d}}
}

// Issue is one thing wrong with a request.
type Issue struct {
	Path    string `json:"path" doc:"The field, as the caller wrote it"`
	Message string `json:"message"`
}

// LimitDetail is the pair of bounds of which an amount broke one.
type LimitDetail struct{ Min, Max money.Amount }

// AttemptTrace is what a merchant may know of an attempt: never the
// provider's name (SVC-7).
type AttemptTrace struct {
	Order      int    `json:"order"`
	Outcome    string `json:"outcome" enum:"declined,error,timeout,unavailable,limit,skipped"`
	ReasonCode string `json:"reasonCode"`
	Retryable  bool   `json:"retryable"`
	DurationMs int64  `json:"durationMs"`
}

// Error makes *Error an error; it is what the log shows.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// NewError returns an error with a code and a message.
func NewError(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// FieldError returns an error about one field.
func FieldError(code Code, param, message string) *Error {
	return &Error{Code: code, Message: message, Param: param}
}

// Invalid returns one invalid_request that tells all that is wrong, nil where
// nothing is.
func Invalid(issues ...Issue) error {
	if len(issues) == 0 {
		return nil
	}
	var messages []string
	for _, i := range issues {
		messages = append(messages, i.Message)
	}
	return &Error{Code: CodeInvalidRequest, Param: issues[0].Path, Message: strings.Join(messages, "; "), Details: Details{Issues: issues}}
}

// conflict returns an error about the state that something is in.
func conflict(reason, message string) *Error {
	return &Error{Code: CodeConflictState, Message: message, Details: Details{Reason: reason}}
}
