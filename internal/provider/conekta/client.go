package conekta

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// version is of the API; without it the account's own is taken.
const version = "application/vnd.conekta-v2.2.0+json"

// call makes one call; key is what a repetition has in common with it.
func (a *account) call(ctx context.Context, method, path string, body any, key string) (provider.Reply, *pay.Outcome) {
	req, unsent := provider.NewRequest(ctx, method, a.base+path, body)
	if unsent != nil {
		return provider.Reply{}, unsent
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Accept", version)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return provider.Do(a.Client, req)
}

// text is a word of theirs.
type text = provider.Text

func read(body []byte, into any) error { return json.Unmarshal(body, into) }

// failure is an error as they write it.
type failure struct {
	Object  text `json:"object"`
	Details []struct {
		Code text `json:"code"`
	} `json:"details"`
}

// refused is the outcome of a call that was answered with an error.
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

// reason is the last word of a code: conekta.errors.processing.bank.declined.
func reason(code text) string {
	word := string(code[strings.LastIndex(string(code), ".")+1:])
	return word[:min(len(word), 64)]
}

// isID says whether s may be an id of theirs: it goes into addresses.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}
