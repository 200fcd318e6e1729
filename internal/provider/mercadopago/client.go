package mercadopago

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

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
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Accept", "application/json")
	// A Pix refund that takes its time is an error without this.
	req.Header.Set("X-Render-In-Process-Refunds", "true")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("X-Idempotency-Key", uuid(key))
	}
	return provider.Do(a.Client, req)
}

// uuid is the same UUID for the same name.
func uuid(name string) string {
	h := sha256.Sum256([]byte(name))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

func read(body []byte, into any) error { return json.Unmarshal(body, into) }

// unreadable is the outcome of an answer that cannot be understood.
func unreadable() *pay.Outcome { return &pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"} }

// refused is the outcome of a call that was answered with an error. A conflict
// and a lock are about another call with the same key: that one may have done it.
func refused(reply provider.Reply) *pay.Outcome {
	o := provider.Refused(reply.Status)
	if reply.Status < 400 || reply.Status == http.StatusLocked {
		o.Kind = pay.Unknown
	}
	if o.Kind == pay.Errored {
		if codes := causes(reply.Body); len(codes) > 0 {
			o.Decline += "_" + codes[0]
		}
	}
	return &o
}

// causes are the numbers of an error, as documented for each call.
func causes(body []byte) []string {
	var e struct {
		Cause json.RawMessage `json:"cause"`
	}
	if read(body, &e) != nil {
		return nil
	}
	type cause struct {
		Code text `json:"code"`
	}
	var list []cause
	if read(e.Cause, &list) != nil { // one, without a list around it
		list = make([]cause, 1)
		if read(e.Cause, &list[0]) != nil {
			return nil
		}
	}
	var codes []string
	for _, c := range list {
		if code := string(c.Code); digits(code, 6) {
			codes = append(codes, code)
		}
	}
	return codes
}

// text is a short string of theirs, or a number written as one: ids are both.
// What is too long or has control characters reads as "".
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

// digits says whether s is a number of at most n digits.
func digits(s string, n int) bool {
	return s != "" && len(s) <= n && strings.Trim(s, "0123456789") == ""
}

// link is an address of theirs that a shopper may be sent to, or "".
func link(t text) string {
	u, err := url.Parse(string(t))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// amount reads an amount in major units; false for one that nobody can be
// charged.
func amount(n json.Number, currency text) (money.Amount, bool) {
	c, err := money.ParseCurrency(string(currency))
	if err != nil {
		return money.Amount{}, false
	}
	local, err := money.Parse(n.String(), c)
	return local, err == nil && local.IsPositive()
}

// stamp is a time as they write it.
const stamp = "2006-01-02T15:04:05.000-07:00"
