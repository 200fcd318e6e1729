package openapi

import (
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// explanation describes a code in the document: its meaning, and the extra fields of its example.
type explanation struct {
	meaning string
	param   string
	decline string
	details string // JSON
	apart   string // where a code occurs that no endpoint lists
}

const sampleTransaction = `"transactionId":"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`

const operators = "No endpoint of this API returns it, only the operator's."

// explanations has a row for every code (ERR-2).
var explanations = map[problem.Code]explanation{
	problem.MissingCredentials:   {meaning: "There is no Authorization header, or it is empty."},
	problem.InvalidAPIKey:        {meaning: "The key is unknown, revoked or of another environment, or a refresh token was sent in its place."},
	problem.InvalidToken:         {meaning: "The token is damaged, altered or signed by somebody else."},
	problem.TokenExpired:         {meaning: "The access token has expired: get a new one from /auth/refresh or /auth/token."},
	problem.ShopRequired:         {meaning: "The credentials are the whole merchant's: name the shop with shopId, or use a shop's own key."},
	problem.ProductionKeyRefused: {meaning: "This is for the sandbox only: use a test key."},
	problem.KeyKindNotAllowed:    {meaning: "A publishable key may not do this: use a secret key."},
	problem.Forbidden:            {meaning: "The merchant or shop named in the body is not one of these credentials'.", param: "shopId"},

	problem.ContentTypeRequired: {meaning: "The body must be sent as application/json."},
	problem.InvalidJSON:         {meaning: "The body is not JSON."},
	problem.InvalidRequest: {meaning: "A parameter, header or field is wrong: details.issues lists each.", param: "country",
		details: `{"issues":[{"path":"country","message":"country must be an ISO 3166 code of two or three letters"}]}`},
	problem.MissingField: {meaning: "A required field is absent: param names it.", param: "amount",
		details: `{"issues":[{"path":"amount","message":"amount is required"}],"missingFields":["amount"]}`},
	problem.NotFound: {meaning: "There is no such thing here, or it is another merchant's."},
	problem.MethodNotAllowed: {meaning: "The path does not take this HTTP method; the Allow header lists those it takes.",
		apart: "No endpoint returns it: it is the answer where there is none for the method."},
	problem.PayloadTooLarge: {meaning: "The body is larger than 1 MiB, or a file of evidence than 10 MiB."},

	problem.UnsupportedMethod:   {meaning: "The payment method is unknown, or not for this environment.", param: "paymentMethodId"},
	problem.UnsupportedCountry:  {meaning: "The payment method is not available in this country.", param: "country"},
	problem.UnsupportedCurrency: {meaning: "There is no rate for the currency, or the payment method does not take it.", param: "currency"},
	problem.AmountInvalid: {meaning: "The amount is not a JSON number above 0 with at most the decimals of its currency, or it is worth less than a cent of a dollar.", param: "amount",
		details: `{"issues":[{"path":"amount","message":"amount must be above 0, in USD with at most two decimals"}]}`},
	problem.AmountBelowMinimum: {meaning: "The amount is below the minimum: of a withdrawal, its fee or the least that an account pays out.", param: "amount"},
	problem.AmountAboveMaximum: {meaning: "The amount is above the maximum.", param: "amount",
		details: `{"issues":[{"path":"amount","message":"amount must be at most ` + acquirer.MaxAmountText + `"}]}`},
	problem.AmountOutOfLimits: {meaning: "The local amount is outside the method's bounds, which details.limit tells.", param: "amount",
		details: `{"limit":{"min":10,"max":10000,"currency":"MXN"},"boundViolated":"max"}`},

	problem.IdempotencyConflict: {meaning: "details.reason body_differs: the Idempotency-Key was used with another body. header_differs: it was used with the same body and another header, which param names. request_in_progress: its first request is still running; send this one again.",
		details: `{"reason":"body_differs"}`},
	problem.ConflictState: {meaning: "The object's state does not allow this.", details: `{"from":"completed","action":"paid"}`},

	problem.CardDeclined:      {meaning: "The issuer declined; decline_code says why.", decline: "do_not_honor", details: "{" + sampleTransaction + "}"},
	problem.InsufficientFunds: {meaning: "The card does not have enough funds.", decline: "insufficient_funds", details: "{" + sampleTransaction + "}"},
	problem.ExpiredCard:       {meaning: "The card has expired.", decline: "expired_card", details: "{" + sampleTransaction + "}"},
	problem.FraudBlocked:      {meaning: "The risk engine blocked the payment.", decline: "fraud_suspected", details: "{" + sampleTransaction + "}"},
	problem.KYCRequired: {meaning: "The merchant must be verified first: start at POST /kyc/init.",
		details: `{"helpUrl":"https://pay.example.com/kyc"}`},
	problem.ThreeDSRequired: {meaning: "The issuer wants to authenticate the shopper: redirect to details.redirectUrl.",
		details: "{" + sampleTransaction + `,"redirectUrl":"https://pay.example.com/pay/TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"}`},
	problem.ThreeDSFailed: {meaning: "The shopper did not pass the issuer's challenge.", details: "{" + sampleTransaction + "}",
		apart: "No endpoint returns it: the failed payment has it as failure.code."},

	problem.BalanceInsufficient: {meaning: "The balance does not cover this: details.balance tells what there is for it, and what was requested.",
		details: `{"balance":{"available":95.51,"requested":100,"currency":"USD"}}`},
	problem.SettlementAlreadyPaid: {meaning: "The settlement is paid already."},
	problem.ClaimAlreadyResolved:  {meaning: "The claim is resolved: it takes no more evidence or changes."},
	problem.RateLimited:           {meaning: "Too many requests: wait as long as Retry-After says, and back off with jitter."},

	problem.ShopNotFound:                    {meaning: "There is no such shop.", apart: operators},
	problem.MerchantNotFound:                {meaning: "There is no such merchant.", apart: operators},
	problem.TransactionNotFound:             {meaning: "There is no such transaction, or it is another merchant's."},
	problem.CheckoutSessionNotFound:         {meaning: "The session's token is unknown, or older than 24 hours."},
	problem.CheckoutSessionAlreadyCompleted: {meaning: "The session has created its transaction, which details.existingTxId names: send the shopper there.", details: `{"existingTxId":"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"}`},
	problem.SettlementNotFound:              {meaning: "There is no such settlement, or it is another merchant's."},
	problem.ClaimNotFound:                   {meaning: "There is no such claim, or it is another merchant's."},
	problem.WalletNotFound:                  {meaning: "There is no such wallet, or it is another merchant's."},
	problem.WithdrawalNotFound:              {meaning: "There is no such withdrawal, or it is another merchant's."},
	problem.WebhookNotFound:                 {meaning: "There is no such subscription, or it is another merchant's."},
	problem.EventNotFound:                   {meaning: "There is no such event, or it is another shop's."},
	problem.WebhookDeliveryNotFound:         {meaning: "There is no such delivery, or it is another subscription's."},

	problem.CascadeExhausted: {meaning: "No provider took the payment; details.reason and details.attempts say why. The failed transaction is stored.",
		details: "{" + sampleTransaction + `,"reason":"all_providers_failed","attempts":[{"order":1,"outcome":"unavailable","reasonCode":"issuer_unavailable","retryable":true,"durationMs":212}]}`},
	problem.ServiceUnavailable: {meaning: "The service is busy or under maintenance: retry with exponential backoff. details.reason outcome_unknown: the request may have taken effect. recovering: the service was restored from a backup and did nothing; repeat the request after Retry-After with the same Idempotency-Key. Without a reason nothing was done."},
	problem.Internal:           {meaning: "Something went wrong on our side: retry with the same Idempotency-Key."},
}
