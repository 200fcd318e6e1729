package problem

import (
	"maps"
	"slices"
)

// Code is the stable, machine-readable name of an error (ERR-2).
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

// Shown is how a code is shown and explained to callers.
type Shown struct {
	Status  int // of HTTP
	Kind    Kind
	Meaning string // a sentence for the documents
}

// table has a row for every code (ERR-2, ERR-3): its status and kind, and its text in the documents.
// The rest of its example is in internal/api/openapi.
var table = map[Code]Shown{
	MissingCredentials:   {401, KindAuthentication, "There is no Authorization header, or it is empty."},
	InvalidAPIKey:        {401, KindAuthentication, "The key is unknown, revoked or of another environment, or a refresh token was sent in its place."},
	InvalidToken:         {401, KindAuthentication, "The token is damaged, altered or signed by somebody else."},
	TokenExpired:         {401, KindAuthentication, "The access token has expired: get a new one from /auth/refresh or /auth/token."},
	ProductionKeyRefused: {400, KindInvalidRequest, "This is for the sandbox only: use a test key."},
	ShopRequired:         {401, KindAuthentication, "The credentials are the whole merchant's: name the shop with shopId, or use a shop's own key."},
	KeyKindNotAllowed:    {403, KindPermission, "A publishable key may not do this: use a secret key."},
	Forbidden:            {403, KindPermission, "The merchant or shop named in the body is not one of these credentials'."},

	ContentTypeRequired: {415, KindInvalidRequest, "The body must be sent as application/json."},
	InvalidJSON:         {400, KindInvalidRequest, "The body is not JSON."},
	InvalidRequest:      {400, KindInvalidRequest, "A parameter, header or field is wrong: details.issues lists each."},
	MissingField:        {400, KindInvalidRequest, "A required field is absent: param names it."},
	NotFound:            {404, KindInvalidRequest, "There is no such thing here, or it is another merchant's."},
	MethodNotAllowed:    {405, KindInvalidRequest, "The path does not take this HTTP method; the Allow header lists those it takes."},
	PayloadTooLarge:     {413, KindInvalidRequest, "The body is larger than 1 MiB, or a file of evidence is larger than its field allows."},

	UnsupportedMethod:   {400, KindInvalidRequest, "The payment method is unknown, or not for this environment."},
	UnsupportedCountry:  {400, KindInvalidRequest, "The payment method is not available in this country."},
	UnsupportedCurrency: {400, KindInvalidRequest, "There is no rate for the currency, or the payment method does not take it."},
	AmountInvalid:       {400, KindInvalidRequest, "The amount is not a JSON number above 0 with at most the decimals of its currency, or it is worth less than a cent of a dollar."},
	AmountBelowMinimum:  {400, KindInvalidRequest, "The amount is below the minimum: of a withdrawal, its fee or the least that an account pays out."},
	AmountAboveMaximum:  {400, KindInvalidRequest, "The amount is above the maximum."},
	AmountOutOfLimits:   {422, KindInvalidRequest, "The local amount is outside the method's bounds: details.limit gives them."},

	IdempotencyConflict: {409, KindIdempotency, "details.reason body_differs: the Idempotency-Key was used with another body. header_differs: it was used with the same body and another header, which param names. request_in_progress: its first request is still running; send this one again."},
	ConflictState:       {409, KindConflict, "The object's state does not allow this."},

	CardDeclined:      {402, KindCard, "The issuer declined; decline_code says why."},
	InsufficientFunds: {402, KindCard, "The card does not have enough funds."},
	ExpiredCard:       {402, KindCard, "The card has expired."},
	FraudBlocked:      {402, KindCard, "The risk engine blocked the payment."},
	KYCRequired:       {402, KindCard, "The merchant must be verified first: start at POST /kyc/init."},
	ThreeDSRequired:   {402, KindCard, "The issuer wants to authenticate the shopper: redirect to details.redirectUrl."},
	ThreeDSFailed:     {402, KindCard, "The shopper did not pass the issuer's challenge."},

	BalanceInsufficient:   {422, KindBalance, "The balance does not cover this: details.balance gives what there is for it, and what was requested."},
	SettlementAlreadyPaid: {409, KindConflict, "The settlement is paid already."},
	ClaimAlreadyResolved:  {409, KindConflict, "The claim is resolved: it takes no more evidence or changes."},
	RateLimited:           {429, KindRateLimit, "Too many requests: wait as long as Retry-After says, and back off with jitter."},

	ShopNotFound:                    {404, KindInvalidRequest, "There is no such shop."},
	MerchantNotFound:                {404, KindInvalidRequest, "There is no such merchant."},
	TransactionNotFound:             {404, KindInvalidRequest, "There is no such transaction, or it is another merchant's."},
	CheckoutSessionNotFound:         {404, KindInvalidRequest, "The session's token is unknown, older than 24 hours, or its payment link was closed."},
	CheckoutSessionAlreadyCompleted: {409, KindConflict, "The session has created its transaction, which details.existingTxId names: send the shopper there."},
	SettlementNotFound:              {404, KindInvalidRequest, "There is no such settlement, or it is another merchant's."},
	ClaimNotFound:                   {404, KindInvalidRequest, "There is no such claim, or it is another merchant's."},
	WalletNotFound:                  {404, KindInvalidRequest, "There is no such wallet, or it is another merchant's."},
	WithdrawalNotFound:              {404, KindInvalidRequest, "There is no such withdrawal, or it is another merchant's."},
	WebhookNotFound:                 {404, KindInvalidRequest, "There is no such subscription, or it is another merchant's."},
	WebhookDeliveryNotFound:         {404, KindInvalidRequest, "There is no such delivery, or it is another subscription's."},
	EventNotFound:                   {404, KindInvalidRequest, "There is no such event, or it is another shop's."},

	CascadeExhausted:   {422, KindRouting, "No provider took the payment; details.reason and details.attempts say why. The failed transaction is stored."},
	ServiceUnavailable: {503, KindAPI, "The service is busy or under maintenance: retry with exponential backoff. details.reason outcome_unknown: the request may have taken effect. recovering: the service was restored from a backup and did nothing; repeat the request after Retry-After with the same Idempotency-Key. sandbox_reset: the sandbox is being emptied; repeat the request after Retry-After. Without a reason nothing was done."},
	Internal:           {500, KindAPI, "Something went wrong on our side: retry with the same Idempotency-Key."},
}

// Shown returns how the code is shown.
func (c Code) Shown() Shown { return table[c] }

// Codes lists every code, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(table)) }
