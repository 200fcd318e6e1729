package message

import (
	"maps"
	"slices"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Kind is the class of an error: the envelope's type (ERR-3).
type Kind string

// The kinds.
const (
	KindInvalidRequest Kind = "invalid_request_error"
	KindAuthentication Kind = "authentication_error"
	KindPermission     Kind = "permission_error"
	KindCard           Kind = "card_error"
	KindRouting        Kind = "routing_error"
	KindConflict       Kind = "conflict_error"
	KindIdempotency    Kind = "idempotency_error"
	KindBalance        Kind = "balance_error"
	KindRateLimit      Kind = "rate_limit_error"
	KindAPI            Kind = "api_error"
)

// Shown is how a code is shown and explained to callers.
type Shown struct {
	Status  int // of HTTP
	Kind    Kind
	Meaning string // a sentence for the documents
}

// table has a row for every code (ERR-2, ERR-3): its status and kind, and its text in the documents.
// The rest of its example is in internal/api/openapi.
var table = map[problem.Code]Shown{
	problem.MissingCredentials:   {401, KindAuthentication, "There is no Authorization header, or it is empty."},
	problem.InvalidAPIKey:        {401, KindAuthentication, "The key is unknown, revoked or of another environment, or a refresh token was sent in its place."},
	problem.InvalidToken:         {401, KindAuthentication, "The token is damaged, altered or signed by somebody else."},
	problem.TokenExpired:         {401, KindAuthentication, "The access token has expired: get a new one from /auth/refresh or /auth/token."},
	problem.ProductionKeyRefused: {400, KindInvalidRequest, "This is for the sandbox only: use a test key."},
	problem.ShopRequired:         {401, KindAuthentication, "The credentials are the whole merchant's: name the shop with shopId, or use a shop's own key."},
	problem.KeyKindNotAllowed:    {403, KindPermission, "A publishable key may not do this: use a secret key."},
	problem.Forbidden:            {403, KindPermission, "The merchant or shop named in the body is not one of these credentials'."},

	problem.ContentTypeRequired: {415, KindInvalidRequest, "The body must be sent as application/json."},
	problem.InvalidJSON:         {400, KindInvalidRequest, "The body is not JSON."},
	problem.InvalidRequest:      {400, KindInvalidRequest, "A parameter, header or field is wrong: details.issues lists each."},
	problem.MissingField:        {400, KindInvalidRequest, "A required field is absent: param names it."},
	problem.NotFound:            {404, KindInvalidRequest, "There is no such thing here, or it is another merchant's."},
	problem.MethodNotAllowed:    {405, KindInvalidRequest, "The path does not take this HTTP method; the Allow header lists those it takes."},
	problem.PayloadTooLarge:     {413, KindInvalidRequest, "The body is larger than 1 MiB, or a file of evidence is larger than its field allows."},

	problem.UnsupportedMethod:   {400, KindInvalidRequest, "The payment method is unknown, or not for this environment."},
	problem.UnsupportedCountry:  {400, KindInvalidRequest, "The payment method is not available in this country."},
	problem.UnsupportedCurrency: {400, KindInvalidRequest, "There is no rate for the currency, or the payment method does not take it."},
	problem.AmountInvalid:       {400, KindInvalidRequest, "The amount is not a JSON number above 0 with at most the decimals of its currency, or it is worth less than a cent of a dollar."},
	problem.AmountBelowMinimum:  {400, KindInvalidRequest, "The amount is below the minimum: of a withdrawal, its fee or the least that an account pays out."},
	problem.AmountAboveMaximum:  {400, KindInvalidRequest, "The amount is above the maximum."},
	problem.AmountOutOfLimits:   {422, KindInvalidRequest, "The local amount is outside the method's bounds: details.limit gives them."},

	problem.IdempotencyConflict: {409, KindIdempotency, "details.reason body_differs: the Idempotency-Key was used with another body. header_differs: it was used with the same body and another header, which param names. request_in_progress: its first request is still running; send this one again."},
	problem.ConflictState:       {409, KindConflict, "The object's state does not allow this."},

	problem.CardDeclined:      {402, KindCard, "The issuer declined; decline_code says why."},
	problem.InsufficientFunds: {402, KindCard, "The card does not have enough funds."},
	problem.ExpiredCard:       {402, KindCard, "The card has expired."},
	problem.FraudBlocked:      {402, KindCard, "The risk engine blocked the payment."},
	problem.KYCRequired:       {402, KindCard, "The merchant must be verified first: start at POST /kyc/init."},
	problem.ThreeDSRequired:   {402, KindCard, "The issuer wants to authenticate the shopper: redirect to details.redirectUrl."},
	problem.ThreeDSFailed:     {402, KindCard, "The shopper did not pass the issuer's challenge."},

	problem.BalanceInsufficient:   {422, KindBalance, "The balance does not cover this: details.balance gives what there is for it, and what was requested."},
	problem.SettlementAlreadyPaid: {409, KindConflict, "The settlement is paid already."},
	problem.ClaimAlreadyResolved:  {409, KindConflict, "The claim is resolved: it takes no more evidence or changes."},
	problem.RateLimited:           {429, KindRateLimit, "Too many requests: wait as long as Retry-After says, and back off with jitter."},

	problem.ShopNotFound:                    {404, KindInvalidRequest, "There is no such shop."},
	problem.MerchantNotFound:                {404, KindInvalidRequest, "There is no such merchant."},
	problem.TransactionNotFound:             {404, KindInvalidRequest, "There is no such transaction, or it is another merchant's."},
	problem.CheckoutSessionNotFound:         {404, KindInvalidRequest, "The session's token is unknown, older than 24 hours, or was ended by its shop, or its payment link was closed."},
	problem.CheckoutSessionAlreadyCompleted: {409, KindConflict, "The session has created its transaction, which details.existingTxId names: send the shopper there."},
	problem.SettlementNotFound:              {404, KindInvalidRequest, "There is no such settlement, or it is another merchant's."},
	problem.ClaimNotFound:                   {404, KindInvalidRequest, "There is no such claim, or it is another merchant's."},
	problem.WalletNotFound:                  {404, KindInvalidRequest, "There is no such wallet, or it is another merchant's."},
	problem.WithdrawalNotFound:              {404, KindInvalidRequest, "There is no such withdrawal, or it is another merchant's."},
	problem.WebhookNotFound:                 {404, KindInvalidRequest, "There is no such subscription, or it is another merchant's."},
	problem.WebhookDeliveryNotFound:         {404, KindInvalidRequest, "There is no such delivery, or it is another subscription's."},
	problem.EventNotFound:                   {404, KindInvalidRequest, "There is no such event, or it is another shop's."},

	problem.CascadeExhausted:   {422, KindRouting, "No provider took the payment; details.reason and details.attempts say why. The failed transaction is stored."},
	problem.ServiceUnavailable: {503, KindAPI, "The service is busy or under maintenance: retry with exponential backoff. details.reason outcome_unknown: the request may have taken effect. recovering: the service was restored from a backup and did nothing; repeat the request after Retry-After with the same Idempotency-Key. sandbox_reset: the sandbox is being emptied; repeat the request after Retry-After. Without a reason nothing was done."},
	problem.Internal:           {500, KindAPI, "Something went wrong on our side: retry with the same Idempotency-Key."},
}

// ShownOf returns how a code is shown.
func ShownOf(c problem.Code) Shown { return table[c] }

// Codes lists every code, sorted.
func Codes() []problem.Code { return slices.Sorted(maps.Keys(table)) }
