package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/devcli"
)

// failure is why a tool failed.
type failure struct {
	Code      string `json:"code"`             // the API's, or one of ours: unreachable, not_cascada, outcome_unknown, cancelled, bad_argument
	Status    int    `json:"status,omitempty"` // of the API's answer
	Message   string `json:"message"`
	Param     string `json:"param,omitempty"`
	Reason    string `json:"reason,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	PaymentID string `json:"paymentId,omitempty"` // of the payment that was made and declined
	Mend      string `json:"mend,omitempty"`
}

// maxMessage bounds the message of a failure, in bytes.
const maxMessage = 600

// failure is an error as an agent reads it.
func (d *door) failure(err error) *failure {
	p := devcli.ProblemOf(err)
	f := &failure{Code: p.Code, Status: p.Status, Message: p.Message, Param: p.Param, Reason: p.Reason, RequestID: p.RequestID, PaymentID: p.PaymentID, Mend: mend(p)}
	switch {
	case p.Unknown:
		f.Code, f.Mend = "outcome_unknown", "It may have been done. List what there is now before you repeat it."
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.Code, f.Message, f.Mend = "cancelled", "the call was cancelled, or took too long", "A tool that changes something may have done it: list what there is now."
	case errors.Is(err, errNoPage):
		f.Code, f.Message, f.Mend = "page_not_found", errNoPage.Error(), "Call search_docs."
	case errors.Is(err, errNotSandbox):
		f.Code, f.Mend = "not_sandbox", "Give this program a key of the sandbox (rk_test_…)."
	case p.Foreign:
		f.Code, f.Message = "not_cascada", "what answers at "+d.caller.Address()+" does not answer as Cascada does"
		f.Mend = "Check the address, CASCADA_URL or --url, and what stands between: a proxy may have answered."
	case p.Code == "" && p.Outage:
		f.Code, f.Mend = "unreachable", "Is the service running, and is its address right (CASCADA_URL, --url)? Then try again."
	case p.Code == "":
		f.Code, f.Mend = "bad_argument", "Correct the argument."
	}
	clean := cleaner{d.secrets}
	for _, text := range []*string{&f.Code, &f.Message, &f.Param, &f.Reason, &f.RequestID, &f.PaymentID, &f.Mend} {
		*text = clean.bounded(clean.mask(*text), maxMessage)
	}
	return f
}

// mend says what helps against an error of the API.
func mend(p devcli.Problem) string {
	switch p.Code {
	case "invalid_api_key", "missing_credentials", "invalid_token", "token_expired":
		return "The key is wrong, revoked, or one of another service. The operator gives a new one; set CASCADA_API_KEY, or run cascada-cli login, and start this program again."
	case "shop_required":
		return "The key is the whole merchant's: start this program with --shop or CASCADA_SHOP. get_account lists the shops."
	case "key_kind_not_allowed", "forbidden":
		return "The key has no right for this. Ask the operator for a restricted key with the right, and start this program with it."
	case "rate_limited":
		return fmt.Sprintf("Wait %d seconds, then call once.", max(1, int(p.Wait.Seconds())))
	case "service_unavailable", "internal_error":
		return "Try again in a moment."
	case "amount_out_of_limits", "amount_above_maximum", "amount_below_minimum", "unsupported_method", "unsupported_currency", "unsupported_country":
		return "list_payment_methods has each method's currencies and limits."
	case "card_declined", "expired_card", "insufficient_funds", "fraud_blocked", "three_ds_failed", "cascade_exhausted":
		return "The payment exists, and was declined. In the sandbox the amount decides: read_docs with page testing."
	case "invalid_request", "missing_field", "amount_invalid":
		return "Correct the argument that the message names."
	case "":
		return ""
	}
	if strings.HasSuffix(p.Code, "not_found") {
		return "Check the id. A key of the sandbox sees only the sandbox, and a shop's key only that shop. The list tools find ids."
	}
	return "read_docs with page docs#error-" + p.Code + " explains it."
}
