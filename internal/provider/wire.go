package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/cascadapay/cascada/internal/pay"
)

// maxReply bounds what is read of an upstream's answer.
const maxReply = 4 << 20

// Reply is an upstream's answer, read whole.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a call to an upstream. Where there is no answer, the outcome says
// what that proves: Unavailable when the request never left, Unknown when it may
// have arrived. A connection that breaks while the answer is read is Unknown
// too.
func Do(client *http.Client, req *http.Request) (Reply, *pay.Outcome) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	res, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		o := pay.Outcome{Kind: pay.Unavailable, Decline: "unreachable"}
		if sent.Load() {
			o = pay.Outcome{Kind: pay.Unknown, Decline: "no_answer"}
		}
		if errors.Is(err, context.DeadlineExceeded) {
			o.Decline = "timeout"
		}
		return Reply{}, &o
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil || len(body) > maxReply {
		return Reply{}, &pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	return Reply{res.StatusCode, res.Header, body}, nil
}

// NewRequest is a call with a JSON body, or with none where it is nil. The outcome
// is of one that cannot be written, which proves that it never left.
func NewRequest(ctx context.Context, method, address string, body any) (*http.Request, *pay.Outcome) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return nil, &pay.Outcome{Kind: pay.Errored, Decline: "bad_address"}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Unknown is an outcome that nobody knows, and why.
func Unknown(reason string) pay.Outcome { return pay.Outcome{Kind: pay.Unknown, Decline: reason} }

// Broken is the outcome of an answer that cannot be understood.
func Broken() *pay.Outcome {
	o := Unknown("broken_answer")
	return &o
}

// Ended is what a cancel may say, of how a charge stands: what nobody can pay any
// more has lapsed.
func Ended(o pay.Outcome) pay.Outcome {
	switch o.Kind {
	case pay.Approved, pay.Lapsed:
		return o
	case pay.Declined, pay.Missing:
		return pay.Outcome{Kind: pay.Lapsed, Decline: o.Decline, ProviderRef: o.ProviderRef}
	case pay.Awaiting:
		o.Decline = "not_canceled"
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: o.Decline, ProviderRef: o.ProviderRef}
}

// Kept is what a cancel may say that the provider has refused for good, or has no call
// for, of how a charge stands: as Ended, and Awaiting where it still stands.
func Kept(o pay.Outcome) pay.Outcome {
	if o.Kind == pay.Awaiting {
		return pay.Outcome{Kind: pay.Awaiting, Decline: "cannot_be_canceled", ProviderRef: o.ProviderRef}
	}
	return Ended(o)
}

// Refused is the outcome of an answer that says nothing of the charge itself:
// the provider was too busy or did not know us (Unavailable: so it is with every payment),
// did not take the request as it stands (Errored), or broke. What may have been done
// all the same is Unknown. That is so of 503 too: a gateway says it where the
// connection to the provider broke after the request had gone there.
func Refused(status int) pay.Outcome {
	word := fmt.Sprintf("http_%d", status)
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return pay.Outcome{Kind: pay.Unavailable, Decline: word}
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict:
		return pay.Outcome{Kind: pay.Errored, Decline: word}
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: word}
}
