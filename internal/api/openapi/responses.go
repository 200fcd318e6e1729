package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
)

// replyHeader is a header of replies.
type replyHeader struct {
	kind    string // of JSON Schema
	doc     string
	example any
}

func (h replyHeader) schema() object { return object{"type": h.kind} }

// replyHeaders are all reply headers (ERR-28, IDEM-10, LIMIT-4, VER-5).
var replyHeaders = map[string]replyHeader{
	"X-Request-Id":         {"string", "Names this request; an error's requestId is the same. Quote it when you contact support.", "req_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"},
	"Service-Version":      {"string", "The version of the API that replied.", "2026-11-21"},
	"Service-Ignored":      {"string", "The request's fields and parameters that were ignored: the shop's own. Absent if there are none.", "cart, utm_source"},
	"Idempotency-Replayed": {"string", "`true` when this is the stored reply to an earlier request with the same Idempotency-Key.", "true"},
	"RateLimit-Limit":      {"integer", "Requests that may be sent at once: the burst. Absent if limits are off.", 200},
	"RateLimit-Remaining":  {"integer", "Requests that may be sent now.", 199},
	"RateLimit-Reset":      {"integer", "Seconds until the whole burst is free again.", 1},
	"Retry-After":          {"integer", "Seconds to wait before the next try.", 1},
}

// derived are the codes that follow from an operation's form.
func (o operation) derived() (codes []problem.Code) {
	codes = []problem.Code{problem.InvalidRequest, problem.RateLimited, problem.Internal, problem.ServiceUnavailable}
	if o.need.Any {
		codes = append(codes, problem.MissingCredentials, problem.InvalidAPIKey, problem.InvalidToken, problem.TokenExpired)
		if !o.about.anyShop {
			codes = append(codes, problem.ShopRequired)
		}
	}
	if o.need.Secret {
		codes = append(codes, problem.KeyKindNotAllowed)
	}
	if o.need.Any {
		codes = append(codes, problem.Forbidden)
	}
	if o.node["requestBody"] != nil {
		codes = append(codes, problem.InvalidJSON, problem.MissingField, problem.PayloadTooLarge, problem.ContentTypeRequired)
	}
	if o.idempotent() {
		codes = append(codes, problem.IdempotencyConflict)
	}
	for _, r := range resources {
		if strings.HasPrefix(o.path, r.prefix) {
			codes = append(codes, r.code)
		}
	}
	return codes
}

// resources are what the ids in paths name, each with the code for a missing one.
var resources = []struct {
	prefix string
	code   problem.Code
}{
	{"/payments/{", problem.TransactionNotFound},
	{"/transactions/{", problem.TransactionNotFound},
	{"/payment-links/{", problem.NotFound},
	{"/webhooks/{", problem.WebhookNotFound},
	{"/webhooks/{id}/deliveries/{", problem.WebhookDeliveryNotFound},
	{"/webhooks/{id}/replays/{", problem.NotFound},
	{"/events/{", problem.EventNotFound},
	{"/checkout/sessions/{", problem.CheckoutSessionNotFound},
	{"/claims/{", problem.ClaimNotFound},
	{"/settlements/{", problem.SettlementNotFound},
	{"/wallets/{", problem.WalletNotFound},
	{"/withdrawals/{", problem.WithdrawalNotFound},
	{"/kyc/{", problem.NotFound},
	{"/sandbox/kyc/{", problem.NotFound},
}

// errors adds the errors of an operation, one response per status.
func (d document) errors(o operation, named responseNames) {
	byStatus := map[int][]problem.Code{}
	for _, code := range append(o.derived(), o.about.codes...) {
		status := message.ShownOf(code).Status
		if !slices.Contains(byStatus[status], code) {
			byStatus[status] = append(byStatus[status], code)
		}
	}
	responses := under(o.node, "responses")
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		codes := byStatus[status]
		slices.Sort(codes)
		key := fmt.Sprint(status, codes, o.idempotent())
		name, known := named[key]
		if !known {
			name = named.invent(key, o, status, codes)
			d.components("responses")[name] = d.errorResponse(o, status, codes)
		}
		responses[strconv.Itoa(status)] = object{"$ref": "#/components/responses/" + name}
	}
}

// responseNames are the names of identical error responses.
type responseNames map[string]string

// invent names a response: after its code if it has one, else after the first operation that uses it.
func (n responseNames) invent(key string, o operation, status int, codes []problem.Code) string {
	name := camel(o.id()) + strconv.Itoa(status)
	if len(codes) == 1 {
		name = camel(string(codes[0]))
	}
	if o.idempotent() && len(codes) == 1 {
		name += "OrReplay"
	}
	n[key] = name
	return name
}

// errorResponse describes the errors of one status.
func (d document) errorResponse(o operation, status int, codes []problem.Code) object {
	var lines []string
	examples := object{}
	for _, code := range codes {
		lines = append(lines, fmt.Sprintf("- `%s`: %s", code, message.ShownOf(code).Meaning))
		d.components("examples")[string(code)] = object{"summary": message.ShownOf(code).Meaning, "value": errorSample(code)}
		examples[string(code)] = object{"$ref": "#/components/examples/" + string(code)}
	}
	response := object{
		"description":   strings.Join(lines, "\n"),
		"x-error-codes": wire.Texts(codes...),
		"content": object{"application/json": object{
			"schema": object{"$ref": "#/components/schemas/Envelope"}, "examples": examples,
		}},
	}
	d.addHeaders(o, response)
	if status == 429 || status == 503 {
		under(response, "headers")["Retry-After"] = object{"$ref": "#/components/headers/Retry-After"}
	}
	return response
}

// errorSample is an example of an error.
func errorSample(code problem.Code) object {
	e := explanations[code]
	sample := object{"code": string(code), "type": string(message.ShownOf(code).Kind), "message": message.ShownOf(code).Meaning, "requestId": "req_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"}
	if e.param != "" {
		sample["param"] = e.param
	}
	if e.decline != "" {
		sample["decline_code"] = e.decline
	}
	details := object{}
	if e.details != "" {
		details = parse(e.details).(object)
	}
	if details["helpUrl"] == nil {
		details["helpUrl"] = "https://pay.example.com/docs#error-" + string(code)
	}
	sample["details"] = details
	return object{"error": sample}
}
