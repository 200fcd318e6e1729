package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

const introduction = `What the operator of the service does to it while it runs: all that the commands can do.

Requests and replies are JSON in UTF-8 with camelCase names; times are ISO 8601 in UTC. A field or parameter that is not described is refused. Errors have one envelope: switch on ` + "`error.code`" + `. Every change is in the audit log, with the operator's name, address and request.

A list comes a page at a time: send ` + "`pagination.nextCursor`" + ` as ` + "`startingAfter`" + `. A request that creates something may have an Idempotency-Key: a repeat with the same body gets the same reply for 7 days, and creates nothing.`

// meanings describe each code in the document.
var meanings = map[problem.Code]string{
	problem.MissingCredentials:  "There is no Authorization header, or it is empty.",
	problem.InvalidToken:        "The token belongs to no operator, or its operator was removed.",
	problem.Forbidden:           "The operator's role does not have the right that the operation needs (`x-right`): details.reason is role, details.right names it.",
	problem.InvalidRequest:      "A field or parameter is wrong or unknown: details.issues lists each.",
	problem.MissingField:        "A required field is missing.",
	problem.InvalidJSON:         "The body is not JSON.",
	problem.ContentTypeRequired: "The body must be sent as application/json.",
	problem.PayloadTooLarge:     "The body is larger than 256 KiB, or than the operation says.",
	problem.NotFound:            "There is no such object, or none that the request names.",
	problem.TransactionNotFound: "There is no such payment.",
	problem.WithdrawalNotFound:  "There is no such withdrawal.",
	problem.ClaimNotFound:       "There is no such claim.",
	problem.SettlementNotFound:  "There is no such settlement.",
	problem.IdempotencyConflict: "details.reason body_differs: the Idempotency-Key was used with another body. reply_lost: its first request was carried out, and its reply is not known.",

	problem.ClaimAlreadyResolved:  "The claim has ended.",
	problem.ConflictState:         "Not possible in the current state. If the right needs two persons, details.reason is approval_needed and details.proposalId names the proposal. For an account it is version, removed, id_taken or open_payments; for a resolution it is provider_says_otherwise, call_on_its_way, changed_meanwhile or in_batch, or absent if the outcome is already known.",
	problem.MerchantNotFound:      "There is no such merchant.",
	problem.AmountInvalid:         "The amount is no amount, or not one of this kind.",
	problem.BalanceInsufficient:   "The merchant's available balance is too small.",
	problem.SettlementAlreadyPaid: "The settlement is paid, or has nothing to be paid.",
	problem.RateLimited:           "You, or all operators together, have too many requests in progress that read much: wait as long as Retry-After says.",
	problem.ServiceUnavailable:    "The service is busy: retry with backoff.",
	problem.Internal:              "Something went wrong on our side.",
}

// publish serves the OpenAPI document. The document holds no secret, and tools fetch it without a token.
func publish(a *call.API) error {
	doc := a.Huma.OpenAPI()
	doc.Info.Description = introduction
	doc.Info.Contact = &huma.Contact{Name: "The operators of this service"}
	doc.Info.License = &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		call.Scheme: {Type: "http", Scheme: "bearer", Description: "An operator's token, from `cascada operator add`."},
	}
	doc.Tags = []*huma.Tag{
		{Name: "Accounts", Description: "Accounts at providers, which take the payments."},
		{Name: "Merchants", Description: "Merchants, their terms and their sandboxes."},
		{Name: "Shops", Description: "Merchants' shops, with their brands and the schemes of their apps."},
		{Name: "Keys", Description: "Merchants' API keys and logins."},
		{Name: "Users", Description: "People who sign in to the dashboard, and invitations."},
		{Name: "Operators", Description: "Tokens of this API, what needs two persons, and what they propose to each other."},
		{Name: "Plans", Description: "Price plans: what merchants pay, and when they get their money."},
		{Name: "Routing", Description: "Why payments go where they go."},
		{Name: "Adjustments", Description: "Credits and debits of a merchant's balance by hand."},
		{Name: "Claims", Description: "Refunds, chargebacks and inquiries of all merchants."},
		{Name: "Notifications", Description: "Notifications of providers that need a person."},
		{Name: "Verifications", Description: "Who merchants are."},
		{Name: "Settlements", Description: "What merchants earned, and what is owed to them."},
		{Name: "Payouts", Description: "Withdrawals, their limits, batches for banks, and floats."},
		{Name: "Rates", Description: "Exchange rates."},
		{Name: "Books", Description: "The audit log, stories, comparisons with reports, checks and seals."},
		{Name: "Privacy", Description: "Shoppers' personal data."},
		{Name: "Endings", Description: "What only the operator can end."},
	}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				complete(doc, path, op)
			}
		}
	}
	nullable(doc, "OperatorSettlement", "payout")
	nullable(doc, "Evidence", "file")
	text, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("openapi document: %w", err)
	}
	a.Mux.HandleFunc("GET "+Base+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may have gone
	})
	return nil
}

// nullable says of a property that it may be null: huma cannot, if it is an object.
func nullable(doc *huma.OpenAPI, schema, property string) {
	if of := doc.Components.Schemas.Map()[schema]; of != nil {
		of.Properties[property] = &huma.Schema{AnyOf: []*huma.Schema{of.Properties[property], {Type: "null"}}}
	}
}

// complete adds to an operation what huma cannot: its errors, and the headers of its replies.
func complete(doc *huma.OpenAPI, path string, op *huma.Operation) {
	delete(op.Responses, "default")
	byStatus := map[int][]problem.Code{}
	for _, code := range codesOf(path, op) {
		status := message.ShownOf(code).Status
		byStatus[status] = append(byStatus[status], code)
	}
	envelope := doc.Components.Schemas.Schema(reflect.TypeFor[wire.Envelope](), true, "")
	for status, codes := range byStatus {
		slices.Sort(codes)
		var lines []string
		for _, code := range codes {
			lines = append(lines, fmt.Sprintf("- `%s`: %s", code, meanings[code]))
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(lines, "\n"), Content: map[string]*huma.MediaType{"application/json": {Schema: envelope}},
			Extensions: map[string]any{"x-error-codes": codes},
		}
	}
	for status, r := range op.Responses {
		if r.Headers == nil {
			r.Headers = map[string]*huma.Param{}
		}
		if status == strconv.Itoa(http.StatusTooManyRequests) {
			r.Headers["Retry-After"] = &huma.Param{Description: "Seconds to wait before the next try.", Schema: &huma.Schema{Type: huma.TypeInteger}}
		}
		r.Headers["X-Request-Id"] = &huma.Param{
			Description: "Names this request; the audit log has it, and an error's requestId is the same.", Schema: &huma.Schema{Type: huma.TypeString},
		}
		if call.Is(op, call.OnceKey) {
			r.Headers[call.RepeatHeader] = &huma.Param{Description: "true if the reply is that of an earlier request with the same key.", Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
}

// codesOf returns an operation's own codes and those that follow from its form.
func codesOf(path string, op *huma.Operation) []problem.Code {
	codes := []problem.Code{
		problem.MissingCredentials, problem.InvalidToken, problem.Forbidden, problem.InvalidRequest, problem.Internal, problem.ServiceUnavailable,
	}
	if op.RequestBody != nil {
		codes = append(codes, problem.InvalidJSON, problem.MissingField, problem.PayloadTooLarge, problem.ContentTypeRequired)
	}
	if strings.Contains(path, "{") && op.Method != http.MethodPut { // a PUT makes what is missing
		codes = append(codes, call.MissingAt(path))
	}
	if call.Is(op, call.OnceKey) {
		codes = append(codes, problem.IdempotencyConflict)
	}
	if call.Is(op, call.HeavyKey) {
		codes = append(codes, problem.RateLimited)
	}
	own, _ := op.Metadata[call.CodesKey].([]problem.Code)
	return append(codes, own...)
}
