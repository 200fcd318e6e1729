package conekta

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// version is of the API; without it the account's own is taken.
const version = "application/vnd.conekta-v2.2.0+json"

// call makes one call; key is what a repetition has in common with it.
func (a *account) call(ctx context.Context, method, path string, body any, key string) (provider.Reply, *pay.Outcome) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "request_not_writable"}
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(text))
	if err != nil {
		return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "request_not_writable"}
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Accept", version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return provider.Do(a.Client, req)
}

func read(body []byte, into any) error { return json.Unmarshal(body, into) }

// unreadable is the outcome of an answer that cannot be understood.
func unreadable() *pay.Outcome { return &pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"} }

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

// asked is the outcome of a question. That it was refused proves nothing of what
// it was about.
func asked(o pay.Outcome) pay.Outcome {
	if o.Kind == pay.Errored {
		o.Kind = pay.Unknown
	}
	return o
}

// text is a short string of theirs, or a number written as one. What is too long
// or has control characters reads as "".
type text string

// UnmarshalJSON is for json.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
		s = string(b)
	} else if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if len(s) > 2048 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		s = ""
	}
	*t = text(s)
	return nil
}

// link is an address of theirs that a shopper may be sent to, or "".
func link(t text) string {
	u, err := url.Parse(string(t))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// isID says whether s may be an id of theirs: it goes into addresses.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}
