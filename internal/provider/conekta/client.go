package conekta

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// version is the API version (conekta/openapi, 2026-08-13; ct-conekta-java, 2026-05-01); without it
// Conekta uses the account's default.
const version = "application/vnd.conekta-v2.3.0+json"

func (a *account) call(ctx context.Context, method, path string, body any) (provider.Reply, *pay.Outcome) {
	req, unsent := provider.NewRequest(ctx, method, a.base+path, body)
	if unsent != nil {
		return provider.Reply{}, unsent
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Accept", version)
	req.Header.Set("Accept-Language", "en") // of errors
	return provider.Do(a.Client, req)
}

// text is a short text of Conekta's.
type text = provider.Text

func read(body []byte, into any) error { return json.Unmarshal(body, into) }

// failure is an error in Conekta's form.
type failure struct {
	Object  text `json:"object"`
	Details []struct {
		Code  text `json:"code"`
		Debug text `json:"debug_message"`
	} `json:"details"`
}

// absent reports whether an answer proves that there is no such order: by the sentence of
// mocks/conekta_api.json. A 404 may be a gateway's, or about something else.
func absent(reply provider.Reply, id string) bool {
	var f failure
	if reply.Status != http.StatusNotFound || read(reply.Body, &f) != nil || f.Object != "error" || len(f.Details) != 1 {
		return false
	}
	return f.Details[0].Code == "conekta.errors.resource_not_found.entity" && string(f.Details[0].Debug) == fmt.Sprintf("The object Order %q could not be found.", id)
}

// refused is the outcome of a call that got an error as its answer.
func refused(reply provider.Reply) *pay.Outcome {
	o := provider.Refused(reply.Status)
	if reply.Status < 400 {
		o.Kind = pay.Unknown
	}
	var f failure
	if o.Kind == pay.Errored && read(reply.Body, &f) == nil && len(f.Details) > 0 && f.Details[0].Code != "" {
		o.Decline += "_" + reason(f.Details[0].Code)
	}
	return &o
}

// reason is the last part of a code: conekta.errors.processing.bank.declined.
func reason(code text) string {
	word := string(code[strings.LastIndex(string(code), ".")+1:])
	return word[:min(len(word), 64)]
}

// isID reports whether s can be one of Conekta's ids: they go into addresses.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}
