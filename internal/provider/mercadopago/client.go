package mercadopago

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// call makes one call; key is the idempotency key.
func (a *account) call(ctx context.Context, method, path string, body any, key string) (provider.Reply, *pay.Outcome) {
	req, unsent := a.prepare(ctx, method, path, body, key)
	if unsent != nil {
		return provider.Reply{}, unsent
	}
	if strings.Contains(path, "/refunds") { // without this, a Pix refund that takes longer is an error
		req.Header.Set("X-Render-In-Process-Refunds", "true")
	}
	return provider.Do(a.Client, req)
}

// prepare makes a request of the account's without sending it.
func (a *account) prepare(ctx context.Context, method, path string, body any, key string) (*http.Request, *pay.Outcome) {
	req, unsent := provider.NewRequest(ctx, method, a.base+path, body)
	if unsent != nil {
		return nil, unsent
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Accept", "application/json")
	if key != "" {
		req.Header.Set("X-Idempotency-Key", uuid(key))
	}
	return req, nil
}

// uuid returns the same UUID for the same name.
func uuid(name string) string {
	h := sha256.Sum256([]byte(name))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// text is a short text of Mercado Pago's.
type text = provider.Text

// isID reports whether s can be one of Mercado Pago's ids: they go into addresses.
func isID(s string) bool { return provider.Digits(s, 1, 20) }

func read(body []byte, into any) error { return json.Unmarshal(body, into) }

// unclear are the causes of errors that do not say that nothing was done: the same request was posted in the last minute; the call from
// Mercado Pago to its own gateway failed.
var unclear = []string{"2001", "2004"}

// refused is the outcome of a call that got an error as its answer. A conflict, a lock or a request that was posted before means
// another call, which may have succeeded.
func refused(reply provider.Reply) *pay.Outcome {
	o := provider.Refused(reply.Status)
	codes := causes(reply.Body)
	if reply.Status < 400 || reply.Status == http.StatusLocked || slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(unclear, code) }) {
		o.Kind = pay.Unknown
	}
	if o.Kind == pay.Errored && len(codes) > 0 {
		o.Decline += "_" + codes[0]
	}
	return &o
}

// causes are the numbers of an error, documented for each call.
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
		if code := string(c.Code); provider.Digits(code, 1, 6) {
			codes = append(codes, code)
		}
	}
	return codes
}

// stamp is Mercado Pago's format of a time.
const stamp = "2006-01-02T15:04:05.000-07:00"
