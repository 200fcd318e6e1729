package adyen

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// failure is a call that got no usable answer.
type failure struct {
	outcome pay.Outcome // what it proves if the call creates something
	status  int         // 0: no answer
}

// inProgress is the error code for a key whose first call still runs.
const inProgress = "704"

// call calls the Checkout API.
func (p *Provider) call(ctx context.Context, verb, path string, body any, key string, into any) *failure {
	return p.reach(ctx, verb, p.base+path, body, key, into)
}

func (p *Provider) reach(ctx context.Context, verb, address string, body any, key string, into any) *failure {
	req, unsent := provider.NewRequest(ctx, verb, address, body)
	if unsent != nil {
		return &failure{outcome: *unsent}
	}
	req.Header.Set("X-API-Key", p.key)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	reply, broken := provider.Do(p.Client, req)
	if broken != nil {
		return &failure{outcome: *broken}
	}
	if reply.Status != http.StatusOK && reply.Status != http.StatusCreated {
		return failed(reply)
	}
	if err := json.Unmarshal(reply.Body, into); err != nil {
		return &failure{outcome: pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}, status: reply.Status}
	}
	return nil
}

// failed reads an error answer. An answer from a gateway in between proves nothing, and neither does a call that still runs, nor an
// error of a type that is not our fault: Adyen has the types validation, security, configuration and internal.
func failed(r provider.Reply) *failure {
	f := &failure{status: r.Status, outcome: pay.Outcome{Kind: pay.Unknown, Decline: fmt.Sprintf("http_%d", r.Status)}}
	if r.Status == http.StatusTooManyRequests {
		f.outcome.Kind = pay.Unavailable
		return f
	}
	var e struct {
		Code string `json:"errorCode"`
		Type string `json:"errorType"`
	}
	if json.Unmarshal(r.Body, &e) != nil || e.Type == "" {
		return f
	}
	if provider.Plain(e.Code, 20) {
		f.outcome.Decline = "error_" + e.Code
	}
	if e.Code == inProgress || r.Header.Get("Transient-Error") == "true" {
		return f
	}
	if e.Type != "validation" && e.Type != "security" && e.Type != "configuration" {
		return f
	}
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.outcome.Kind = pay.Unavailable
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		f.outcome.Kind = pay.Errored
	}
	return f
}
