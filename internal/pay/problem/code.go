package problem

// Code is the stable, machine-readable name of an error (ERR-2). Package message says how each is shown.
type Code string

// The codes.
const (
	MissingCredentials   Code = "missing_credentials"
	InvalidAPIKey        Code = "invalid_api_key"
	InvalidToken         Code = "invalid_token"
	TokenExpired         Code = "token_expired"
	ProductionKeyRefused Code = "production_key_refused"
	ShopRequired         Code = "shop_required"
	KeyKindNotAllowed    Code = "key_kind_not_allowed"
	Forbidden            Code = "forbidden"

	ContentTypeRequired Code = "content_type_required"
	InvalidJSON         Code = "invalid_json"
	InvalidRequest      Code = "invalid_request"
	MissingField        Code = "missing_field"
	NotFound            Code = "not_found"
	MethodNotAllowed    Code = "method_not_allowed"
	PayloadTooLarge     Code = "payload_too_large"

	UnsupportedMethod   Code = "unsupported_method"
	UnsupportedCountry  Code = "unsupported_country"
	UnsupportedCurrency Code = "unsupported_currency"
	AmountInvalid       Code = "amount_invalid"
	AmountBelowMinimum  Code = "amount_below_minimum"
	AmountAboveMaximum  Code = "amount_above_maximum"
	AmountOutOfLimits   Code = "amount_out_of_limits"

	IdempotencyConflict Code = "idempotency_conflict"
	ConflictState       Code = "conflict_state"

	CardDeclined      Code = "card_declined"
	InsufficientFunds Code = "insufficient_funds"
	ExpiredCard       Code = "expired_card"
	FraudBlocked      Code = "fraud_blocked"
	KYCRequired       Code = "kyc_required"
	ThreeDSRequired   Code = "three_ds_required"
	ThreeDSFailed     Code = "three_ds_failed"

	BalanceInsufficient   Code = "balance_insufficient"
	SettlementAlreadyPaid Code = "settlement_already_paid"
	ClaimAlreadyResolved  Code = "claim_already_resolved"
	RateLimited           Code = "rate_limited"

	ShopNotFound                    Code = "shop_not_found"
	MerchantNotFound                Code = "merchant_not_found"
	TransactionNotFound             Code = "transaction_not_found"
	CheckoutSessionNotFound         Code = "checkout_session_not_found"
	CheckoutSessionAlreadyCompleted Code = "checkout_session_already_completed"
	SettlementNotFound              Code = "settlement_not_found"
	ClaimNotFound                   Code = "claim_not_found"
	WalletNotFound                  Code = "wallet_not_found"
	WithdrawalNotFound              Code = "withdrawal_not_found"
	WebhookNotFound                 Code = "webhook_not_found"
	WebhookDeliveryNotFound         Code = "webhook_delivery_not_found"
	EventNotFound                   Code = "event_not_found"

	CascadeExhausted   Code = "cascade_exhausted"
	ServiceUnavailable Code = "service_unavailable"
	Internal           Code = "internal_error"
)
