package openapi

import (
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// explanation adds to a code of the document what its meaning does not tell: the fields of its example.
type explanation struct {
	param   string
	decline string
	details string // JSON
	apart   string // where a code occurs that no endpoint lists
}

const sampleTransaction = `"transactionId":"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`

const operators = "No endpoint of this API returns it, only those of the operator's API."

// explanations has a row for each code that has more than a meaning.
var explanations = map[problem.Code]explanation{
	problem.Forbidden: {param: "shopId"},
	problem.InvalidRequest: {param: "country",
		details: `{"issues":[{"path":"country","message":"country must be an ISO 3166 code of two or three letters"}]}`},
	problem.MissingField: {param: "amount",
		details: `{"issues":[{"path":"amount","message":"amount is required"}],"missingFields":["amount"]}`},
	problem.MethodNotAllowed:    {apart: "No endpoint returns it: it is the reply to a method that the path does not have."},
	problem.UnsupportedMethod:   {param: "paymentMethodId"},
	problem.UnsupportedCountry:  {param: "country"},
	problem.UnsupportedCurrency: {param: "currency"},
	problem.AmountInvalid: {param: "amount",
		details: `{"issues":[{"path":"amount","message":"amount must be above 0, in USD with at most two decimals"}]}`},
	problem.AmountBelowMinimum: {param: "amount"},
	problem.AmountAboveMaximum: {param: "amount",
		details: `{"issues":[{"path":"amount","message":"amount must be at most ` + accounts.MaxAmountText + `"}]}`},
	problem.AmountOutOfLimits: {param: "amount",
		details: `{"limit":{"min":10,"max":10000,"currency":"MXN"},"boundViolated":"max"}`},
	problem.IdempotencyConflict: {details: `{"reason":"body_differs"}`},
	problem.ConflictState:       {details: `{"from":"completed","action":"paid"}`},
	problem.CardDeclined:        {decline: "do_not_honor", details: "{" + sampleTransaction + "}"},
	problem.InsufficientFunds:   {decline: "insufficient_funds", details: "{" + sampleTransaction + "}"},
	problem.ExpiredCard:         {decline: "expired_card", details: "{" + sampleTransaction + "}"},
	problem.FraudBlocked:        {decline: "fraud_suspected", details: "{" + sampleTransaction + "}"},
	problem.KYCRequired:         {details: `{"helpUrl":"https://pay.example.com/kyc"}`},
	problem.ThreeDSRequired:     {details: "{" + sampleTransaction + `,"redirectUrl":"https://pay.example.com/pay/TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"}`},
	problem.ThreeDSFailed: {details: "{" + sampleTransaction + "}",
		apart: "No endpoint returns it: the failed payment has it as failure.code."},
	problem.BalanceInsufficient:             {details: `{"balance":{"available":95.51,"requested":100,"currency":"USD"}}`},
	problem.ShopNotFound:                    {apart: operators},
	problem.MerchantNotFound:                {apart: operators},
	problem.CheckoutSessionAlreadyCompleted: {details: `{"existingTxId":"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"}`},
	problem.CascadeExhausted:                {details: "{" + sampleTransaction + `,"reason":"all_providers_failed","attempts":[{"order":1,"outcome":"unavailable","reasonCode":"issuer_unavailable","retryable":true,"durationMs":212}]}`},
}
