package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

// declaredCodes reads the constants of type Code from the core's source, so
// that one that nobody thought of is found too.
func declaredCodes(t *testing.T) map[string]problem.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../pay/problem/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]problem.Code{}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if kind, ok := value.Type.(*ast.Ident); !ok || kind.Name != "Code" {
				t.Errorf("%s has no type: want Code", value.Names[0].Name)
				continue
			}
			for i, name := range value.Names {
				literal, ok := value.Values[i].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s is not a text", name.Name)
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[name.Name] = problem.Code(text)
			}
		}
	}
	return codes
}

func TestEveryCodeIsShown(t *testing.T) {
	declared := declaredCodes(t)
	if len(declared) < 40 {
		t.Fatalf("found %d codes in the core, want all of them", len(declared))
	}
	known := map[problem.Code]string{}
	for name, code := range declared {
		if twin, ok := known[code]; ok {
			t.Errorf("%s and %s are both %q", twin, name, code)
		}
		known[code] = name
		row := message.ShownOf(code)
		if row.Meaning == "" {
			t.Errorf("problem.%s (%s) has no row in the table, or no meaning there", name, code)
			continue
		}
		if row.Status < 400 || row.Status > 599 || kinds[row.Kind] == nil {
			t.Errorf("%s is shown as %d %s", code, row.Status, row.Kind)
			continue
		}
		if !kinds[row.Kind][row.Status] {
			t.Errorf("%s is shown as %d, which %s never is (ERR-3)", code, row.Status, row.Kind)
		}
	}
	for _, code := range message.Codes() {
		if known[code] == "" {
			t.Errorf("the table has a row for %q, which the core does not declare", code)
		}
	}
}

// kinds are the types of errors with the statuses each may have (ERR-3).
var kinds = map[message.Kind]map[int]bool{
	"invalid_request_error": {400: true, 404: true, 405: true, 413: true, 415: true, 422: true},
	"authentication_error":  {401: true},
	"permission_error":      {403: true},
	"card_error":            {402: true},
	"routing_error":         {422: true},
	"conflict_error":        {409: true},
	"idempotency_error":     {409: true},
	"balance_error":         {422: true},
	"rate_limit_error":      {429: true},
	"api_error":             {500: true, 503: true},
}

// The statuses of the codes, which clients switch on (ERR-2).
func TestCodesKeepTheirStatus(t *testing.T) {
	for code, status := range map[problem.Code]int{
		"missing_credentials": 401, "invalid_api_key": 401, "invalid_token": 401, "token_expired": 401, "production_key_refused": 400,
		"shop_required": 401, "key_kind_not_allowed": 403, "forbidden": 403, "content_type_required": 415, "invalid_json": 400,
		"invalid_request": 400, "missing_field": 400, "unsupported_method": 400, "unsupported_country": 400, "unsupported_currency": 400,
		"amount_invalid": 400, "amount_below_minimum": 400, "amount_above_maximum": 400, "idempotency_conflict": 409, "card_declined": 402,
		"insufficient_funds": 402, "expired_card": 402, "fraud_blocked": 402, "kyc_required": 402, "three_ds_required": 402,
		"three_ds_failed": 402, "amount_out_of_limits": 422, "balance_insufficient": 422, "settlement_already_paid": 409,
		"claim_already_resolved": 409, "rate_limited": 429, "shop_not_found": 404, "merchant_not_found": 404, "transaction_not_found": 404,
		"checkout_session_not_found": 404, "checkout_session_already_completed": 409, "settlement_not_found": 404, "claim_not_found": 404,
		"wallet_not_found": 404, "withdrawal_not_found": 404, "webhook_not_found": 404, "webhook_delivery_not_found": 404,
		"cascade_exhausted": 422, "service_unavailable": 503, "internal_error": 500,
		"not_found": 404, "method_not_allowed": 405, "conflict_state": 409, "payload_too_large": 413,
	} {
		if got := message.ShownOf(code).Status; got != status {
			t.Errorf("%s is shown as %d, want %d", code, got, status)
		}
	}
}

func TestFaultTellsNothingOfTheInside(t *testing.T) {
	var log strings.Builder
	text, err := json.Marshal(Show(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), errors.New("dial tcp 10.0.0.7:5432: password of app is wrong")))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"code":"internal_error"`) || strings.Contains(string(text), "10.0.0.7") || strings.Contains(string(text), "password") {
		t.Errorf("a fault is shown as %s", text)
	}
	if !strings.Contains(log.String(), "10.0.0.7") {
		t.Errorf("the log does not tell what happened: %s", log.String())
	}
}

func TestWhoLeavesCausesNoFault(t *testing.T) {
	var log strings.Builder
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for _, err := range []error{ctx.Err(), fmt.Errorf("%w: %w", message.Refusal(problem.ServiceUnavailable, "busy"), ctx.Err())} {
		if got := Show(ctx, slog.New(slog.NewTextHandler(&log, nil)), err); got.GetStatus() != web.StatusLeft || log.Len() > 0 {
			t.Errorf("%v is shown as %d, and the log has %q", err, got.GetStatus(), log.String())
		}
	}
	if got := Show(t.Context(), slog.New(slog.DiscardHandler), context.Canceled); got.GetStatus() != http.StatusInternalServerError {
		t.Errorf("an error of nobody who left is shown as %d", got.GetStatus())
	}
}
