package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// failure is a call that got no usable answer.
type failure struct {
	outcome pay.Outcome // what it proves if the call charges
	status  int         // 0: no answer
	kind    string      // the error's type: card_error, idempotency_error, …
}

// queryFailed is what a failed query proves: nothing.
func (f *failure) queryFailed() pay.Outcome { return provider.Unknown(f.outcome.Decline) }

// apiError is an error of Stripe's.
type apiError struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Decline string `json:"decline_code"`
	Advice  string `json:"advice_code"`
	Charge  string `json:"charge"` // the try that failed; "" if the challenge failed
	Method  struct {
		ID   string `json:"id"`
		Card struct {
			Country string `json:"country"` // ISO 3166 alpha-2
		} `json:"card"`
	} `json:"payment_method"`
}

// get makes a query.
func (p *Provider) get(ctx context.Context, path string, query url.Values, into any) *failure {
	return p.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, "", into)
}

// post makes a call that changes something, once for a key.
func (p *Provider) post(ctx context.Context, path string, form url.Values, key string, into any) *failure {
	return p.call(ctx, http.MethodPost, path, form, key, into)
}

func (p *Provider) call(ctx context.Context, verb, path string, form url.Values, key string, into any) *failure {
	req, err := http.NewRequestWithContext(ctx, verb, p.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return &failure{outcome: pay.Outcome{Kind: pay.Errored, Decline: "bad_address"}}
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	reply, broken := p.do(req, version, key)
	if broken != nil {
		return &failure{outcome: *broken}
	}
	if reply.Status != http.StatusOK {
		return p.failed(reply)
	}
	if err := json.Unmarshal(reply.Body, into); err != nil {
		return &failure{outcome: pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}, status: reply.Status}
	}
	return nil
}

// do makes a call with a version of the API, once for a key.
func (p *Provider) do(req *http.Request, version, key string) (provider.Reply, *pay.Outcome) {
	req.Header.Set("Authorization", "Bearer "+p.key)
	req.Header.Set("Stripe-Version", version)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return provider.Do(p.Client, req)
}

// failed reads an error answer. What a status proves is documented: 5xx proves nothing, and
// 409 means that another call with the same key still runs.
func (p *Provider) failed(r provider.Reply) *failure {
	f := &failure{status: r.Status, outcome: pay.Outcome{Kind: pay.Unknown, Decline: fmt.Sprintf("http_%d", r.Status)}}
	if r.Status == http.StatusTooManyRequests {
		f.outcome.Kind = pay.Unavailable
		return f
	}
	var body struct {
		Error *apiError `json:"error"`
	}
	if json.Unmarshal(r.Body, &body) != nil || body.Error == nil {
		return f // not from Stripe: a gateway's answer proves nothing
	}
	f.kind = body.Error.Type
	if word := word(body.Error.Code); word != "" {
		f.outcome.Decline = word
	}
	switch {
	case f.kind == "idempotency_error": // the key was used before; a query shows for what
	case r.Status == http.StatusPaymentRequired:
		f.outcome = p.refusal(*body.Error)
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		f.outcome.Kind = pay.Unavailable
	case r.Status == http.StatusBadRequest, r.Status == http.StatusNotFound:
		f.outcome.Kind = pay.Errored
	}
	return f
}

// word is a code of Stripe's as we keep it: a short name, or "".
func word(text string) string {
	if len(text) > 64 {
		return ""
	}
	for _, c := range []byte(text) {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return ""
		}
	}
	return text
}

// ident is the id of another object. It is an object itself if we requested that, and "" if there is none.
type ident string

// UnmarshalJSON reads either form.
func (it *ident) UnmarshalJSON(text []byte) error {
	var object struct {
		ID ident `json:"id"`
	}
	if len(text) > 0 && text[0] == '{' {
		err := json.Unmarshal(text, &object)
		*it = object.ID
		return err
	}
	return json.Unmarshal(text, (*string)(it))
}

// expanded is a reference to an object: its id, or the object itself.
type expanded[T listed] struct {
	id    string
	value *T
}

// UnmarshalJSON reads either form.
func (e *expanded[T]) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	if text[0] == '"' {
		return json.Unmarshal(text, &e.id)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	e.id, e.value = value.key(), &value
	return nil
}

// page is one page of a list.
type page[T any] struct {
	Object  string `json:"object"`
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
}

// whole reports whether it is a page of a list at all: another JSON object must not count
// as an empty list.
func (pg page[T]) whole() bool { return pg.Object == "list" && pg.Data != nil }

// listed is an object of a list.
type listed interface {
	key() string
	reference() string
}

// walk reads a list, newest first, until see returns true. Without a failure, see returned true or has seen the whole list. Lists
// show new objects at once, so that proves that there is no other.
func walk[T listed](ctx context.Context, p *Provider, path string, query url.Values, see func(T) bool) *failure {
	unknown := func(why string) *failure { return &failure{outcome: provider.Unknown(why)} }
	query.Set("limit", "100")
	for range maxPages {
		var list page[T]
		if f := p.get(ctx, path, query, &list); f != nil {
			return f
		}
		if !list.whole() {
			return unknown("broken_answer")
		}
		if slices.ContainsFunc(list.Data, see) || !list.HasMore {
			return nil
		}
		if len(list.Data) == 0 {
			return unknown("broken_answer")
		}
		query.Set("starting_after", list.Data[len(list.Data)-1].key())
	}
	return unknown("too_many_to_look_through")
}
