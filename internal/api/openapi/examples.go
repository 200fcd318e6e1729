package openapi

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/wire"
)

// Examples of replies and events are composed from their schemas, so that each has exactly the fields that
// the document promises. A property's value is the sample under "Schema.property" or "property", else the
// example, the first enum value or a value of the type in its schema. Optional properties appear only if
// samples has them under "Schema.property".

// parse reads a JSON literal of this package.
func parse(text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic("openapi: an example that is not JSON: " + err.Error() + ": " + text) // our own text
	}
	return v
}

// compose returns an example of a schema. parent and name locate it: the component and its property, both
// empty for a whole body.
func (d document) compose(schema object, parent, name string) any {
	if ref, ok := schema["$ref"].(string); ok {
		component := strings.TrimPrefix(ref, "#/components/schemas/")
		return d.compose(d.schema(component), component, "")
	}
	if of := list(schema["anyOf"]); len(of) > 0 && schema["properties"] == nil {
		if slices.ContainsFunc(of, func(s any) bool { return s.(object)["type"] == "null" }) { // a reference or null
			return nil
		}
		return d.compose(of[0].(object), parent, name)
	}
	switch kind := typeOf(schema); kind {
	case "object":
		return d.composeObject(schema, parent)
	case "":
		if len(schema) == 0 { // anything
			return object{}
		}
	case "array":
		items, _ := schema["items"].(object)
		if items == nil {
			return []any{}
		}
		return []any{d.property(items, parent, name)}
	}
	if examples := list(schema["examples"]); len(examples) > 0 {
		return examples[0]
	}
	if values := list(schema["enum"]); len(values) > 0 {
		return values[0]
	}
	if nullable(schema) {
		return nil
	}
	switch typeOf(schema) {
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	return "text"
}

func (d document) composeObject(schema object, component string) object {
	example := object{}
	required := list(schema["required"])
	properties, _ := schema["properties"].(object)
	for name, p := range properties {
		property, _ := p.(object)
		if _, wanted := samples[component+"."+name]; wanted || slices.Contains(required, any(name)) {
			example[name] = d.property(property, component, name)
		}
	}
	return example
}

// property is the example of one property.
func (d document) property(schema object, component, name string) any {
	if sample, ok := samples[component+"."+name]; ok && fits(sample, schema) {
		return sample
	}
	if examples := list(schema["examples"]); len(examples) > 0 && typeOf(schema) == "string" && schema["format"] == nil {
		return examples[0] // of this property; a number's example stands for every amount
	}
	if sample, ok := samples[name]; ok && fits(sample, schema) {
		return sample
	}
	if nullable(schema) && schema["format"] != nil {
		return nil
	}
	return d.compose(schema, component, name)
}

// fits reports whether a sample suits a property: one name may stand for different types.
func fits(sample any, schema object) bool {
	if values := list(schema["enum"]); len(values) > 0 && sample != nil {
		return slices.Contains(values, sample)
	}
	if sample == nil {
		return nullable(schema) || schema["anyOf"] != nil
	}
	switch kind := typeOf(schema); sample.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case int, float64:
		return kind == "number" || kind == "integer"
	case []any:
		return kind == "array"
	case object:
		return kind == "object" || schema["$ref"] != nil || schema["anyOf"] != nil
	}
	return false
}

func typeOf(schema object) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		for _, kind := range t {
			if kind != "null" {
				text, _ := kind.(string)
				return text
			}
		}
	}
	if schema["properties"] != nil {
		return "object"
	}
	return ""
}

func nullable(schema object) bool { return slices.Contains(list(schema["type"]), any("null")) }

// set changes a value at a dotted path of an example.
func set(example object, path string, value any) {
	for {
		key, rest, deeper := strings.Cut(path, ".")
		if !deeper {
			example[key] = value
			return
		}
		example, path = under(example, key), rest
	}
}

const (
	sampleTime = "2026-11-21T12:00:00.000Z" // when the payment is made
	paidTime   = "2026-11-21T12:03:10.000Z"
	closedTime = "2026-11-23T12:05:00.000Z" // when its settlement closes and the withdrawal arrives
	dayLater   = "2026-11-22T12:00:00.000Z"
	weekLater  = "2026-11-28T12:00:00.000Z"
	suffix     = "01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"

	sampleSignature         = "t=1763726400,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"
	sampleStandardSignature = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
)

// samples are the example values: one PIX payment of 25.50 USD and its consequences.
var samples = map[string]any{
	"id": "TXN-" + suffix, "transactionId": "TXN-" + suffix, "merchantId": "mer_" + suffix, "shopId": "shp_" + suffix,
	"subscriptionId": "wh_" + suffix, "eventId": "evt_" + suffix + "-1", "claimId": "CLM-" + suffix, "refundId": "CLM-" + suffix,
	"deliveryId": "wd_" + suffix + "-1-" + suffix, "walletId": "wal_" + suffix, "withdrawalId": "wdr_" + suffix,
	"verificationId": "kyc_" + suffix, "sessionId": "cs_example-not-a-real-token", "token": "cs_example-not-a-real-token",
	"requestId": "req_" + suffix, "completedTxId": nil, "existingTxId": "TXN-" + suffix,
	"Named.id": "mer_" + suffix, "Named.name": "Acme", "Profile.id": "mer_" + suffix, "Profile.name": "Acme",
	"Claim.id": "CLM-" + suffix, "Subscription.id": "wh_" + suffix, "UnsubscribeOutBody.id": "wh_" + suffix,
	"EndedSession.status": "expired", "EndedSession.createdAt": sampleTime, "expiresAt": dayLater, "Verification.expiresAt": weekLater, "Event.createdAt": paidTime, "updatedAt": paidTime,
	"previousSecretExpiresAt": nil,
	"SpanReplay.id":           "rpl_" + suffix, "SpanReplay.status": "running", "SpanReplay.from": "2026-11-20T08:00:00.000Z", "SpanReplay.to": "2026-11-20T12:00:00.000Z",
	"SpanReplay.types": []any{"payment.completed"}, "SpanReplay.events": 1240, "SpanReplay.createdAt": dayLater, "SpanReplay.updatedAt": "2026-11-22T12:00:07.000Z", "SpanReplay.sent": 350, "SpanReplay.leftOut": 0,
	"eventsVersion": "2026-11-24",
	"Event.id":      "evt_" + suffix + "-1", "EventRequest.id": "req_" + suffix, "RotateOutBody.id": "wh_" + suffix,
	"DeletedOutBody.id": "wal_" + suffix, "evidenceId": "ev_" + suffix,

	"amountLocal": 137.7, "currencyLocal": "BRL", "fxRate": 5.4, "Refund.amount": 137.7, "Refund.currency": "BRL",
	"Claim.amount": 137.7, "Claim.currency": "BRL", "amountUsd": 25.5, "Claim.frozenUsd": 25.5, "Claim.feeUsd": 0,
	"refundedAmountLocal": 0, "refundableAmountLocal": 137.7, "currency": "USD",
	"Fees.platform": 0.31, "Fees.provider": 0.25, "Fees.network": 0, "Fees.total": 0.56, "CreatedSettlement.reserve": 1.28,
	"Settlement.type": "delayed", "CreatedSettlement.type": "delayed", "delay": "48h",
	"Transaction.status": "completed", "Created.status": "pending", "TransactionSummary.status": "completed",
	"paymentMethodId": "sbx_pix", "paymentMethod": "pix", "method": "pix", "country": "BRA", "merchantOrderId": "order-8412",
	"paymentFormUrl": "https://pay.example.com/pay/TXN-" + suffix, "Created.timestamps": object{"created": sampleTime, "updated": sampleTime},
	"Timestamps.completed": paidTime, "Timestamps.updated": paidTime,
	"checkoutUrl": "https://pay.example.com/c/TXN-" + suffix, "SessionCreated.checkoutUrl": "https://pay.example.com/checkout/cs_example-not-a-real-token",
	"SessionCreated.paymentMethodId": nil, "returnUrl": "https://shop.example/thanks", "customerIp": "203.0.113.7", "firstName": "Ana", "lastName": "Souza",
	"phone": "+55 11 91234-5678", "fullName": "Ana Souza",
	"failure": nil, "installments": nil, "PaymentData.type": "pix", "qrCodeImageUrl": "https://pay.example.com/pay/TXN-" + suffix + "/qr.svg",
	"eventsFired": []any{"payment.completed", "payment.captured"}, "SimulateOutBody.status": "completed",

	"Method.paymentMethodId": "sbx_pix", "methodLabel": "PIX", "Method.name": "PIX", "Method.country": "BR", "countryIso3": "BRA",
	"channel": "ONLINE", "currencies": []any{"BRL"}, "Limit.currency": "BRL", "Limit.min": 1, "Limit.max": 50000,
	"minTxUsd": 0.19, "maxTxUsd": 9259.25, "MethodFee.percent": 0.99, "MethodFee.flat": 0, "unroutableReason": nil, "refundable": true,
	"MethodsOutBody.shop": object{"id": "shp_" + suffix, "name": "Acme"}, "advanceSeconds": 172800,
	"count": 1, "totalAvailable": 5, "routableCount": 1, "FiltersStruct.country": "BRA", "FiltersStruct.channel": nil, "FiltersStruct.method": "pix",

	"email": "ops@acme.example", "industry": "retail", "tier": "standard", "trustScore": 600,
	"crypto": []any{}, "methods": nil, "Capabilities.methods": []any{"pix", "spei", "bank_transfer", "card", "cash"},
	"Buckets.available": 1250.75, "Buckets.pending": 310.2, "Buckets.frozen": 25.5, "Buckets.reserve": 81.4,
	"rollingReservePct": 5, "withdrawalFeeUsd": 2.5, "refundFees": "kept", "ledgerWarnings": []any{},
	"grossVolume": 1710.05, "platformFees": 20.52, "processingFees": 16.93, "flatFees": 4.75, "chargebackFees": 0, "totalFees": 42.2, "netBalance": 1667.85,
	"Movement.amount": 24.94, "bucket": "pending", "settlementId": nil, "Movement.claimId": nil, "Movement.withdrawalId": nil, "balanceAfter": 310.2, "description": "PIX payment order-8412",
	"Release.amount": 1.28, "Release.percent": 5, "Release.status": "scheduled", "releaseAt": "2027-05-20T00:00:00.000Z",

	"accessToken": "eyJhbGciOiJIUzI1NiJ9.example.not-a-real-token", "refreshToken": "rt_example-not-a-real-token", "tokenType": "Bearer",
	"expiresIn": 900, "refreshExpiresIn": 2592000, "keyKind": "secret", "keyId": "sk_test_…yQl8", "apiVersion": "2026-11-21",
	"environment": "sandbox",

	"Request.status": 402, "Request.route": "/payments", "Request.code": "card_declined", "Request.message": "the card's issuer declined the charge", "Request.fields": []any{},
	"url": "https://shop.example/hooks", "events": []any{"payment.completed", "payment.failed"}, "managed": false, "Subscription.status": "enabled",
	"disabledReason": nil, "Subscription.description": "orders", "secretPreview": "whsec_…3fGh",
	"lastDeliveryAt": paidTime, "deleted": true, "secret": "whsec_example-not-a-real-secret", "attempts": 1, "maxAttempts": 11,
	"Delivery.status": "delivered", "DeliveryDetail.status": "delivered", "lastStatusCode": 204, "lastDurationMs": 83, "lastAttemptAt": paidTime, "deliveredAt": paidTime,
	"Attempt.statusCode": 204, "Attempt.durationMs": 83, "lastError": nil, "lastResponseSnippet": nil,
	"Replay.previousStatus": "dead_letter", "note": "the dispatcher sends it within five seconds",
	"ReceivedHeaders." + sender.DeliveryHeader: "dlv_" + suffix + "-1-" + suffix, "ReceivedHeaders." + sender.EventHeader: "payment.completed",
	"ReceivedHeaders." + sender.SignatureHeader: sampleSignature,
	"ReceivedHeaders.webhook-id":                "evt_" + suffix + "-1", "ReceivedHeaders.webhook-timestamp": "1763726400",
	"ReceivedHeaders.webhook-signature": sampleStandardSignature,

	"withdrawalIds": []any{"wdr_" + suffix},
	"Settlement.id": "STL-" + suffix, "Settlement.fees": object{"platform": 20.52, "provider": 21.68, "network": 0, "total": 42.2},
	"Settlement.status": "closed", "Settlement.transactionCount": 42, "Settlement.grossVolume": 1710.05, "Settlement.refunds": 25.5, "chargebacks": 0,
	"Settlement.chargebackFees": 0, "reserveHeld": 85.5, "reserveReleased": 0, "adjustments": 0, "netAmount": 1556.85,
	"Settlement.createdAt": sampleTime, "periodStart": sampleTime, "periodEnd": closedTime, "closedAt": closedTime, "paidAt": nil, "payoutId": nil, "payoutReason": nil,
	"pdfUrl":                 "https://pay.example.com/api/v1/settlements/STL-" + suffix + "/report?format=pdf",
	"csvUrl":                 "https://pay.example.com/api/v1/settlements/STL-" + suffix + "/report?format=csv",
	"SettlementLine.claimId": nil, "SettlementLine.amount": 25.5, "SettlementLine.reserve": -1.28, "SettlementLine.net": 23.66, "SettlementLine.netAmount": 23.66,

	"Withdrawal.amount": 250, "Withdrawal.feeUsd": 2.5, "Withdrawal.netAmount": 247.5, "Payout.amount": 4541.63, "Payout.currency": "MXN", "Payout.rate": 18.35, "rateAt": sampleTime,
	"WithdrawalQuote.amount": 250, "WithdrawalQuote.feeUsd": 2.5, "WithdrawalQuote.netAmount": 247.5, "pendingReason": nil, "beneficiary": []any{"holderName"}, "Withdrawal.reference": "CSC-Q6P5R3N2", "label": "Main",
	"requiredDocuments": []any{"identity_document", "proof_of_address"}, "Verification.url": "https://pay.example.com/kyc/kyc_" + suffix,

	"Claim.type": "user_dispute", "Claim.status": "pending", "Refund.status": "pending", "outcome": nil, "reason": "requested_by_customer",
	"networkReasonCode": nil, "previousClaimId": nil, "origin": "merchant", "evidenceDueBy": nil, "evidence": []any{}, "resolvedAt": nil, "actor": "merchant", "ClaimStep.note": nil,
	"ClaimStep.status": "pending",

	"total": 1, "limit": 50, "offset": 0, "pages": 1, "sequence": 1, "idempotencyKey": nil, "Event.data.previous": nil,
	"EventPrevious.status": "pending",
}

// eventOrder is the order of an event's fields (EVT-8).
var eventOrder = []any{"id", "type", "apiVersion", "createdAt", "environment", "merchantId", "shopId", "sequence", "request", "data"}

// eventSamples are the differences of the events' examples.
var eventSamples = map[webhooks.EventType]object{
	webhooks.PaymentCreated: {"data.object.timestamps": object{"created": sampleTime, "updated": sampleTime}, "sequence": 0, "data.object.status": "processing", "data.object.refundableAmountLocal": 0, "data.previous": object{}},
	webhooks.PaymentPending: {"data.object.timestamps": object{"created": sampleTime, "updated": sampleTime}, "sequence": 0, "data.object.status": "pending", "data.object.refundableAmountLocal": 0, "data.previous": object{"status": "processing"}},
	webhooks.SessionExpired: {"data.previous": object{"status": "awaiting_method"}},
	webhooks.PaymentFailed: {
		"data.object.status": "failed", "data.object.refundableAmountLocal": 0,
		"data.object.failure":    object{"code": "cascade_exhausted", "declineCode": nil, "message": "no provider took the payment"},
		"data.object.timestamps": object{"created": sampleTime, "updated": paidTime, "failed": paidTime},
	},
	webhooks.PaymentRefunded: {
		"sequence": 2, "data.previous.status": "completed", "data.object.status": "refunded",
		"data.object.refundedAmountLocal": 137.7, "data.object.refundableAmountLocal": 0,
		"data.object.refund": object{"refundId": "CLM-" + suffix, "transactionId": "TXN-" + suffix, "amount": 137.7, "amountUsd": 25.5,
			"currency": "BRL", "status": "pending", "reason": "requested_by_customer", "origin": "merchant", "createdAt": dayLater},
		"data.object.timestamps": object{"created": sampleTime, "updated": dayLater, "completed": paidTime},
	},
	webhooks.WalletAdded:         {"data.previous": object{}},
	webhooks.LinkPaid:            {"sequence": 1, "data.object.paid": 1, "data.object.status": "used", "data.object.transactionId": "TXN-" + suffix, "data.object.updatedAt": paidTime, "data.previous": object{"status": "open"}},
	webhooks.LinkClosed:          {"sequence": 1, "data.object.status": "closed", "data.object.closedAt": dayLater, "data.object.updatedAt": dayLater, "data.object.expiresAt": weekLater, "data.previous": object{"status": "open"}},
	webhooks.BalanceAdjusted:     {"sequence": 1, "data.previous": object{}},
	webhooks.ChargebackCreated:   {"data.object.type": "chargeback", "data.object.status": "needs_evidence", "data.object.reason": "fraudulent", "data.object.evidenceDueBy": weekLater, "data.object.origin": nil, "data.previous": object{}},
	webhooks.ClaimOpened:         {"data.previous": object{}},
	webhooks.SettlementClosed:    {"data.previous": object{"status": "open"}, "data.object.pdfUrl": nil},
	webhooks.SettlementPDFReady:  {"sequence": 2, "data.previous": object{}},
	webhooks.WithdrawalCompleted: {"sequence": 1, "data.object.status": "completed", "data.object.completedAt": closedTime, "data.previous": object{"status": "processing"}},
	webhooks.WithdrawalFailed: {
		"sequence": 1, "data.object.status": "failed", "data.object.failedAt": closedTime, "data.previous": object{"status": "processing"},
		"data.object.failureCode": "account_closed", "data.object.failureMessage": "the bank account is closed",
	},
	webhooks.WithdrawalReturned: {
		"sequence": 2, "data.object.status": "completed", "data.object.completedAt": closedTime, "data.object.returnedAmount": 20, "data.previous": object{"status": "completed"},
	},
	webhooks.ClaimResolved: {
		"sequence": 2, "data.object.status": "approved", "data.object.outcome": "approved", "data.object.frozenUsd": 0,
		"data.object.updatedAt": closedTime, "data.object.resolvedAt": closedTime, "data.previous": object{"status": "pending"},
	},
}

// replySamples are the differences of the replies' examples, by method and path.
var replySamples = map[string]object{
	"POST /payments/{id}/cancel": {
		"status": "failed", "refundableAmountLocal": 0, "failure": object{"code": "canceled", "declineCode": nil, "message": "the shop canceled the payment"},
		"timestamps": object{"created": sampleTime, "updated": paidTime, "failed": paidTime},
	},
	"POST /claims/{id}/accept": {
		"type": "chargeback", "origin": nil, "reason": "fraudulent", "status": "approved", "outcome": "approved", "frozenUsd": 0, "evidenceDueBy": weekLater,
		"updatedAt": closedTime, "resolvedAt": closedTime,
	},
	"POST /claims/{id}/evidence":      {"type": "chargeback", "origin": nil, "reason": "fraudulent", "status": "under_review", "evidenceDueBy": weekLater},
	"POST /sandbox/kyc/{id}":          {"status": "verified"},
	"POST /withdrawals/{id}/cancel":   {"status": "canceled"},
	"POST /settlements/{id}/simulate": {"status": "paid", "paidAt": "2026-11-23T12:06:00.000Z"},
}

// setObject states the object of an example's events: their type leaves it open.
func (d document) setObject(example any) {
	body, _ := example.(object)
	for _, row := range append(list(body["data"]), body) {
		event, _ := row.(object)
		data, _ := event["data"].(object)
		if _, ok := data["object"].(object); ok {
			data["object"] = d.compose(d.schema("Transaction"), "Transaction", "")
			event["createdAt"] = happened(data)
		}
	}
}

// happened is the latest past time in an example.
func happened(v any) (latest string) {
	switch t := v.(type) {
	case object:
		for key, value := range t {
			if at, ok := value.(string); ok && (strings.HasSuffix(key, "At") && key != "expiresAt" && key != "releaseAt" || key == "updated") {
				latest = max(latest, at)
			} else {
				latest = max(latest, happened(value))
			}
		}
	case []any:
		for _, value := range t {
			latest = max(latest, happened(value))
		}
	}
	return latest
}

// parameterExample is an example of a path or query parameter.
func parameterExample(o operation, name string) (any, bool) {
	if name == "id" {
		for prefix, id := range map[string]string{
			"/payments": "TXN-", "/transactions": "TXN-", "/webhooks": "wh_", "/claims": "CLM-", "/settlements": "STL-",
			"/events": "evt_", "/payment-links": "lnk_", "/wallets": "wal_", "/withdrawals": "wdr_", "/kyc": "kyc_",
		} {
			if strings.HasPrefix(o.path, prefix+"/") {
				return id + suffix, true
			}
		}
	}
	switch name {
	case "from":
		return "2026-11-01", true
	case "to":
		return "2026-12-01", true
	case lists.CursorParam, wire.OlderCursor, wire.NextCursor:
		return "TXN-" + suffix, o.path == "/payments" || o.path == "/transactions"
	case "Idempotency-Key":
		return kebab(o.id()) + "-8412", true
	case "transactionId", "deliveryId", "token", "merchantOrderId", "paymentMethodId", "country", "method":
		return samples[name], true
	}
	return nil, false
}

// kebab is an operation's id in lower case: create-payment.
func kebab(id string) string {
	var b strings.Builder
	for _, r := range id {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
